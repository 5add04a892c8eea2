"""What is exported of answers and of what follows from them: bounded, replaced, gone with the worker."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from genesisd.incidents.model import CAUSES
from genesisd.judge.model import Step
from genesisd.probes.spec import CORRECTNESS
from genesisd.supervisor.model import Phase, WorkerState
from genesisd.supervisor.spec import WorkerSpec
from genesisd.telemetry import names
from genesisd.telemetry.events import KINDS
from genesisd.telemetry.exposition import Exposition
from genesisd.telemetry.metrics import Metrics

WALL = 1_700_000_000.0


class Clock:
    def monotonic(self):
        return 1000.0

    def wall(self):
        return WALL


def pinned(**probes):
    return WorkerSpec.model_validate({"pin": "cpu-0.32.0", "model": "tiny", "probes": probes})


@pytest.fixture
def metrics():
    made = Metrics(Clock())
    made.configure({"a": pinned(), "b": WorkerSpec(command=("x",))})
    return made


async def shown(metrics, family, worker="a"):
    """Label values but the worker's, and the value, of each series of a family."""
    text = b"".join(await Exposition(metrics).page()).decode()
    return {
        tuple(one.labels[name] for name in family.labels): one.value
        for found in text_string_to_metric_families(text)
        for one in found.samples
        if one.name == family.name and one.labels.get("worker", worker) == worker
    }


async def test_a_worker_with_a_pin_has_all_kinds_and_one_with_a_command_none(metrics):
    """Undecided, never conclusive and free of cost, until somebody says otherwise."""
    kinds = {(probe.kind,) for probe in CORRECTNESS}
    stood = await shown(metrics, names.PROBE_STANDING)
    assert {(kind,) for _, kind, _, _ in stood} == kinds
    assert {(stage, standing) for stage, _, standing, _ in stood} == {("correctness", "undecided")}
    assert ("correctness", "golden", "undecided", "quarantine") in stood
    assert ("correctness", "needle", "undecided", "alert") in stood
    assert await shown(metrics, names.PROBE_CONCLUSIVE) == {("correctness", kind): 0 for (kind,) in kinds}
    assert await shown(metrics, names.PROBE_TOKENS) == dict.fromkeys(kinds, 0)
    for family in (names.PROBE_STANDING, names.PROBE_CONCLUSIVE, names.PROBE_TOKENS):
        assert await shown(metrics, family, "b") == {}


async def test_a_worker_has_a_bounded_number_of_series(metrics):
    """What one worker costs a Prometheus with everything at its default; docs/metrics.md says so."""
    for probe in CORRECTNESS:
        metrics.probe_standing("a", "correctness", probe.kind, "good")
        metrics.probe_conclusive("a", "correctness", probe.kind, WALL)
    assert sum(len(series.samples()) for series in metrics.workers["a"].series.values()) <= 300


@pytest.mark.parametrize("standing", names.STANDINGS)
async def test_a_probe_has_one_standing(metrics, standing):
    """The word before it goes, else its alert would stay up."""
    metrics.probe_standing("a", "correctness", "golden", "bad")
    metrics.probe_standing("a", "correctness", "golden", standing)
    found = await shown(metrics, names.PROBE_STANDING)
    assert [labels for labels in found if labels[1] == "golden"] == [("correctness", "golden", standing, "quarantine")]


@pytest.mark.parametrize(("phase", "standing"), [(Phase.STOPPED, "undecided"), (Phase.FAILED, "undecided"), (Phase.BACKOFF, "bad"), (Phase.BLOCKED, "bad")])  # fmt: skip
async def test_a_worker_that_is_down_for_good_answers_nothing_wrong(metrics, phase, standing):
    """Else its alert would stay up for ever; through a restart or a bisection it does, since nothing was cured."""
    metrics.probe_standing("a", "correctness", "golden", "bad")
    metrics.worker_state("a", WorkerState(phase=phase))
    assert ("correctness", "golden", standing, "quarantine") in await shown(metrics, names.PROBE_STANDING)


async def test_other_stages_stand_too_without_an_action(metrics):
    """They are told when they are known; an action is the judge's matter alone."""
    metrics.probe_standing("a", "readiness", "attestation", "good")
    assert (await shown(metrics, names.PROBE_STANDING))[("readiness", "attestation", "good", "")] == 1


