"""``tool-calls``: each case under each ``tool_choice``, streamed and whole; calls are what the casebook expects.

A case that fails in one form is asked in the other as well, in the same ask: a parser that loses calls only while it
streams is the most common fault of its kind, and no other test shows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import aiohttp

from genesisd.probes.answered import Answered
from genesisd.probes.asking import NoAnswerError
from genesisd.probes.casebook import ToolCase
from genesisd.probes.casework import Casework, Finding
from genesisd.probes.judging import calls
from genesisd.probes.judging.cutting import was_cut
from genesisd.probes.model import Outcome, skipped
from genesisd.probes.ports import Target
from genesisd.probes.spec import ToolCallsProbe


@dataclass(frozen=True, slots=True)
class Form:
    """A case in one form."""

    case: ToolCase
    choice: str
    stream: bool

    @property
    def name(self) -> str:
        """For people."""
        return f"case {self.case.id} ({self.choice}), {'streamed' if self.stream else 'whole'}"

    @property
    def other(self) -> Form:
        """The same, asked the other way."""
        return replace(self, stream=not self.stream)

    @property
    def body(self) -> dict[str, object]:
        """What is asked."""
        named = {"type": "function", "function": {"name": self.case.calls[0].name if self.case.calls else ""}}
        return {**self.case.body, "tool_choice": named if self.choice == "named" else self.choice}


class ToolCalls:
    """Asks case after case."""

    def __init__(self, spec: ToolCallsProbe, session: aiohttp.ClientSession) -> None:
        self._spec = spec
        self._work: Casework[Form] = Casework(spec, session, spec.kind, lambda form: form.name)

    async def ask(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """Those forms whose turn it is."""
        if target.abilities.tool_parser == "":
            return skipped("the worker was started without a tool parser")
        forms = list(_forms(target.casebook.tools, self._spec))
        if not forms:
            return skipped("the casebook has no questions that call for tools")
        return await self._work.work(forms, lambda form: self._check(target, form), target.known)

    async def late(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """A call that did not come in time was not dropped: nobody knows."""
        return self._work.asking.late(self._spec.timeout)

    async def close(self) -> None:
        """Nothing is kept."""

    async def _check(self, target: Target, form: Form) -> Finding | None:
        said = await self._work.chat(target, form.body, stream=form.stream)
        fault = self._fault(form, said)
        if fault is None:
            return self._unfinished(form, said)
        other = await self._of_other(target, form.other)
        facts: dict[str, object] = {"choice": form.choice, "stream": form.stream, "other_form": other}
        return Finding(
            f"{form.name}: {fault}{_compared(form, other)}", said.exchange, proves=other == "right", evidence=facts
        )

    def _fault(self, form: Form, said: Answered) -> str | None:
        """One that was cut had no room for its calls: the engine gives the begun one as text, and that is right."""
        return None if self._work.cut(form, said) else calls.wrong(form.case, form.choice, said)

    def _unfinished(self, form: Form, said: Answered) -> Finding | None:
        if was_cut(said) and calls.wrong(form.case, form.choice, said):
            return Finding(f"was cut after {said.completion_tokens} tokens", said.exchange, sure=False)
        self._work.right(form, said)
        return None

    async def _of_other(self, target: Target, form: Form) -> str:
        try:
            said = await self._work.chat(target, form.body, stream=form.stream)
        except NoAnswerError:
            return "unknown"
        if self._fault(form, said):
            return "wrong"
        return "cut" if self._unfinished(form, said) else "right"


def _compared(form: Form, other: str) -> str:
    way = "streamed" if form.other.stream else "whole"
    if other == "right":
        return f"; asked {way}, the same case is right"
    return f"; asked {way}, it is wrong too" if other == "wrong" else ""


def _forms(cases: tuple[ToolCase, ...], spec: ToolCallsProbe) -> Iterator[Form]:
    """Nothing can be forced where no call is wanted, and one name cannot stand for two calls."""
    for case in cases:
        for choice in spec.choices:
            if choice not in case.choices or (choice != "auto" and not case.calls):
                continue
            if choice == "named" and len(case.calls) != 1:
                continue
            for stream in spec.stream:
                yield Form(case, choice, stream)
