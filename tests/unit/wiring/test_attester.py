"""Looks at living workers: what is attested, pending or refused, what is told of it, and what is counted."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading

import pytest

from genesisd.attest.engagement import Use
from genesisd.attest.errors import AttestError
from genesisd.attest.model import Cause, State
from genesisd.control.views import BuildView
from genesisd.errors import GenesisError
from genesisd.identity import stat_fields
from genesisd.patches.model import Proof
from genesisd.pins.build_verify import BuildFault, Fault
from genesisd.probes.kinds import attestation
from genesisd.probes.kinds.attestation import Attested
from genesisd.probes.loop import Watch
from genesisd.probes.model import Verdict
from genesisd.probes.ports import Target
from genesisd.probes.spec import AttestationProbe, ProbesSpec
from genesisd.process_ref import ProcessRef
from genesisd.supervisor.ports import FrontStats, Life
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring import attester as module
from genesisd.wiring.attester import ENGAGED_AFTER, Attestations
from genesisd.wiring.fronts import FrontAdapter
from genesisd.wiring.starts import PatchNote, Start
from tests.fakes.patched import FakeMetrics, FakePins, build_of
from tests.fakes.supervision import FakeClock, FakeRunner, FakeSink, Log
from tests.fakes.wiring import FakeFronts
from tests.helpers.listening import Ear
from tests.unit.patches.made import edit, patch

API, ENGINE = os.getpid(), os.getppid()
"""Two processes that live as long as the test does."""
PATCH = patch(
    edit("return 1", "return 2", "steps"), id="P1", proofs=(Proof("engine", counter="vllm.core:_genesis_hits"),)
)
QUIET = patch(edit("return 10", "return 20", "size"), id="P2")
AWAY = patch(edit("return 99", "return 20", "size"), id="P3")
ITEM = {"patches": ["P1"], "path": "vllm/core.py", "module": "vllm.core", "name": "steps", "kind": "function"}
ATTEST = {"format": 1, "python": "3.11.0", "items": [ITEM | {"digest": "good"}], "unattestable": []}
DAMAGE = BuildFault("vllm/core.py", Fault.CHANGED, "sha256 1", "sha256 2")


class KnownStarts:
    """As ``Patched`` looks from here."""

    def __init__(self, cache):
        self.cache, self.starts, self.builds = cache, {}, {}

    def running(self, worker, incarnation):
        start = self.starts.get(worker)
        return start if start is not None and start.incarnation == incarnation else None

    def build(self, name):
        return self.builds.get(name)

    def recover(self, worker, incarnation, name):
        self.starts[worker] = Start(name, {}, (), (), incarnation)
        return self.starts[worker]


class Box:
    def __init__(self, folder, monkeypatch):
        self.folder, self.reports = folder, folder / "attest"
        self.pins = FakePins(folder)
        self.patched = KnownStarts(folder)
        self.runner = FakeRunner(Log(), FakeClock())
        self.runner.left["w"] = [API, ENGINE]
        self.fronts = FrontAdapter(FakeFronts())
        self.sink, self.metrics = FakeSink(), FakeMetrics()
        self.specs = {"w": WorkerSpec(pin="cpu", model="m", patches=_account("P1"))}
        self.damage, self.verified = (), 0
        self.disk = threading.Event()
        self.disk.set()
        monkeypatch.setattr(module, "verify_build", self._verify)
        self.attestations = Attestations(
            lambda: self.specs, self.patched, self.runner, self.fronts, lambda _: self.reports, self.sink, self.metrics
        )
        self.build = build_of(self.pins, "cpu-0", "0123456789ab", (PATCH, QUIET, AWAY), ATTEST)
        self.patched.builds[self.build.name] = self.build
        self.begin(1)

    def _verify(self, build, cache):
        assert (build, cache) == (self.build, self.folder)
        self.verified += 1
        self.disk.wait(60)
        if isinstance(self.damage, OSError):
            raise self.damage
        return self.damage

    def begin(self, incarnation, build=...):
        verdicts = {"P1": "applied", "P2": "already_applied", "P3": "superseded", "P4": "disabled", "P5": "not_enabled"}
        name = self.build.name if build is ... else build
        notes = {one: PatchNote(word) for one, word in verdicts.items()}
        self.patched.starts["w"] = Start(name, notes, ("P9",), ("a worry",), incarnation)
        self.life = Life("w", incarnation, ProcessRef(API, 1, "boot"), "127.0.0.1", 20000)
        self.attestations.begin("w", incarnation)

    def report(self, pid, role, state="live", digest="good", **more):
        self.reports.mkdir(exist_ok=True)
        root = str(self.build.path.resolve())
        item = {"module": "vllm.core", "name": "steps", "kind": "function", "state": state, "digest": digest}
        found = {
            "format": 1, "pid": pid, "start_ticks": int(stat_fields(pid)[19]), "role": role, "title": role,
            "build": self.build.name, "python": "3.11.0", "vllm": f"{root}/vllm/__init__.py",
            "items": [item | {"origin": f"{root}/vllm/core.py"}], "hits": {}, "skips": {}, "seq": 1, "at": 1.0,
        }  # fmt: skip
        (self.reports / f"{pid}.json").write_text(json.dumps(found | more))

    def good(self, **more):
        self.report(API, "api")
        self.report(ENGINE, "engine", **more)

    def answered(self, count):
        self.fronts.latest["w"] = FrontStats(answered=count)

    async def attest(self, *, overdue=False):
        return await self.attestations.attester(self.life).attest(overdue=overdue)

    async def use(self, name="P1"):
        look = await self.attestations.look(self.life)
        return next(one for one in look.uses if one.patch == name)

    def shown(self):
        return self.attestations.shown("w", self.life.incarnation)

    def told(self):
        return [(kind, fields["state"]) for kind, _, fields in self.sink.events]


def _account(name, role="load_bearing"):
    return {"attribution": {name: {"role": role, "note": "it breaks", "bench_evidence": "a run"}}}


@pytest.fixture
def box(tmp_path, monkeypatch):
    return Box(tmp_path, monkeypatch)


# --- verdicts -------------------------------------------------------------------------------------------------------


async def test_a_life_whose_processes_run_the_build_is_attested(box):
    """Every role reported, every thing is the build's."""
    box.good()
    outcome = await box.attest()
    assert outcome.verdict is Verdict.SUCCESS
    assert outcome.summary == "every process runs the build (api 1, engine 1)"
    assert box.shown() == BuildView(box.build.name, "attested", outcome.summary, 2, ("P9",))


