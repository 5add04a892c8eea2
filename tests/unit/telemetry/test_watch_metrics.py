"""What is exported of the upstream watch: nothing without one, bounded, and old by itself."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from genesisd.telemetry import names
from genesisd.telemetry.exposition import Exposition
from genesisd.telemetry.metrics import Metrics
from genesisd.watch.cost import Asked, Budget
from genesisd.watch.decisions import QUIET, Decision, DecisionKind, KeptDecision, Standing, Urgency
from genesisd.watch.model import State
from genesisd.watch.refs import parse_ref
from genesisd.watch.spec import WatchSpec

WALL = 1_700_000_000.0
KINDS = ("nightly", "hourly", "weekly")
LOST = (str(DecisionKind.REGRESSION), str(Urgency.NOW))
COST = Asked(requests={"rows": 5, "diff": 1}, unchanged=1, budget=Budget(limit=5000, remaining=4990))


def spec(**fields):
    return WatchSpec.model_validate({"watchlist": "list.yaml"} | fields)


def kept(kind=DecisionKind.REGRESSION, urgency=Urgency.NOW, standing=Standing.OPEN):
    made = Decision(kind=kind, row="watch:vllm#1", ref=parse_ref("vllm#1"), urgency=urgency, reason="why")
    return KeptDecision(id=1, decision=made, opened=WALL, seen=WALL, standing=standing)


@pytest.fixture
def metrics():
    made = Metrics()
    made.watch.configure(spec(), WALL)
    return made


async def page(metrics):
    """Values by name and label values."""
    text = b"".join(await Exposition(metrics).page()).decode()
    return {
        (one.name.removeprefix("genesisd_watch_"), *one.labels.values()): one.value
        for found in text_string_to_metric_families(text)
        for one in found.samples
        if one.name.startswith("genesisd_watch_")
    }


async def test_without_a_watchlist_there_is_nothing_whatever_is_told():
    """An age that nobody can lower would raise an alarm for ever."""
    metrics = Metrics()
    tell_all(metrics)
    assert await page(metrics) == {}


def tell_all(metrics):
    watch = metrics.watch
    watch.rows({"open": 20, "closed": 11, "merged": 9})
    watch.stale(2)
    watch.oldest(WALL)
    watch.decisions([kept()])
    watch.swept("nightly", 2.5, "done", WALL)
    watch.last("hourly", WALL)
    watch.asked(COST)


async def test_everything_that_is_told_is_on_the_page(metrics):
    """With the labels that queries name."""
    tell_all(metrics)
    shown = await page(metrics)
    assert shown["rows", "open"] == 20
    assert shown["rows", "unknown"] == 0
    assert shown["rows_stale",] == 2
    assert shown["oldest_check_timestamp_seconds",] == WALL
    assert shown["max_age_seconds",] == 172800
    assert shown["decisions_open", *LOST] == 1
    assert shown["sweeps_total", "nightly", "done"] == 1
    assert shown["sweep_duration_seconds", "nightly"] == 2.5
    assert shown["sweep_last_success_timestamp_seconds", "nightly"] == WALL
    assert shown["sweep_last_success_timestamp_seconds", "hourly"] == WALL
    assert shown["requests_total", "rows"] == 5
    assert shown["requests_unchanged_total",] == 1
    assert (shown["api_remaining",], shown["api_limit",]) == (4990, 5000)


async def test_counters_are_there_with_zero_from_the_start(metrics):
    """Else rate() misses the first increase; and a kind that was never swept has a last success of 0."""
    shown = await page(metrics)
    assert all(shown["sweeps_total", kind, outcome] == 0 for kind in names.SWEEPS for outcome in names.SWEEP_OUTCOMES)
    assert all(shown["requests_total", kind] == 0 for kind in names.QUESTIONS)
    assert all(shown["sweep_last_success_timestamp_seconds", kind] == 0 for kind in KINDS)
    assert ("oldest_check_timestamp_seconds",) not in shown


async def test_a_failed_sweep_is_no_success(metrics):
    """Nor is an outcome that nobody knows; one that got a part of the answers is."""
    metrics.watch.swept("nightly", 1.0, "partial", WALL)
    metrics.watch.swept("nightly", 1.0, "failed", WALL + 9)
    metrics.watch.swept("nightly", 1.0, "strange", WALL + 9)
    shown = await page(metrics)
    assert shown["sweep_last_success_timestamp_seconds", "nightly"] == WALL
    assert shown["sweeps_total", "nightly", "failed"] == 2


@pytest.mark.parametrize(
    ("kind", "covered"),
    [
        ("weekly", {"weekly", "nightly", "hourly"}),
        ("nightly", {"nightly", "hourly"}),
        ("now", {"nightly", "hourly"}),
        ("hourly", {"hourly"}),
        ("strange", set()),
    ],
)
async def test_a_sweep_does_the_work_of_narrower_ones(metrics, kind, covered):
    """After a downtime one sweep makes up for all: the others were not missed."""
    metrics.watch.swept(kind, 1.0, "done", WALL)
    shown = {key[1]: value for key, value in (await page(metrics)).items() if key[0].startswith("sweep_last")}
    assert {one for one, value in shown.items() if value == WALL} == covered


async def test_what_the_ledger_tells_late_takes_nothing_back(metrics):
    """A sweep may end while the ledger is still being read."""
    metrics.watch.swept("nightly", 1.0, "done", WALL)
    metrics.watch.last("nightly", WALL - 86400)
    assert (await page(metrics))["sweep_last_success_timestamp_seconds", "nightly"] == WALL


async def test_strange_words_stay_bounded(metrics):
    """Of a state, a kind of sweep, a question."""
    metrics.watch.rows({"strange": 1, "stranger": 2})
    metrics.watch.swept("strange", 1.0, "done", WALL)
    metrics.watch.asked(Asked(requests={"strange": 3}))
    shown = await page(metrics)
    assert shown["rows", "unknown"] == 3
    assert shown["sweeps_total", "other", "done"] == 1
    assert shown["requests_total", "other"] == 3
    assert ("sweep_last_success_timestamp_seconds", "other") not in shown


async def test_only_what_waits_for_somebody_is_a_decision(metrics):
    """Notes and what was answered are none, and the last one takes its series along, so that the alert clears."""
    others = [kept(DecisionKind.NOTE), kept(standing=Standing.DECLINED), kept(standing=Standing.PASSED)]
    metrics.watch.decisions([kept(), kept(), kept(DecisionKind.REVIEW, Urgency.LATER), *others])
    shown = {key[1:]: value for key, value in (await page(metrics)).items() if key[0] == "decisions_open"}
    assert shown == {LOST: 2, ("review", "later"): 1}
    metrics.watch.decisions(others)
    assert not [key for key in await page(metrics) if key[0] == "decisions_open"]


@pytest.mark.parametrize(
    ("cron", "seconds"),
    [
        ("30 2 * * *", 86400),
        ("5 * * * *", 3600),
        ("0 4 * * 0", 7 * 86400),
        ("0 3 * * 1-5", 3 * 86400),
        ("0 0 1 * *", 31 * 86400),
        ("0 8,9 * * *", 23 * 3600),
    ],
)
async def test_the_longest_time_between_two_sweeps_follows_from_the_schedule(metrics, cron, seconds):
    """By it an alert tells a sweep that was missed from one that is not yet due."""
    metrics.watch.configure(spec(schedule={"nightly": cron}), WALL)
    assert (await page(metrics))["sweep_period_seconds", "nightly"] == seconds


async def test_a_reload_keeps_what_was_counted_and_forgets_what_is_not_scheduled(metrics):
    """A last success that nobody renews would raise the alarm for missed sweeps."""
    tell_all(metrics)
    metrics.watch.configure(spec(schedule={"hourly": None, "weekly": None}, max_age="1h"), WALL)
    shown = await page(metrics)
    assert shown["sweeps_total", "nightly", "done"] == 1
    assert shown["sweep_last_success_timestamp_seconds", "nightly"] == WALL
    assert shown["max_age_seconds",] == 3600
    assert {key[1] for key in shown if key[0].startswith("sweep_last") or key[0].startswith("sweep_per")} == {"nightly"}
    metrics.watch.configure(WatchSpec(), WALL)
    assert await page(metrics) == {}


async def test_a_budget_that_is_not_told_is_not_shown(metrics):
    """The one of an hour ago says nothing."""
    metrics.watch.asked(COST)
    metrics.watch.asked(Asked())
    assert not [key for key in await page(metrics) if key[0].startswith("api_")]


def test_the_words_are_those_of_the_watch():
    """A new kind or state needs no line in the list of names."""
    assert set(names.ROW_STATES) == {*State, "unknown"}
    assert set(names.DECISIONS) == set(DecisionKind) - QUIET
    assert set(names.URGENCIES) == set(Urgency)
