"""What holds of the judge whatever happens."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genesisd.judge.codec import from_json, to_json
from genesisd.judge.ladder import height
from genesisd.judge.model import (
    BecameReady,
    Bisect,
    Bisected,
    Cured,
    Event,
    Forgiven,
    Hold,
    JudgePolicy,
    JudgeState,
    Means,
    Order,
    Restart,
    RollBack,
    Step,
    Tell,
    Ticked,
    TurnedBad,
    TurnedGood,
)
from genesisd.judge.policy import decide, next_at

POLICY = JudgePolicy(settle=5, good_for=20, budget=3, window=100)
STEPS: dict[type[Order], Step] = {Restart: Step.RESTART, RollBack: Step.ROLLBACK, Bisect: Step.BISECT}
LIMITS = list(Step)[:-1]
KINDS = ("golden", "tool-calls", "needle")


@st.composite
def happening(draw) -> tuple[str, float, int, str, Step, Means]:
    """What happens, seconds later, for a life older or newer than the known one, with these means."""
    what = draw(
        st.sampled_from(["bad"] * 6 + ["good"] * 3 + ["tick"] * 3 + ["due", "bisected", "ready"] * 2 + ["forgiven"])
    )
    gap = draw(st.sampled_from([0.0, 0.5, 1.0, 5.0, 20.0, 40.0]))
    life = draw(st.sampled_from([0] * 8 + [1, 1, 1, -1]))
    means = Means(draw(st.booleans()), draw(st.booleans()))
    return what, gap, life, draw(st.sampled_from(KINDS)), draw(st.sampled_from(LIMITS)), means


def event_of(what: str, at: float, life: int, kind: str, limit: Step, state: JudgeState) -> Event:
    match what:
        case "bad":
            return TurnedBad(at, state.incarnation + life, kind, limit, "no \udcff")
        case "good":
            return TurnedGood(at, state.incarnation + life, kind)
        case "ready":
            return BecameReady(at, state.incarnation + life)
        case "bisected":
            return Bisected(at, ("p1",) if limit is Step.BISECT else (), limit is Step.NOTE, "so it was")
        case "forgiven":
            return Forgiven(at)
        case _:
            return Ticked(at)


class Watch:
    """Remembers what the judge ordered, apart from its own memory."""

    def __init__(self) -> None:
        self.climbed: list[Step] = []
        self.paid: list[float] = []
        self.held = False

    def sees(self, before: JudgeState, event: Event, after: JudgeState, orders: tuple[Order, ...]) -> None:
        if isinstance(event, Forgiven):
            self.__init__()
            assert after == JudgeState(before.incarnation, before.ready_at)
        stale = isinstance(event, BecameReady | TurnedBad | TurnedGood) and event.incarnation < before.incarnation
        if stale or (before.bisecting and not isinstance(event, Bisected)):
            assert orders == ()
        if self.held:
            assert all(isinstance(order, Hold) for order in orders)
        assert [type(order) for order in orders if not isinstance(order, Tell)][1:] == []
        for order in orders:
            self._one(before, event, after, order)

    def _one(self, before: JudgeState, event: Event, after: JudgeState, order: Order) -> None:
        if isinstance(order, Restart | RollBack | Bisect | Hold):
            assert order.incarnation == after.incarnation
            assert after.ready_at is None
        if isinstance(order, Hold):
            self.held = True
        if isinstance(order, Cured):
            self.climbed.clear()
        if type(order) in STEPS:
            step = STEPS[type(order)]
            assert all(height(step) > height(earlier) for earlier in self.climbed), "a step twice, or down the ladder"
            self.climbed.append(step)
            self.paid.append(event.at)
            assert len([at for at in self.paid if at > event.at - POLICY.window]) <= POLICY.budget
            limits = [c.limit for c in after.complaints.values() if c.incarnation == after.incarnation]
            assert max(map(height, limits)) >= height(step), "further than any complaint allows"


@settings(deadline=None)
@given(st.lists(happening(), max_size=60))
def test_nothing_loops_and_nothing_is_overdrawn(happenings):
    """Steps rise within an episode, the budget holds, stale lives are left alone, a state survives the disk."""
    state, watch, at = JudgeState(1, 0.0), Watch(), 0.0
    for what, gap, life, kind, limit, means in happenings:
        due = next_at(state, POLICY)
        at = max(at, due) if what == "due" and due is not None else at + gap
        event = event_of(what, at, life, kind, limit, state)
        after, orders = decide(state, event, POLICY, means)
        watch.sees(state, event, after, orders)
        if isinstance(event, Ticked):
            due = next_at(after, POLICY)
            assert due is None or due > at, "the timer would spin"
        state = from_json(to_json(after))
        assert from_json(to_json(state)) == state


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("means", [Means(a, b) for a in (True, False) for b in (True, False)])
def test_a_fault_that_nothing_cures_comes_to_rest(limit, means):
    """Each step once at most, and then a hold or silence, for good."""
    state, at, done = JudgeState(1, 0.0), 0.0, []
    for _ in range(300):
        at += 1.0
        state, orders = decide(
            state, TurnedBad(at, state.incarnation, "golden", limit, "no"), JudgePolicy(settle=5), means
        )
        done += [type(order) for order in orders if not isinstance(order, Tell)]
        if state.bisecting:
            state, orders = decide(state, Bisected(at, ("p1",), False, "p1"), JudgePolicy(), means)
        if state.ready_at is None and state.step is not Step.HOLD:
            state, orders = decide(state, BecameReady(at, state.incarnation + 1), JudgePolicy(), means)
    assert len(done) == len(set(done))
    assert (done[-1:] == [Hold]) == (limit is Step.BISECT)
    assert next_at(state, JudgePolicy()) is None
