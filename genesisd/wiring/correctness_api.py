"""The control API's part about correctness, by the daemon: probes, goldens, incidents, quarantine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from genesisd.clock import Clock
from genesisd.control.correctness_views import (
    GoldenView,
    HappeningView,
    IncidentView,
    ProbeRunView,
    ProbeStandingView,
    QuarantinedView,
    ReplayView,
    WhyView,
)
from genesisd.control.ports import Peer
from genesisd.errors import ConflictError, NotFoundError
from genesisd.incidents.model import Incident
from genesisd.probes.model import Outcome, unknown
from genesisd.store.store import Store
from genesisd.supervisor.ports import EventSink
from genesisd.supervisor.supervisor import Supervisor
from genesisd.wiring.correctness import Correctness
from genesisd.wiring.quarantine import CARD, PATCH, Quarantined
from genesisd.wiring.standings import standings
from genesisd.wiring.telling import told_why


class CorrectnessApi:
    """Implements the methods of ``control.ports.Api`` that are about correctness."""

    def __init__(
        self, supervisor: Supervisor, correctness: Correctness, store: Store, sink: EventSink, clock: Clock
    ) -> None:
        self._supervisor = supervisor
        self._correctness = correctness
        self._store = store
        self._sink = sink
        self._clock = clock

    # --- probes -----------------------------------------------------------------------------------------------

    def probes(self, worker: str | None) -> Sequence[ProbeStandingView]:
        """Every probe of one worker, or of all. Raises NotFoundError."""
        names = tuple(self._supervisor.specs) if worker is None else (worker,)
        if worker is not None:
            self._supervisor.actor(worker)
        return [one for name in names for one in self._probes_of(name)]

    def _probes_of(self, worker: str) -> Sequence[ProbeStandingView]:
        prober = self._correctness.prober
        spec = self._supervisor.specs[worker]
        return standings(worker, spec, prober.views(worker), prober.standings(worker), self._clock.monotonic())

    async def run_probe(self, worker: str, kind: str, peer: Peer) -> ProbeRunView:
        """Ask a probe now; its answer counts. Raises NotFoundError, ConflictError."""
        self._supervisor.actor(worker)
        self._sink.emit("order", worker, verb="probe", peer=str(peer), kind=kind)
        life, outcome = await self._correctness.prober.run_now(worker, kind)
        return _run_view(worker, kind, outcome, self._clock.wall(), life.incarnation)

    async def probe_history(self, worker: str, kind: str | None, limit: int) -> Sequence[ProbeRunView]:
        """The newest asks of correctness probes, newest first."""
        self._supervisor.actor(worker)
        runs = await self._store.history.query(worker, kind, limit=limit)
        return [
            ProbeRunView(
                worker, one.kind, one.verdict, one.summary, one.at, one.incarnation, one.stage, one.seconds, one.tokens,
                one.evidence,
            )
            for one in runs
        ]  # fmt: skip

    async def record_golden(self, worker: str, peer: Peer, *, explain: Mapping[str, str], dry_run: bool) -> GoldenView:
        """Record what the worker answers as right. Raises NotFoundError, ConflictError."""
        self._supervisor.actor(worker)
        self._sink.emit("order", worker, verb="record-golden", peer=str(peer), dry_run=dry_run)
        return await self._correctness.recording.record(worker, explain, dry_run=dry_run)

    # --- incidents --------------------------------------------------------------------------------------------

    async def incidents(self, worker: str | None, limit: int, *, open_only: bool) -> Sequence[IncidentView]:
        """Newest first, without their happenings."""
        found = await self._store.incidents.list(worker, limit=limit, open_only=open_only)
        return [_incident_view(one, whole=False) for one in found]

    async def incident(self, id_: int) -> IncidentView:
        """One, whole. Raises NotFoundError."""
        return _incident_view(await self._incident(id_), whole=True)

    async def _incident(self, id_: int) -> Incident:
        found = await self._store.incidents.get(id_)
        if found is None:
            raise NotFoundError(f"there is no incident {id_}", hint="genesisctl incidents list", incident=id_)
        return found

    async def why(self, worker: str) -> WhyView:
        """Why the worker is as it is. Raises NotFoundError."""
        state = self._supervisor.actor(worker).state
        incident = self._correctness.recorder.open_of(worker)
        if incident is None:
            newest = await self._store.incidents.list(worker, limit=1)
            incident = newest[0] if newest else None
        return told_why(worker, state, self._supervisor.specs[worker], incident, self._correctness, self._clock)

    async def replay(self, id_: int, worker: str, peer: Peer) -> Sequence[ReplayView]:
        """Ask a worker what was asked in an incident; what it says now counts for nothing.

        Raises NotFoundError, and ConflictError where nothing of it can be asked.
        """
        incident = await self._incident(id_)
        self._supervisor.actor(worker)
        if not incident.recorded:
            text = f"incident {id_} ({incident.title}) has no asks of probes in it"
            raise ConflictError(text, hint="only what a probe asked can be asked again", incident=id_)
        self._sink.emit("order", worker, verb="replay", peer=str(peer), incident=id_)
        newest = {one.kind: one for one in incident.recorded}
        found, refusals = [], []
        for kind, then in newest.items():
            try:
                now = await self._correctness.ask_once(worker, kind)
            except ConflictError as refusal:  # taken out of the configuration since, or the worker has just died
                refusals.append(refusal)
                now = unknown(f"could not ask: {refusal.message}")
            verdict = now.verdict.value
            found.append(
                ReplayView(id_, worker, kind, then.verdict, verdict, then.summary, now.summary, then.verdict == verdict)
            )
        if len(refusals) == len(newest):
            raise refusals[0]
        return found

    # --- quarantine -------------------------------------------------------------------------------------------

    async def quarantine(self) -> Sequence[QuarantinedView]:
        """Patches that are left out, and cards that are not used."""
        return [_quarantined_view(one) for one in self._correctness.quarantine.all()]

    async def release(self, what: str, name: str, worker: str | None, peer: Peer) -> Sequence[QuarantinedView]:
        """Let a patch or a card be used again. Raises NotFoundError, ConflictError."""
        if what not in {PATCH, CARD}:
            raise ConflictError(f"{what!r} cannot be in quarantine", hint=f"expected {PATCH} or {CARD}")
        self._sink.emit("order", worker, verb="release", peer=str(peer), what=what, name=name)
        self._correctness.quarantine.release(what, name, worker)
        return await self.quarantine()


def _run_view(worker: str, kind: str, outcome: Outcome, at: float, incarnation: int) -> ProbeRunView:
    exchanges: tuple[Mapping[str, Any], ...] = tuple(asdict(one) for one in outcome.exchanges)
    return ProbeRunView(
        worker, kind, outcome.verdict.value, outcome.summary, at, incarnation,
        seconds=outcome.seconds, tokens=outcome.tokens, evidence=outcome.evidence, exchanges=exchanges,
    )  # fmt: skip


def _incident_view(one: Incident, *, whole: bool) -> IncidentView:
    happenings = tuple(HappeningView(two.at, two.what, two.text, two.fields) for two in one.happenings)
    return IncidentView(
        one.id, one.worker, one.incarnation, one.opened, one.closed, one.cause, one.title, one.text, one.build,
        one.probes, one.evidence, happenings if whole else (),
        tuple(asdict(two) for two in one.recorded) if whole else (),
    )  # fmt: skip


def _quarantined_view(one: Quarantined) -> QuarantinedView:
    return QuarantinedView(one.what, one.name, one.worker or None, one.text, one.at, one.incident)
