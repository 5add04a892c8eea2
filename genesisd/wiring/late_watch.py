"""The upstream watch, loaded once there is something to watch.

Five megabytes of code, APScheduler among it, for those boxes alone that have a watchlist: an idle daemon of the others
goes without.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from genesisd.control.watch_ports import WatchApi
from genesisd.wiring.no_watch import NoWatch
from genesisd.wiring.watch_needs import WatchNeeds

if TYPE_CHECKING:
    from genesisd.wiring.watching import Watching


class LateWatch:
    """Does what ``Watching`` does, or nothing while no watchlist was ever configured. ``desk`` is for operators."""

    def __init__(self, needs: WatchNeeds) -> None:
        self._needs = needs
        self._desk: WatchApi = NoWatch()
        self._watching: Watching | None = None
        self._closed = False
        if needs.config().watch.watchlist is not None:
            self._make()
        self.desk = cast("WatchApi", _Desk(lambda: self._desk))

    def _make(self) -> None:
        from genesisd.wiring.watch_api import WatchDesk  # noqa: PLC0415 - see the module's docstring
        from genesisd.wiring.watching import Watching  # noqa: PLC0415 - as above

        needs = self._needs
        self._watching = Watching(needs)
        self._desk = WatchDesk(self._watching, needs.workers, needs.store, needs.sink, needs.clock)

    async def start(self) -> None:
        """Begin to sweep."""
        if self._watching is not None:
            await self._watching.start()

    async def close(self) -> None:
        """End for good."""
        self._closed = True
        if self._watching is not None:
            await self._watching.close()

    async def refresh(self) -> None:
        """Before a scrape."""
        if self._watching is not None:
            await self._watching.refresh()

    async def reconfigured(self) -> None:
        """Take over what is configured now; the first watchlist of this life loads the watch."""
        if self._watching is not None:
            await self._watching.reconfigured()
        elif self._needs.config().watch.watchlist is not None:
            await asyncio.to_thread(_load)
            if not self._closed and self._watching is None:  # the store is, by then, or another reload was faster
                self._make()
                await self.start()


class _Desk:
    """Whoever answers operators at the moment."""

    def __init__(self, now: Callable[[], WatchApi]) -> None:
        self._now = now

    def __getattr__(self, name: str) -> Any:
        return getattr(self._now(), name)


def _load() -> None:
    """Beside the loop: it takes some tenths of a second, and workers are not to wait for that."""
    import_module("genesisd.wiring.watch_api")
