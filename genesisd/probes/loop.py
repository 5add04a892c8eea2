"""All probes of one life: startup until it passes, then readiness and liveness side by side, then the rounds."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import aiohttp

from genesisd.clock import Clock, SystemClock
from genesisd.probes import PROBES, by_deadline, vitals
from genesisd.probes.model import Outcome, Stage, Verdict
from genesisd.probes.ports import Listener, Probe, Target
from genesisd.probes.rounds import Rounds
from genesisd.probes.seat import Seat, Standing
from genesisd.probes.spec import ProbeBase, ProbeSpec, ProbesSpec
from genesisd.probes.threshold import Threshold


@dataclass(slots=True)
class Asked:
    """One probe of one life, with its standing."""

    stage: Stage
    spec: ProbeBase
    kind: str
    probe: Probe
    standing: Threshold
    summary: str = ""
    skipped: bool = False

    @property
    def passes(self) -> bool | None:
        """The standing; what the worker lacks does not stand in its way."""
        return True if self.skipped else self.standing.good


@dataclass(slots=True)
class Watch:
    """Asks about one life until it is closed or its liveness has failed.

    ``errors`` counts probes that raised: a fault of ours, told as unknown and never as the worker's failure.
    The caller says in ``spec.correctness`` what is asked in rounds; None is nothing here.
    """

    target: Target
    spec: ProbesSpec
    listener: Listener
    session: aiohttp.ClientSession
    clock: Clock = field(default_factory=SystemClock)
    proven: bool = False
    """The life was ready before (under an earlier daemon): startup is behind it and is not asked again."""
    errors: int = 0
    _task: asyncio.Task[None] | None = None
    _ready: bool | None = None
    _rounds: Rounds = field(init=False)

    def __post_init__(self) -> None:
        seats = [Seat(spec.kind, spec, PROBES[spec.kind](spec, self.session)) for spec in self.spec.correctness or ()]
        cost = self.spec.cost
        self._rounds = Rounds(self.target, seats, self.listener, self.session, self.clock, cost, self._fault)

    def start(self) -> None:
        """Begin asking; needs a running event loop."""
        name = f"probes {self.target.worker}/{self.target.incarnation}"
        self._task = asyncio.create_task(self._run(), name=name)

    async def close(self) -> None:
        """Stop asking and wait until nothing of it is left."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._rounds.end()

    async def run_now(self, kind: str) -> Outcome:
        """Ask a correctness probe next, for an operator; its answer counts. Raises ConflictError."""
        return await self._rounds.run_now(kind)

    def standings(self) -> tuple[Standing, ...]:
        """How each correctness probe stands."""
        return self._rounds.standings()

    async def _run(self) -> None:
        rounds = [asyncio.create_task(self._rounds.run())] if self._rounds.seats else []
        if self.proven:
            self._rounds.begin(spread=True)
        await self._run_all(self._rounds.seats, [*rounds, asyncio.create_task(self._run_stages())])

    async def _run_stages(self) -> None:
        if not self.proven:
            await self._until_started()
            self.listener.startup_passed()
        ready, alive = self._make(Stage.READINESS, self.spec.readiness), self._make(Stage.LIVENESS, self.spec.liveness)
        tasks = [asyncio.create_task(self._repeat(one, ready)) for one in ready]
        tasks += [asyncio.create_task(self._repeat(one, alive)) for one in alive]
        if not ready:
            self._tell_readiness(True, "no readiness probe is configured")
        if not tasks:
            await asyncio.Event().wait()  # the rounds end with the stages, and here nothing can end them but the close
        await self._run_all([*ready, *alive], tasks)

    async def _until_started(self) -> None:
        probes = self._make(Stage.STARTUP, self.spec.startup)
        asking = [asyncio.create_task(self._repeat(one, probes)) for one in probes]
        await self._run_all(probes, [asyncio.create_task(self._follow())] if asking else [], asking)

    async def _follow(self) -> None:
        await vitals.follow(self.target, self.clock, self.listener.progressed, self._fault)

    async def _run_all(
        self, probes: Sequence[Asked | Seat], tasks: list[asyncio.Task[None]], finite: Sequence[asyncio.Task[None]] = ()
    ) -> None:
        """Until a task of ``tasks`` ends or all of ``finite`` have, then end the others and close the probes."""
        every = [*tasks, *finite]
        try:
            await _first_or_all(tasks, finite)
        finally:
            for task in every:
                task.cancel()
            if every:
                await asyncio.wait(every)
            for one in probes:
                await one.probe.close()

    def _make(self, stage: Stage, specs: Sequence[ProbeSpec]) -> list[Asked]:
        return [
            Asked(stage, spec, spec.kind, PROBES[spec.kind](spec, self.session), Threshold.fresh(stage))
            for spec in specs
        ]

    async def _repeat(self, one: Asked, siblings: Sequence[Asked]) -> None:
        """Ask for ever; ends for a startup probe that passed and for a liveness probe that failed."""
        while True:
            outcome = await self._ask(one)
            one.standing = one.standing.after(outcome.verdict, one.spec.failures, one.spec.successes)
            one.summary, one.skipped = outcome.summary, outcome.verdict is Verdict.SKIPPED
            self.listener.result(one.stage, one.kind, outcome)
            if self._settled(one, siblings, outcome):
                return
            await asyncio.sleep(one.spec.period * (1 + one.spec.jitter * random.uniform(-1, 1)))  # noqa: S311 - spreads asks, no secret

    def _settled(self, one: Asked, siblings: Sequence[Asked], outcome: Outcome) -> bool:
        match one.stage:
            case Stage.STARTUP:
                return one.passes is True
            case Stage.READINESS:
                self._weigh_readiness(siblings)
                return False
            case Stage.LIVENESS:
                if one.standing.good is False and outcome.verdict is Verdict.FAILURE:
                    self.listener.liveness_failed(f"{one.kind}: {outcome.summary}", outcome.evidence)
                    return True
                return False
            case Stage.CORRECTNESS:
                return False  # the rounds ask these

    def _weigh_readiness(self, probes: Sequence[Asked]) -> None:
        bad = next((one for one in probes if one.passes is False), None)
        if bad:
            self._tell_readiness(False, f"{bad.kind}: {bad.summary}")
        elif all(one.passes for one in probes):
            self._tell_readiness(True, "; ".join(f"{one.kind}: {one.summary}" for one in probes))

    def _tell_readiness(self, ok: bool, summary: str) -> None:
        if ok is not self._ready:
            self._ready = ok
            if ok:
                self._rounds.begin()
            self.listener.readiness(ok, summary)

    async def _ask(self, one: Asked) -> Outcome:
        return await by_deadline.ask(one.probe, self.target, one.spec.timeout, self.clock, self._fault)

    def _fault(self) -> None:
        self.errors += 1


async def _first_or_all(tasks: Sequence[asyncio.Task[None]], finite: Sequence[asyncio.Task[None]]) -> None:
    left = set(finite)
    while tasks or left:
        done, _ = await asyncio.wait({*tasks, *left}, return_when=asyncio.FIRST_COMPLETED)
        left -= done
        for task in done:
            task.result()
        if done & set(tasks) or (finite and not left):
            return
