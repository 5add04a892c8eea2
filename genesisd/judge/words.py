"""What the judge says to people: what is bad, what was tried, what follows. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from genesisd.judge.model import Bisected, Complaint, JudgePolicy, JudgeState, Means, Step

_TRIED = {
    Step.RESTART: "after a restart",
    Step.ROLLBACK: "with the last build that was good",
    Step.BISECT: "without the patches that were blamed",
}
_NEXT = {
    Step.RESTART: "restarting it",
    Step.ROLLBACK: "going back to the last build that was good",
    Step.BISECT: "looking for the patch that is to blame",
}


def what(complaints: Sequence[Complaint], state: JudgeState) -> str:
    """``golden is bad after a restart: expected ..., came ...``."""
    names = _listed([complaint.kind for complaint in complaints])
    are = "is" if len(complaints) == 1 else "are"
    tried = _tried(state)
    bad = f"bad {tried}" if tried else "bad"
    return f"{names} {are} {bad}: {'; '.join(complaint.text for complaint in complaints)}"


def step_text(step: Step, complaints: Sequence[Complaint], state: JudgeState) -> str:
    """Why a step is taken."""
    return f"{_NEXT[step]}, since {what(complaints, state)}"


def nothing_left(complaints: Sequence[Complaint], state: JudgeState, means: Means) -> str:
    """Why the ladder ends here."""
    lacking = []
    if not means.rollback and state.step is Step.RESTART:
        lacking.append("no other build was good")
    if not means.bisect and state.step in {Step.RESTART, Step.ROLLBACK}:
        lacking.append("no patch can be left out to try")
    end = f" ({' and '.join(lacking)})" if lacking else ""
    return f"nothing is left to try{end}: {what(complaints, state)}"


def budget_spent(complaints: Sequence[Complaint], state: JudgeState, policy: JudgePolicy) -> str:
    """Why no further step is taken although there is one."""
    steps = _listed([name for _, name in state.taken])
    return f"the budget of {policy.budget} steps within {_span(policy.window)} is spent ({steps}): {what(complaints, state)}"


def capped(complaints: Sequence[Complaint], state: JudgeState) -> str:
    """That a person should look, since more may not be done."""
    return f"its action allows nothing further, so it is left as it is: {what(complaints, state)}"


def not_blamed(event: Bisected) -> str:
    """Why a bisection ends in a hold."""
    if event.pin_fails:
        return f"the plain pin answers wrong too, so no patch is to blame: {event.text}"
    return f"no patch could be blamed: {event.text}"


def held_still(incarnation: int) -> str:
    """Why a life is ended that nobody should have begun."""
    return f"life {incarnation} began although the worker is held; start or reset it to let it run"


def cured(state: JudgeState, policy: JudgePolicy) -> str:
    """That an episode is over."""
    tried = _tried(state)
    return f"every probe is good{f' {tried}' if tried else ''} since {_span(policy.good_for)}"


def _tried(state: JudgeState) -> str:
    if state.step is Step.BISECT and state.blamed:
        return f"without {_listed(state.blamed)}"
    return _TRIED.get(state.step, "") if state.step else ""


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]])) if names else "none"


def _span(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:g} s"
