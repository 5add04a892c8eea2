"""What supervision needs from outside, as protocols. ``wiring.parts`` builds the real ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from genesisd.errors import GenesisError
from genesisd.process_ref import ProcessRef
from genesisd.supervisor.model import Event, ExitRecord, Reason, WorkerState


class SpawnError(GenesisError):
    """A spawn that could not be done.

    Attributes:
        cause: class of the failure (``exec-failed``, ``shim``, ``scratch``, ...), as in ``ExitRecord``.
        permanent: trying again cannot help until somebody changes something.
    """

    code = "spawn"

    def __init__(
        self, message: str, *, cause: str, permanent: bool = False, hint: str | None = None, **fields: object
    ) -> None:
        super().__init__(message, hint=hint, **fields)
        self.cause = cause
        self.permanent = permanent


@dataclass(frozen=True, slots=True)
class Launch:
    """One incarnation to spawn. ``port`` is the engine's own TCP port."""

    worker: str
    incarnation: int
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path | None
    host: str
    port: int
    scratch: tuple[Path, ...] = ()
    """Folders that are emptied before the spawn and after the sweep (TMPDIR, cache, config, Triton)."""
    log_max_bytes: int = 16 << 20
    log_keep: int = 4


@dataclass(frozen=True, slots=True)
class Life:
    """A living incarnation, as a runner sees it. The leader's pid is the tree's session id."""

    worker: str
    incarnation: int
    leader: ProcessRef
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Found:
    """What a runner finds of a worker when a new daemon looks.

    Attributes:
        life: the live incarnation, or None.
        shim_alive: whether its shim answers.
        incarnation: newest incarnation that the shim (or an exit record on disk) knows of; 0 if none.
        last_exit: how that incarnation ended, where it has.
    """

    life: Life | None
    shim_alive: bool
    incarnation: int
    last_exit: ExitRecord | None


Report = Callable[[Event], None]
"""Where a port posts what happened; never blocks."""


class Runner(Protocol):
    """Starts, signals and adopts the process trees of workers."""

    async def adopt(self, worker: str, report: Report) -> Found:
        """Attach to whatever is left of the worker. Raises nothing for 'nothing there'."""
        ...

    async def spawn(self, launch: Launch, report: Report) -> Life:
        """Spawn; Exited and Swept are reported later. Raises ``SpawnError`` when exec is impossible."""
        ...

    async def terminate(self, worker: str, incarnation: int) -> None:
        """SIGTERM to the leader, if it is still the right process."""
        ...

    async def kill(self, worker: str, incarnation: int) -> None:
        """SIGKILL to the whole tree, with or without a living shim; ends in Exited and Swept."""
        ...

    def life(self, worker: str) -> Life | None:
        """The live incarnation, without asking anyone."""
        ...

    def members(self, worker: str, max_age: float = 0.0) -> Sequence[int]:
        """Pids of the live tree, by a look at /proc that is at most ``max_age`` seconds old."""
        ...

    async def tail(self, worker: str, lines: int) -> list[str]:
        """The last log lines, from the shim's memory or from the file."""
        ...

    def log_path(self, worker: str) -> Path:
        """Where the current log file is."""
        ...

    async def release(self, worker: str) -> None:
        """The worker is gone from the configuration and stopped: end its shim."""
        ...

    async def close(self) -> None:
        """Let go of everything; processes live on."""
        ...


@dataclass(frozen=True, slots=True)
class FrontStats:
    """What the front counted.

    Attributes:
        open: client connections.
        in_flight: requests begun and not completely answered.
        unanswered: requests of which no byte of the answer has come.
        held: requests waiting for a worker.
        answered: requests completed since the front began.
        oldest_unanswered: seconds that the oldest unanswered request has waited, or 0.0.
    """

    open: int = 0
    in_flight: int = 0
    unanswered: int = 0
    held: int = 0
    answered: int = 0
    refused: int = 0
    oldest_unanswered: float = 0.0


class Front(Protocol):
    """The stable address of one worker."""

    async def open(self, worker: str, host: str, port: int, incarnation: int) -> None: ...
    async def hold(self, worker: str) -> None: ...
    async def close(self, worker: str, text: str) -> None: ...
    async def stats(self, worker: str) -> FrontStats | None:
        """None: there is no front, or it did not answer."""
        ...


class Prober(Protocol):
    """Asks; posts StartupPassed, ReadinessPassed/Failed, LivenessFailed, Progressed."""

    def begin(self, life: Life, report: Report, *, proven: bool) -> None: ...
    def end(self, worker: str) -> None: ...
    def renew(self, worker: str, *, proven: bool) -> None:
        """The spec's probes changed: ask the living incarnation by the new ones. Nothing where none is asked."""
        ...


class Gates(Protocol):
    """Whether a spawn may happen now."""

    async def check(self, worker: str) -> Reason | None:
        """None when all are open, else the first shut one."""
        ...


class InFlight(Protocol):
    """How much a worker has still to answer."""

    async def count(self, worker: str, incarnation: int) -> int:
        """Requests in flight by the front's or the engine's own count; 0 where neither can be had."""
        ...


class Launcher(Protocol):
    """Turns a spec into an argv, an environment and scratch folders."""

    async def prepare(self, worker: str, incarnation: int) -> Launch:
        """Raises GenesisError when it cannot be built (unknown pin, no free port)."""
        ...


class WorkerStore(Protocol):
    """Persists the state of workers: intent before the act, outcome after."""

    def load(self) -> dict[str, WorkerState]: ...
    async def save(self, worker: str, state: WorkerState) -> None: ...
    async def forget(self, worker: str) -> None: ...


class EventSink(Protocol):
    """Where domain events go: journal, metrics, log and the control socket's stream."""

    def emit(self, kind: str, worker: str | None = None, /, **fields: Any) -> None: ...


class Evidence(Protocol):
    """Keeps what shows a fault before it is destroyed."""

    async def save(self, worker: str, incarnation: int, reason: Reason) -> None: ...


class CardLedger(Protocol):
    """Who holds how much memory on a card (NVML behind it; a ledger file in tests)."""

    async def cards(self) -> Mapping[int, Card]:
        """Raises UnavailableError when NVML cannot answer."""
        ...


@dataclass(frozen=True, slots=True)
class Card:
    """One GPU. Bytes; ``holders`` maps pid to bytes (0 where the driver will not say).

    ``sm`` is its compute capability without the dot (86), or None where the driver does not tell.
    """

    index: int
    total: int
    free: int
    holders: Mapping[int, int]
    sm: int | None = None


Sleep = Callable[[float], Awaitable[None]]
