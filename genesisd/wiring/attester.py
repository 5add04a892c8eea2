"""What the processes of living workers run: reports and process table against the build, for probes and for people."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from genesisd.attest.engagement import Engagement, Use, engagements
from genesisd.attest.expected import Expectation, read_expectation
from genesisd.attest.folder import Shelf, read_folder
from genesisd.attest.judge import judge
from genesisd.attest.model import Attestation, Cause, Finding, Process, State
from genesisd.attest.roles import wanted_roles
from genesisd.control.views import BuildView
from genesisd.errors import GenesisError
from genesisd.identity import read_proc, stat_fields
from genesisd.patches.spec import Role
from genesisd.pins.build_manifest import Build
from genesisd.pins.build_verify import BuildFault, verify_build
from genesisd.probes.model import Outcome, Verdict, skipped, success
from genesisd.supervisor.ports import EventSink, Life, Runner
from genesisd.supervisor.spec import WorkerSpec
from genesisd.telemetry.metrics import Metrics
from genesisd.wiring.engaged import ENGAGED_AFTER, engaged
from genesisd.wiring.fronts import FrontAdapter
from genesisd.wiring.patched import Patched
from genesisd.wiring.starts import KEPT, Start

_NONE = "none"
_VERDICTS = {State.ATTESTED: Verdict.SUCCESS, State.PENDING: Verdict.UNKNOWN, State.REFUSED: Verdict.FAILURE}


@dataclass(frozen=True, slots=True)
class Look:
    """One look at one life.

    Attributes:
        start: what it was started with; None where nothing is known.
        attestation: None for the plain pin.
        uses: of the patches in the build.
        faults: what lies in the reports' folder and is none.
    """

    start: Start | None
    attestation: Attestation | None = None
    uses: tuple[Engagement, ...] = ()
    faults: tuple[str, ...] = ()


class Attestations:
    """Looks, remembers what was seen, and tells of changes.

    Args:
        specs: the workers.
        patched: what each life was started with.
        runner: whose trees these are.
        fronts: where requests are counted.
        folder: of a worker's reports.
        sink: whom to tell.
        metrics: the gauges.
    """

    def __init__(
        self,
        specs: Callable[[], Mapping[str, WorkerSpec]],
        patched: Patched,
        runner: Runner,
        fronts: FrontAdapter,
        folder: Callable[[str], Path],
        sink: EventSink,
        metrics: Metrics,
    ) -> None:
        self._specs = specs
        self._patched = patched
        self._runner = runner
        self._fronts = fronts
        self._folder = folder
        self._sink = sink
        self._metrics = metrics
        self._expected: dict[str, Expectation] = {}
        self._answered: dict[tuple[str, int], int] = {}
        self._shown: dict[str, tuple[int, BuildView]] = {}
        self._damage: dict[str, tuple[int, asyncio.Task[tuple[BuildFault, ...]]]] = {}
        self._overdue: dict[str, int] = {}

    def attester(self, life: Life) -> LifeAttester | None:
        """For the probes of a life; None where nothing is known of what it was started with."""
        start = self._patched.running(life.worker, life.incarnation) or self._recovered(life)
        return None if start is None else LifeAttester(self, life, needed=start.build is not None)

    def _recovered(self, life: Life) -> Start | None:
        """For an adopted life of which the store knows nothing: the build that its own processes report for.

        Without it they would be believed unseen. Reads a few small files, once.
        """
        if self._specs()[life.worker].pin is None:
            return None
        try:
            shelf, processes = _see(self._folder(life.worker), self._runner.members(life.worker))
        except OSError:
            return None
        living = {(one.pid, one.start_ticks) for one in processes}
        named = sorted({one.build for one in shelf.reports if (one.pid, one.start_ticks) in living})
        return self._patched.recover(life.worker, life.incarnation, named[0]) if named else None

    def begin(self, worker: str, incarnation: int) -> None:
        """A life begins: from now on its requests count."""
        self.forget(worker)
        stats = self._fronts.latest.get(worker)
        self._answered[worker, incarnation] = 0 if stats is None else stats.answered
        self.adopted(worker, incarnation)

    def adopted(self, worker: str, incarnation: int) -> None:
        """A life that an earlier daemon began: until it is looked at, metrics say what status does."""
        start = self._patched.running(worker, incarnation)
        state = _NONE if start is None or start.build is None else str(State.PENDING)
        self._metrics.attestation(worker, state, {}, {})

    def forget(self, worker: str) -> None:
        """Nothing that was seen of its lives counts any more: one that comes back counts them from one again."""
        for kept in (self._shown, self._damage, self._overdue):
            kept.pop(worker, None)
        self._answered = {key: count for key, count in self._answered.items() if key[0] != worker}

    def shown(self, worker: str, incarnation: int) -> BuildView | None:
        """What was last seen, in short; the same object while nothing changed."""
        start = self._patched.running(worker, incarnation)
        if start is None:
            return None
        kept = self._shown.get(worker)
        if kept is None or kept[0] != incarnation:
            state = _NONE if start.build is None else str(State.PENDING)
            text = "the plain pin" if start.build is None else "not looked at yet"
            kept = self._shown[worker] = (incarnation, _short(start, state, text))
        return kept[1]

    async def look(self, life: Life, *, overdue: bool | None = None) -> Look:
        """Look now. Raises GenesisError when the build's manifest is gone or says nothing, OSError as files do.

        Args:
            life: whose.
            overdue: the time to wait for reports is over; None for as the probes have it, else what they refused would
                be pending again for as long as somebody else looks.
        """
        if overdue is None:
            overdue = self._overdue.get(life.worker) == life.incarnation
        elif overdue:
            self._overdue[life.worker] = life.incarnation
        else:
            self._overdue.pop(life.worker, None)
        start = self._patched.running(life.worker, life.incarnation)
        if start is None or start.build is None:
            return Look(start)
        build = await asyncio.to_thread(self._patched.build, start.build)
        if build is None:
            raise GenesisError(
                f"the manifest of build {start.build} is gone: nothing says what must run",
                hint=f"genesisctl workers restart {life.worker}: its build is made again",
            )
        spec, pids = self._specs()[life.worker], self._runner.members(life.worker)
        shelf, processes = await asyncio.to_thread(_see, self._folder(life.worker), pids)
        leader, wanted = life.leader.pid, wanted_roles(spec.args)
        found = judge(self._expectation(build), shelf.reports, processes, wanted, leader, overdue=overdue)
        found = with_files(found, await self._files(life, build))
        return Look(start, found, self._uses(life, build, shelf), shelf.faults)

    async def _files(self, life: Life, build: Build) -> tuple[BuildFault, ...]:
        """What is wrong with the build's files; looked for once a life, since that reads some megabytes.

        A probe that gives up waiting leaves it going on: on a slow disk none would ever come to the end otherwise.
        """
        kept = self._damage.get(life.worker)
        if kept is None or kept[0] != life.incarnation:
            looking = asyncio.create_task(asyncio.to_thread(verify_build, build, self._patched.cache))
            kept = self._damage[life.worker] = (life.incarnation, looking)
        try:
            return await asyncio.shield(kept[1])
        except OSError:
            self._damage.pop(life.worker, None)  # the next look tries again
            raise

    def note(self, life: Life, look: Look) -> None:
        """Remember and tell what a look came to."""
        if look.start is None or look.attestation is None:
            return
        state = str(look.attestation.state)
        self._tell(life, look.start, state, look.attestation.summary)
        hits = {one.patch: one.hits for one in look.uses if one.use is not Use.NO_PROOF}
        self._metrics.attestation(life.worker, state, hits, self._idle(life.worker, look.uses))

    def failed(self, life: Life, error: Exception) -> None:
        """A look could not be had: nobody can say any more what the life runs, and nobody shall be told otherwise."""
        start = self._patched.running(life.worker, life.incarnation)
        if start is not None and start.build is not None:
            text = f"could not be looked at: {error}"
            self._tell(life, start, str(State.PENDING), text)
            self._metrics.attestation(life.worker, str(State.PENDING), {}, {})

    def _tell(self, life: Life, start: Start, state: str, text: str) -> None:
        before = self._shown.get(life.worker)
        view = _short(start, state, text)
        if before is None or before != (life.incarnation, view):
            self._shown[life.worker] = (life.incarnation, view)
        if before is None or before[0] != life.incarnation or before[1].state != state:
            kind = "attestation_refused" if state == State.REFUSED else "attestation_changed"
            self._sink.emit(kind, life.worker, incarnation=life.incarnation, state=state, text=text)

    async def engagement(self, life: Life) -> Outcome:
        """Whether users' requests reached the patches that carry load and tell of their use."""
        look = await self.look(life)
        if look.start is None or look.start.build is None:
            return skipped("it runs the plain pin, which has no patches to be reached")
        return engaged([one for one in look.uses if self._role(life.worker, one.patch) is Role.LOAD_BEARING])

    def _role(self, worker: str, patch: str) -> Role:
        declared = self._specs()[worker].patches.attribution
        return declared[patch].role if patch in declared else Role.UNKNOWN

    def _idle(self, worker: str, uses: Sequence[Engagement]) -> dict[str, str]:
        """Patches that should have been reached by now, with what they are there for."""
        idle = [one.patch for one in uses if one.use is Use.NEVER and one.requests >= ENGAGED_AFTER]
        return {name: str(self._role(worker, name)) for name in idle}

    def _uses(self, life: Life, build: Build, shelf: Shelf) -> tuple[Engagement, ...]:
        in_build = [name for name, note in build.manifest.notes["patches"].items() if note["verdict"] == "applied"]
        proven = build.manifest.notes.get("proofs", {})
        return engagements(in_build, proven, shelf.reports, self._requests(life))

    def _requests(self, life: Life) -> int:
        """Answered in this life, as far as the front counted; a front that began anew counts from there."""
        stats = self._fronts.latest.get(life.worker)
        if stats is None:
            return 0
        key = life.worker, life.incarnation
        base = self._answered.setdefault(key, stats.answered)
        if stats.answered < base:
            base = self._answered[key] = 0  # for good: a later count above the old base is no smaller one
        return stats.answered - base

    def _expectation(self, build: Build) -> Expectation:
        if build.name not in self._expected:
            root = str(build.path.resolve())
            self._expected[build.name] = read_expectation(build.name, root, build.attest)
        return self._expected[build.name]


