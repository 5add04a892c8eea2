"""What is exported: bounded, there from the start, equal to the reference rendering."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from genesisd.supervisor import classify
from genesisd.supervisor.model import Phase, WorkerState
from genesisd.supervisor.ports import Card, FrontStats
from genesisd.supervisor.spec import WorkerSpec
from genesisd.telemetry import names
from genesisd.telemetry.bridge import registry
from genesisd.telemetry.events import KINDS
from genesisd.telemetry.exposition import Exposition
from genesisd.telemetry.families import Family, Histogram, Kind, Series
from genesisd.telemetry.metrics import Metrics

REPO = Path(__file__).parents[3]
DOCS = REPO / "docs" / "metrics.md"


class Clock:
    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now

    def wall(self):
        return 1_700_000_000.0 + self.now


def spec(**fields):
    return WorkerSpec.model_validate({"command": ["x"], "listen": "127.0.0.1:8000", **fields})


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def metrics(clock):
    made = Metrics(clock)
    made.configure({"a": spec(), "b": spec(front={"enabled": False})})
    return made


async def page(metrics):
    exposition = Exposition(metrics)
    return b"".join(await exposition.page()).decode()


def samples(text):
    return {
        (one.name, tuple(sorted(one.labels.items()))): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
        if not one.name.startswith("process_")
    }


async def value(metrics, name, **labels):
    return samples(await page(metrics)).get((name, tuple(sorted(labels.items()))))


def fill(metrics):
    metrics.worker_state(
        "a", WorkerState(phase=Phase.READY, wanted=True, incarnation=3, since=900.0, restarts=(990.0,))
    )
    metrics.front(
        "a", FrontStats(open=3, in_flight=2, unanswered=1, held=0, answered=10, refused=1, oldest_unanswered=0.25)
    )
    metrics.cards([Card(0, 24 << 30, 5, {}), Card(1, 1, 1, {})])
    for kind, fields in [
        ("worker_exited", {"cause": "crash"}),
        ("worker_restart", {"cause": "hung"}),
        ("worker_ready", {"seconds": 12.5}),
        ("worker_ready", {"seconds": 1e9}),
        ("probe_result", {"stage": "liveness", "kind": "progress", "verdict": "success", "seconds": 0.01}),
        ("shim_lost", {}),
        ("front_restarted", {}),
        ("pin_failed", {}),
        ("build_failed", {}),
    ]:
        metrics.event(kind, "a", fields, journalled=True)
    metrics.patches("a", {"PN401": "applied", "P79c": "superseded", "PX": "applied"}, ["PN373"])
    metrics.attestation("a", "attested", {"PN401": 7}, {"P79c": "load_bearing"})


async def test_the_page_equals_the_reference_rendering(metrics):
    """Our own text and prometheus_client's say the same."""
    fill(metrics)
    assert samples(await page(metrics)) == samples(generate_latest(registry(metrics)).decode())


async def test_each_family_has_one_header_and_its_lines_stand_together(metrics):
    """Prometheus refuses a family in two places."""
    fill(metrics)
    text = await page(metrics)
    declared = re.findall(r"^# TYPE (\S+)", text, re.MULTILINE)
    assert len(declared) == len(set(declared))
    for block in text.split("# HELP ")[1:]:
        name = block.split(" ", 1)[0]
        lines = block.splitlines()[2:]
        assert all(line.startswith(name) for line in lines), name


async def test_known_labels_are_there_with_zero_from_the_start(metrics):
    """Else rate() misses the first increase."""
    for cause in names.RESTART_CAUSES:
        assert await value(metrics, "genesisd_worker_restarts_total", worker="a", cause=cause) == 0
    assert await value(metrics, "genesisd_worker_exits_total", worker="b", cause="other") == 0
    assert await value(metrics, "genesisd_journal_events_total", kind="worker_phase") == 0
    assert (
        await value(
            metrics, "genesisd_probe_results_total", worker="a", stage="liveness", kind="progress", verdict="failure"
        )
        == 0
    )
    assert await value(metrics, "genesisd_worker_phase", worker="a", phase="stopped") == 1


async def test_the_phase_is_one_hot(metrics):
    """Exactly one phase has 1, whatever came before."""
    for phase in Phase:
        metrics.worker_state("a", WorkerState(phase=phase))
        found = samples(await page(metrics))
        hot = {
            dict(labels)["phase"]: v
            for (name, labels), v in found.items()
            if name == "genesisd_worker_phase" and dict(labels)["worker"] == "a"
        }
        assert {name for name, v in hot.items() if v} == {phase.value}
        assert set(hot) == {one.value for one in Phase}
        assert await value(metrics, "genesisd_worker_ready", worker="a") == (phase is Phase.READY)


