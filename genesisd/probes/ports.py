"""What probes need to know about a life, and whom they tell."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from genesisd.probes.casebook import Casebook
from genesisd.probes.golden import Golden
from genesisd.probes.model import Exchange, Outcome, Stage, skipped


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
class Abilities:
    """What a worker was started with, as far as probes need it; None where that is not known.

    Attributes:
        tool_parser: name, "" where tool calls are not parsed.
        reasoning_parser: name, "" where thoughts are not parsed.
        speculative: method, "" without speculation.
        prefix_caching: whether prefixes are cached.
        max_model_len: tokens of context.
    """

    tool_parser: str | None = None
    reasoning_parser: str | None = None
    speculative: str | None = None
    prefix_caching: bool | None = None
    max_model_len: int | None = None


@dataclass(slots=True)
class Seen:
    """Answers that probes of one life saw lately, for the probe that looks at all of them; the oldest go."""

    exchanges: deque[Exchange] = field(default_factory=lambda: deque(maxlen=200))
    count: int = 0
    """How many there ever were."""
    used: set[str] = field(default_factory=set)
    """Features that were asked for and answered in this life."""
    first_uses: int = 0
    """Questions in flight that are the first of their sort: the engine may stand still for a minute to compile."""

    def add(self, exchange: Exchange) -> None:
        """Remember one."""
        self.exchanges.append(exchange)
        self.count += 1

    @contextmanager
    def using(self, feature: str | None) -> Iterator[None]:
        """Around a question that asks for ``feature`` (None: for nothing that has to be compiled)."""
        first = feature is not None and feature not in self.used
        self.first_uses += first
        try:
            yield
        finally:
            self.first_uses -= first


class KnownRight(Protocol):
    """Which cases a worker has answered right before."""

    def counts(self, kind: str, case: str) -> bool:
        """Whether a wrong answer to the case speaks against the worker."""
        ...

    def right(self, kind: str, case: str) -> None:
        """It was answered right."""
        ...


class Vouched:
    """Implements ``KnownRight`` for a casebook whose author knows the model: every case counts."""

    def counts(self, kind: str, case: str) -> bool:  # noqa: ARG002 - the port's signature
        """It does."""
        return True

    def right(self, kind: str, case: str) -> None:
        """As expected."""


async def no_card_memory() -> int | None:
    """For a worker without cards."""
    return None


async def nothing_engages() -> Outcome:
    """For a worker without a build."""
    return skipped("it runs the plain pin, which has no patches to be reached")


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
        abilities: what it was started with.
        casebook: what it is asked.
        known: which cases the worker has answered right before.
        golden: what was recorded of the build that it runs, looked up at each ask; None where nothing is.
        seen: where every probe leaves the answers that it got.
        card_memory: bytes that the life holds on its cards, or None.
        engagement: what patches tell of their use.
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
    abilities: Abilities = Abilities()
    casebook: Casebook = field(default_factory=Casebook)
    known: KnownRight = field(default_factory=Vouched)
    golden: Callable[[], Golden | None] = lambda: None
    seen: Seen = field(default_factory=Seen)
    card_memory: Callable[[], Awaitable[int | None]] = no_card_memory
    engagement: Callable[[], Awaitable[Outcome]] = nothing_engages

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

    def weighed(self, kind: str, outcome: Outcome, *, good: bool) -> None:
        """Each conclusive answer of a correctness probe, with the standing that it leaves the probe at."""
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
