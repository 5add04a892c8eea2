"""How far the sweep is that goes on, for everybody who looks; who stops looking does not end it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

from genesisd.control.watch_views import SweepView
from genesisd.watch.sweep import Step

STEPS = tuple(Step)
RECENT = 8
"""Sweeps whose end is remembered."""


class Progress:
    """One sweep at a time."""

    def __init__(self) -> None:
        self.view: SweepView | None = None
        """The sweep that goes on, or else the newest of this daemon's life."""
        self._changed = asyncio.Event()
        self._ended: dict[int, SweepView] = {}

    @property
    def going(self) -> SweepView | None:
        """The sweep that goes on."""
        return self.view if self.view is not None and self.view.finished is None else None

    def begin(self, sweep: int, kind: str, window: str, at: float) -> None:
        """A sweep begins."""
        self._set(SweepView(id=sweep, kind=kind, window=window, started=at, of=len(STEPS)))

    def step(self, step: Step) -> None:
        """It got on."""
        if self.view is not None:
            self._set(replace(self.view, step=str(step), at=STEPS.index(step)))

    def end(self, view: SweepView) -> None:
        """It is over."""
        over = replace(view, at=len(STEPS), of=len(STEPS))
        self._ended = {one: self._ended[one] for one in [*self._ended][1 - RECENT :]} | {view.id: over}
        self._set(over)

    @property
    def change(self) -> asyncio.Event:
        """Set at the next change of anything; asked for before one looks, so that none is missed."""
        return self._changed

    async def follow(self, sweep: int) -> AsyncIterator[SweepView]:
        """Its views, the last of which has ``finished``; none for a sweep that is neither the present nor a recent one."""
        while self.view is not None and self.view.id == sweep:
            shown, changed = self.view, self._changed
            yield shown
            if shown.finished is not None:
                return
            if self.view is shown:
                await changed.wait()
        if sweep in self._ended:  # who reads slowly finds the next one here before they saw the end of theirs
            yield self._ended[sweep]

    def _set(self, view: SweepView) -> None:
        self.view = view
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
