"""Which builds count as proven: what a worker is taken back to."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from genesisd.judge.model import JudgeState
from genesisd.probes.model import skipped, success, unknown
from genesisd.probes.spec import GoldenProbe, NeedleProbe, ToolCallsProbe
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.bench import Bench
from genesisd.wiring.starts import Start
from tests.fakes.supervision import FakeClock, FakeSink, life

SPEC = WorkerSpec(pin="p", model="m", probes={"judge": {"good_for": 50}})
START = Start("p+build", pin="p", incarnation=1)


def proven(standings, ready_at=900.0, **state):
    """What is proven once ``golden`` was good again, at 1000."""
    found = []
    kinds = (GoldenProbe(), ToolCallsProbe(), NeedleProbe())
    seats = tuple(SimpleNamespace(spec=spec, standing=one) for spec, one in zip(kinds, standings, strict=True))
    judge = SimpleNamespace(
        state=lambda _: JudgeState(incarnation=1, ready_at=ready_at, **state), weighed=lambda *_, **__: None
    )
    bench = Bench(
        lambda: {"w": SPEC}, judge, SimpleNamespace(well=lambda *_: None), None, None, FakeSink(), FakeClock(1000.0),
        SimpleNamespace(running=lambda *_: START), SimpleNamespace(prove=lambda *words: found.append(words)),
        lambda _: seats,
    )  # fmt: skip
    bench.weighed(life("w"), "golden", success("as recorded"), good=True)
    return found


@pytest.mark.parametrize("standings", [("good", "good", "undecided"), ("good", "skipped", "bad")])
def test_all_that_could_order_a_restart_was_good(standings):
    """What may be told alone does not count."""
    assert proven(standings) == [("w", START)]


@pytest.mark.parametrize("standings", [("good", "undecided", "good"), ("good", "bad", "good"), ("skipped", "skipped", "good")])  # fmt: skip
def test_what_nobody_could_ask_may_be_what_is_bad(standings):
    """A build is not proven by the kinds that happened to be asked first."""
    assert proven(standings) == []


def test_not_at_once_and_not_within_an_episode():
    """A build that has just been started, or follows from a step, has to last first."""
    assert proven(("good", "good", "good"), ready_at=951.0) == []
    assert proven(("good", "good", "good"), step="restart") == []


@pytest.mark.parametrize(
    ("outcome", "withdrawn"),
    [
        (skipped("nothing was recorded of this build"), ["golden"]),
        (skipped("this worker cannot be asked", trouble="lacking"), []),
        (success("as recorded"), []),
        (unknown("busy"), []),
    ],
)
def test_what_is_held_against_nothing_any_more_is_withdrawn(outcome, withdrawn):
    """A recording that was deleted; the engine's own word that it lacks something takes nothing back."""
    found = []
    judge = SimpleNamespace(withdrawn=lambda _worker, _life, kind: found.append(kind))
    nothing = SimpleNamespace(
        append=lambda _: None,
        probe_standing=lambda *_: None,
        probe_tokens=lambda *_: None,
        probe_conclusive=lambda *_: None,
    )
    bench = Bench(
        lambda: {"w": SPEC}, judge, None, nothing, nothing, FakeSink(), FakeClock(1000.0), None, None, lambda _: ()
    )
    bench.asked(life("w"), "golden", outcome, SimpleNamespace(standing="skipped"))
    assert found == withdrawn
