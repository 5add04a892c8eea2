"""Asks about many refs at once, and about fewer at once where that was too much."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from genesisd.clock import Clock
from genesisd.watch.model import Answer, Unanswered, WhyUnknown
from genesisd.watch.ports import Facts
from genesisd.watch.refs import Ref
from genesisd.watch.sources import batches, queries
from genesisd.watch.sources.calls import Calls
from genesisd.watch.sources.queries import Read
from genesisd.watch.sources.replies import Failure

NOTE = "batch"
"""Kind of the notes that remember sizes, by what is asked."""
Found = dict[Ref, Answer]
_NOWHERE = Failure(WhyUnknown.OUTAGE, "there is no GraphQL at this address: is watch.api right?", 404)


class Rows:
    """Batches of aliased questions; the size that went through is kept for the next sweep.

    A batch that fails is cut in two, so that one question which always fails is found, and costs the others a few
    requests and no more. Only where both halves then succeed was it the size.
    """

    def __init__(self, calls: Calls, facts: Facts, clock: Clock) -> None:
        self._calls = calls
        self._facts = facts
        self._clock = clock
        self._size = batches.Size()

    async def ask(self, refs: Sequence[Ref]) -> Found:
        """One answer for each of ``refs``."""
        kept = (await self._facts.recall(NOTE, ("rows",))).get("rows")
        self._size = batches.recalled(kept, self._clock.wall())
        found: Found = {}
        waiting = list(refs)
        while waiting:
            part, waiting = waiting[: self._size.now], waiting[self._size.now :]
            found |= await self._part(part)
        if self._size.note() != kept:
            await self._facts.note(NOTE, {"rows": self._size.note()})
        return found

    async def _part(self, part: Sequence[Ref], *, again: bool = True) -> Found:
        read = await self._once(part)
        if isinstance(read, Failure):
            if read.heavy and len(part) > 1:
                return await self._halves(part)
            return self._none(part, read.why, read.text)
        found = dict(read.answers)
        if not read.again:
            return found
        left = tuple(read.again)
        if read.heavy and len(part) > 1:
            return found | await self._halves(left, len(part))
        if again:
            return found | await self._part(left, again=False)
        return found | {ref: self._unknown(ref, WhyUnknown.PARTIAL, text) for ref, text in read.again.items()}

    async def _halves(self, left: Sequence[Ref], tried: int | None = None) -> Found:
        """What is ``left`` of a batch of ``tried`` that was too much."""
        half = max(1, (tried or len(left)) // 2)
        found: Found = {}
        waiting = list(left)
        while waiting:
            # A lesson of the first half holds for the second.
            size = half if not found else min(len(waiting), max(half, (tried or len(left)) - half), self._size.now)
            part, waiting = waiting[:size], waiting[size:]
            found |= await self._part(part, again=False)
        if not any(_lost(answer) for answer in found.values()):
            self._size = self._size.shrunk(half, self._clock.wall())
        return found

    async def _once(self, part: Sequence[Ref]) -> Read | Failure:
        asked = queries.batch(part, nonce())
        reply = await self._calls.query("rows", asked.text)
        if isinstance(reply, Failure):
            return _NOWHERE if reply.why is WhyUnknown.NOT_FOUND else reply
        try:
            body = reply.json()
        except ValueError:
            return self._calls.broke("the answer broke off", reply.status)
        read = queries.read(asked, body, self._clock.wall() - reply.age)
        if read.trouble:
            return self._calls.broke(read.trouble, reply.status)
        return read

    def _none(self, part: Sequence[Ref], why: WhyUnknown, text: str) -> Found:
        return {ref: self._unknown(ref, why, text) for ref in part}

    def _unknown(self, ref: Ref, why: WhyUnknown, text: str) -> Unanswered:
        return Unanswered(ref, why, self._clock.wall(), text)


def nonce() -> str:
    """An alias that was never used before."""
    return f"n{secrets.token_hex(6)}"


def _lost(answer: Answer) -> bool:
    """A request about it alone failed, which says nothing about the size. A null in a good answer is no such failure."""
    lost = {WhyUnknown.OUTAGE, WhyUnknown.LIMITED, WhyUnknown.NOT_ASKED}
    return isinstance(answer, Unanswered) and answer.why in lost
