"""``golden``: greedy answers are the recorded ones, whole and streamed.

A greedy answer may change where two tokens were as good as equal: users' requests in the same batch change the order of
sums. So a difference counts only if it comes again, and not where the recording says that the first differing token was
a near tie; where the recording has no margins it has to come three times. What came once and cannot be a tie is
remembered: an engine that is wrong every other time is wrong.
"""

from __future__ import annotations

from collections import deque

import aiohttp

from genesisd.probes.asking import MAX_TOKENS, Answered, Asking, NoAnswerError
from genesisd.probes.casebook import AnswerCase
from genesisd.probes.casebooks import label
from genesisd.probes.golden import Difference, Golden, difference
from genesisd.probes.model import Outcome, Verdict, failure, skipped, success
from genesisd.probes.ports import Target
from genesisd.probes.replies import plain, recorded_for, reply_of
from genesisd.probes.spec import GoldenProbe
from genesisd.probes.turns import Turns

_FLICKERS = 3
_REMEMBERED = 30
"""Questions among which so many wrong answers, right when asked again, are a fault."""


class GoldenAnswers:
    """Remembers whose turn it is, how each case is asked next, and what was wrong only once."""

    def __init__(self, spec: GoldenProbe, session: aiohttp.ClientSession) -> None:
        self._spec, self._asking = spec, Asking(session, "golden")
        self._turns: Turns[AnswerCase] = Turns(key=lambda case: case.id, guess=_at_most)
        self._streamed: dict[str, bool] = {}
        self._lately: deque[str] = deque(maxlen=_REMEMBERED)
        self._notes: list[str] = []

    async def ask(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """Ask as many cases as the budget allows; the first that is wrong ends it."""
        self._asking.begin()
        self._notes.clear()
        golden = target.golden()
        why = recorded_for(golden, label(target.casebook))
        if golden is None or why:
            return skipped(why)
        cases = [case for case in target.casebook.golden if case.id in golden.replies]
        if not cases:
            return skipped("the casebook has no golden questions that were recorded")
        picked = self._turns.pick(cases, self._spec.max_tokens)
        for case in picked:
            if (bad := await self._judge(target, golden, case)) is not None:
                return bad
        notes = "".join(f"; {note}" for note in self._notes)
        return self._asking.outcome(success(f"{len(picked)} greedy answers are as recorded{notes}", notes=self._notes))

    async def late(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """Nothing is known."""
        return self._asking.late(self._spec.timeout)

    async def close(self) -> None:
        """Nothing is kept open."""

    async def _judge(self, target: Target, golden: Golden, case: AnswerCase) -> Outcome | None:
        stream = self._streamed.get(case.id, False) and golden.replies[case.id].streamed
        begun = len(self._asking.exchanges)
        try:
            bad = await self._compare(target, golden, case, stream=stream)
        except NoAnswerError as problem:
            bad = self._asking.could_not(problem)
        cost = [one.prompt_tokens + one.completion_tokens for one in self._asking.exchanges[begun:]]
        self._turns.asked(case, cost[0] if cost else 0)
        if bad is None:
            self._streamed[case.id] = not stream
        elif bad.verdict is Verdict.FAILURE:
            self._turns.failed(case)
        return bad

    async def _compare(self, target: Target, golden: Golden, case: AnswerCase, *, stream: bool) -> Outcome | None:
        answered, unlike = await self._unlike(target, golden, case, stream=stream)
        if unlike is None or unlike.tie:
            self._lately.append("")
            self._notes += [f"{case.id} took the other side of a near tie"] if unlike else []
            return None
        for _ in range(1 if unlike.sure else 2):
            answered, still = await self._unlike(target, golden, case, stream=stream)
            if still is None or still.tie:
                return self._once(case, answered, unlike)
            unlike = still
        return self._wrong(case, answered, unlike, "each time")

    def _once(self, case: AnswerCase, answered: Answered, unlike: Difference) -> Outcome | None:
        """It was right when asked again; too often so is a fault as well."""
        self._lately.append(case.id if unlike.sure else "")
        odd = [one for one in self._lately if one]
        if len(odd) >= _FLICKERS:
            return self._wrong(case, answered, unlike, f"{len(odd)} of {len(self._lately)} times, then right")
        self._notes.append(f"{case.id} was otherwise once, and right when asked again")
        return None

    async def _unlike(
        self, target: Target, golden: Golden, case: AnswerCase, *, stream: bool
    ) -> tuple[Answered, Difference | None]:
        answered = await self._asking.ask(target, case.path, plain(case), stream=stream)
        return answered, difference(golden.replies[case.id], reply_of(answered))

    def _wrong(self, case: AnswerCase, answered: Answered, unlike: Difference, often: str) -> Outcome:
        how = "streamed" if answered.stream else "whole"
        text = f"{case.id} ({how}, {often}): {unlike.text}"[:300]
        return self._asking.outcome(failure(text, case=case.id, stream=answered.stream, often=often), answered.exchange)


def _at_most(case: AnswerCase) -> int:
    """Tokens of a case that was not asked yet: its own bound, and a prompt of three letters a token."""
    bound = case.body.get("max_tokens")
    return (bound if isinstance(bound, int) else MAX_TOKENS) + len(str(case.body)) // 3
