"""How probes stand, as people read it: one line a probe, whether or not it has been asked."""

from __future__ import annotations

from genesisd.control.views import ProbeView
from genesisd.probes.model import success
from genesisd.probes.seat import Standing
from genesisd.probes.spec import GoldenProbe
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.standings import standings

SPEC = WorkerSpec(
    command=("c",),
    probes={
        "startup": [{"kind": "http"}],
        "readiness": [{"kind": "generation", "period": 30}],
        "liveness": [],
        "correctness": [{"kind": "golden", "action": "restart"}, {"kind": "needle"}],
    },
)


def lines(views=(), rounds=(), now=100.0):
    return {one.kind: one for one in standings("w", SPEC, views, rounds, now)}


def test_a_probe_that_was_not_asked_is_undecided():
    """In the order of the stages, with what is configured."""
    shown = lines()
    assert list(shown) == ["http", "generation", "golden", "needle"]
    assert {one.standing for one in shown.values()} == {"undecided"}
    assert (shown["generation"].period, shown["generation"].age, shown["generation"].action) == (30, None, "")
    assert (shown["golden"].action, shown["needle"].action) == ("restart", "alert")


def test_a_probe_of_a_stage_stands_as_its_newest_answer():
    """An unknown one decides nothing, but it is an ask."""
    views = [
        ProbeView("startup", "http", "success", "200", 90.0),
        ProbeView("readiness", "generation", "unknown", "busy", 95.0),
    ]
    shown = lines(views)
    assert (shown["http"].standing, shown["http"].age, shown["http"].conclusive_age) == ("good", 10.0, 10.0)
    late = shown["generation"]
    assert (late.standing, late.summary, late.age, late.conclusive_age) == ("undecided", "busy", 5.0, None)


def test_a_probe_of_the_rounds_stands_as_the_rounds_say():
    """With its ages, its streak and what it cost; what is due counts from now."""
    spec = GoldenProbe(period=60)
    rounds = [Standing("golden", spec, "bad", success("once"), 99.0, 80.0, 130.0, 3, 500)]
    one = lines(rounds=rounds)["golden"]
    assert (one.standing, one.verdict, one.summary) == ("bad", "success", "once")
    assert (one.age, one.conclusive_age, one.due, one.streak, one.tokens) == (1.0, 20.0, 30.0, 3, 500)
    never = [Standing("golden", spec, "undecided", None, None, None, 50.0, 0, 0)]
    one = lines(rounds=never)["golden"]
    assert (one.age, one.conclusive_age, one.due, one.verdict) == (None, None, 0.0, "")
