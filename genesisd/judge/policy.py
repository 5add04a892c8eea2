"""What follows from probes that turned bad. Pure and total over state x event.

A ladder: it is told at once, then the worker is restarted, then it goes back to a build that was good, then the
patch to blame is looked for, and at the end a person is needed. A step that does not cure leads one step up. Within
an episode no step is taken twice, so that nothing loops; an episode ends once everything was good for long enough.

- Where the limit of what is bad forbids the next step, that is told once and the worker left as it is. It is held at
  the end of the whole ladder, and when a step would be due but the budget is spent.
- A complaint in a life that began after a step counts from ``settle`` seconds after the life became ready.
- A life that is not ready, or was ordered to end, is not judged: what its probes still say is dropped. If the order
  was lost with a daemon, the life's ``BecameReady`` (the new daemon says so of lives that it adopts) makes it judged
  again, from the step that was taken on.
- A held worker has no life; one that begins without ``Forgiven`` is held again.
- A state with ``bisecting`` waits for ``Bisected``: whoever loads one has to go on with the bisection.
- ``at`` is one clock (seconds) within a boot; ``codec.rebase`` carries a state over a reboot.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from genesisd.judge import words
from genesisd.judge.complaints import after_cure, bad_now, cured_when, pressing, told, with_complaint, without_complaint
from genesisd.judge.ladder import allows, following, highest, reaches
from genesisd.judge.model import (
    BecameReady,
    Bisect,
    Bisected,
    Complaint,
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

Judged = tuple[JudgeState, tuple[Order, ...]]


def decide(state: JudgeState, event: Event, policy: JudgePolicy, means: Means) -> Judged:
    """The state after ``event``, and what is to be done, in order. Orders are carried out once the state is kept."""
    state = replace(state, taken=tuple(step for step in state.taken if step[0] > event.at - policy.window))
    match event:
        case Forgiven():
            return JudgeState(state.incarnation, state.ready_at), ()
        case Bisected():
            return _bisected(state, event) if state.bisecting else (state, ())
        case Ticked():
            return _weighed(state, event.at, policy, means)
        case BecameReady():
            stale = event.incarnation < state.incarnation
            return (state, ()) if stale else _weighed(_began(state, event), event.at, policy, means)
        case TurnedGood():
            heard = _heard(state, event)
            return _weighed(without_complaint(heard, event.kind), event.at, policy, means) if heard else (state, ())
        case TurnedBad():
            heard = _heard(state, event)
            return _complained(heard, event, policy, means) if heard else (state, ())
        case _:
            assert_never(event)


def next_at(state: JudgeState, policy: JudgePolicy) -> float | None:
    """When ``Ticked`` is due, or None; in the past where it is overdue. Ask again after each decision."""
    if state.ready_at is None or state.bisecting:
        return None
    if pressing(state):
        return state.ready_at + policy.settle if _uncapped(state) else None
    return cured_when(state, policy)


def _began(state: JudgeState, event: BecameReady) -> JudgeState:
    if event.incarnation == state.incarnation and state.ready_at is not None:
        return state
    return replace(state, incarnation=event.incarnation, ready_at=event.at, cured_at=None)


def _heard(state: JudgeState, event: TurnedBad | TurnedGood) -> JudgeState | None:
    """The state that an answer speaks to, or None where it is to be dropped.

    A life that nobody announced is taken as one that just became ready: otherwise it would never be judged.
    """
    if event.incarnation > state.incarnation:
        state = _began(state, BecameReady(event.at, event.incarnation))
    listens = event.incarnation == state.incarnation and state.ready_at is not None and not state.bisecting
    return state if listens else None


def _complained(state: JudgeState, event: TurnedBad, policy: JudgePolicy, means: Means) -> Judged:
    if state.step is Step.HOLD:
        return _held_still(state)
    noted, news = with_complaint(state, event)
    after, orders = _weighed(noted, event.at, policy, means)
    tell = Tell(told(event.limit), (event.kind,), words.what([noted.complaints[event.kind]], noted))
    return after, ((tell, *orders) if news else orders)


def _weighed(state: JudgeState, at: float, policy: JudgePolicy, means: Means) -> Judged:
    """What the life's standing calls for now."""
    if state.ready_at is None or state.bisecting:
        return state, ()
    if state.step is Step.HOLD:
        return _held_still(state)
    if not pressing(state):
        return _calm(state, at, policy)
    settles = reaches(state.step, Step.RESTART) and at < state.ready_at + policy.settle
    return (state, ()) if settles else _climb(state, at, policy, means)


def _climb(state: JudgeState, at: float, policy: JudgePolicy, means: Means) -> Judged:
    """One step up, unless the limit or the budget forbids it."""
    complaints = pressing(state)
    step = following(state.step, means)
    limit = _limit(complaints)
    if not allows(limit, step):
        if not _uncapped(state):
            return state, ()
        kinds = tuple(complaint.kind for complaint in complaints)
        return replace(state, capped=limit), (Tell(Step.ALERT, kinds, words.capped(complaints, state)),)
    if step is Step.HOLD:
        return _held(state, words.nothing_left(complaints, state, means))
    if len(state.taken) >= policy.budget:
        return _held(state, words.budget_spent(complaints, state, policy))
    return _taken(state, step, at, complaints)


def _limit(complaints: tuple[Complaint, ...]) -> Step:
    """How far one may go for any of them."""
    return highest(*(complaint.limit for complaint in complaints)) or Step.NOTE


def _uncapped(state: JudgeState) -> bool:
    """Whether it was not yet told, for as high a limit, that nothing more may be done."""
    return state.capped is None or not reaches(state.capped, _limit(pressing(state)))


def _taken(state: JudgeState, step: Step, at: float, complaints: tuple[Complaint, ...]) -> Judged:
    taken = (*state.taken, (at, step.value))
    after = replace(state, step=step, taken=taken, ready_at=None, bisecting=step is Step.BISECT)
    text = words.step_text(step, complaints, state)
    if step is Step.BISECT:
        searched = tuple(complaint.kind for complaint in complaints if allows(complaint.limit, step))
        return after, (Bisect(state.incarnation, searched, text),)
    return after, (Restart(state.incarnation, text) if step is Step.RESTART else RollBack(state.incarnation, text),)


def _held(state: JudgeState, text: str) -> Judged:
    after = replace(state, step=Step.HOLD, ready_at=None, bisecting=False)
    return after, (Hold(state.incarnation, text),)


def _held_still(state: JudgeState) -> Judged:
    return _held(state, words.held_still(state.incarnation))


def _bisected(state: JudgeState, event: Bisected) -> Judged:
    if event.pin_fails or not event.guilty:
        return _held(state, words.not_blamed(event))
    kinds = tuple(sorted(state.complaints))
    return replace(state, bisecting=False, blamed=event.guilty), (Tell(Step.BISECT, kinds, event.text),)


def _calm(state: JudgeState, at: float, policy: JudgePolicy) -> Judged:
    """Nothing presses: count how long that lasts."""
    if state.step is None or bad_now(state):
        return state, ()
    counted = replace(state, cured_at=at if state.cured_at is None else state.cured_at)
    due = cured_when(counted, policy)
    if due is None or at < due:
        return counted, ()
    left = after_cure(counted)
    waits = left.step is not None and not bad_now(left)
    return replace(left, cured_at=at if waits else None), (Cured(state.step, words.cured(counted, policy)),)
