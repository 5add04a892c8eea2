"""Bisections: which patch makes a worker answer wrong, found on scratch workers while the worker itself is kept back.

What each run showed is kept in the store, so that the next daemon goes on where this one was. What is found at fault
goes into quarantine before the judge hears of it: the gate opens only for a start without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from genesisd.bisect.model import Ask, Constraints, Finding, Guilty, PinFails, Result
from genesisd.bisect.search import search
from genesisd.bisect.words import sentence
from genesisd.judge.model import Bisected
from genesisd.patches.model import Patch
from genesisd.patches.spec import Role
from genesisd.probes.ports import Target
from genesisd.probes.spec import CorrectnessSpec
from genesisd.store.meta import Meta
from genesisd.supervisor.model import Reason
from genesisd.supervisor.ports import EventSink
from genesisd.supervisor.spec import WorkerSpec, probes_of
from genesisd.wiring.bisection_case import Case, case_of
from genesisd.wiring.gates import Gate
from genesisd.wiring.notes import Notes
from genesisd.wiring.quarantine import Quarantine
from genesisd.wiring.scratch import ScratchError
from genesisd.wiring.trial_asks import Finding as Answered

KEY = "bisect/"
_MISSED = {Role.LOAD_BEARING: 100, Role.DEFENSIVE: 10, Role.UNKNOWN: 10}
"""How much a patch is missed by its role; the others carry nothing."""

Run = Callable[
    [str, str, Collection[str], str, Callable[[Target], Awaitable[tuple[Answered, str]]]],
    Awaitable[tuple[Answered, str]],
]
AskKinds = Callable[[Target, Sequence[Any]], Awaitable[tuple[Answered, str]]]


class Bisections:
    """At most one a worker, and one run at a time on the box: a scratch worker needs what its original had."""

    def __init__(
        self,
        specs: Callable[[], Mapping[str, WorkerSpec]],
        catalog: Callable[[], Sequence[Patch]],
        run: Run,
        ask: AskKinds,
        quarantine: Quarantine,
        meta: Meta,
        sink: EventSink,
        monotonic: Callable[[], float],
        ended: Callable[[str, Bisected], None],
    ) -> None:
        self._specs = specs
        self._catalog = catalog
        self._run = run
        self._ask = ask
        self._quarantine = quarantine
        self._notes = Notes(meta)
        self._sink = sink
        self._monotonic = monotonic
        self._ended = ended
        self._cases: dict[str, Case] = {}
        self._over: dict[str, Bisected] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._given_up: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()

    async def load(self, worker: str) -> None:
        """Remember one that an earlier daemon had under way."""
        case = case_of(await self._notes.get(KEY + worker))
        if case is not None and case.ended is not None:
            self._over[worker] = case.ended
        elif case is not None:
            self._cases[worker] = case

    def resume(self, worker: str) -> bool:
        """Go on with what was loaded; False where there is nothing to go on with.

        One that had ended is told again: a judge that knows it already does not listen.
        """
        if (ended := self._over.pop(worker, None)) is not None:
            self._ended(worker, replace(ended, at=self._monotonic()))
            return True
        if worker not in self._cases:
            return False
        self._start(worker)
        return True

    def begin(self, worker: str, case: Case) -> None:
        """Begin a new one."""
        self._cases[worker] = case
        self._start(worker)

    def busy(self, worker: str) -> bool:
        """Whether one is under way."""
        return worker in self._cases

    def pointless(self, worker: str) -> bool:
        """Whether one is under way for kinds of which none is asked any more."""
        case = self._cases.get(worker)
        return case is not None and not self._questions(worker, case)

    def forget(self, worker: str, because: str = "an operator took over") -> None:
        """An operator starts the worker, it left, or nothing is asked any more: the search is over."""
        self._over.pop(worker, None)
        if self._cases.pop(worker, None) is not None:
            if (task := self._tasks.pop(worker, None)) is not None:
                task.cancel()
                self._given_up.add(task)  # its scratch worker has still to go
                task.add_done_callback(self._given_up.discard)
            self._sink.emit("bisection_ended", worker, guilty=[], text=f"given up: {because}")
            self._notes.put(KEY + worker, None)

    def gate(self) -> Gate:
        """Shut while the worker's patches are searched."""

        async def check(worker: str) -> Reason | None:
            case = self._cases.get(worker)
            if case is None:
                return None
            text = f"looking for the patch that is to blame on a scratch worker, run {len(case.known) + 1}: {case.text}"
            return Reason("bisecting", text)

        return check

    async def close(self) -> None:
        """Stop; the next daemon goes on."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *self._given_up, return_exceptions=True)
        await self._notes.close()

    def _start(self, worker: str) -> None:
        task = asyncio.create_task(self._search(worker), name=f"bisect {worker}")
        self._tasks[worker] = task
        task.add_done_callback(lambda done: self._tasks.pop(worker, None) if self._tasks.get(worker) is done else None)

    async def _search(self, worker: str) -> None:
        try:
            finding = await self._find(worker)
        except Exception as error:  # noqa: BLE001 - a search that ends without a word would keep the worker back for ever
            text = f"the search failed: {str(error) or type(error).__name__}"
            await self._end(worker, Bisected(self._monotonic(), (), pin_fails=False, text=text))
            return
        runs = len(self._cases[worker].known)
        guilty = tuple(sorted(finding.patches)) if isinstance(finding, Guilty) else ()
        text = sentence(finding, runs)
        await self._end(worker, Bisected(self._monotonic(), guilty, isinstance(finding, PinFails), text))

    async def _find(self, worker: str) -> Finding:
        await self._keep(worker, self._cases[worker])
        while True:
            case = self._cases[worker]
            spec = self._specs()[worker]
            weights = {name: _MISSED.get(entry.role, 1) for name, entry in spec.patches.attribution.items()}
            rules = constraints(case.patches, self._catalog())
            found = search(case.patches, rules, case.known, spec.probes.judge.bisect_runs, weights)
            if not isinstance(found, Ask):
                return found
            async with self._turn:
                result, text = await self._try(worker, case, found.patches)
            self._cases[worker] = replace(case, known={**case.known, found.patches: result})
            await self._keep(worker, self._cases[worker])
            names = sorted(found.patches)
            self._sink.emit("bisection_step", worker, patches=names, result=str(result), text=text)

    async def _try(self, worker: str, case: Case, patches: frozenset[str]) -> tuple[Result, str]:
        asked = self._questions(worker, case)
        text = f"an experiment of {worker} that looks for the patch to blame"
        try:
            without = {*case.patches, *case.absent} - patches
            found, said = await self._run(worker, case.pin, without, text, lambda target: self._ask(target, asked))
        except ScratchError as error:
            return Result.BROKEN, error.message
        return {Answered.PASSES: Result.PASSES, Answered.FAILS: Result.FAILS}.get(found, Result.BROKEN), said

    def _questions(self, worker: str, case: Case) -> list[CorrectnessSpec]:
        return [one for one in probes_of(self._specs()[worker]).correctness or () if one.kind in case.kinds]

    async def _end(self, worker: str, event: Bisected) -> None:
        case = self._cases[worker]
        if event.guilty:
            self._quarantine.put_patches(worker, case.pin, event.guilty, event.text)
        self._sink.emit("bisection_ended", worker, guilty=list(event.guilty), text=event.text)
        # The order keeps a daemon that dies between two of these from starting the worker with what was found guilty.
        await self._quarantine.settled()
        await self._keep(worker, replace(case, ended=event))
        del self._cases[worker]
        self._ended(worker, event)

    async def _keep(self, worker: str, case: Case | None) -> None:
        await self._notes.set(KEY + worker, None if case is None else case.to_json())


def constraints(names: Sequence[str], catalog: Sequence[Patch]) -> Constraints:
    """What the patches of a build need of each other."""
    chosen = [patch for patch in catalog if patch.id in names]
    return Constraints(
        requires={patch.id: frozenset(patch.requires) for patch in chosen},
        after={patch.id: frozenset(patch.bases()) for patch in chosen},
        conflicts=tuple(frozenset({patch.id, other}) for patch in chosen for other in patch.conflicts),
    )