async def test_strange_words_stay_bounded(metrics):
    """Of a stage, a kind, a standing, a step, a cause."""
    metrics.probe_standing("a", "strange", "strange", "strange")
    metrics.probe_standing("a", "strange", "stranger", "strange")
    metrics.probe_conclusive("a", "correctness", "strange", WALL)
    metrics.probe_tokens("a", "strange", 5)
    metrics.event("incident_opened", "a", {"cause": "strange"}, journalled=True)
    metrics.event("judge_told", "a", {"step": "strange"}, journalled=True)
    stood = await shown(metrics, names.PROBE_STANDING)
    assert [labels for labels in stood if labels[0] == "other"] == [("other", "other", "undecided", "")]
    assert ("correctness", "strange") not in await shown(metrics, names.PROBE_CONCLUSIVE)
    assert ("strange",) not in await shown(metrics, names.PROBE_TOKENS)
    assert (await shown(metrics, names.INCIDENTS))[("other",)] == 1
    assert sum((await shown(metrics, names.JUDGE_ACTIONS)).values()) == 0


async def test_a_probe_that_is_configured_away_goes_and_the_others_keep_what_they_had(metrics):
    """A reload must neither leave a bad probe on the page for ever nor forget one."""
    for kind in ("golden", "needle"):
        metrics.probe_standing("a", "correctness", kind, "bad")
        metrics.probe_conclusive("a", "correctness", kind, WALL)
        metrics.probe_tokens("a", kind, 7)
    metrics.configure({"a": pinned(correctness=[{"kind": "golden", "action": "alert"}])})
    assert await shown(metrics, names.PROBE_STANDING) == {("correctness", "golden", "bad", "alert"): 1}
    assert await shown(metrics, names.PROBE_CONCLUSIVE) == {("correctness", "golden"): WALL}
    assert await shown(metrics, names.PROBE_TOKENS) == {("golden",): 7}
    results = await shown(metrics, names.PROBE_RESULTS)
    assert {kind for stage, kind, _ in results if stage == "correctness"} == {"golden"}


async def test_only_correctness_probes_can_be_skipped_and_only_the_others_have_a_last_success(metrics):
    """A skipped probe never succeeds, which must not look like one that is silent."""
    results = await shown(metrics, names.PROBE_RESULTS)
    assert {stage for stage, _, verdict in results if verdict == "skipped"} == {"correctness"}
    fields = {"stage": "correctness", "kind": "golden", "seconds": 0.5}
    for verdict in ("success", "skipped"):
        metrics.event("probe_result", "a", fields | {"verdict": verdict}, journalled=False)
    assert (await shown(metrics, names.PROBE_RESULTS))[("correctness", "golden", "skipped")] == 1
    assert {stage for stage, _ in await shown(metrics, names.PROBE_SUCCESS)} == {"startup", "readiness", "liveness"}


async def test_what_probes_may_cost_is_told_as_configured(metrics):
    """The floor is told for an hour, whatever the window."""
    metrics.configure({"a": pinned(cost={"share": 0.02, "window": "30m", "floor": 1000})})
    assert await shown(metrics, names.PROBE_SHARE) == {(): 0.02}
    assert await shown(metrics, names.PROBE_FLOOR) == {(): 2000}


@pytest.mark.parametrize("step", [None, *Step])
async def test_the_judges_step_is_one_of_all(metrics, step):
    """One has 1, the others 0."""
    metrics.judge("a", "hold")
    metrics.judge("a", step)
    found = await shown(metrics, names.JUDGE_STEP)
    assert {labels for labels, value in found.items() if value} == {("none" if step is None else step.value,)}
    assert len(found) == len(Step) + 1


@pytest.mark.parametrize(
    ("kind", "fields", "step"),
    [
        ("judge_told", {"step": "note"}, "note"),
        ("judge_told", {"step": "alert"}, "alert"),
        ("judge_restart", {}, "restart"),
        ("judge_rollback", {}, "rollback"),
        ("judge_bisect", {}, "quarantine"),
        ("judge_hold", {}, "hold"),
    ],
)
async def test_steps_are_counted(metrics, kind, fields, step):
    """Each event is one step, and every step was there with 0 before."""
    before = await shown(metrics, names.JUDGE_ACTIONS)
    assert before == {(one.value,): 0 for one in Step}
    metrics.event(kind, "a", fields, journalled=True)
    assert await shown(metrics, names.JUDGE_ACTIONS) == before | {(step,): 1}


