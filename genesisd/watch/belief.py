"""Whether an answer of upstream may take the place of an older one. Pure.

Caches between us and upstream have told states of the past with the date of today. What upstream cannot undo is
therefore never believed to be undone, and nothing goes back behind the newest change we saw.
"""

from __future__ import annotations

from datetime import UTC, datetime

from genesisd.watch.model import Answer, Known, Pull, State, Unanswered, WhyUnknown


def believe(known: Known | None, answer: Answer) -> Answer:
    """``answer``, or in its place an Unanswered that says what it contradicts."""
    if known is None or known.pull is None or isinstance(answer, Unanswered):
        return answer
    told = _contradiction(known.pull, answer)
    return answer if told is None else Unanswered(answer.ref, WhyUnknown.CONTRADICTED, answer.checked_at, told)


def _contradiction(old: Pull, new: Pull) -> str | None:
    if old.state is State.MERGED and new.state is not State.MERGED:
        return f"told as {new.state}, though it was told as merged before: a merge is never taken back"
    if old.is_issue != new.is_issue:
        return f"told as {_sort(new)}, though it was told as {_sort(old)} before"
    if old.created_at is not None and new.created_at is not None and new.created_at != old.created_at:
        # Whoever takes the name of a repository that moved has numbers of his own, from one on.
        return (
            f"told as begun on {_moment(new.created_at)}, and before as begun on {_moment(old.created_at)}: another one"
        )
    if old.updated_at is not None and new.updated_at is not None and new.updated_at < old.updated_at:
        seconds = old.updated_at - new.updated_at
        return f"told as of {seconds:.0f} s before the newest change that was told of it"
    return None


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _sort(pull: Pull) -> str:
    return "an issue" if pull.is_issue else "a pull request"
