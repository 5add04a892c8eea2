"""Probes of one life: what their results become, and what is remembered."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace

import pytest

from genesisd.errors import ConflictError
from genesisd.probes.model import Outcome, Stage, Verdict
from genesisd.probes.spec import AttestationProbe, ProbesSpec
from genesisd.supervisor.model import LivenessFailed, Progressed, ReadinessFailed, ReadinessPassed, StartupPassed
from genesisd.supervisor.spec import WorkerSpec, probes_of
from genesisd.wiring import prober as module
from genesisd.wiring.fronts import FrontAdapter
from genesisd.wiring.known import KnownCases
from genesisd.wiring.prober import ProbeAdapter
from genesisd.wiring.targets import Targets
from tests.fakes.supervision import FakeClock, FakeRunner, FakeSink, Log, life
from tests.fakes.wiring import FakeFronts, counts


class FakeWatch:
    """As ``probes.loop.Watch`` is used: remembers with what it was made, and lets the test speak for it."""

    made: list[FakeWatch]

    def __init__(self, target, spec, teller, session, clock, proven):
        self.target, self.spec, self.teller, self.proven = target, spec, teller, proven
        self.started, self.closed = False, asyncio.Event()
        self.made.append(self)

    def start(self):
        self.started = True

    def standings(self):
        return (SimpleNamespace(kind="golden", standing="bad"),)

    async def run_now(self, kind):
        return outcome(summary=kind)

    async def close(self):
        self.closed.set()


class FakeBench:
    """Hears."""

    def __init__(self):
        self.heard = []

    def asked(self, life, kind, outcome, standing):
        self.heard.append(("asked", life.incarnation, kind, outcome.verdict, standing.standing))

    def weighed(self, life, kind, outcome, *, good):
        self.heard.append(("weighed", life.incarnation, kind, outcome.verdict, good))


class Box:
    def __init__(self):
        self.clock, self.sink, self.reports = FakeClock(), FakeSink(), []
        self.fronts = FakeFronts()
        self.adapter = FrontAdapter(self.fronts)
        self.runner = FakeRunner(Log(), self.clock)
        self.specs = {"w": WorkerSpec(pin="p", model="m", listen="127.0.0.1:80", env={"VLLM_API_KEY": "secret"})}
        self.attesters = {}
        attestations = SimpleNamespace(attester=self._attester, engagement=None)
        patched = SimpleNamespace(running=lambda *_: None)
        targets = Targets(self.runner, self.adapter, attestations, patched, None, None, self.sink, KnownCases(None))
        self.bench = FakeBench()
        self.prober = ProbeAdapter(lambda: self.specs, targets.of, None, self.sink, self.clock, self.bench)

    def _attester(self, life):
        return self.attesters.get(life.incarnation)

    def begin(self, incarnation=3, *, proven=False):
        self.prober.begin(life("w", incarnation), self.reports.append, proven=proven)
        return FakeWatch.made[-1]


@pytest.fixture
async def box(monkeypatch):
    FakeWatch.made = []
    monkeypatch.setattr(module, "Watch", FakeWatch)
    box = Box()
    yield box
    await box.prober.close()


def outcome(verdict=Verdict.SUCCESS, summary="3 processes"):
    return Outcome(verdict, summary, seconds=0.5)


async def test_a_life_is_asked_where_it_listens_and_by_its_name(box):
    """Model, key, tree and log are the worker's."""
    watch = box.begin(proven=True)
    target = watch.target
    assert (watch.started, watch.proven) == (True, True)
    assert (target.worker, target.incarnation, target.leader, target.port) == ("w", 3, 4003, 20000)
    assert (target.model, target.headers) == ("w", {"Authorization": "Bearer secret"})
    box.runner.left["w"] = [1, 2]
    assert list(target.members()) == [1, 2]


