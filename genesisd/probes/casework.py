"""How kinds work through their cases: as many as one ask has room for, until one is answered wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import aiohttp

from genesisd.probes.answered import Answered
from genesisd.probes.asking import MAX_TOKENS, Asking, NoAnswerError, Trouble, verdict_of
from genesisd.probes.judging.cutting import was_cut
from genesisd.probes.model import Exchange, Outcome, Verdict, failure, success, unknown
from genesisd.probes.ports import KnownRight, Target
from genesisd.probes.spec import CorrectnessProbe
from genesisd.probes.turns import Turns

Item = TypeVar("Item")
_SENTENCE = 220
"""Characters of a summary; the exchange has the rest."""
_BEYOND = "(never answered right here, so perhaps beyond the model) "
"""Before what it is said of, once: a summary is cut at its end."""
_ENOUGH = 4
"""Times the tokens that sufficed before: an answer that is cut only then is not a long thought but a wrong answer."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is amiss with a case.

    Attributes:
        sure: False where the answer proves nothing, as one that was cut while it was thought.
        proves: it is a fault whether or not the model can do what is asked: the same case is right in another form.
    """

    text: str
    exchange: Exchange
    sure: bool = True
    proves: bool = False
    evidence: dict[str, object] = field(default_factory=dict)


@dataclass(slots=True)
class Casework(Generic[Item]):
    """Remembers whose turn it is, and how many tokens a right answer took. ``name`` says an item in words."""

    spec: CorrectnessProbe
    session: aiohttp.ClientSession
    kind: str
    name: Callable[[Item], str]
    asking: Asking = field(init=False)
    turns: Turns[Item] = field(init=False)
    _sufficed: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.asking = Asking(self.session, self.kind)
        self.turns = Turns(self.name)

    async def work(
        self, items: Sequence[Item], check: Callable[[Item], Awaitable[Finding | None]], known: KnownRight
    ) -> Outcome:
        """Check those whose turn it is, up to the first that is wrong and counts."""
        self.asking.begin()
        open_: list[str] = []
        lacking: list[NoAnswerError] = []
        picked = self.turns.pick(items, self.spec.max_tokens)
        for item in picked:
            try:
                finding = await self._checked(item, check)
            except NoAnswerError as problem:
                if problem.trouble is Trouble.LACKING:
                    lacking.append(problem)
                elif problem.trouble is Trouble.REJECTED:
                    open_.append(f"{self.name(item)}: {problem.message}")
                else:
                    return self._gave_none(item, problem)
                continue
            if finding is None:
                known.right(self.kind, self.name(item))
            elif not finding.sure:
                open_.append(f"{self.name(item)} {finding.text}")
            elif finding.proves or known.counts(self.kind, self.name(item)):
                return self._wrong(item, finding)
            else:
                open_.append(f"{_BEYOND if not any(_BEYOND in one for one in open_) else ''}{finding.text}")
        return self._sum(items, len(picked), open_, lacking)

    async def chat(self, target: Target, body: Mapping[str, object], *, stream: bool = False) -> Answered:
        """Ask a case, with no more room for its answer than half of what the worker reads. Raises NoAnswerError."""
        return await self.asking.chat(target, fitted(body, target.abilities.max_model_len), stream=stream)

    def cut(self, item: Item, said: Answered) -> bool:
        """Whether the answer was cut so early that nothing follows from it."""
        if not was_cut(said):
            return False
        sufficed = self._sufficed.get(self.name(item))
        return sufficed is None or (said.completion_tokens or 0) < _ENOUGH * sufficed

    def right(self, item: Item, said: Answered) -> None:
        """Remember what a right answer took."""
        if said.completion_tokens and not was_cut(said):
            self._sufficed[self.name(item)] = max(said.completion_tokens, self._sufficed.get(self.name(item), 0))

    async def _checked(self, item: Item, check: Callable[[Item], Awaitable[Finding | None]]) -> Finding | None:
        before = len(self.asking.exchanges)
        try:
            return await check(item)
        finally:
            spent = self.asking.exchanges[before:]
            self.turns.asked(item, sum(one.prompt_tokens + one.completion_tokens for one in spent))

    def _gave_none(self, item: Item, problem: NoAnswerError) -> Outcome:
        outcome = self.asking.could_not(problem)
        if outcome.verdict is Verdict.FAILURE:
            self.turns.failed(item)
            said = failure(sentence(f"{self.name(item)}: {outcome.summary}"), **outcome.evidence, case=self.name(item))
            return self.asking.outcome(said, problem.exchange)
        return outcome

    def _wrong(self, item: Item, finding: Finding) -> Outcome:
        self.turns.failed(item)
        said = failure(sentence(finding.text), case=self.name(item), **finding.evidence)
        return self.asking.outcome(said, finding.exchange)

    def _sum(self, items: Sequence[Item], picked: int, open_: list[str], lacking: list[NoAnswerError]) -> Outcome:
        right = picked - len(open_) - len(lacking)
        if not right and not open_ and lacking:
            return self.asking.outcome(verdict_of(lacking[0]))
        if not right:
            return self.asking.outcome(unknown(sentence(f"nothing could be judged: {'; '.join(open_)}"), asked=picked))
        text = f"{right} of {len(items)} cases asked, all answered right"
        text += f"; not judged: {'; '.join(open_)}" if open_ else ""
        return self.asking.outcome(success(sentence(text), asked=picked, cases=len(items)))


def fitted(body: Mapping[str, object], longest: int | None) -> Mapping[str, object]:
    """A case asks for plenty of room, and an engine refuses what can never fit: that would leave it unasked for ever."""
    bound = body.get("max_tokens", MAX_TOKENS)
    if longest is None or not isinstance(bound, int) or "max_completion_tokens" in body or bound <= longest // 2:
        return body
    return {**body, "max_tokens": max(1, longest // 2)}


def sentence(text: str) -> str:
    """Cut to what people read in one glance."""
    text = " ".join(text.split())  # what an answer broke into lines
    return text if len(text) <= _SENTENCE else f"{text[: _SENTENCE - 3]}..."