@pytest.mark.parametrize("overdue", [False, True])
@pytest.mark.parametrize("reported", [(), ("api",)])
async def test_silence_is_waited_for_and_then_refused(box, overdue, reported):
    """Absence proves nothing, and in the end it is a reason."""
    for role in reported:
        box.report(API, role)
    outcome = await box.attest(overdue=overdue)
    assert outcome.verdict is (Verdict.FAILURE if overdue else Verdict.UNKNOWN)
    assert "0 of 1 EngineCore processes have reported" in outcome.summary + str(outcome.evidence)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"digest": "bad"}, "vllm.core.steps is not the code of the build"),
        ({"state": "missing", "digest": ""}, "vllm.core.steps is not there, or is no function"),
        ({"build": "cpu-0+ffffffffffff"}, "reports for the build cpu-0+ffffffffffff"),
        ({"vllm": "/site-packages/vllm/__init__.py"}, "runs the vLLM of /site-packages/vllm/__init__.py"),
        ({"items": []}, "vllm.core.steps was not looked at"),
        ({"optimize": 1}, "runs Python with -O"),
    ],
)
async def test_a_process_that_runs_something_else_is_refused_by_name(box, wrong, text):
    """The sentence names the process and the function."""
    box.good(**wrong)
    outcome = await box.attest()
    assert outcome.verdict is Verdict.FAILURE
    assert text in outcome.summary
    assert f"(pid {ENGINE})" in outcome.summary
    assert outcome.evidence["findings"] == [outcome.summary]


async def test_a_report_of_an_earlier_process_of_the_same_pid_counts_for_nothing(box):
    """The kernel hands pids out again."""
    box.good(start_ticks=1)
    assert (await box.attest()).verdict is Verdict.UNKNOWN


async def test_a_damaged_file_refuses_a_life_that_runs_right(box):
    """The next process that imports it would not."""
    box.good()
    box.damage = (DAMAGE,)
    outcome = await box.attest()
    assert outcome.verdict is Verdict.FAILURE
    assert outcome.summary == "the build's file vllm/core.py: changed: found sha256 1, expected sha256 2"
    look = await box.attestations.look(box.life)
    assert [one.cause for one in look.attestation.findings] == [Cause.FILE]


async def test_files_are_looked_at_once_a_life(box):
    """It reads some megabytes; a new life looks anew, and is well again once the build is."""
    box.good()
    box.damage = (DAMAGE,)
    await box.attest()
    await box.attest()
    assert box.verified == 1
    box.damage = ()
    box.begin(2)
    assert (await box.attest()).verdict is Verdict.SUCCESS
    assert box.verified == 2


