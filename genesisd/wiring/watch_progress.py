"""How far the sweep is that goes on, for everybody who looks; who stops looking does not end it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

from genesisd.control.watch_views import SweepView
from genesisd.watch.sweep import Step

STEPS = tuple(Step)


class Progress:
    """One sweep at a time."""

    def __init__(self) -> None:
        self.view: SweepView | None = None
        """The sweep that goes on, or else the newest of this daemon's life."""
        self._changed = asyncio.Event()

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
        self._set(replace(view, at=len(STEPS), of=len(STEPS)))

    async def changed(self) -> None:
        """Wait for the next change of anything."""
        await self._changed.wait()

    async def follow(self, sweep: int) -> AsyncIterator[SweepView]:
        """Its views, the last of which has ``finished``; ends at once for a sweep that is not the present one."""
        while self.view is not None and self.view.id == sweep:
            shown, changed = self.view, self._changed
            yield shown
            if shown.finished is not None:
                return
            if self.view is shown:
                await changed.wait()

    def _set(self, view: SweepView) -> None:
        self.view = view
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