async def test_incidents_are_counted_and_open_until_they_are_closed(metrics):
    """By the first cause; one of an earlier daemon is told by a method, since its event is past."""
    assert set(await shown(metrics, names.INCIDENTS)) == {(cause,) for cause in (*CAUSES, "other")}
    metrics.event("incident_opened", "a", {"cause": "hung"}, journalled=True)
    assert (await shown(metrics, names.INCIDENTS))[("hung",)] == 1
    assert await shown(metrics, names.INCIDENT_OPEN) == {(): 1}
    metrics.event("incident_closed", "a", {"cause": "hung"}, journalled=True)
    assert await shown(metrics, names.INCIDENT_OPEN) == {(): 0}
    metrics.incident("a", going_on=True)
    assert await shown(metrics, names.INCIDENT_OPEN) == {(): 1}
    assert sum((await shown(metrics, names.INCIDENTS)).values()) == 1


async def test_gauges_of_what_was_done(metrics):
    """Each is told by its method, and is 0 before."""
    families = (names.PATCHES_QUARANTINED, names.BISECTING, names.ROLLED_BACK, names.GOLDEN_AT)
    assert [await shown(metrics, family) for family in families] == [{(): 0}] * 4
    metrics.quarantined("a", 2)
    metrics.bisection("a", running=True)
    metrics.rolled_back("a", back=True)
    metrics.golden("a", WALL)
    assert [await shown(metrics, family) for family in families] == [{(): 2}, {(): 1}, {(): 1}, {(): WALL}]
    metrics.golden("a", None)
    assert await shown(metrics, names.GOLDEN_AT) == {(): 0}
    metrics.event("golden_recorded", "a", {}, journalled=True)
    assert await shown(metrics, names.GOLDEN_AT) == {(): WALL}


async def test_trials_are_counted(metrics):
    """One a step."""
    for _ in range(3):
        metrics.event("bisection_step", "a", {}, journalled=True)
    assert await shown(metrics, names.BISECTION_RUNS) == {(): 3}


async def test_cards_are_the_machines(metrics):
    """They belong to no worker."""
    assert await shown(metrics, names.CARDS_QUARANTINED) == {(): 0}
    metrics.cards_quarantined(2)
    assert await shown(metrics, names.CARDS_QUARANTINED) == {(): 2}


async def test_a_worker_that_is_not_configured_is_ignored(metrics):
    """Late news must not bring a removed one back, and a scratch worker of a bisection has no series."""
    metrics.configure({"b": WorkerSpec(command=("x",))})
    metrics.probe_standing("a", "correctness", "golden", "bad")
    metrics.probe_conclusive("a", "correctness", "golden", WALL)
    metrics.probe_tokens("a", "golden", 5)
    metrics.judge("a", "hold")
    metrics.quarantined("a", 1)
    metrics.bisection("a", running=True)
    metrics.rolled_back("a", back=True)
    metrics.golden("a", WALL)
    metrics.incident("a", going_on=True)
    metrics.event("judge_hold", "a", {}, journalled=True)
    assert 'worker="a"' not in b"".join(await Exposition(metrics).page()).decode()


def test_events_are_as_loud_as_they_matter():
    """What is asked each minute would fill the journal; what takes a worker or a card out must not be overlooked."""
    assert (KINDS["probe_weighed"].level, KINDS["probe_weighed"].journal) == ("debug", False)
    assert {KINDS[kind].level for kind in ("judge_hold", "card_quarantined")} == {"error"}
    told = ("judge_told", "judge_restart", "judge_rollback", "judge_bisect", "patch_quarantined", "incident_opened")
    assert {KINDS[kind].level for kind in told} == {"warning"}
    calm = ("judge_cured", "incident_closed", "golden_recorded", "patch_released", "card_released", "scratch_started")
    assert {(KINDS[kind].level, KINDS[kind].journal) for kind in calm} == {("info", True)}