@pytest.mark.parametrize(
    ("fields", "model"),
    [
        ({"pin": "p", "model": "m"}, "w"),
        ({"pin": "p", "model": "m", "served_model_name": "x"}, "x"),
        ({"command": ("c",)}, None),
        ({"command": ("c",), "served_model_name": "x"}, "x"),
    ],
)
async def test_the_name_of_the_model(box, fields, model):
    """A command of one's own may serve anything: the probe asks the engine."""
    box.specs["w"] = WorkerSpec(**fields)
    assert box.begin().target.model == model
    assert FakeWatch.made[-1].target.headers == {}


async def test_traffic_is_what_the_front_counts(box):
    """None where there is no front, or where it is silent."""
    target = box.begin().target
    assert await target.traffic() is None
    await box.adapter.seat("w", box.specs["w"])
    assert await target.traffic() is None
    box.fronts.counts["w"] = counts(in_flight=3, unanswered=2, oldest_unanswered=1.5, answered=9)
    found = await target.traffic()
    assert (found.in_flight, found.unanswered, found.oldest_unanswered, found.answered) == (3, 2, 1.5, 9)


async def test_reports_speak_of_their_incarnation(box):
    """Each kind becomes its event, with the time and the reason."""
    teller = box.begin().teller
    teller.startup_passed()
    teller.progressed()
    teller.readiness(ok=True, summary="4 tokens")
    teller.readiness(ok=False, summary="no answer")
    teller.liveness_failed("no step for 10 s", {"window": 10})
    assert [type(event) for event in box.reports] == [
        StartupPassed,
        Progressed,
        ReadinessPassed,
        ReadinessFailed,
        LivenessFailed,
    ]
    assert {event.incarnation for event in box.reports} == {3}
    assert (box.reports[3].reason.code, box.reports[3].reason.text) == ("not-ready", "no answer")
    assert (box.reports[4].reason.code, box.reports[4].reason.text) == ("hung", "no step for 10 s")
    (fact,) = box.sink.of("liveness_failed")
    assert json.loads(fact["evidence"]) == {"window": 10}


async def test_evidence_of_a_hang_is_bounded(box):
    """Also when it is something that JSON does not know."""
    box.begin().teller.liveness_failed("hung", {"x": {1, 2}, "y": "z" * 10_000})
    assert len(box.sink.of("liveness_failed")[0]["evidence"]) == module.EVIDENCE_LIMIT


async def test_each_result_is_counted_and_each_change_is_told(box):
    """The journal is not filled with what stays as it is."""
    teller = box.begin().teller
    for verdict in (Verdict.SUCCESS, Verdict.SUCCESS, Verdict.FAILURE, Verdict.FAILURE, Verdict.SUCCESS):
        teller.result(Stage.LIVENESS, "process", outcome(verdict))
    assert box.sink.kinds.count("probe_result") == 5
    assert [fact["verdict"] for fact in box.sink.of("probe_changed")] == ["success", "failure", "success"]


async def test_the_newest_result_of_each_probe_is_shown(box):
    """The same object while nothing came in."""
    teller = box.begin().teller
    teller.result(Stage.LIVENESS, "process", outcome(summary="old"))
    teller.result(Stage.READINESS, "http", outcome(summary="200"))
    teller.result(Stage.LIVENESS, "process", outcome(summary="new"))
    shown = box.prober.views("w")
    assert {(view.stage, view.kind, view.summary) for view in shown} == {
        ("liveness", "process", "new"),
        ("readiness", "http", "200"),
    }
    assert box.prober.views("w") is shown
    assert box.prober.views("unknown") == ()


async def test_a_new_life_begins_with_no_results(box):
    """What the last one answered says nothing about this."""
    box.begin().teller.result(Stage.LIVENESS, "process", outcome())
    assert box.prober.views("w") != ()
    box.begin(4)
    assert box.prober.views("w") == ()


async def test_a_new_life_ends_the_probes_of_the_last(box):
    """Nobody asks a port that is somebody else's by now."""
    first = box.begin()
    second = box.begin(4)
    await first.closed.wait()
    assert not second.closed.is_set()
    box.prober.end("w")
    box.prober.end("w")
    await second.closed.wait()


