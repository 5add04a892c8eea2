"""What probes need to know about a life, and whom they tell."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from genesisd.probes.model import Outcome, Stage


@dataclass(frozen=True, slots=True)
class Traffic:
    """What the front counted for this worker.

    Attributes:
        in_flight: requests begun and not completely answered.
        unanswered: requests of which no byte of the answer has come.
        oldest_unanswered: seconds that the oldest of those has waited; 0.0 if there is none.
        answered: requests completed since the front began.
    """

    in_flight: int
    unanswered: int
    oldest_unanswered: float
    answered: int


class Attester(Protocol):
    """Who can say whether a life runs its build."""

    @property
    def needed(self) -> bool:
        """Whether the life has a build, and so must not be ready before it was asked."""
        ...

    async def attest(self, *, overdue: bool) -> Outcome:
        """Success: it does. Failure: it does not; the text names the function and the process.

        Unknown: reports are still awaited (never when ``overdue``), or they could not be read.
        """
        ...


async def no_traffic() -> Traffic | None:
    """For a worker without a front."""
    return None


@dataclass(frozen=True, slots=True)
class Target:
    """One life to ask.

    Attributes:
        leader: pid of the tree's leader.
        model: the served model's name, or None to ask /v1/models.
        members: pids of the live tree; one look at /proc.
        traffic: the front's count, or None where there is no front or it did not answer.
        log_path: the current log file; growth of it counts as progress of a start.
        attester: None for a worker without a build.
        headers: sent with every request (an API key, say).
    """

    worker: str
    incarnation: int
    leader: int
    host: str
    port: int
    members: Callable[[], Sequence[int]]
    model: str | None = None
    traffic: Callable[[], Awaitable[Traffic | None]] = no_traffic
    log_path: Path | None = None
    attester: Attester | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def base_url(self) -> str:
        """The engine's own address; a wildcard host is asked on loopback."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


class Probe(Protocol):
    """One kind's state for one life."""

    async def ask(self, target: Target, now: float) -> Outcome:
        """Ask once. It runs under the spec's deadline; an exception counts as 'could not ask'."""
        ...

    async def late(self, target: Target, now: float) -> Outcome:
        """What it means that the deadline passed before ``ask`` came back."""
        ...

    async def close(self) -> None:
        """The life is over: let go of everything that is still open."""
        ...


class Listener(Protocol):
    """Whom the loop tells. Called from the event loop; must not block or raise."""

    def result(self, stage: Stage, kind: str, outcome: Outcome) -> None:
        """Each ask, changed or not: for metrics and status."""
        ...

    def startup_passed(self) -> None:
        """Once per life."""
        ...

    def readiness(self, ok: bool, summary: str) -> None:
        """Only on change. Until the first call the life is not ready."""
        ...

    def liveness_failed(self, summary: str, evidence: Mapping[str, object]) -> None:
        """Once per life, after which nothing more is asked."""
        ...

    def progressed(self) -> None:
        """A start that has not passed yet did something: used CPU time, grew, or logged."""
        ...
