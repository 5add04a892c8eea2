"""Dropping what is believed of one pull request, so that the next sweep asks as if it never had."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from genesisd.clock import Clock
from genesisd.control.watch_views import ForgottenView
from genesisd.store.store import Store
from genesisd.watch import newcomers, pin_facts
from genesisd.watch.refs import Ref
from genesisd.watch.sources import etags
from genesisd.watch.sources.cache import DiffCache
from genesisd.watch.sources.rest import paths
from genesisd.wiring import watch_trials
from genesisd.wiring.watch_telling import ASKED, MOVED


class Forgetting:
    """What people said stays: decisions with their answers, the watchlist, events and reports.

    Args:
        store: keeps all but the diffs.
        diffs: the folder of those.
        clock: the time.
    """

    def __init__(self, store: Store, diffs: Callable[[], Path], clock: Clock) -> None:
        self._store = store
        self._diffs = diffs
        self._clock = clock

    async def forget(self, ref: Ref) -> ForgottenView:
        """Drop it all, and tell how much it was. Raises StoreReadError.

        The answer goes last: as long as it is there, what was cut off in the middle can be ordered again.
        """
        facts, name = self._store.watch_facts, str(ref)
        verdicts = (await facts.recall(pin_facts.KIND, [name])).get(name) or ()
        wishes = [key for key in await facts.recall(watch_trials.KIND) if watch_trials.is_of(key, ref)]
        known = await facts.known([ref])
        diffs = await asyncio.to_thread(DiffCache(self._diffs()).forget, ref)
        for kind, keys in (
            (pin_facts.KIND, [name]),
            (newcomers.TOLD, [name]),
            (MOVED, [name]),
            (etags.NOTE, paths(ref)),
            (watch_trials.KIND, wishes),
        ):
            await facts.note(kind, dict.fromkeys(keys))
        if known:  # else it would count as unanswered since it was first asked about, months ago perhaps
            await facts.note(ASKED, {name: self._clock.wall()})
        answered, dossiers = await facts.forget(ref)
        return ForgottenView(ref=name, answer=answered, pins=len(verdicts), dossiers=dossiers, diffs=diffs)