async def test_unknown_words_are_counted_as_other(metrics):
    """Labels stay bounded whatever arrives."""
    for n in range(50):
        metrics.event("worker_exited", "a", {"cause": f"strange{n}"}, journalled=True)
        metrics.event("worker_restart", "a", {}, journalled=False)
        metrics.event(f"kind{n}", "a", {}, journalled=True)
        metrics.event("probe_result", "a", {"stage": n, "kind": None, "verdict": [], "seconds": "x"}, journalled=False)
    assert await value(metrics, "genesisd_worker_exits_total", worker="a", cause="other") == 50
    assert await value(metrics, "genesisd_worker_restarts_total", worker="a", cause="other") == 50
    assert await value(metrics, "genesisd_journal_events_total", kind="other") == 50
    assert "strange" not in await page(metrics)


@pytest.mark.parametrize("seconds", [None, "x", float("nan"), float("inf"), -1.0, True])
async def test_a_start_time_that_is_none_is_not_observed(metrics, seconds):
    """One NaN would spoil the sum for ever."""
    metrics.event("worker_ready", "a", {"seconds": seconds}, journalled=True)
    assert await value(metrics, "genesisd_worker_start_seconds_count", worker="a") == 0


async def test_a_removed_worker_vanishes_and_late_news_do_not_bring_it_back(metrics):
    """Its series go at once; those of the others keep their counts."""
    fill(metrics)
    metrics.configure({"a": spec()})
    metrics.worker_state("b", WorkerState(phase=Phase.READY))
    metrics.event("worker_exited", "b", {"cause": "crash"}, journalled=True)
    metrics.front("b", FrontStats())
    metrics.patches("b", {"PN401": "applied"}, ["PN401"])
    metrics.attestation("b", "refused", {"PN401": 1}, {"PN401": "defensive"})
    assert 'worker="b"' not in await page(metrics)
    assert await value(metrics, "genesisd_worker_exits_total", worker="a", cause="crash") == 1


async def test_a_worker_without_a_front_has_no_front_series(metrics):
    """Nor does it get them by stats that arrive; a reload may turn the front on and off."""
    metrics.front("b", FrontStats(open=1))
    assert await value(metrics, "genesisd_front_open_connections", worker="b") is None
    metrics.configure({"a": spec(), "b": spec()})
    assert await value(metrics, "genesisd_front_open_connections", worker="b") == 0
    metrics.configure({"a": spec(), "b": spec(front={"enabled": False})})
    assert await value(metrics, "genesisd_front_up", worker="b") is None


async def test_a_probe_that_is_configured_away_vanishes(metrics):
    """And a new period is seen."""
    metrics.configure({"a": spec(probes={"liveness": [{"kind": "process", "period": "7s"}]})})
    assert await value(metrics, "genesisd_probe_period_seconds", worker="a", stage="liveness", kind="progress") is None
    assert await value(metrics, "genesisd_probe_period_seconds", worker="a", stage="liveness", kind="process") == 7


async def test_the_budget_comes_back_as_time_passes(metrics, clock):
    """Nothing happens, and yet the value changes: restarts leave the window."""
    metrics.worker_state("a", WorkerState(restarts=(500.0, 990.0)))
    assert await value(metrics, "genesisd_worker_restart_budget_remaining", worker="a") == 3
    clock.now = 1101.0
    assert await value(metrics, "genesisd_worker_restart_budget_remaining", worker="a") == 4
    clock.now = 9000.0
    assert await value(metrics, "genesisd_worker_restart_budget_remaining", worker="a") == 5


async def test_a_card_that_is_gone_goes(metrics):
    """A card may fall off the bus."""
    fill(metrics)
    metrics.cards([Card(1, 2, 1, {})])
    assert await value(metrics, "genesisd_card_memory_total_bytes", card="0") is None
    assert await value(metrics, "genesisd_card_memory_total_bytes", card="1") == 2


async def test_a_rejected_configuration_keeps_the_time_of_the_one_in_use(metrics, clock):
    """The timestamp is of the configuration that runs."""
    metrics.config_read(ok=True)
    first = await value(metrics, "genesisd_config_last_reload_timestamp_seconds")
    clock.now += 50
    metrics.event("config_rejected", None, {}, journalled=True)
    assert await value(metrics, "genesisd_config_last_reload_successful") == 0
    assert await value(metrics, "genesisd_config_last_reload_timestamp_seconds") == first
    metrics.event("config_reloaded", None, {}, journalled=True)
    assert await value(metrics, "genesisd_config_last_reload_successful") == 1
    assert await value(metrics, "genesisd_config_last_reload_timestamp_seconds") == first + 50


