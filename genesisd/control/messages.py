"""The wire, declared: what requests may contain and what answers look like.

Requests are validated with these types. Answers are written by ``wire.py``, which is faster than a model; tests
hold its output against these types, and ``tests/data/schemas`` keeps their JSON Schemas so that no field
changes unnoticed.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from genesisd.control.message import Answer, Wire
from genesisd.control.patch_messages import BuildMessage
from genesisd.supervisor.model import Phase

# --- requests -------------------------------------------------------------------------------------------------


class VerbRequest(Wire):
    """Body of stop and restart; the other verbs take none of it."""

    drain: bool = True


class WaitRequest(Wire):
    """Body of wait; ``timeout`` in seconds, at most a day."""

    phases: tuple[Phase, ...] = Field(min_length=1)
    timeout: float = Field(default=600.0, ge=0, le=86400)


class ConfigCheckRequest(Wire):
    """Body of config/check; no path means the daemon's own file."""

    path: str | None = Field(default=None, max_length=4096)


class ShutdownRequest(Wire):
    """Body of shutdown; with ``drain`` the workers are stopped, else they live on."""

    drain: bool = False


# --- answers --------------------------------------------------------------------------------------------------


class ReasonMessage(Wire):
    """Why a worker is where it is."""

    code: str
    text: str


class RestartsMessage(Wire):
    """Unrequested restarts against their budget; ``window`` in seconds."""

    in_window: int
    budget: int
    window: float


class FrontMessage(Wire):
    """What the front counted; ``oldest_unanswered`` in seconds."""

    open: int
    in_flight: int
    unanswered: int
    held: int
    answered: int
    refused: int
    oldest_unanswered: float


class ProbeMessage(Wire):
    """The newest result of a probe; no age means that it has not answered yet."""

    stage: str
    kind: str
    verdict: str
    summary: str
    age_seconds: float | None


class ExitMessage(Wire):
    """How the last incarnation ended."""

    code: int | None
    signal: int | None
    cause: str
    text: str
    permanent: bool


class ShimMessage(Wire):
    """The process that holds the worker."""

    pid: int


class WorkerMessage(Wire):
    """A worker inside a list. ``since`` is seconds since the epoch, the other times are ages in seconds."""

    name: str
    phase: Phase
    wanted: bool
    incarnation: int
    since: float
    reason: ReasonMessage
    url: str | None
    pin: str | None
    pid: int | None
    restarts: RestartsMessage
    front: FrontMessage | None
    last_exit: ExitMessage | None
    adopted: bool
    shim: ShimMessage | None
    build: BuildMessage | None
    for_seconds: float
    ready_for: float | None
    probes: list[ProbeMessage]


class DaemonMessage(Wire):
    """The daemon itself."""

    version: str
    pid: int
    uptime_seconds: float
    config_path: str
    config_ok: bool
    store_ok: bool


class StatusAnswer(Answer):
    """Answer of GET /v1/status."""

    daemon: DaemonMessage
    healthy: bool
    workers: list[WorkerMessage]


class WorkersAnswer(Answer):
    """Answer of GET /v1/workers."""

    workers: list[WorkerMessage]


class WorkerAnswer(Answer):
    """Answer of GET /v1/workers/NAME and of every order to a worker."""

    worker: WorkerMessage


class ReloadAnswer(Answer):
    """Answer of POST /v1/reload: names of workers."""

    added: list[str]
    removed: list[str]
    changed: list[str]
    restarted: list[str]
    unchanged: list[str]
    warnings: list[str]


class ConfigFaultMessage(Wire):
    """One fault and its place."""

    message: str
    file: str | None
    line: int | None
    field: str | None
    hint: str | None


class ConfigCheckAnswer(Answer):
    """Answer of POST /v1/config/check."""

    path: str
    ok: bool
    workers: list[str]
    faults: list[ConfigFaultMessage]


class PinMessage(Wire):
    """A pin; ``built_at`` is seconds since the epoch."""

    id: str
    package: str
    version: str
    commit: str | None
    slots: list[str]
    built: bool
    path: str | None
    built_at: float | None


class PinsAnswer(Answer):
    """Answer of GET /v1/pins."""

    pins: list[PinMessage]


class ProtocolMessage(Wire):
    """The protocol versions that the daemon speaks."""

    min: int
    max: int


class VersionAnswer(Answer):
    """Answer of GET /v1/version."""

    version: str
    python: str
    protocol: ProtocolMessage


class ShutdownAnswer(Answer):
    """Answer of POST /v1/shutdown: it has begun."""

    accepted: bool
    drain: bool


class EventLine(Answer):
    """One line of the event stream."""

    seq: int
    at: float
    kind: str
    worker: str | None
    fields: dict[str, Any]


class LogLine(Answer):
    """One line of a log stream."""

    line: str


class ErrorMessage(Wire):
    """Code for programs, message and hint for people, fields for both."""

    code: str
    message: str
    hint: str | None
    fields: dict[str, Any]


class ErrorAnswer(Answer):
    """Any refusal; also the last line of a stream that broke off."""

    error: ErrorMessage
