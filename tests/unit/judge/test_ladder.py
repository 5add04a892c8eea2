"""Which step follows which, as a table."""

from __future__ import annotations

import pytest

from genesisd.judge.ladder import allows, following, height, highest, reaches
from genesisd.judge.model import Means, Step

NOTE, ALERT, RESTART, ROLLBACK, BISECT, HOLD = Step


@pytest.mark.parametrize(
    ("step", "with_all", "no_rollback", "no_bisect", "neither"),
    [
        (None, RESTART, RESTART, RESTART, RESTART),
        (NOTE, RESTART, RESTART, RESTART, RESTART),
        (ALERT, RESTART, RESTART, RESTART, RESTART),
        (RESTART, ROLLBACK, BISECT, ROLLBACK, HOLD),
        (ROLLBACK, BISECT, BISECT, HOLD, HOLD),
        (BISECT, HOLD, HOLD, HOLD, HOLD),
        (HOLD, HOLD, HOLD, HOLD, HOLD),
    ],
)
def test_following(step, with_all, no_rollback, no_bisect, neither):
    """One up, leaving out what cannot be done."""
    means = Means(True, True), Means(False, True), Means(True, False), Means(False, False)
    assert [following(step, one) for one in means] == [with_all, no_rollback, no_bisect, neither]


@pytest.mark.parametrize(
    ("limit", "allowed"),
    [
        (NOTE, {NOTE}),
        (ALERT, {NOTE, ALERT}),
        (RESTART, {NOTE, ALERT, RESTART}),
        (ROLLBACK, {NOTE, ALERT, RESTART, ROLLBACK}),
        (BISECT, {NOTE, ALERT, RESTART, ROLLBACK, BISECT, HOLD}),
    ],
)
def test_allows(limit, allowed):
    """Who may climb the whole ladder may reach its end."""
    assert {step for step in Step if allows(limit, step)} == allowed


def test_no_step_is_below_all():
    """So that a first complaint sets one."""
    assert highest() is None
    assert highest(None, NOTE) is NOTE
    assert highest(HOLD, None, NOTE) is HOLD
    assert [height(step) for step in (None, *Step)] == [-1, 0, 1, 2, 3, 4, 5]
    assert not reaches(None, NOTE)
    assert reaches(RESTART, RESTART)