def test_every_cause_that_classify_knows_has_a_label():
    """A new rule must not be shown as ``other``."""
    assert {rule.cause for rule in classify.RULES} <= set(names.EXIT_CAUSES)


def test_every_event_that_the_daemon_tells_is_in_the_list():
    """An unlisted kind would be counted as ``other``."""
    sources = "".join(file.read_text() for file in (REPO / "genesisd").rglob("*.py") if file.name != "events.py")
    fronts = {kind.replace("-", "_") for kind in re.findall(r'"(front-(?:started|adopted|lost|failed))"', sources)}
    assert fronts <= set(KINDS)
    builds = {kind for kinds in re.findall(r'Told\("(\w+)", "(\w+)", "(\w+)"', sources) for kind in kinds}
    assert builds <= set(KINDS)
    assert set(re.findall(r'(?:emit|Tell)\(\s*"(\w+)"', sources)) <= set(KINDS)


async def test_every_spawn_failure_is_one_cause(metrics):
    """Their codes are many; the event has the detail."""
    metrics.event("worker_restart", "a", {"cause": "spawn-scratch"}, journalled=True)
    assert await value(metrics, "genesisd_worker_restarts_total", worker="a", cause="spawn-failed") == 1


def test_probe_kinds_come_from_the_spec():
    """A new kind needs no line here."""
    assert {"http", "process", "port-owner", "generation", "progress"} <= set(names.PROBE_KINDS)
    assert names.STAGES == ("startup", "readiness", "liveness", "correctness")


def test_names_are_unique_prefixed_and_well_formed():
    """Counters end in _total, nothing else does."""
    exported = [family.name for family in names.FAMILIES]
    assert len(exported) == len(set(exported))
    for family in names.FAMILIES:
        assert re.fullmatch(r"genesisd_[a-z_]+", family.name)
        assert family.name.endswith("_total") == (family.kind is Kind.COUNTER), family.name
        assert family.help.endswith(".")
        assert family.per_worker == (family in names.WORKER_FAMILIES)


def test_the_documentation_lists_exactly_what_is_exported():
    """docs/metrics.md is the contract with dashboards."""
    documented = set(re.findall(r"^\| `(genesisd_\w+)`", DOCS.read_text(), re.MULTILINE))
    assert documented == {family.name for family in names.FAMILIES}


def test_the_documentation_lists_every_label_value():
    """Whoever writes a query looks there."""
    text = DOCS.read_text()
    patched = (names.PATCH_VERDICTS, names.PATCH_ROLES, names.ATTESTED_STATES, names.BUILD_RESULTS)
    judged = (names.STANDINGS, names.ACTIONS, names.INCIDENT_CAUSES, names.JUDGE_STEPS, names.STAGES)
    plain = (names.PHASES, names.PROBE_KINDS, names.EXIT_CAUSES, names.RESTART_CAUSES, names.EVENTS)
    watched = (names.ROW_STATES, names.DECISIONS, names.URGENCIES, names.SWEEPS, names.SWEEP_OUTCOMES, names.QUESTIONS)
    for values in (*plain, *patched, *judged, *watched):
        assert ", ".join(f"`{one}`" for one in values) in text


def test_label_values_are_escaped():
    """A version could hold anything."""
    series = Series(Family("x", Kind.GAUGE, "h.", ("l",), per_worker=False))
    series.set(1, 'a"b\\c\nd')
    assert series.text() == 'x{l="a\\"b\\\\c\\nd"} 1\n'


def test_text_is_rendered_again_only_after_a_change():
    """The same string object comes back."""
    series = Series(Family("x", Kind.GAUGE, "h."), "w")
    series.set(0.5)
    first = series.text()
    series.set(0.5)
    assert series.text() is first
    series.set(0.25)
    assert series.text() == 'x{worker="w"} 0.25\n'


def test_histogram_buckets_are_cumulative_and_bounds_inclusive():
    """As Prometheus defines them."""
    histogram = Histogram(Family("x", Kind.HISTOGRAM, "h.", buckets=(1, 2.5)), "w")
    for one in (0.5, 1, 2, 2.5, 9):
        histogram.observe(one)
    assert [line.rsplit(" ", 1)[1] for line in histogram.text().splitlines()] == ["2", "4", "5", "15", "5"]
