"""Writes answers as JSON text. Fast for status: a worker's text is kept while its view is the same object.

The only parts of a worker that change by themselves are ages. They stand at the end of the object, so the kept
text is a %-template and an answer costs one formatting a worker.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

from genesisd.control.protocol import PROTOCOL_MAX, PROTOCOL_MIN, SCHEMA
from genesisd.control.views import (
    ConfigCheckView,
    DaemonView,
    EventView,
    PatchesView,
    PinView,
    ProbeView,
    ReloadView,
    StatusView,
    VersionView,
    WorkerView,
)
from genesisd.errors import GenesisError

_encode = json.JSONEncoder(separators=(",", ":"), default=str, check_circular=False).encode
_HEAD = f'{{"schema":{SCHEMA},'


class Template(NamedTuple):
    """JSON text with a ``%.1f`` for the age of each of ``times`` (monotonic)."""

    text: str
    times: tuple[float, ...]

    def at(self, now: float) -> str:
        """The JSON as of monotonic ``now``."""
        return self.text % tuple([now - t if now > t else 0.0 for t in self.times])


def _fixed(value: Mapping[str, object]) -> str:
    """An object's text without its closing brace, safe inside a %-template."""
    return _encode(value)[:-1].replace("%", "%%")


def _flat(view: Any) -> dict[str, object]:
    """The fields of a slotted dataclass that holds no other: a tenth of what ``asdict`` costs."""
    return {name: getattr(view, name) for name in view.__slots__}


def _probe(probe: ProbeView) -> str:
    fixed = _fixed({"stage": probe.stage, "kind": probe.kind, "verdict": probe.verdict, "summary": probe.summary})
    return fixed + (',"age_seconds":null}' if probe.at is None else ',"age_seconds":%.1f}')


def worker_template(view: WorkerView) -> Template:
    """The text of one worker, ages left open."""
    fixed = _fixed(
        {
            "name": view.name,
            "phase": view.phase.value,
            "wanted": view.wanted,
            "incarnation": view.incarnation,
            "since": round(view.since_wall, 3),
            "reason": {"code": view.reason.code, "text": view.reason.text},
            "url": view.url,
            "pin": view.pin,
            "pid": view.pid,
            "restarts": _flat(view.restarts),
            "front": view.front and _flat(view.front),
            "last_exit": view.last_exit and _flat(view.last_exit),
            "adopted": view.adopted,
            "shim": None if view.shim_pid is None else {"pid": view.shim_pid},
            "build": view.build and _flat(view.build),
        }
    )
    ready = "null" if view.ready_since is None else "%.1f"
    probes = ",".join(map(_probe, view.probes))
    times = (view.since, view.ready_since, *(probe.at for probe in view.probes))
    return Template(
        f'{fixed},"for_seconds":%.1f,"ready_for":{ready},"probes":[{probes}]}}',
        tuple(t for t in times if t is not None),
    )


class WorkerTexts:
    """The kept texts, by worker name."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[WorkerView, Template]] = {}

    def text(self, view: WorkerView, now: float) -> str:
        """The worker's JSON as of ``now``."""
        kept = self._kept.get(view.name)
        if kept is None or kept[0] is not view:
            kept = (view, worker_template(view))
            self._kept[view.name] = kept
        return kept[1].at(now)

    def texts(self, views: Iterable[WorkerView], now: float) -> str:
        """All of them as a JSON list; what is not among them is forgotten."""
        views = tuple(views)
        text = ",".join([self.text(view, now) for view in views])
        if len(self._kept) > len(views):
            names = {view.name for view in views}
            self._kept = {name: kept for name, kept in self._kept.items() if name in names}
        return f"[{text}]"


def _daemon(view: DaemonView, now: float) -> dict[str, object]:
    return {
        "version": view.version,
        "pid": view.pid,
        "uptime_seconds": round(max(0.0, now - view.started), 1),
        "config_path": view.config_path,
        "config_ok": view.config_ok,
        "store_ok": view.store_ok,
    }


def status(view: StatusView, texts: WorkerTexts, now: float) -> str:
    """Answer of GET /v1/status."""
    daemon = _encode(_daemon(view.daemon, now))
    healthy = "true" if view.healthy else "false"
    return f'{_HEAD}"daemon":{daemon},"healthy":{healthy},"workers":{texts.texts(view.workers, now)}}}'


def workers(views: Iterable[WorkerView], texts: WorkerTexts, now: float) -> str:
    """Answer of GET /v1/workers."""
    return f'{_HEAD}"workers":{texts.texts(views, now)}}}'


def worker(view: WorkerView, texts: WorkerTexts, now: float) -> str:
    """Answer about one worker."""
    return f'{_HEAD}"worker":{texts.text(view, now)}}}'


def _answer(**fields: Any) -> str:
    return _encode({"schema": SCHEMA, **fields})


def patches(view: PatchesView) -> str:
    """Answer of GET /v1/workers/NAME/patches."""
    return _answer(**asdict(view))


def reload(view: ReloadView) -> str:
    """Answer of POST /v1/reload."""
    return _answer(**asdict(view))


def config_check(view: ConfigCheckView) -> str:
    """Answer of POST /v1/config/check."""
    return _answer(path=view.path, ok=view.ok, workers=view.workers, faults=[asdict(f) for f in view.faults])


def pins(views: Iterable[PinView]) -> str:
    """Answer of GET /v1/pins."""
    return _answer(pins=[asdict(view) for view in views])


def version(view: VersionView) -> str:
    """Answer of GET /v1/version."""
    return _answer(**asdict(view), protocol={"min": PROTOCOL_MIN, "max": PROTOCOL_MAX})


def shutdown(*, drain: bool) -> str:
    """Answer of POST /v1/shutdown."""
    return _answer(accepted=True, drain=drain)


def event(view: EventView) -> str:
    """One line of the event stream, with its line end."""
    fields = dict(view.fields)
    return _answer(seq=view.seq, at=round(view.at, 3), kind=view.kind, worker=view.worker, fields=fields) + "\n"


def log_line(line: str) -> str:
    """One line of a log stream, with its line end."""
    return _answer(line=line) + "\n"


def error(problem: GenesisError) -> str:
    """A refusal."""
    facts = {"code": problem.code, "message": problem.message, "hint": problem.hint, "fields": problem.fields}
    return _answer(error=facts)
