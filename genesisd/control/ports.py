"""What the control socket needs from the daemon. ``wiring.api`` implements it, the server only translates."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from genesisd.control.correctness_views import (
    GoldenView,
    IncidentView,
    ProbeRunView,
    ProbeStandingView,
    QuarantinedView,
    ReplayView,
    WhyView,
)
from genesisd.control.views import (
    ConfigCheckView,
    EventView,
    PatchesView,
    PinView,
    ReloadView,
    StatusView,
    VersionView,
    WorkerView,
)
from genesisd.errors import GenesisError
from genesisd.supervisor.model import Phase


class WaitTimeoutError(GenesisError):
    """The awaited phase did not come in time; the message says where the worker is and why."""

    code = "timeout"


@dataclass(frozen=True, slots=True)
class Peer:
    """Who asks, as the kernel says; goes into the journal beside the order."""

    pid: int
    uid: int
    gid: int

    def __str__(self) -> str:
        return f"uid {self.uid} (pid {self.pid})"


class Api(Protocol):
    """The daemon, as seen by its operators. Refusals are raised as GenesisError subclasses.

    The plain methods are asked often and must answer from memory. The verbs are idempotent: an order that is
    already fulfilled is accepted. They return once the order is *decided*, so that the view they return, and any
    view taken later, shows its effect: a restart of a ready worker never returns a view that says ``ready``.
    Every name that does not exist raises NotFoundError.
    """

    def status(self) -> StatusView:
        """The daemon and all its workers, in the order of the configuration."""
        ...

    def workers(self) -> Sequence[WorkerView]:
        """All workers, in the order of the configuration."""
        ...

    def worker(self, name: str) -> WorkerView:
        """One worker."""
        ...

    async def start(self, name: str, peer: Peer) -> WorkerView:
        """Want the worker up."""
        ...

    async def stop(self, name: str, peer: Peer, *, drain: bool = True) -> WorkerView:
        """Want it down, for good. Without ``drain`` requests in flight are cut off."""
        ...

    async def restart(self, name: str, peer: Peer, *, drain: bool = True) -> WorkerView:
        """Stop and start again, without spending the restart budget."""
        ...

    async def drain(self, name: str, peer: Peer) -> WorkerView:
        """Take no new request, finish what is in flight, then stay down."""
        ...

    async def reset(self, name: str, peer: Peer) -> WorkerView:
        """Forget its failures; a wanted worker starts again."""
        ...

    async def wait_for(self, name: str, phases: Collection[Phase], timeout: float) -> WorkerView:  # noqa: ASYNC109 - the wire carries the deadline
        """Return once the worker is in one of ``phases``; raises WaitTimeoutError after ``timeout`` seconds."""
        ...

    def logs(self, name: str, lines: int, *, follow: bool) -> AsyncIterator[str]:
        """The last ``lines`` log lines without their line ends, and then each new one while ``follow``.

        The server calls ``aclose`` when the reader is gone, if the iterator has it. What a slow reader has not
        fetched yet must be bounded by the implementation.
        """
        ...

    def events(self, since: float | None, *, follow: bool, worker: str | None) -> AsyncIterator[EventView]:
        """Events from wall time ``since`` on (None: no past events when following, else all that are kept)."""
        ...

    async def patches(self, name: str) -> PatchesView:
        """What the worker's processes were found to run, looked at now. Raises NotFoundError."""
        ...

    def probes(self, worker: str | None) -> Sequence[ProbeStandingView]:
        """Every probe of one worker, or of all."""
        ...

    async def run_probe(self, worker: str, kind: str, peer: Peer) -> ProbeRunView:
        """Ask a probe of the correctness stage now, whatever its period; its answer counts. ConflictError if down."""
        ...

    async def probe_history(self, worker: str, kind: str | None, limit: int) -> Sequence[ProbeRunView]:
        """The newest asks of correctness probes, newest first."""
        ...

    async def record_golden(self, worker: str, peer: Peer, *, explain: Mapping[str, str], dry_run: bool) -> GoldenView:
        """Record what the worker answers as right. ``explain`` names the patch for each case that the plain pin answers otherwise.

        ConflictError where the worker is not attested, a probe of it is not good, or a difference is not explained.
        """
        ...

    async def incidents(self, worker: str | None, limit: int, *, open_only: bool) -> Sequence[IncidentView]:
        """Newest first, without their happenings."""
        ...

    async def incident(self, id_: int) -> IncidentView:
        """One, whole. Raises NotFoundError."""
        ...

    async def why(self, worker: str) -> WhyView:
        """One plain paragraph: what happened, the evidence, what was done, what one can do."""
        ...

    async def replay(self, id_: int, worker: str, peer: Peer) -> Sequence[ReplayView]:
        """Ask a worker what was asked in an incident."""
        ...

    async def quarantine(self) -> Sequence[QuarantinedView]:
        """Patches that are left out, and cards that are not used."""
        ...

    async def release(self, what: str, name: str, worker: str | None, peer: Peer) -> Sequence[QuarantinedView]:
        """Let a patch or a card be used again; returns what is left. Raises NotFoundError."""
        ...

    async def pins(self) -> Sequence[PinView]:
        """The pins file, and what is built."""
        ...

    async def reload(self, peer: Peer) -> ReloadView:
        """Read the configuration again and touch only what changed; raises ConfigError and changes nothing."""
        ...

    async def check_config(self, path: str | None) -> ConfigCheckView:
        """Look at a configuration (None: the daemon's own file) without using it."""
        ...

    def version(self) -> VersionView:
        """Who answers."""
        ...

    async def shutdown(self, peer: Peer, *, drain: bool) -> None:
        """Begin to end the daemon and return. With ``drain`` the workers are stopped, else they live on."""
        ...
