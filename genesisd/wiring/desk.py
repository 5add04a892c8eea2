"""The judge at work: hears what probes say of living workers, decides, keeps what was decided, and has it done.

One task takes events in the order in which they came, for all workers: they are few, and a decision must be on disk
before its orders are given, so that a daemon that dies between the two does not take the same step again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol, assert_never

from genesisd.clock import Clock
from genesisd.identity import boot_id
from genesisd.judge import codec
from genesisd.judge.model import (
    BecameReady,
    Bisect,
    Bisected,
    Cured,
    Event,
    Forgiven,
    Hold,
    JudgePolicy,
    JudgeState,
    Means,
    Order,
    Restart,
    RollBack,
    Step,
    Tell,
    Ticked,
    TurnedBad,
    TurnedGood,
)
from genesisd.judge.policy import decide, next_at
from genesisd.probes.spec import CorrectnessProbe
from genesisd.store.meta import Meta
from genesisd.supervisor.model import Condemned, LivenessFailed, Reason
from genesisd.supervisor.model import Event as WorkerEvent
from genesisd.supervisor.ports import EventSink
from genesisd.supervisor.spec import WorkerSpec, probes_of
from genesisd.wiring.notes import Notes

KEY = "judge/"
WRONG = "wrong-output"
"""Code of the reason for which a worker is ended that answers wrong."""
RETRY_SECONDS = 5.0
"""Pause after an order that could not be carried out."""


class Acts(Protocol):
    """What the judge can have done beside a restart."""

    def means(self, worker: str) -> Means:
        """What could be done now."""
        ...

    def roll_back(self, worker: str) -> str:
        """Let the next life run the last proven build; returns its name for people."""
        ...

    def bisect(self, worker: str, kinds: tuple[str, ...], text: str) -> None:
        """Keep the next life back until the guilty patch is found; the end comes back as ``bisected``."""
        ...

    def post(self, worker: str, event: WorkerEvent) -> None:
        """Tell the worker's actor; nothing for one that has left."""
        ...