async def test_what_lies_among_the_reports_and_is_none_is_told(box):
    """A half-written report is a fault, and no reason to refuse the others."""
    box.good()
    box.runner.left["w"].append(1)
    (box.reports / "1.json").write_text("{")
    outcome = await box.attest()
    assert outcome.verdict is Verdict.SUCCESS
    (fault,) = outcome.evidence["faults"]
    assert fault.startswith("1.json is not a report")


# --- what cannot be judged ------------------------------------------------------------------------------------------


async def test_a_manifest_that_is_gone_is_an_error(box):
    """Nothing says what must run: that is no proof that the right thing runs."""
    box.good()
    box.patched.builds.clear()
    with pytest.raises(GenesisError, match=r"manifest of build .* is gone"):
        await box.attest()
    assert box.metrics.attested[-1][1] == "pending"


async def test_a_probe_that_cannot_judge_never_makes_ready(box, monkeypatch):
    """The error comes out as unknown, with its text, and not as a refusal of the worker."""
    monkeypatch.setattr(attestation, "SETTLING", 0.0)
    box.good()
    box.patched.builds.clear()
    ear = Ear()
    target = Target("w", 1, API, "127.0.0.1", 1, list, attester=box.attestations.attester(box.life))
    readiness = (AttestationProbe(period=0.001, jitter=0, failures=2),)
    watch = Watch(target, ProbesSpec(startup=(), readiness=readiness, liveness=()), ear, session=None, proven=True)
    watch.start()
    await ear.asks("attestation", 5)
    assert not ear.heard("ready")
    assert {one.verdict for one in ear.of("attestation")} == {Verdict.UNKNOWN}
    assert "is gone: nothing says what must run" in ear.of("attestation")[0].summary
    box.patched.builds[box.build.name] = box.build
    await ear.hears("ready", True)
    await watch.close()


async def test_a_manifest_that_says_nothing_is_an_error(box):
    """The same, with a way out."""
    box.patched.builds[box.build.name] = build_of(box.pins, "cpu-0", "0123456789ab", (PATCH,), {"format": 1})
    with pytest.raises(AttestError, match="no field 'items'"):
        await box.attestations.look(box.life)


async def test_a_life_of_which_nothing_is_known_has_no_attester(box):
    """Another incarnation's start is not its own."""
    stranger = Life("w", 7, box.life.leader, box.life.host, box.life.port)
    assert box.attestations.attester(stranger) is None
    assert box.attestations.shown("w", 7) is None
    look = await box.attestations.look(stranger)
    assert (look.start, look.attestation) == (None, None)
    box.attestations.note(stranger, look)
    assert box.told() == []


async def test_a_life_that_the_store_forgot_is_attested_by_the_build_that_it_reports(box):
    """An adopted life must not become ready unseen because a note was lost."""
    box.patched.starts.clear()
    box.good()
    attester = box.attestations.attester(box.life)
    assert attester.needed
    assert (await attester.attest(overdue=False)).verdict is Verdict.SUCCESS
    box.report(ENGINE, "engine", digest="bad")
    assert (await attester.attest(overdue=False)).verdict is Verdict.FAILURE


@pytest.mark.parametrize("why", ["plain command", "no report", "reports of the dead", "unreadable"])
async def test_a_life_that_the_store_forgot_and_that_reports_nothing_has_no_attester(box, why):
    """Nothing shows that there was a build."""
    box.patched.starts.clear()
    if why == "plain command":
        box.specs["w"] = WorkerSpec(command=("x",))
        box.good()
    elif why == "reports of the dead":
        box.report(API, "api", start_ticks=1)
    elif why == "unreadable":
        box.reports.write_text("no folder")
    assert box.attestations.attester(box.life) is None


async def test_what_cannot_be_looked_at_is_no_longer_called_attested(box):
    """Status, journal and metrics say so, and not what was seen last."""
    box.good()
    await box.attest()
    box.patched.builds.clear()
    with pytest.raises(GenesisError):
        await box.attest()
    assert (box.shown().state, box.metrics.attested[-1][1]) == ("pending", "pending")
    assert "could not be looked at: the manifest of build" in box.shown().text
    assert box.told()[-1] == ("attestation_changed", "pending")


@pytest.mark.parametrize("how", ["begin", "forget"])
async def test_a_worker_that_comes_back_counts_its_lives_from_one_and_is_looked_at_again(box, how):
    """What was found of another life of the same number is not this one's."""
    box.good()
    await box.attest(overdue=True)
    if how == "forget":
        box.attestations.forget("w")
    else:
        box.begin(1)
    box.damage = (DAMAGE,)
    look = await box.attestations.look(box.life)
    assert (box.verified, look.attestation.state) == (2, State.REFUSED)