async def test_close_ends_all_and_waits(box):
    """No connection is left open."""
    watch = box.begin()
    await box.prober.close()
    assert watch.closed.is_set()


async def test_new_probes_take_over_from_the_old_ones(box):
    """The same life, the new spec; a worker that is not asked is not asked for it either."""
    old = box.begin(3)
    box.specs["w"] = WorkerSpec(pin="p", model="m", probes={"liveness": []})
    box.prober.renew("w", proven=True)
    new = FakeWatch.made[-1]
    assert (new.started, new.proven, new.target.incarnation) == (True, True, 3)
    assert new.spec == probes_of(box.specs["w"])
    await asyncio.wait_for(old.closed.wait(), 5)
    box.prober.end("w")
    box.prober.renew("w", proven=True)
    assert FakeWatch.made[-1] is new


async def test_a_life_with_a_build_is_asked_first_what_it_runs(box):
    """Without being told to; where the operator said how, that holds."""
    box.attesters[3] = SimpleNamespace(needed=True)
    asked = box.begin(3)
    assert [one.kind for one in asked.spec.readiness] == ["attestation", "port-owner", "generation"]
    assert asked.target.attester is box.attesters[3]
    own = AttestationProbe(period=9)
    box.specs["w"] = box.specs["w"].model_copy(update={"probes": ProbesSpec(readiness=(own,))})
    assert box.begin(3).spec.readiness == (own,)


@pytest.mark.parametrize("stage", ["startup", "liveness"])
async def test_a_look_in_another_stage_does_not_make_ready(box, stage):
    """Liveness is presumed and startup is asked once: what makes ready, and keeps it so, is asked for readiness."""
    box.attesters[3] = SimpleNamespace(needed=True)
    probes = ProbesSpec(**{stage: (AttestationProbe(),)})
    box.specs["w"] = box.specs["w"].model_copy(update={"probes": probes})
    assert [one.kind for one in box.begin(3).spec.readiness] == ["attestation", "port-owner", "generation"]


async def test_a_life_without_a_build_is_not(box):
    """There is nothing that it must run; but a probe that the operator asks for has somebody to ask."""
    box.attesters[3] = SimpleNamespace(needed=False)
    asked = box.begin(3)
    assert asked.target.attester is box.attesters[3]
    assert "attestation" not in [one.kind for one in asked.spec.readiness]


async def test_what_correctness_probes_say_goes_to_the_bench(box):
    """Each ask with the standing that it led to, and each yes and no; of other stages nothing."""
    teller = box.begin().teller
    wrong = outcome(Verdict.FAILURE, "hello: 'x', expected 'y'")
    teller.result(Stage.CORRECTNESS, "golden", wrong)
    teller.weighed("golden", wrong, good=False)
    teller.result(Stage.LIVENESS, "process", outcome())
    assert box.bench.heard == [
        ("asked", 3, "golden", Verdict.FAILURE, "bad"),
        ("weighed", 3, "golden", Verdict.FAILURE, False),
    ]


async def test_an_operators_ask_goes_to_the_life_that_runs(box):
    """Its number comes back with the answer; a worker that does not run is not asked."""
    box.begin(5)
    begun, answer = await box.prober.run_now("w", "golden")
    assert (begun.incarnation, answer.summary) == (5, "golden")
    box.prober.end("w")
    with pytest.raises(ConflictError, match="does not run"):
        await box.prober.run_now("w", "golden")


@pytest.mark.parametrize(
    ("fields", "asked"),
    [({"pin": "p", "model": "m"}, 14), ({"command": ("c",)}, 0)],
)
async def test_a_worker_with_a_pin_is_asked_unasked(box, fields, asked):
    """What a command of one's own answers is nobody's to guess."""
    box.specs["w"] = WorkerSpec(**fields)
    assert len(box.begin().spec.correctness) == asked
