"""The ladder by itself: which step stands above which, and which one follows. Pure."""

from __future__ import annotations

from genesisd.judge.model import Means, Step

_ORDER = tuple(Step)


def height(step: Step | None) -> int:
    """For comparisons: 0 is the lowest step, and no step at all is below it."""
    return -1 if step is None else _ORDER.index(step)


def reaches(step: Step | None, other: Step) -> bool:
    """Whether ``step`` is ``other`` or above it."""
    return height(step) >= height(other)


def highest(*steps: Step | None) -> Step | None:
    """The one that stands above the others."""
    return max(steps, key=height, default=None)


def following(step: Step | None, means: Means) -> Step:
    """The step to take next, where ``step`` did not cure. What cannot be done is left out; the end is the hold."""
    if not reaches(step, Step.RESTART):
        return Step.RESTART
    if means.rollback and not reaches(step, Step.ROLLBACK):
        return Step.ROLLBACK
    if means.bisect and not reaches(step, Step.BISECT):
        return Step.BISECT
    return Step.HOLD


def allows(limit: Step, step: Step) -> bool:
    """Whether one may go as far as ``step``. Only a limit that allows the whole ladder allows its end."""
    return reaches(limit, Step.BISECT if step is Step.HOLD else step)
