"""Opens, follows and closes the incidents of workers by what the daemon's events tell.

It listens to the sink, so that whatever is in the journal is in the incident too. It never waits: the store takes
rows in the background, and evidence is saved beside.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from genesisd.clock import Clock
from genesisd.incidents import causes, record
from genesisd.incidents.asks import FailedAsks
from genesisd.incidents.model import Happening, Incident, Recorded
from genesisd.incidents.reading import Reading, from_event
from genesisd.incidents.redact import Redactor
from genesisd.supervisor.model import Reason
from genesisd.supervisor.ports import EventSink
from genesisd.telemetry.subscription import Told
from genesisd.wiring.timers import Timers

LASTING = 20.0
"""Seconds that a gate must be shut for the fault to count: memory of a card comes back some seconds after a death."""
SETTLED = 120.0
"""Seconds without a fault after which a worker that is ready again is well."""
_OURS = frozenset({"incident_opened", "incident_closed"})


class Table(Protocol):
    """What is needed of ``store.incidents``."""

    def load(self) -> Sequence[Incident]: ...
    def open(self, incident: Incident) -> Incident: ...
    def update(self, incident: Incident) -> None: ...


Save = Callable[[str, int, Reason], Awaitable[None]]
"""Writes a bundle of evidence: ``FolderEvidence.save``."""


class IncidentRecorder:
    """At most one incident of a worker is open.

    Args:
        table: ``store.incidents``.
        sink: where ``incident_opened`` and ``incident_closed`` go.
        clock: wall time of what is noted.
        ready: whether the worker is ready now; asked before an incident is closed for good conduct.
        build: name of the build that the worker runs, or None.
        redact: masks secrets and prompts in each text.
        save: writes evidence where nobody else does (a death, a shut gate, an alarm); None: nothing is written.
    """

    def __init__(
        self,
        table: Table,
        sink: EventSink,
        clock: Clock,
        *,
        ready: Callable[[str], bool],
        build: Callable[[str], str | None] = lambda _: None,
        redact: Redactor | None = None,
        save: Save | None = None,
        lasting: float = LASTING,
        settled: float = SETTLED,
    ) -> None:
        self._table = table
        self._sink = sink
        self._clock = clock
        self._ready = ready
        self._build = build
        self._redact = redact or Redactor()
        self._save = save
        self._settled = settled
        self._open: dict[str, Incident] = {one.worker: one for one in table.load()}
        self._lives: dict[str, int] = {}
        self._asks = FailedAsks(self._redact)
        self._lasts = Timers(lasting)
        self._settles = Timers(settled)
        self._tasks: set[asyncio.Task[None]] = set()

    # --- what is told to it -------------------------------------------------------------------------------------

    def listen(self, told: Told) -> None:
        """A listener of the sink. Never blocks."""
        if told.worker is None or told.kind in _OURS:
            return
        if told.incarnation is not None:
            self._lives[told.worker] = told.incarnation
        if told.kind in {"worker_spawned", "worker_ready", "worker_adopted"}:
            self._lasts.cancel(told.worker)
        if (reading := from_event(told.kind, told.fields, told.at)) is not None:
            self._take(told.worker, reading)

    def asked(self, worker: str, recorded: Sequence[Recorded]) -> None:
        """Asks of a probe that failed: they go into the incident that is open, or the next one."""
        masked = self._asks.add(worker, recorded)
        if (incident := self._open.get(worker)) is not None and incident.probes:
            self._keep(record.with_asks(incident, masked))

    def well(self, worker: str, kind: str) -> None:
        """A probe succeeds again."""
        self._asks.drop(worker, kind)

    def note(
        self,
        worker: str,
        incarnation: int,
        happening: Happening,
        *,
        cause: str | None = None,
        fault: bool = True,
        recorded: Sequence[Recorded] = (),
        probes: Collection[str] = (),
        build: str | None = None,
    ) -> None:
        """Something that is no event: a fault opens an incident where none is open, else it is one more line."""
        self._lives[worker] = incarnation
        if recorded:
            self.asked(worker, recorded)
        self._take(worker, Reading(happening, fault=fault, cause=cause, probes=tuple(probes)), build)

    def cured(self, worker: str, text: str) -> None:
        """The worker is right again; nothing happens where no incident is open."""
        self._take(worker, Reading(Happening(self._clock.wall(), "cured", text), ends=True))

    # --- what is asked of it ------------------------------------------------------------------------------------

    def open_of(self, worker: str) -> Incident | None:
        """The incident that goes on, as it is now."""
        return self._open.get(worker)

    @property
    def open(self) -> Mapping[str, Incident]:
        """Those that go on, by worker."""
        return self._open

    def transcript(self, worker: str) -> tuple[Recorded, ...]:
        """The failed asks of the worker's probes, for a bundle."""
        return self._asks.of(worker)

    async def close(self) -> None:
        """End timers and tasks; incidents stay open for the next daemon."""
        self._lasts.close()
        self._settles.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- how ----------------------------------------------------------------------------------------------------

    def _take(self, worker: str, reading: Reading, build: str | None = None) -> None:
        reading = self._masked(self._named(worker, reading))
        if reading.ends:
            self._end(worker, reading)
        elif worker in self._open:
            self._follow(worker, reading)
        elif reading.fault and reading.lasting:
            self._lasts.set(worker, self._lasted, worker, reading)
        elif reading.fault:
            self._begin(worker, reading, build)

    def _lasted(self, worker: str, reading: Reading) -> None:
        if worker not in self._open:
            self._begin(worker, reading, None)

    def _begin(self, worker: str, reading: Reading, build: str | None) -> None:
        self._lasts.cancel(worker)
        fresh = record.opened(worker, self._lives.get(worker, 0), reading, build or self._build(worker))
        if reading.probes:
            fresh = record.with_asks(fresh, self._asks.of(worker))
        known = self._open[worker] = self._table.open(fresh)
        fields = {"incident": known.id, "cause": known.cause, "title": known.title, "text": known.text}
        self._sink.emit("incident_opened", worker, incarnation=known.incarnation, **fields)
        if reading.happening.what in {"exit", "gate", "alert"}:
            self._save_beside(known)

    def _follow(self, worker: str, reading: Reading) -> None:
        incident = record.followed(self._open[worker], reading)
        if reading.probes:
            incident = record.with_asks(incident, self._asks.of(worker))
        self._keep(incident)
        if reading.fault:
            self._settles.cancel(worker)
        if reading.settles and not record.judged(incident):  # the judge says when they are good
            self._settles.set(worker, self._over, worker)

    def _over(self, worker: str) -> None:
        if worker in self._open and not record.judged(self._open[worker]) and self._ready(worker):
            self.cured(worker, f"ready, and nothing bad happened for {self._settled:g} s")

    def _end(self, worker: str, reading: Reading) -> None:
        self._lasts.cancel(worker)
        self._settles.cancel(worker)
        if (incident := self._open.pop(worker, None)) is None:
            return
        done = record.closed(incident, reading)
        self._table.update(done)
        fields = {"incident": done.id, "cause": done.cause, "text": reading.happening.text}
        self._sink.emit("incident_closed", worker, incarnation=self._lives.get(worker, done.incarnation), **fields)

    def _keep(self, incident: Incident) -> None:
        if incident != self._open.get(incident.worker):
            self._open[incident.worker] = incident
            self._table.update(incident)

    def _save_beside(self, incident: Incident) -> None:
        if self._save is None:
            return
        reason = Reason(incident.cause, incident.text)
        task = asyncio.get_running_loop().create_task(self._saved(self._save, incident, reason))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _saved(self, save: Save, incident: Incident, reason: Reason) -> None:
        try:
            await save(incident.worker, incident.incarnation, reason)
        except Exception as error:  # noqa: BLE001 - whatever stands against evidence, supervision goes on without it
            text = str(error) or type(error).__name__
            self._sink.emit("effect_failed", incident.worker, effect="evidence", text=text, hint=None)

    def _named(self, worker: str, reading: Reading) -> Reading:
        """The judge's orders do not repeat the probes that they are for: those that failed last, then."""
        if not reading.judged or reading.probes:
            return reading
        kinds = tuple(dict.fromkeys(one.kind for one in self._asks.of(worker)))
        return replace(reading, probes=kinds, cause=causes.of_probes(kinds))

    def _masked(self, reading: Reading) -> Reading:
        """A death may quote the last words of a log; what probes say is their own."""
        mask = self._redact.text if reading.happening.what == "exit" else self._redact.secrets
        one = reading.happening
        return replace(reading, happening=replace(one, text=mask(one.text), fields=self._redact.tree(one.fields)))