async def test_what_dead_processes_reported_is_not_counted_and_goes(box):
    """An engine that forks all the time leaves no heap of reports behind, and no hits of those that are gone."""
    box.good(hits={"P1": 2})
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        pass
    left = box.reports / f"{dead.pid}.json"
    left.write_text((box.reports / f"{ENGINE}.json").read_text().replace(str(ENGINE), str(dead.pid)))
    stranger = box.reports / "1.json"
    stranger.write_text("no report, of a process that lives and is not of the tree")
    look = await box.attestations.look(box.life)
    assert (look.attestation.state, look.faults) == (State.ATTESTED, ())
    assert next(one.hits for one in look.uses if one.patch == "P1") == 2
    assert (left.exists(), stranger.exists()) == (False, True)


async def test_a_slow_disk_is_looked_at_once_however_often_a_probe_gives_up(box):
    """Else a worker on it would never be ready: each ask would begin anew and end at its deadline."""
    box.good()
    box.disk.clear()
    for _ in range(3):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(box.attest(), 0.01)
    box.disk.set()
    assert (await box.attest()).verdict is Verdict.SUCCESS
    assert box.verified == 1


async def test_files_that_could_not_be_looked_at_are_looked_at_again(box):
    """A fault of the disk may pass."""
    box.good()
    box.damage = OSError("input/output error")
    with pytest.raises(OSError, match="input/output error"):
        await box.attest()
    assert "could not be looked at: input/output error" in box.shown().text
    box.damage = ()
    assert (await box.attest()).verdict is Verdict.SUCCESS


@pytest.mark.parametrize(("build", "state"), [(..., "pending"), (None, "none")])
async def test_an_adopted_life_is_shown_alike_before_it_is_looked_at(box, build, state):
    """It may be long in starting: metrics and status say the same of it meanwhile."""
    box.begin(3, build=build)
    box.metrics.attested.clear()
    box.attestations.adopted("w", 3)
    assert box.metrics.attested == [("w", state, {}, {})]
    assert box.shown().state == state


async def test_the_plain_pin_has_nothing_to_show_and_is_not_kept_from_being_ready(box):
    """There is nothing to be attested, and nobody waits."""
    box.begin(2, build=None)
    attester = box.attestations.attester(box.life)
    assert not attester.needed
    assert (await attester.attest(overdue=True)).verdict is Verdict.SUCCESS
    assert box.shown() == BuildView(None, "none", "the plain pin", 2, ("P9",))
    assert box.metrics.attested[-1] == ("w", "none", {}, {})
    assert (await box.attestations.look(box.life)).attestation is None


async def test_an_attester_that_outlives_what_it_knew_does_not_vouch(box):
    """The worker was spawned anew meanwhile: unknown is not success."""
    old = box.attestations.attester(box.life)
    box.good()
    box.begin(2)
    outcome = await old.attest(overdue=True)
    assert outcome.verdict is Verdict.UNKNOWN


async def test_the_probe_refuses_once_reports_are_overdue(box):
    """From probe to judgement: pending through the grace, refused after it, well once the report is there."""
    probe = Attested(AttestationProbe(grace="30s"), None)
    target = Target("w", 1, API, "127.0.0.1", 1, list, attester=box.attestations.attester(box.life))
    box.report(API, "api")
    found = [(await probe.ask(target, now)).verdict for now in (100.0, 129.0, 130.0, 131.0)]
    assert found == [Verdict.UNKNOWN, Verdict.UNKNOWN, Verdict.FAILURE, Verdict.FAILURE]
    box.good()
    assert [(await probe.ask(target, now)).verdict for now in (132.0, 134.0)] == [Verdict.UNKNOWN, Verdict.SUCCESS]


# --- what is told ---------------------------------------------------------------------------------------------------


async def test_a_change_is_told_once(box):
    """A probe looks every few seconds; the journal is for news."""
    for _ in range(2):
        await box.attest()
    box.good()
    for _ in range(2):
        await box.attest()
    box.report(ENGINE, "engine", digest="bad")
    for _ in range(2):
        await box.attest()
    box.good()
    await box.attest()
    assert box.told() == [
        ("attestation_changed", "pending"),
        ("attestation_changed", "attested"),
        ("attestation_refused", "refused"),
        ("attestation_changed", "attested"),
    ]
    assert {fields["incarnation"] for _, _, fields in box.sink.events} == {1}


