"""Recording a golden: only of a worker that is attested and found good, and held against the same pin unpatched."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import aiohttp

from genesisd.attest.model import State
from genesisd.clock import Clock
from genesisd.control.correctness_views import GoldenView
from genesisd.errors import ConflictError, GenesisError, UnavailableError
from genesisd.judge.ladder import reaches
from genesisd.judge.model import Step
from genesisd.probes.asking import NoAnswerError
from genesisd.probes.golden import Golden, compare
from genesisd.probes.golden_json import GoldenError, written
from genesisd.probes.model import Outcome, Verdict
from genesisd.probes.ports import Target
from genesisd.probes.recording import record
from genesisd.supervisor.model import Phase
from genesisd.supervisor.ports import EventSink, Life
from genesisd.supervisor.spec import SCRATCH, WorkerSpec, probes_of
from genesisd.supervisor.supervisor import Supervisor
from genesisd.wiring.attester import Attestations
from genesisd.wiring.goldens import BY_RECORDING, Goldens, Subject, subject_of
from genesisd.wiring.models import model_folder
from genesisd.wiring.patched import Patched
from genesisd.wiring.scratch import Scratch, ScratchError
from genesisd.wiring.starts import Start, absent, in_build


@dataclass(slots=True)
class GoldenService:
    """Records on an operator's word."""

    supervisor: Callable[[], Supervisor]
    life: Callable[[str], Life | None]
    target: Callable[[Life, WorkerSpec], Target]
    run_now: Callable[[str, str], Awaitable[tuple[Life, Outcome]]]
    attestations: Attestations
    patched: Patched
    goldens: Goldens
    scratch: Scratch
    session: aiohttp.ClientSession
    demo: Callable[[str], Path | None]
    hub: Path
    sink: EventSink
    clock: Clock
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _plain: dict[Subject, Golden] = field(default_factory=dict)
    """The plain pin's recordings of this daemon. One is kept only with that of a build that was held against it: alone
    it would be expected of the build too, whose patches would then be blamed for what nobody was asked about yet."""

    async def record(self, worker: str, explain: Mapping[str, str], *, dry_run: bool) -> GoldenView:
        """Record what the worker answers as right; one recording at a time, since each disturbs the other.

        Raises:
            ConflictError: it is not ready, not attested, not found good, does not answer the same twice, or answers
                otherwise than the plain pin in a case for which no patch is named; or its life ended meanwhile.
            NotFoundError: it left meanwhile.
        """
        if worker.startswith(SCRATCH):
            text = f"{worker} is an experiment, perhaps with what is at fault; what it answers is right for nobody"
            raise ConflictError(text, hint="record the worker that it is a twin of", worker=worker)
        async with self._turn:
            return await self._record(worker, explain, dry_run=dry_run)

    async def _record(self, worker: str, explain: Mapping[str, str], *, dry_run: bool) -> GoldenView:
        self.supervisor().actor(worker)  # it may have left while another one was recorded
        spec = self.supervisor().specs[worker]
        life, subject, start = await self._proven_life(worker, spec)
        await self._found_good(worker, spec)
        mine = await self._recorded(self.target(life, spec), spec, subject)
        self._lives_on(worker, life)
        plain = None
        if start is not None and start.build is not None:
            plain = await self._reference(worker, spec, start, subject.plain, mine)
            mine = explained(mine, plain, explain, in_build(start))
            self._lives_on(worker, life)
        path = self.goldens.path(subject)
        if not dry_run:
            try:
                path = await asyncio.to_thread(self._keep, mine, plain)
            except OSError as error:
                hint = f"make room in, or let the daemon write to, {path.parent}"
                raise UnavailableError(f"the recording cannot be kept: {error}", hint=hint, worker=worker) from error
            self._plain.pop(subject.plain, None)  # the file counts from here on: who deletes it does not believe it
            self.sink.emit("golden_recorded", worker, incarnation=life.incarnation, build=mine.build, path=str(path))
        return GoldenView(
            worker, mine.model, mine.pin, mine.build, str(path), len(mine.replies), mine.reference, mine.differs,
            mine.recorded,
        )  # fmt: skip

    def _lives_on(self, worker: str, life: Life) -> None:
        """What answered was this life, and nobody found fault with it meanwhile. Raises ConflictError.

        The next life may have its port, and another build.
        """
        actor = self.supervisor().actors.get(worker)
        if actor is None or actor.state.incarnation != life.incarnation or actor.state.phase is not Phase.READY:
            found = "it left" if actor is None else f"it is {actor.state.phase} in life {actor.state.incarnation}"
            text = f"worker {worker} did not stay as it was while it was recorded in life {life.incarnation}: {found}"
            raise ConflictError(text, hint="record again once it is ready", worker=worker)

    async def _proven_life(self, worker: str, spec: WorkerSpec) -> tuple[Life, Subject, Start | None]:
        state = self.supervisor().actor(worker).state
        life = self.life(worker)
        start = self.patched.running(worker, state.incarnation)
        subject = subject_of(worker, spec, start)
        if life is None or state.phase is not Phase.READY:
            raise ConflictError(f"worker {worker} is {state.phase}", hint="record once it is ready", worker=worker)
        if subject is None:
            text = f"nothing is known of what worker {worker} was started with"
            raise ConflictError(text, hint=f"genesisctl workers restart {worker}", worker=worker)
        if subject.build is not None:
            look = await self.attestations.look(life)
            if look.attestation is None or look.attestation.state is not State.ATTESTED:
                text = "not looked at" if look.attestation is None else look.attestation.summary
                hint = f"genesisctl patches attest {worker}"
                raise ConflictError(f"worker {worker} is not attested: {text}", hint=hint, worker=worker)
        return life, subject, start

    async def _found_good(self, worker: str, spec: WorkerSpec) -> None:
        """Every other probe that could order a restart says yes, now."""
        for one in probes_of(spec).correctness or ():
            if one.kind in BY_RECORDING or not reaches(Step(str(one.action)), Step.RESTART):
                continue
            _, outcome = await self.run_now(worker, one.kind)
            if outcome.verdict not in {Verdict.SUCCESS, Verdict.SKIPPED}:
                text = f"{one.kind} says {outcome.verdict} of {worker}: {outcome.summary}"
                hint = "what is wrong must not become what is expected; mend that first"
                raise ConflictError(text, hint=hint, worker=worker, kind=one.kind)

    async def _recorded(self, target: Target, spec: WorkerSpec, subject: Subject) -> Golden:
        weights = await asyncio.to_thread(self._weights, spec)
        try:
            golden = await record(
                target,
                target.casebook,
                self.session,
                model=subject.model,
                pin=subject.pin,
                build=subject.build,
                weights=weights,
                recorded=self.clock.wall(),
            )
            written(golden)
        except GoldenError as problem:
            raise ConflictError(problem.message, hint=problem.hint, worker=target.worker) from problem
        except NoAnswerError as problem:
            hint = "record when it is not busy"
            raise ConflictError(f"a question was not answered: {problem}", hint=hint, worker=target.worker) from problem
        return golden

    async def _reference(self, worker: str, spec: WorkerSpec, start: Start, subject: Subject, mine: Golden) -> Golden:
        """The plain pin's recording of the same questions; made on a scratch worker where there is none."""
        for known in (self.goldens.of(subject), self._plain.get(subject)):
            if known is not None and (known.casebook, known.weights) == (mine.casebook, mine.weights):
                return known

        async def ask(target: Target) -> Golden:
            return await self._recorded(target, spec, subject)

        try:
            told = f"the plain pin beside {worker}"
            without = (*in_build(start), *absent(start))
            plain = await self.scratch.run(worker, subject.pin, without, told, ask)
        except ScratchError as error:
            text = f"the plain pin could not be asked beside {worker}: {error.message}"
            hint = "record on a box with room for both, and copy the file into the goldens folder"
            raise ConflictError(text, hint=hint, worker=worker) from error
        self._plain[subject] = plain
        return plain

    def _keep(self, mine: Golden, plain: Golden | None) -> Path:
        """The build's own first: it is what counts for the build once both are there."""
        path = self.goldens.keep(mine)
        if plain is not None:
            self.goldens.keep(plain)
        return path

    def _weights(self, spec: WorkerSpec) -> str | None:
        """Digest of the model's files by name and size; None where they cannot be seen."""
        try:
            folder = model_folder(spec.model or "", self.demo, Path(spec.env.get("HF_HOME") or self.hub))
            if folder is None:
                return None
            files = sorted(one for one in folder.rglob("*") if one.is_file())
            lines = [f"{one.relative_to(folder)} {one.stat().st_size}" for one in files]
        except (GenesisError, OSError, ValueError):
            return None
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def explained(mine: Golden, plain: Golden, explain: Mapping[str, str], patches: tuple[str, ...]) -> Golden:
    """The recording with the patch that is named for each case in which it differs from the plain pin's.

    Raises ConflictError where none is named, or one that is not in the build.
    """
    found = compare(mine, plain)
    missing = {case: text for case, text in found.items() if case not in explain}
    if missing:
        told = "; ".join(f"{case}: {text}" for case, text in list(missing.items())[:3])
        more = f" (and {len(missing) - 3} more)" if len(missing) > 3 else ""
        raise ConflictError(
            f"{len(missing)} answers differ from those of the plain pin, and no patch is named for it: {told}{more}",
            hint="if that is what a patch is for: --explain CASE=PATCH; else it is a fault of the patches",
            cases=sorted(missing),
        )
    if strangers := sorted({explain[case] for case in found} - set(patches)):
        text = f"{', '.join(strangers)} is not in the build, so it cannot be why answers differ"
        raise ConflictError(text, hint=f"in the build: {', '.join(patches) or 'nothing'}")
    reference = f"{plain.pin} without patches, {plain.casebook}"
    return replace(mine, differs={case: explain[case] for case in found}, reference=reference)
