"""Patched builds for workers: chosen before each spawn, made where they are missing, remembered with the life."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from genesisd.errors import GenesisError, UnavailableError
from genesisd.patches.catalog import catalog
from genesisd.pins.build_manifest import Build
from genesisd.pins.builds import find_build
from genesisd.pins.layout import Cache
from genesisd.store.meta import Meta
from genesisd.supervisor.model import Reason
from genesisd.supervisor.ports import CardLedger, EventSink
from genesisd.supervisor.spec import WorkerSpec
from genesisd.telemetry.metrics import Metrics
from genesisd.wiring.builders import Builders, Command, Told
from genesisd.wiring.choice import Choice, verdicts
from genesisd.wiring.engines import PinEngines
from genesisd.wiring.gates import Gate
from genesisd.wiring.holds import Holds
from genesisd.wiring.knowledge import Knowledge
from genesisd.wiring.notes import Notes
from genesisd.wiring.overrides import NoOverrides, Overrides
from genesisd.wiring.selection import key_of, lacking, select, unpatchable
from genesisd.wiring.starts import PatchNote, Start, from_json, in_build, lost, summary

RUNNING = "patches/running/"
GOOD = "patches/good/"


class Patched:
    """Chooses, has built, and remembers.

    Args:
        specs: the workers.
        engines: where pins are.
        meta: what outlives the daemon.
        sink: whom to tell.
        demo: finds the project's own models.
        cards: what is known of the cards.
        metrics: the gauges.
        overrides: what counts beside the configuration.
    """

    def __init__(
        self,
        specs: Callable[[], Mapping[str, WorkerSpec]],
        engines: PinEngines,
        meta: Meta,
        sink: EventSink,
        demo: Callable[[str], Path | None],
        cards: CardLedger,
        metrics: Metrics,
        overrides: Overrides | None = None,
    ) -> None:
        self._overrides = overrides or NoOverrides()
        self._specs = specs
        self._engines = engines
        self._notes = Notes(meta)
        self._sink = sink
        self._knowledge = Knowledge(demo, engines.cache, cards)
        self._metrics = metrics
        self.builders = Builders(Told("build_step", "build_made", "build_failed", "build"), sink)
        self._holds = Holds()
        self._next: dict[str, Start] = {}
        self._running: dict[str, Start] = {}
        self._builds: dict[str, Build] = {}
        self._good: dict[str, int] = {}

    @property
    def cache(self) -> Path:
        """Where builds are."""
        return self._engines.cache

    # --- before a spawn ---------------------------------------------------------------------------------------

    def gate(self) -> Gate:
        """Open once the worker may start as far as its patches go and its build is there; after the pins' gate."""

        async def check(worker: str) -> Reason | None:
            spec = self._specs()[worker]
            if spec.pin is not None:
                return await self._check(worker, spec, spec.pin)
            text = unpatchable(spec, catalog())
            return None if text is None else Reason("patches-refused", text)

        return check

    async def choose(self, worker: str) -> Choice | None:
        """What it would be started with now; None for a worker with a command of its own."""
        spec = self._specs()[worker]
        return None if spec.pin is None else await self._choose(worker, spec, spec.pin)

    async def prepare(self, worker: str, incarnation: int) -> Choice | None:
        """The same, with its build, and taken note of: ``incarnation`` begins with it. Raises UnavailableError.

        The build is held until the incarnation is spawned, so that nobody removes it between the two; one that is
        never spawned lets go at the next ``prepare``, ``forget`` or ``close``.

        The note is kept before the spawn: a daemon that dies right after it would leave a life to the next one of
        which nothing is known, and that would be believed unseen.
        """
        self._next.pop(worker, None)
        self._holds.release(worker)
        choice = await self.choose(worker)
        if choice is None:
            await self._notes.set(RUNNING + worker, None)
            return None
        if choice.key is not None and (choice.build is None or not self._hold(worker, choice.build)):
            raise UnavailableError(f"the build {choice.key} of {worker} is gone", hint="it is made again")
        notes = verdicts(choice)
        good = from_json(await self._notes.get(GOOD + worker))
        name = choice.build.name if choice.build else None
        model = self._specs()[worker].model
        start = Start(name, notes, lost(good, notes), choice.selection.warnings, incarnation, choice.pin, model)
        await self._notes.set(RUNNING + worker, start.to_json())
        self._next[worker] = start
        return choice

    def _hold(self, worker: str, build: Build) -> bool:
        return self._holds.take(worker, self._engines.cache, build.name)

    async def _check(self, worker: str, spec: WorkerSpec, pin: str) -> Reason | None:
        try:
            choice = await self._choose(worker, spec, pin)
        except GenesisError as error:
            return Reason("patches-refused", f"{error.message}; {error.hint}" if error.hint else error.message)
        if choice.back is not None:
            return None  # it ran before, whatever is configured now
        if choice.selection.faults:
            return Reason("patches-refused", "; ".join(choice.selection.faults))
        if choice.key is not None and choice.build is None:
            return self._built(pin, choice)
        return None if self._overrides.lenient(worker) else self._lacking(spec, pin, choice)

    def _lacking(self, spec: WorkerSpec, pin: str, choice: Choice) -> Reason | None:
        """What the worker may not start without, now that it is known what is there."""
        version = self._engines.pin(pin).version
        texts = lacking(spec, version, choice.known, catalog(), choice.selection, verdicts(choice))
        return Reason("patches-refused", "; ".join(texts)) if texts else None

    def _built(self, pin: str, choice: Choice) -> Reason:
        """The build is not there: it is being made, or could not be."""
        name = f"{pin}+{choice.key}"
        if not self.builders.is_building(name):
            if (failed := self.builders.recent_failure(name)) is not None:
                return Reason("build-failed", f"build {name} could not be made: {failed}")
            job = {
                "pins": str(self._engines.pins_file),
                "pin": pin,
                "cache": str(self._engines.cache),
                "key": choice.key,
                "patches": choice.selection.patches,
            }
            argv = [sys.executable, "-P", "-m", "genesisd.wiring.assemble"]
            self.builders.begin(name, Command(argv, json.dumps(job).encode()))
        return Reason("build-making", f"build {name} is being made: {self.builders.progress(name)}")

    async def _choose(self, worker: str, spec: WorkerSpec, pin: str) -> Choice:
        back = self._overrides.back(worker, spec)
        pin = pin if back is None or back.pin is None else back.pin
        known = await self._knowledge.of(spec)
        environment = await asyncio.to_thread(self._engines.environment, pin)
        quarantined = self._overrides.quarantined(worker, pin)
        selection = select(spec, self._engines.pin(pin).version, known, catalog(), quarantined)
        key = key_of(selection, catalog(), environment.identity)
        if back is not None and not quarantined.keys() & in_build(back):
            kept = await self._there(back.build)
            if back.build is None or kept is not None:
                key = None if kept is None else kept.name.rpartition("+")[2]
                return Choice(selection, key, kept, known, pin, back)
        if key is None:
            return Choice(selection, None, None, known, pin)
        return Choice(selection, key, await self._there(f"{environment.name}+{key}"), known, pin)

    async def _there(self, name: str | None) -> Build | None:
        """The build of this name, if it is there now."""
        if name is None:
            return None
        environment, _, key = name.rpartition("+")
        found = await asyncio.to_thread(find_build, self._engines.cache, environment, key)
        if found is not None:
            self._builds[found.name] = found
        return found

    # --- a life -----------------------------------------------------------------------------------------------

    async def load(self, workers: Iterable[str]) -> None:
        """Remember what an earlier daemon started, before its lives are adopted."""
        for worker in workers:
            kept = from_json(await self._notes.get(RUNNING + worker))
            if kept is not None:
                self._running[worker] = kept

    def spawned(self, worker: str, incarnation: int) -> None:
        """An incarnation runs with what was prepared."""
        self._holds.release(worker)
        start = self._next.pop(worker, None)
        if start is None:
            self._running.pop(worker, None)
            self._metrics.patches(worker, {}, ())
            return
        self._running[worker] = start
        self._metrics.patches(worker, {name: note.verdict for name, note in start.patches.items()}, start.lost)
        self._sink.emit("patches_summary", worker, incarnation=incarnation, **summary(start))
        if start.lost:
            self._sink.emit("patches_lost", worker, incarnation=incarnation, lost=list(start.lost))

    def ready(self, worker: str, incarnation: int) -> None:
        """It is proven: what it runs is what later starts are compared with, unless something was lost already."""
        start = self.running(worker, incarnation)
        if start is not None and not start.lost and self._good.get(worker) != incarnation:
            self._good[worker] = incarnation
            self._notes.put(GOOD + worker, start.to_json())

    def adopted(self, worker: str, incarnation: int) -> None:
        """A life that an earlier daemon started goes on: its verdicts are shown again."""
        if (start := self.running(worker, incarnation)) is not None:
            self._metrics.patches(worker, {name: note.verdict for name, note in start.patches.items()}, start.lost)

    def recover(self, worker: str, incarnation: int, name: str) -> Start:
        """Take a life of which nothing is known for one that was started with the build ``name``, and remember that."""
        build = self.build(name)
        planned = {} if build is None else build.manifest.notes["patches"]
        notes = {patch: PatchNote(note["verdict"], note["text"]) for patch, note in planned.items()}
        warning = "the store knew nothing of this start: its build is the one that its processes report for"
        start = self._running[worker] = Start(name, notes, (), (warning,), incarnation)
        self._notes.put(RUNNING + worker, start.to_json())
        self.adopted(worker, incarnation)
        return start

    def forget(self, worker: str) -> None:
        """It left the configuration; one that comes back under its name is another worker."""
        self._holds.release(worker)
        for kept in (self._running, self._good, self._next):
            kept.pop(worker, None)
        self._notes.put(RUNNING + worker, None)
        self._notes.put(GOOD + worker, None)

    def running(self, worker: str, incarnation: int) -> Start | None:
        """What this incarnation was started with; None for a plain command, or where nothing is known."""
        start = self._running.get(worker)
        return start if start is not None and start.incarnation == incarnation else None

    def can_go_back(self, worker: str, start: Start) -> bool:
        """Whether it could be started so again: the build is there, and nothing in it was found at fault since."""
        if start.build is None:
            return True
        guilty = self._overrides.quarantined(worker, start.pin or "").keys() & in_build(start)
        return not guilty and Cache(self.cache).build_manifest(start.build).exists()

    def build(self, name: str) -> Build | None:
        """A build by its name; reads its manifest once."""
        if name not in self._builds:
            environment, _, key = name.rpartition("+")
            found = find_build(self._engines.cache, environment, key)
            if found is None:
                return None
            self._builds[name] = found
        return self._builds[name]

    async def close(self) -> None:
        """End the builds, let go of what is held, and wait for what is being written."""
        self._holds.close()
        await self.builders.close()
        await self._notes.close()