async def test_the_next_life_is_told_of_again(box):
    """The same state of another life is news."""
    box.good()
    await box.attest()
    box.begin(2)
    await box.attest()
    assert [(fields["incarnation"], fields["state"]) for _, _, fields in box.sink.events] == [
        (1, "attested"), (2, "attested"),
    ]  # fmt: skip


async def test_what_is_shown_is_the_same_object_until_something_changes(box):
    """The wire keeps the text of an object that it has seen."""
    first = box.shown()
    assert first == BuildView(box.build.name, "pending", "not looked at yet", 2, ("P9",))
    assert box.shown() is first
    box.good()
    await box.attest()
    second = box.shown()
    assert second.state == "attested"
    await box.attest()
    assert box.shown() is second


async def test_a_life_begins_pending(box):
    """Not looked at is not attested, neither in the metrics nor in what is shown."""
    box.good()
    await box.attest()
    box.begin(2)
    assert box.metrics.attested[-1] == ("w", "pending", {}, {})
    assert box.shown().state == "pending"


async def test_a_person_who_looks_changes_nothing(box):
    """What the probes refused as overdue stays refused: no second event, and no alert that ends."""
    await box.attest(overdue=True)
    look = await box.attestations.look(box.life)
    box.attestations.note(box.life, look)
    assert look.attestation.state is State.REFUSED
    await box.attest(overdue=True)
    assert box.told() == [("attestation_refused", "refused")]
    box.begin(2)
    assert (await box.attestations.look(box.life)).attestation.state is State.PENDING


# --- use ------------------------------------------------------------------------------------------------------------


async def test_requests_are_counted_from_the_beginning_of_the_life(box):
    """The front counts over all lives."""
    box.answered(500)
    box.begin(2)
    assert (await box.use()).requests == 0
    box.answered(507)
    assert (await box.use()).requests == 7


async def test_a_front_that_began_anew_counts_on(box):
    """Also once it has counted past where the old one stood when the life began."""
    box.answered(500)
    box.begin(2)
    for answered in (10, 499, 500, 501, 900):
        box.answered(answered)
        assert (await box.use()).requests == answered


async def test_an_adopted_life_counts_from_its_adoption(box):
    """What the front counted before this daemon cannot be told apart."""
    box.attestations._answered.clear()
    box.answered(300)
    assert (await box.use()).requests == 0
    box.answered(310)
    assert (await box.use()).requests == 10


async def test_without_a_front_no_request_is_known(box):
    """Nobody can say that it was never reached."""
    assert (await box.use()).use is Use.UNASKED


async def test_only_applied_patches_can_be_used(box):
    """What is superseded or finds no place has no code to be reached."""
    look = await box.attestations.look(box.life)
    assert {one.patch: one.use for one in look.uses} == {"P1": Use.UNASKED, "P2": Use.NO_PROOF}


@pytest.mark.parametrize("requests", [1, ENGAGED_AFTER - 1, ENGAGED_AFTER, ENGAGED_AFTER + 1])
@pytest.mark.parametrize(
    ("hits", "skips", "is_idle"),
    [({}, {}, True), ({"P1": 3}, {}, False), ({}, {"P1": {"short": 2}}, False)],
    ids=["never", "engaged", "stood-aside"],
)
async def test_never_engaged_is_said_after_enough_requests(box, requests, hits, skips, is_idle):
    """Sooner it would be said of every patch after each start."""
    box.good(hits=hits, skips=skips)
    box.answered(0)
    box.begin(2)
    box.answered(requests)
    await box.attest()
    _, state, reached, never = box.metrics.attested[-1]
    assert state == "attested"
    assert reached == {"P1": hits.get("P1", 0)}
    assert never == ({"P1": "load_bearing"} if is_idle and requests >= ENGAGED_AFTER else {})


async def test_an_idle_patch_that_nobody_accounted_for_has_an_unknown_role(box):
    """The alert goes by the role."""
    box.specs = {"w": WorkerSpec(pin="cpu", model="m")}
    box.good()
    box.answered(0)
    box.begin(2)
    box.answered(ENGAGED_AFTER)
    await box.attest()
    assert box.metrics.attested[-1][3] == {"P1": "unknown"}


async def test_every_look_sets_the_metrics(box):
    """Also while it is pending or refused."""
    await box.attest()
    box.good(digest="bad")
    await box.attest()
    box.good()
    await box.attest()
    assert [state for _, state, _, _ in box.metrics.attested] == ["pending", "pending", "refused", "attested"]


def test_the_words_of_the_states_are_those_of_the_metrics():
    """A state that the gauge does not know would be counted as pending."""
    from genesisd.telemetry import names

    assert {str(state) for state in State} | {"none"} == set(names.ATTESTED_STATES)
