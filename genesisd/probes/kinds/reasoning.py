"""``reasoning``: thoughts come as thoughts, the block is closed, and nothing of it leaks, over several turns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp

from genesisd.probes.answered import Answered
from genesisd.probes.casebook import ReasoningCase
from genesisd.probes.casework import Casework, Finding
from genesisd.probes.judging.cutting import was_cut
from genesisd.probes.judging.thoughts import wrong
from genesisd.probes.model import Outcome, skipped
from genesisd.probes.ports import Target
from genesisd.probes.spec import ReasoningProbe


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A case, asked one way."""

    case: ReasoningCase
    stream: bool

    @property
    def name(self) -> str:
        """For people."""
        return f"case {self.case.id}, {'streamed' if self.stream else 'whole'}"


class Reasoning:
    """Leads one dialogue after the other; each turn has the answers that came before."""

    def __init__(self, spec: ReasoningProbe, session: aiohttp.ClientSession) -> None:
        self._spec = spec
        self._work: Casework[Dialogue] = Casework(spec, session, spec.kind, lambda one: one.name)

    async def ask(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """Those dialogues whose turn it is."""
        if target.abilities.reasoning_parser == "":
            return skipped("the worker was started without a reasoning parser")
        if not target.casebook.reasoning:
            return skipped("the casebook has no dialogues to think about")
        dialogues = [Dialogue(case, stream) for case in target.casebook.reasoning for stream in (False, True)]
        return await self._work.work(dialogues, lambda one: self._lead(target, one), target.known)

    async def late(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """A long thought is no fault."""
        return self._work.asking.late(self._spec.timeout)

    async def close(self) -> None:
        """Nothing is kept."""

    async def _lead(self, target: Target, one: Dialogue) -> Finding | None:
        messages: list[dict[str, object]] = []
        said: Answered | None = None
        for number, words in enumerate(one.case.turns, 1):
            messages.append({"role": "user", "content": words})
            body = {**one.case.body, "messages": list(messages)}
            said = await self._work.chat(target, body, stream=one.stream)
            if was_cut(said) and not said.content:
                text = f"was cut after {said.completion_tokens} tokens of thought"
                return Finding(text, said.exchange, sure=not self._work.cut(one, said))
            if fault := wrong(said, thinks=_thinks(one.case.body), asked=json.dumps(messages, ensure_ascii=False)):
                facts: dict[str, object] = {"turn": number, "stream": one.stream, "finish": said.finish}
                return Finding(f"{one.name}, turn {number}: {fault}", said.exchange, evidence=facts)
            self._work.right(one, said)
            messages.append({"role": "assistant", "content": said.content})
        return None


def _thinks(body: Mapping[str, object]) -> bool:
    """Whether thoughts have to come: a case is there to be thought about, unless it says that it is not."""
    switches = body.get("chat_template_kwargs")
    off = isinstance(switches, Mapping) and False in (switches.get("enable_thinking"), switches.get("thinking"))
    return not off and body.get("reasoning_effort") != "none"
