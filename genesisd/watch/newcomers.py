"""Pull requests that no row names yet: read since a mark, ranked, and the best of them looked at closely."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from genesisd.errors import UnavailableError
from genesisd.watch.model import PatchFact, Pin, Pull
from genesisd.watch.ports import Appraiser, Diff, Facts, Upstream
from genesisd.watch.refs import Ref
from genesisd.watch.result import NewPull
from genesisd.watch.scoring import Interests, ranked
from genesisd.watch.spec import WatchSpec

MARKS = "mark"
"""Kind of the notes that say how far was read."""
TOLD = "pull-told"
"""Kind of the notes that say at which head a pull request was told."""
PER_PAGE = 100


class Newcomers:
    """Looks for them.

    Args:
        upstream: whom to ask.
        facts: remembers how far was read.
        appraiser: applies their diffs to the pins' files.
    """

    def __init__(self, upstream: Upstream, facts: Facts, appraiser: Appraiser) -> None:
        self._upstream = upstream
        self._facts = facts
        self._appraiser = appraiser

    async def find(
        self,
        spec: WatchSpec,
        named: Collection[Ref],
        patches: Mapping[str, PatchFact],
        interests: Interests,
        pins: Sequence[Pin],
    ) -> tuple[tuple[NewPull, ...], str]:
        """The best of what changed since the last time, and what went wrong ("" if nothing did).

        The mark moves only once all since the old one was read and looked at, so that a bad night loses none. What
        was told is not told again until somebody pushed to it, or it can be looked at at last.
        """
        if not spec.new_pulls.most or not spec.new_pulls.pages:
            return (), ""
        mark = (await self._facts.recall(MARKS, [spec.repository])).get(spec.repository)
        recent = await self._upstream.recent(spec.repository, mark, most=spec.new_pulls.pages * PER_PAGE)
        if recent is None:
            return (), "upstream did not tell which pull requests changed"
        before = await self._facts.recall(TOLD, [str(pull.ref) for pull in recent.pulls])
        fresh = [pull for pull in recent.pulls if pull.ref not in named and before.get(str(pull.ref)) != _told(pull)]
        best = ranked(fresh, tuple(patches.values()), interests, most=spec.new_pulls.most)
        found, trouble = await self._looked_at(best, pins)
        if trouble:
            news = [one for one in found if before.get(str(one.pull.ref)) != _unseen(one.pull)]
            await self._facts.note(TOLD, {str(one.pull.ref): _unseen(one.pull) for one in news})
            return tuple(news), trouble
        await self._facts.note(TOLD, {str(one.pull.ref): _told(one.pull) for one in found})
        await self._facts.note(MARKS, {spec.repository: recent.mark})
        if recent.complete:
            return found, ""
        return found, "more pull requests changed than the budget lets be read; the rest comes next time"

    async def _looked_at(self, best: Sequence[NewPull], pins: Sequence[Pin]) -> tuple[tuple[NewPull, ...], str]:
        """With the collisions of those that touch our files, on the pin that serves."""
        serving = [pin for pin in pins if pin.tree and "current" in pin.slots] or [pin for pin in pins if pin.tree][:1]
        close = [one for one in best if one.patches]
        if not serving or not close:
            return tuple(best), ""
        diffs: dict[Ref, Diff] = {}
        for one in close:
            if (diff := await self._upstream.diff(one.pull)) is not None:
                diffs[one.pull.ref] = diff
        ids = sorted({patch for one in close for patch in one.patches})
        try:
            seen = await self._appraiser.appraise(
                serving, [one.pull for one in close if one.pull.ref in diffs], diffs, ids
            )
        except UnavailableError as error:
            return tuple(best), f"new pull requests could not be tried on {serving[0].id}: {error.message}"
        met = {ref: found for (ref, _), found in seen.collisions.items()}
        return tuple(replace(one, collisions=met.get(one.pull.ref)) for one in best), ""


def _told(pull: Pull) -> str:
    return f"{pull.head} {pull.state}"


def _unseen(pull: Pull) -> str:
    return f"{_told(pull)}, not looked at"
