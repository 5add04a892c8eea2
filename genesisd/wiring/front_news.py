"""What fronts tell, as events: a front that starts after one was lost has been restarted."""

from __future__ import annotations

from genesisd.supervisor.ports import EventSink


class FrontNews:
    """Called by the daemon's side of the fronts, with words of its own for each kind."""

    def __init__(self, sink: EventSink) -> None:
        self._sink = sink
        self._lost: set[str] = set()

    def __call__(self, kind: str, worker: str, /, **fields: object) -> None:
        """Tell it on."""
        if kind == "front-lost":
            self._lost.add(worker)
        elif kind == "front-started" and worker in self._lost:
            self._lost.discard(worker)
            kind = "front-restarted"
        self._sink.emit(kind.replace("-", "_"), worker, **fields)
