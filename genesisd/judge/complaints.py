"""Which complaints count for what. Pure.

Those of the present life press for a step. Those of earlier lives only stand in the way of a cure: the step that
was taken for them has to be seen to help. What may be told alone (a limit below the restart) never presses, and
never keeps an episode of steps open: a probe that is bad for days would make each new fault climb on from the last.
"""

from __future__ import annotations

from dataclasses import replace

from genesisd.judge.ladder import highest, reaches
from genesisd.judge.model import Complaint, JudgePolicy, JudgeState, Step, TurnedBad


def told(limit: Step) -> Step:
    """How a complaint is told at once."""
    return Step.ALERT if reaches(limit, Step.ALERT) else Step.NOTE


def with_complaint(state: JudgeState, event: TurnedBad) -> tuple[JudgeState, bool]:
    """The state with one more, and whether it is news of this life."""
    known = state.complaints.get(event.kind)
    news = known is None or known.incarnation != event.incarnation
    since = event.at if known is None or news else known.at
    complaint = Complaint(event.kind, since, event.limit, event.text, event.incarnation)
    step = highest(state.step, told(event.limit))
    noted = replace(state, complaints={**state.complaints, event.kind: complaint}, step=step)
    return replace(noted, cured_at=None if bad_now(noted) else state.cured_at), news


def without_complaint(state: JudgeState, kind: str) -> JudgeState:
    """The state once ``kind`` is good; being good counts from then on."""
    if kind not in state.complaints:
        return state
    left = {name: complaint for name, complaint in state.complaints.items() if name != kind}
    return replace(state, complaints=left, cured_at=None)


def pressing(state: JudgeState) -> tuple[Complaint, ...]:
    """What a step may be taken for now, oldest first."""
    found = [c for c in state.complaints.values() if reaches(c.limit, Step.RESTART) and _present(c, state)]
    return tuple(sorted(found, key=lambda complaint: (complaint.at, complaint.kind)))


def bad_now(state: JudgeState) -> bool:
    """Whether something that counts for the episode is bad in this life."""
    return any(_present(complaint, state) for complaint in _counting(state))


def cured_when(state: JudgeState, policy: JudgePolicy) -> float | None:
    """When the episode is over if nothing more is heard.

    A kind that never speaks again (the build it went back to has no golden, say) is waited for no longer than a
    whole window.
    """
    if state.cured_at is None:
        return None
    return state.cured_at + (max(policy.good_for, policy.window) if _counting(state) else policy.good_for)


def after_cure(state: JudgeState) -> JudgeState:
    """The state without the episode; what was only told, and is bad still, is an episode of its own."""
    counting = {complaint.kind for complaint in _counting(state)}
    left = {kind: complaint for kind, complaint in state.complaints.items() if kind not in counting}
    step = highest(*(told(complaint.limit) for complaint in left.values()))
    return JudgeState(state.incarnation, state.ready_at, complaints=left, step=step, taken=state.taken)


def _counting(state: JudgeState) -> tuple[Complaint, ...]:
    climbed = reaches(state.step, Step.RESTART)
    return tuple(c for c in state.complaints.values() if not climbed or reaches(c.limit, Step.RESTART))


def _present(complaint: Complaint, state: JudgeState) -> bool:
    return complaint.incarnation == state.incarnation
