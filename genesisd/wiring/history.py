"""Events for readers of the control socket: the past from the journal, then the present from the sink."""

from __future__ import annotations

from collections.abc import AsyncIterator

from genesisd.control.views import EventView
from genesisd.store.journal import MAX_LIMIT, Entry, Journal
from genesisd.telemetry.sink import Sink
from genesisd.telemetry.subscription import DROPPED, Told

RECENT = 1000


class History:
    """One journal and one sink, read as one stream without a gap or a repetition between them."""

    def __init__(self, journal: Journal, sink: Sink) -> None:
        self._journal = journal
        self._sink = sink

    async def read(self, since: float | None, *, follow: bool, worker: str | None) -> AsyncIterator[EventView]:
        """Events from wall time ``since`` on (None: none of the past when following, else the recent ones)."""
        with self._sink.subscribe() as live:
            last = self._journal.last
            if since is not None or not follow:
                limit = RECENT if since is None else MAX_LIMIT
                for entry in await self._journal.query(worker=worker, limit=limit, from_time=since or 0.0):
                    yield _past(entry)
                    last = max(last, entry.id)
            if not follow:
                return
            async for told in live:
                if (told.id is not None and told.id > last and worker in {None, told.worker}) or told.kind == DROPPED:
                    yield _present(told)


def _past(entry: Entry) -> EventView:
    return EventView(entry.id, entry.at, entry.kind, entry.worker, _fields(entry.incarnation, entry.fields))


def _present(told: Told) -> EventView:
    return EventView(told.id or 0, told.at, told.kind, told.worker, _fields(told.incarnation, told.fields))


def _fields(incarnation: int | None, fields: object) -> dict[str, object]:
    own = dict(fields) if isinstance(fields, dict) else {}
    return own if incarnation is None else {"incarnation": incarnation, **own}
