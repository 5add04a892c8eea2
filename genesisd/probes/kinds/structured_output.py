"""``structured-output``: answers under a grammar keep to it, streamed and whole."""

from __future__ import annotations

from dataclasses import dataclass

import aiohttp

from genesisd.probes.answered import Answered
from genesisd.probes.casebook import StructuredCase
from genesisd.probes.casework import Casework, Finding
from genesisd.probes.judging.constraints import broken, hopeless
from genesisd.probes.model import Outcome, skipped
from genesisd.probes.ports import Target
from genesisd.probes.spec import StructuredOutputProbe


@dataclass(frozen=True, slots=True)
class Asked:
    """A case, asked one way."""

    case: StructuredCase
    stream: bool

    @property
    def name(self) -> str:
        """For people."""
        return f"case {self.case.id} ({self.case.form}), {'streamed' if self.stream else 'whole'}"

    @property
    def body(self) -> dict[str, object]:
        """The question with its constraint; what the casebook says itself stands."""
        return {**_constraint(self.case), **self.case.body}


class StructuredOutput:
    """Asks case after case."""

    def __init__(self, spec: StructuredOutputProbe, session: aiohttp.ClientSession) -> None:
        self._spec = spec
        self._work: Casework[Asked] = Casework(spec, session, spec.kind, lambda one: one.name)

    async def ask(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """Those cases whose turn it is."""
        cases = [case for case in target.casebook.structured if case.form in self._spec.forms]
        if not cases:
            return skipped(f"the casebook has no questions with a constraint of {' or '.join(self._spec.forms)}")
        asked = [Asked(case, stream) for case in cases for stream in (False, True)]
        return await self._work.work(asked, lambda one: self._check(target, one), target.known)

    async def late(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """Nobody knows what would have come."""
        return self._work.asking.late(self._spec.timeout)

    async def close(self) -> None:
        """Nothing is kept."""

    async def _check(self, target: Target, one: Asked) -> Finding | None:
        said = await self._work.chat(target, one.body, stream=one.stream)
        case, text = one.case, said.content or ""
        fault = broken(case.form, case.constraint, text) if text else _nothing(said)
        if fault is None:
            self._work.right(one, said)
            return None
        if self._work.cut(one, said) and (not text or hopeless(case.form, case.constraint, text) is None):
            return Finding(f"was cut after {said.completion_tokens} tokens", said.exchange, sure=False)
        facts: dict[str, object] = {"form": case.form, "stream": one.stream, "finish": said.finish}
        # A constraint is the engine's promise, whatever the model knows; but it begins with the words, and a model that
        # never ends its thoughts says none.
        return Finding(f"{one.name}: {fault}", said.exchange, proves=bool(text or not said.reasoning), evidence=facts)


def _nothing(said: Answered) -> str:
    thoughts = len(said.reasoning or "")
    return f"nothing came but {thoughts} characters of thought" if thoughts else "200 without content"


def _constraint(case: StructuredCase) -> dict[str, object]:
    if case.form == "json_schema":
        named = {"name": "answer", "schema": case.constraint, "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    return {"structured_outputs": {case.form: case.constraint}}
