"""The part of the fake daemon that speaks of correctness."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

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

WALL = 1_800_000_000.0
WRONG = "case capital, streamed: got 'Lyon', expected 'Paris'"

STANDINGS = (
    ProbeStandingView("tiny", "liveness", "progress", "good", "success", "3 tokens came", 0.5, 0.5, 1.0, 1.0, 900),
    ProbeStandingView(
        "tiny", "correctness", "golden", "bad", "failure", WRONG, 12.0, 12.0, 2.0, 60.0, 2, "quarantine", 4210
    ),
    ProbeStandingView(
        "tiny",
        "correctness",
        "acceptance",
        "skipped",
        "skipped",
        "speculation is off",
        30.0,
        None,
        30.0,
        60.0,
        0,
        "alert",
    ),
    ProbeStandingView("tiny", "correctness", "needle", "undecided", "", "", None, None, None, 3600.0, 0, "alert"),
)
EXCHANGE = MappingProxyType({"path": "/v1/chat/completions", "request": {"seed": 0}, "status": 200, "text": "Lyon"})
RUN = ProbeRunView(
    "tiny", "golden", "failure", WRONG, WALL - 12.0, 3, seconds=0.75, tokens=42, evidence={"case": "capital"},
    exchanges=(EXCHANGE,),
)  # fmt: skip
INCIDENT = IncidentView(
    7, "tiny", 3, WALL - 600.0, None, "wrong-output", "golden is bad", WRONG, "cpu-0123456789ab+fedcba987654",
    ("golden",), "/var/lib/genesisd/evidence/tiny/7",
    (
        HappeningView(WALL - 600.0, "probe", f"golden is bad: {WRONG}", {"kind": "golden"}),
        HappeningView(WALL - 590.0, "restart", "restarted, since a probe is bad", MappingProxyType({"incarnation": 4})),
    ),
    (MappingProxyType({"kind": "golden", "verdict": "failure", "summary": WRONG}),),
)  # fmt: skip
CLOSED = replace(
    INCIDENT, id=6, closed=WALL - 900.0, cause="host-oom", title="killed for memory", happenings=(), recorded=()
)
QUARANTINED = (
    QuarantinedView("patch", "P61c", "tiny", "golden is good without it and bad with it", WALL - 300.0, 7),
    QuarantinedView("card", "1", None, "Xid 79: the card has fallen off the bus", WALL - 3600.0, None),
)


class FakeCorrectness:
    """``orders`` records what was ordered; ``delay`` makes the long ones long; ``cancelled`` counts those cut short."""

    orders: list[tuple[str, ...]]
    delay: float

    def __init__(self) -> None:
        self.standings: tuple[ProbeStandingView, ...] = STANDINGS
        self.run = RUN
        self.found: dict[int, IncidentView] = {one.id: one for one in (INCIDENT, CLOSED)}
        self.held: tuple[QuarantinedView, ...] = QUARANTINED
        self.same = False
        self.begun = self.cancelled = 0
        self.asked: list[tuple[object, ...]] = []

    def worker(self, name: str) -> object:
        raise NotImplementedError

    async def _take_long(self) -> None:
        self.begun += 1
        try:
            await asyncio.sleep(self.delay)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    def probes(self, worker: str | None) -> Sequence[ProbeStandingView]:
        if worker is not None:
            self.worker(worker)
        return tuple(one for one in self.standings if worker in (None, one.worker))

    async def run_probe(self, worker: str, kind: str, peer: Peer) -> ProbeRunView:
        self.worker(worker)
        if kind not in {one.kind for one in self.standings if one.stage == "correctness"}:
            raise NotFoundError(f"worker {worker!r} has no correctness probe {kind!r}", worker=worker, kind=kind)
        await self._take_long()
        self.orders.append(("probe", worker, kind))
        return replace(self.run, worker=worker, kind=kind)

    async def probe_history(self, worker: str, kind: str | None, limit: int) -> Sequence[ProbeRunView]:
        self.worker(worker)
        self.asked.append((worker, kind, limit))
        past = replace(self.run, exchanges=())
        return tuple(one for one in (past, replace(past, verdict="success", summary="as recorded"))[:limit])

    async def record_golden(self, worker: str, peer: Peer, *, explain: Mapping[str, str], dry_run: bool) -> GoldenView:
        self.worker(worker)
        await self._take_long()
        if "capital" not in explain:
            raise ConflictError(
                "case capital: the plain pin answers otherwise", hint="--explain capital=PATCH", worker=worker
            )
        self.orders.append(("golden-dry" if dry_run else "golden", worker))
        recorded = 0.0 if dry_run else WALL
        return GoldenView(
            worker, "tiny", "cpu-0.32.0", "b", "/var/lib/genesisd/goldens/b.json", 4, "plain", dict(explain), recorded
        )

    async def incidents(self, worker: str | None, limit: int, *, open_only: bool) -> Sequence[IncidentView]:
        self.asked.append((worker, limit, open_only))
        wanted = [one for one in self.found.values() if not open_only or one.closed is None]
        return tuple(replace(one, happenings=(), recorded=()) for one in wanted[:limit])

    async def incident(self, id_: int) -> IncidentView:
        if id_ not in self.found:
            raise NotFoundError(f"there is no incident {id_}", incident=id_)
        return self.found[id_]

    async def why(self, worker: str) -> WhyView:
        self.worker(worker)
        return WhyView(worker, f"{worker} answers wrong since 10 minutes: {WRONG}.", 7)

    async def replay(self, id_: int, worker: str, peer: Peer) -> Sequence[ReplayView]:
        await self.incident(id_)
        self.worker(worker)
        await self._take_long()
        self.orders.append(("replay", str(id_), worker))
        now, text = ("failure", WRONG) if self.same else ("success", "as recorded")
        return (ReplayView(id_, worker, "golden", "failure", now, WRONG, text, self.same),)

    async def quarantine(self) -> Sequence[QuarantinedView]:
        return self.held

    async def release(self, what: str, name: str, worker: str | None, peer: Peer) -> Sequence[QuarantinedView]:
        left = tuple(one for one in self.held if (one.what, one.name, one.worker) != (what, name, worker))
        if left == self.held:
            raise NotFoundError(f"{what} {name} is not quarantined", what=what, name=name)
        await asyncio.sleep(self.delay)
        self.orders.append(("release", what, name))
        self.held = left
        return left