class JudgeDesk:
    """One judge's state a worker."""

    def __init__(
        self,
        specs: Callable[[], Mapping[str, WorkerSpec]],
        acts: Acts,
        meta: Meta,
        sink: EventSink,
        clock: Clock,
        shown: Callable[[str, Step | None], None],
    ) -> None:
        self._specs = specs
        self._acts = acts
        self._notes = Notes(meta)
        self._sink = sink
        self._clock = clock
        self._shown = shown
        self._states: dict[str, JudgeState] = {}
        self._mail: asyncio.Queue[tuple[str, Event | None]] = asyncio.Queue()
        """None as an event: what is kept of the worker goes."""
        self._task: asyncio.Task[None] | None = None

    # --- life -------------------------------------------------------------------------------------------------

    async def load(self, worker: str) -> None:
        """Remember where an earlier daemon was with this worker."""
        with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError):  # another version's words
            kept = await self._notes.get(KEY + worker)
            if kept is not None:
                state = codec.from_json(kept["state"])
                self._states[worker] = state if kept["boot"] == boot_id() else self._rebased(state, kept)
                self._shown(worker, self._states[worker].step)

    def _rebased(self, state: JudgeState, kept: Mapping[str, float]) -> JudgeState:
        elapsed = max(0.0, self._clock.wall() - kept["wall"])
        now = self._clock.monotonic()
        return codec.rebase(state, lambda at: now - elapsed - max(0.0, kept["mono"] - at))

    def start(self) -> None:
        """Begin to decide; needs a running loop."""
        self._task = asyncio.create_task(self._run(), name="judge")

    async def close(self) -> None:
        """Decide nothing more; what was decided is kept."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def forget(self, worker: str) -> None:
        """It left the configuration."""
        if self._states.pop(worker, None) is not None:
            self._shown(worker, None)
        self._mail.put_nowait((worker, None))  # in any case: what waits to be heard would bring it back

    # --- what happens -----------------------------------------------------------------------------------------

    def state(self, worker: str) -> JudgeState:
        """Where the judge is with this worker."""
        return self._states.get(worker, JudgeState())

    def fresh(self, worker: str) -> bool:
        """Whether there is nothing that a person who begins anew could take back."""
        state = self.state(worker)
        return state == JudgeState(state.incarnation, state.ready_at)

    def bisecting(self) -> list[str]:
        """Workers whose bisection was under way when the state was kept."""
        return [worker for worker, state in self._states.items() if state.bisecting]

    def ready(self, worker: str, incarnation: int) -> None:
        """A life takes traffic."""
        self._hear(worker, BecameReady(self._clock.monotonic(), incarnation))

    def weighed(self, worker: str, incarnation: int, kind: str, text: str, *, good: bool) -> None:
        """A correctness probe said yes or no, and stands so."""
        at = self._clock.monotonic()
        if good:
            self._hear(worker, TurnedGood(at, incarnation, kind))
        elif (limit := self._limit(worker, kind)) is not None:
            self._hear(worker, TurnedBad(at, incarnation, kind, limit, text))

    def withdrawn(self, worker: str, incarnation: int, kind: str) -> None:
        """Nothing is there any more that the answers were held against: what it said of this life counts no longer.

        A complaint of an earlier life stays: the step that was taken for it has still to be seen to help.
        """
        known = self.state(worker).complaints.get(kind)
        if known is not None and known.incarnation == incarnation:
            self._hear(worker, TurnedGood(self._clock.monotonic(), incarnation, kind))

    def bisected(self, worker: str, event: Bisected) -> None:
        """A bisection ended."""
        self._hear(worker, event)

    def lost(self, worker: str) -> None:
        """A bisection was under way, and nothing of it is known any more."""
        text = "the search for the patch to blame was lost with an earlier daemon"
        self._hear(worker, Bisected(self._clock.monotonic(), (), pin_fails=False, text=text))

    def forgiven(self, worker: str) -> None:
        """A person begins anew."""
        self._hear(worker, Forgiven(self._clock.monotonic()))

    def look(self, worker: str) -> None:
        """Something that decisions depend on was changed: probes that were taken out withdraw nothing themselves."""
        self._hear(worker, Ticked(self._clock.monotonic()))

    def _hear(self, worker: str, event: Event) -> None:
        self._mail.put_nowait((worker, event))

    def _limit(self, worker: str, kind: str) -> Step | None:
        spec = self._specs().get(worker)
        found = next((one for one in probes_of(spec).correctness or () if one.kind == kind), None) if spec else None
        return Step(str(found.action)) if isinstance(found, CorrectnessProbe) else None

    # --- deciding ---------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        while True:
            worker, event = await self._next()
            try:
                await self._take(worker, event)
            except Exception as error:  # noqa: BLE001 - a judge that dies of a bug judges nobody any more
                text = str(error) or type(error).__name__
                self._sink.emit("effect_failed", worker, effect="judge", text=text, hint=None)
                await asyncio.sleep(RETRY_SECONDS)

    async def _next(self) -> tuple[str, Event | None]:
        due = self._due()
        if due is None or not self._mail.empty():
            return await self._mail.get()
        worker, at = due
        try:
            async with asyncio.timeout(max(0.0, at - self._clock.monotonic())):
                return await self._mail.get()
        except TimeoutError:
            return worker, Ticked(self._clock.monotonic())

    def _due(self) -> tuple[str, float] | None:
        """The worker whose time comes first."""
        times = [(at, worker) for worker, state in self._states.items() if (at := self._at(worker, state)) is not None]
        return min(times)[::-1] if times else None

    def _at(self, worker: str, state: JudgeState) -> float | None:
        policy = self._policy(worker)
        return None if policy is None else next_at(state, policy)

    def _policy(self, worker: str) -> JudgePolicy | None:
        """None for a worker that is not judged."""
        spec = self._specs().get(worker)
        if spec is None or not spec.probes.judge.enabled:
            return None
        numbers = spec.probes.judge
        return JudgePolicy(numbers.settle, numbers.good_for, numbers.budget, numbers.window)

    async def _take(self, worker: str, event: Event | None) -> None:
        policy = self._policy(worker)
        if event is None:
            self._states.pop(worker, None)
            await self._keep(worker, None)
        # One that is not judged is forgiven all the same: else a search that it was in would keep it from being judged
        # for ever once it is judged again.
        if event is None or (policy is None and not isinstance(event, Forgiven)) or worker not in self._specs():
            return
        after, orders = decide(self._asked(worker), event, policy or JudgePolicy(), self._acts.means(worker))
        if after != self.state(worker):
            self._states[worker] = after
            await self._keep(worker, after)
            self._shown(worker, after.step)
        for order in orders:
            self._carry_out(worker, order)

    def _asked(self, worker: str) -> JudgeState:
        """Its state less complaints of kinds that are not asked any more: nobody could withdraw those."""
        state = self.state(worker)
        limits = {kind: self._limit(worker, kind) for kind in state.complaints}
        left = {kind: replace(one, limit=limit) for kind, one in state.complaints.items() if (limit := limits[kind])}
        return state if left == state.complaints else replace(state, complaints=left)

    async def _keep(self, worker: str, state: JudgeState | None) -> None:
        kept = None
        if state is not None:
            moment = {"boot": boot_id(), "mono": self._clock.monotonic(), "wall": self._clock.wall()}
            kept = {"state": codec.to_json(state), **moment}
        await self._notes.set(KEY + worker, kept)

    def _carry_out(self, worker: str, order: Order) -> None:
        at = self._clock.monotonic()
        match order:
            case Tell(step, kinds, text):
                self._sink.emit("judge_told", worker, step=str(step), kinds=list(kinds), text=text)
            case Restart(incarnation, text):
                self._sink.emit("judge_restart", worker, incarnation=incarnation, text=text)
                self._acts.post(worker, LivenessFailed(at, incarnation, Reason(WRONG, text)))
            case RollBack(incarnation, text):
                build = self._acts.roll_back(worker)
                self._sink.emit("judge_rollback", worker, incarnation=incarnation, text=text, build=build)
                self._acts.post(worker, LivenessFailed(at, incarnation, Reason(WRONG, text)))
            case Bisect(incarnation, kinds, text):
                self._acts.bisect(worker, kinds, text)
                self._sink.emit("judge_bisect", worker, incarnation=incarnation, kinds=list(kinds), text=text)
                self._acts.post(worker, LivenessFailed(at, incarnation, Reason(WRONG, text)))
            case Hold(incarnation, text):
                self._sink.emit("judge_hold", worker, incarnation=incarnation, text=text)
                self._acts.post(worker, Condemned(at, incarnation, Reason(WRONG, text)))
            case Cured(step, text):
                self._sink.emit("judge_cured", worker, step=str(step), text=text)
            case _:
                assert_never(order)
