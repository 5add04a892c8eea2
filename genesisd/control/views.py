"""What the daemon tells about itself: plain frozen data, so that unchanged things are the same objects.

Times that only make ages (``since``, ``ready_since``, ``at`` of a probe) are CLOCK_MONOTONIC seconds; the wire
carries the ages. The server keeps the serialised text of a view for as long as it gets the *same object*, so an
Api that hands out equal views as new objects is right but slower: see ``ViewMemo``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import is_

from genesisd.supervisor.model import ExitRecord, Phase, Reason
from genesisd.supervisor.ports import FrontStats


@dataclass(frozen=True, slots=True)
class RestartsView:
    """Unrequested restarts: how many in the last ``window`` seconds, and how many are allowed."""

    in_window: int
    budget: int
    window: float


@dataclass(frozen=True, slots=True)
class ProbeView:
    """The newest result of one probe; ``at`` is monotonic, or None before the first answer."""

    stage: str
    kind: str
    verdict: str
    summary: str
    at: float | None = None


@dataclass(frozen=True, slots=True)
class BuildView:
    """What a living worker runs, in short.

    Attributes:
        build: name of its build, or None for the plain pin.
        state: ``attested``, ``pending``, ``refused``; ``none`` for the plain pin.
        text: why, in one sentence.
        applied: how many patches are in it.
        lost: ids whose effect the last good start had and this one lacks.
    """

    build: str | None
    state: str = "none"
    text: str = ""
    applied: int = 0
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RoleView:
    """What the processes of one role (``api``, ``engine``, ``worker``) were found to run."""

    role: str
    processes: tuple[str, ...]
    wanted: int
    live: int
    not_loaded: int


@dataclass(frozen=True, slots=True)
class PatchView:
    """One patch in one life.

    Attributes:
        verdict: what became of it at the start.
        text: what was found then.
        role: what the configuration says that it is for.
        standing: whether its code was found alive: ``attested``, ``not_loaded``, ``unattestable``, ``refused``,
            ``unknown``; "" where it is not in the build.
        use: ``engaged``, ``skipped``, ``never``, ``unasked``, ``no_proof``; "" where it is not in the build.
        hits: times that its code was reached.
        skips: times that it stood aside, by reason.
        blind: what it changed and nobody can look at.
    """

    id: str
    verdict: str
    text: str = ""
    role: str = "unknown"
    standing: str = ""
    use: str = ""
    hits: int = 0
    skips: Mapping[str, int] = field(default_factory=dict)
    blind: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PatchesView:
    """All that is known of a worker's patches."""

    worker: str
    build: BuildView
    roles: tuple[RoleView, ...] = ()
    findings: tuple[str, ...] = ()
    patches: tuple[PatchView, ...] = ()
    warnings: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkerView:
    """One worker. ``since_wall`` is seconds since the epoch; ``since`` and ``ready_since`` are monotonic."""

    name: str
    phase: Phase
    wanted: bool
    incarnation: int
    reason: Reason
    since: float
    since_wall: float
    url: str | None = None
    pin: str | None = None
    pid: int | None = None
    ready_since: float | None = None
    restarts: RestartsView = RestartsView(0, 5, 600.0)
    front: FrontStats | None = None
    probes: tuple[ProbeView, ...] = ()
    last_exit: ExitRecord | None = None
    adopted: bool = False
    shim_pid: int | None = None
    build: BuildView | None = None


@dataclass(frozen=True, slots=True)
class DaemonView:
    """The daemon itself; ``started`` is monotonic. ``config_ok`` is False after a refused reload."""

    version: str
    pid: int
    started: float
    config_path: str
    config_ok: bool = True
    store_ok: bool = True


@dataclass(frozen=True, slots=True)
class StatusView:
    """Everything that ``genesisctl status`` shows."""

    daemon: DaemonView
    workers: tuple[WorkerView, ...]

    @property
    def healthy(self) -> bool:
        """Every wanted worker is ready and the store can be written."""
        return self.daemon.store_ok and all(w.phase is Phase.READY for w in self.workers if w.wanted)


@dataclass(frozen=True, slots=True)
class ReloadView:
    """What a reload touched, by worker name; ``restarted`` is the part of ``changed`` that had to restart."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    restarted: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConfigFault:
    """One fault of a configuration, with its place where that is known (lines count from 1)."""

    message: str
    file: str | None = None
    line: int | None = None
    field: str | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class ConfigCheckView:
    """The result of looking at a configuration without using it."""

    path: str
    workers: tuple[str, ...] = ()
    faults: tuple[ConfigFault, ...] = ()

    @property
    def ok(self) -> bool:
        """Nothing was found."""
        return not self.faults


@dataclass(frozen=True, slots=True)
class PinView:
    """A pin of the pins file and whether its environment is built; ``built_at`` is seconds since the epoch."""

    id: str
    package: str
    version: str
    commit: str | None = None
    slots: tuple[str, ...] = ()
    built: bool = False
    path: str | None = None
    built_at: float | None = None


@dataclass(frozen=True, slots=True)
class VersionView:
    """Version of the daemon and of the Python that runs it."""

    version: str
    python: str


@dataclass(frozen=True, slots=True)
class EventView:
    """Something that happened. ``seq`` grows by one an event within one life of the daemon; ``at`` is wall time."""

    seq: int
    at: float
    kind: str
    worker: str | None = None
    fields: Mapping[str, object] = field(default_factory=dict)


class ViewMemo:
    """Keeps the last view of each worker and hands it out again while what it was made from is the same."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[tuple[object, ...], WorkerView]] = {}

    def view(self, name: str, inputs: tuple[object, ...], build: Callable[[], WorkerView]) -> WorkerView:
        """The view of ``name``; ``build`` runs only when an object of ``inputs`` is another one than last time."""
        held = self._held.get(name)
        if held is not None and len(held[0]) == len(inputs) and all(map(is_, held[0], inputs)):
            return held[1]
        view = build()
        self._held[name] = (inputs, view)
        return view

    def forget(self, name: str) -> None:
        """Drop a worker that left the configuration."""
        self._held.pop(name, None)
