"""How bad a row is, and how soon a decision is due."""

from __future__ import annotations

import pytest

from genesisd.watch.decisions import DecisionKind, Urgency
from genesisd.watch.rows import Action, Severity, Trigger
from genesisd.watch.severity import Rated, at_least, is_grave, rate, urgency, written
from tests.unit.watch.cases import patch, pull, sweep_row, watch_row

NEEDED = patch("P1", required=True)


@pytest.mark.parametrize(
    ("text", "severity"),
    [("P0-correctness", Severity.P0), ("P3-perf", Severity.P3), ("P2", Severity.P2), (None, None), ("grave", None)],
)
def test_a_written_class_counts(text, severity):
    """Whatever is said after it; a text without a class is none, and sweep rows have none."""
    assert written(watch_row(severity=text)) is severity
    assert written(sweep_row()) is None


def test_written_is_not_derived():
    """Neither is what another row of the pull request says; the row's own word goes first."""
    row = watch_row(severity="P3-perf")
    assert rate(row, pull(title="crash"), (NEEDED,)) == Rated(Severity.P3)
    assert rate(row, None, (), Severity.P0) == Rated(Severity.P3)
    assert rate(sweep_row(), None, (), Severity.P0) == Rated(Severity.P0)
    assert Rated(Severity.P3).derived is False


@pytest.mark.parametrize(
    ("row", "title", "labels", "bound", "severity"),
    [
        (watch_row(Action.DRIFT_CHECK), "", (), (NEEDED,), "P1"),
        (sweep_row(Trigger.REANCHOR), "", (), (NEEDED,), "P1"),
        (watch_row(Action.DRIFT_CHECK), "", (), (patch("P1"),), "P2"),
        (watch_row(Action.WATCH), "", (), (NEEDED,), "P2"),
        (sweep_row(Trigger.RETIRE), "", (), (NEEDED,), "P2"),
        (sweep_row(), "Fix illegal memory access", (), (patch("P1"),), "P1"),
        (sweep_row(), "Fix illegal memory access", (), (), "P2"),
        (sweep_row(), "Add a kernel", (), (), "P3"),
        (sweep_row(), "Add a kernel", ("bug", "v1"), (), "P2"),
        (sweep_row(), "[Bugfix] A kernel", (), (), "P2"),
        (sweep_row(), "[Perf] Fix a slow path", (), (), "P3"),
        (sweep_row(), "[CI/Build] Fix a flaky test", (), (), "P3"),
        (sweep_row(), "[Doc] Fix a link", ("bug",), (patch("P1"),), "P2"),
        (sweep_row(), "Trace the prefix", (), (patch("P1"),), "P2"),
        (sweep_row(), "A race in the scheduler", (), (patch("P1"),), "P1"),
    ],
)
def test_what_is_derived(row, title, labels, bound, severity):
    """From anchors that cannot be done without, grave words about what we patch, defects, and bare bindings."""
    found = rate(row, pull(title=title, labels=labels), bound)
    assert (found.severity, found.derived) == (severity, True)
    assert found.why


def test_nothing_told_is_mild():
    """Upstream never answered, and the row binds nothing."""
    assert rate(sweep_row(), None, ()) == Rated(Severity.P3, derived=True, why="nothing of ours hangs on it")


def test_the_words_say_what_from():
    """What it was derived from is for people."""
    assert "P1" in rate(watch_row(Action.DRIFT_CHECK), None, (NEEDED,)).why
    assert "'crashes'" in rate(sweep_row(), pull(title="It crashes"), (NEEDED,)).why
    assert "'bug'" in rate(sweep_row(), pull(labels=("bug",)), ()).why
    assert "P1" in rate(sweep_row(), None, (NEEDED,)).why


def test_raising_never_lowers():
    """And what was raised is derived."""
    assert at_least(Rated(Severity.P1), Severity.P2, "x") == Rated(Severity.P1)
    assert at_least(Rated(Severity.P1), Severity.P1, "x") == Rated(Severity.P1)
    assert at_least(Rated(Severity.P3), Severity.P1, "x") == Rated(Severity.P1, derived=True, why="x")


def test_grave_is_what_an_hourly_sweep_looks_at():
    """P0 and P1."""
    assert [one for one in Severity if is_grave(one)] == [Severity.P0, Severity.P1]


@pytest.mark.parametrize(
    ("kind", "soonest"),
    [
        (DecisionKind.REGRESSION, Urgency.NOW),
        (DecisionKind.PAIR_GATE, Urgency.NOW),
        (DecisionKind.REANCHOR, Urgency.NOW),
        (DecisionKind.BACKPORT_WANTED, Urgency.NOW),
        (DecisionKind.RETIRE_CANDIDATE, Urgency.SOON),
        (DecisionKind.REVIEW, Urgency.SOON),
        (DecisionKind.TRIAL, Urgency.SOON),
        (DecisionKind.STALE, Urgency.SOON),
        (DecisionKind.TRIGGER_DEAD, Urgency.LATER),
        (DecisionKind.CLUSTER_DECIDED, Urgency.LATER),
        (DecisionKind.BACKPORT_NOT_NEEDED, Urgency.LATER),
        (DecisionKind.COOKBOOK, Urgency.NONE),
        (DecisionKind.NOTE, Urgency.NONE),
    ],
)
def test_giving_up_is_never_pressing(kind, soonest):
    """The gravest severity on the pin that serves makes a kind as urgent as it can be."""
    assert urgency(kind, Severity.P0, serving=True) is soonest
    mild = Urgency.NONE if soonest is Urgency.NONE else Urgency.LATER
    assert urgency(kind, Severity.P3, serving=True) is mild
