"""Asks about one ref at a time, as one must without a token. What has not changed is told by 304."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from genesisd.clock import Clock
from genesisd.watch.model import Answer, Pull, Unanswered, WhyUnknown
from genesisd.watch.ports import Facts
from genesisd.watch.refs import Ref
from genesisd.watch.sources import etags
from genesisd.watch.sources.calls import Calls
from genesisd.watch.sources.reading import Unreadable, rest_issue, rest_pull
from genesisd.watch.sources.replies import Failure

_Reader = Callable[[Ref, Any, float], Pull]
_READERS: dict[str, _Reader] = {"pulls": rest_pull, "issues": rest_issue}


class Singly:
    """One request a ref; two for an issue that was never seen before, which is first asked for as a pull request."""

    def __init__(self, calls: Calls, facts: Facts, clock: Clock) -> None:
        self._calls = calls
        self._facts = facts
        self._clock = clock

    async def ask(self, refs: Sequence[Ref], kept: Mapping[Ref, Pull]) -> dict[Ref, Answer]:
        """One answer for each of ``refs``; ``kept`` has what upstream told before."""
        tags = await self._facts.recall(etags.NOTE, [one for ref in refs for one in paths(ref)])
        found: dict[Ref, Answer] = {}
        learnt: dict[str, Any] = {}
        for ref in refs:
            found[ref] = await self._one(ref, kept.get(ref), tags, learnt)
        if learnt:
            await self._facts.note(etags.NOTE, learnt)
        return found

    async def _one(self, ref: Ref, kept: Pull | None, tags: Mapping[str, Any], learnt: dict[str, Any]) -> Answer:
        kinds = ("issues", "pulls") if kept is not None and kept.is_issue else ("pulls", "issues")
        text = ""
        for kind in kinds:
            place = path(ref, kind)
            reply = await self._calls.get("rows", place, etag=etags.usable(tags.get(place), kept))
            if isinstance(reply, Failure):
                if reply.why is WhyUnknown.NOT_FOUND and kind == kinds[0]:
                    continue
                return self._unknown(ref, reply.why, reply.text)
            if reply.unchanged and kept is not None:
                return replace(kept, checked_at=self._clock.wall() - reply.age)
            try:
                pull = _READERS[kind](ref, reply.json(), self._clock.wall() - reply.age)
            except Unreadable as error:
                text = str(error)
                continue
            except ValueError:
                broken = self._calls.broke("the answer broke off", reply.status)
                return self._unknown(ref, broken.why, broken.text)
            learnt[place] = etags.note(reply.headers.get("etag"), pull)
            return pull
        return self._unknown(ref, WhyUnknown.OUTAGE, text)

    def _unknown(self, ref: Ref, why: WhyUnknown, text: str) -> Unanswered:
        return Unanswered(ref, why, self._clock.wall(), text)


def path(ref: Ref, kind: str = "pulls") -> str:
    """Where a ref is in the API."""
    return f"/repos/{ref.repo}/{kind}/{ref.number}"


def paths(ref: Ref) -> list[str]:
    """Where it may be: nobody knows beforehand whether it is an issue."""
    return [path(ref, kind) for kind in _READERS]