def with_files(found: Attestation, faults: Sequence[BuildFault]) -> Attestation:
    """The same, refused for each file that is not as it was built: what runs may be right, and the next start not."""
    if not faults:
        return found
    findings = [Finding(Cause.FILE, None, "", fault.path, f"the build's file {fault}") for fault in faults]
    return replace(found, state=State.REFUSED, findings=(*found.findings, *findings))


class LifeAttester:
    """Implements the probes' ``Attester`` for one life."""

    def __init__(self, attestations: Attestations, life: Life, *, needed: bool) -> None:
        self._attestations = attestations
        self._life = life
        self.needed = needed

    async def attest(self, *, overdue: bool) -> Outcome:
        """Look, tell, answer. The plain pin has nothing to show, which must not keep it from being ready."""
        if not self.needed:
            return success("it runs the plain pin, of which nothing is to be attested")
        try:
            look = await self._attestations.look(self._life, overdue=overdue)
        except (GenesisError, OSError) as error:
            self._attestations.failed(self._life, error)
            raise
        self._attestations.note(self._life, look)
        if look.attestation is None:
            return Outcome(Verdict.UNKNOWN, "nothing is known of what this life was started with")
        found = look.attestation
        evidence = {"findings": [one.text for one in found.findings], "faults": [*found.faults, *look.faults]}
        return Outcome(_VERDICTS[found.state], found.summary, evidence=evidence)


def _see(folder: Path, pids: Sequence[int]) -> tuple[Shelf, tuple[Process, ...]]:
    processes = []
    for pid in pids:
        fields = stat_fields(pid)
        if fields is not None:
            title = read_proc(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()
            processes.append(Process(pid, int(fields[19]), title))
    return read_folder(folder, {one.pid for one in processes}), tuple(processes)


def _short(start: Start, state: str, text: str) -> BuildView:
    applied = sum(note.verdict in KEPT - {"superseded"} for note in start.patches.values())
    return BuildView(start.build, state, text, applied, start.lost)
