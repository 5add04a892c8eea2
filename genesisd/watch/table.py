"""The table: what a row is for, and where its pull request stands, give what is wanted. Pure.

``TABLE`` says what the row asks for in each situation, ``MEANING`` what that comes to for patches of each kind, and
``HELD`` what becomes of a re-anchoring that was looked into. docs/triage.md shows all three, cell by cell.
"""

from __future__ import annotations

from enum import StrEnum

from genesisd.watch.case import Subject
from genesisd.watch.decisions import DecisionKind
from genesisd.watch.rows import Action, Trigger
from genesisd.watch.situation import Situation


class Want(StrEnum):
    """What a row asks for, before it is known of which patches."""

    STALE = "say unknown"
    NOTE = "note"
    COOKBOOK = "link the page"
    DEAD = "say dead"
    """What it waits for cannot come."""
    WAIT = "wait"
    """Merged, and not in the pin that serves: ours stays until it is."""
    REVIEW = "review"
    REVIEW_MERGE = "review the merge"
    """No pin has it yet."""
    REVIEW_PIN = "review the pin"
    """A pin has it."""
    RETIRE = "retire"
    BACKPORT = "backport"
    TRIAL = "trial"
    REANCHOR = "re-anchor"
    LOST = "say lost"


Purpose = Action | Trigger
_COLUMNS = tuple(Situation)


def _row(*wants: Want) -> dict[Situation, Want]:
    return dict(zip(_COLUMNS, wants, strict=True))


_W = Want
# In each row: untold, issue open, issue closed, open, closed, landed, merged, unclear, ahead, in current, lost.
TABLE: dict[Purpose, dict[Situation, Want]] = {
    Action.WATCH: _row(
        _W.STALE, _W.NOTE, _W.NOTE, _W.NOTE, _W.NOTE, _W.NOTE, _W.NOTE, _W.NOTE, _W.NOTE, _W.NOTE, _W.LOST
    ),
    Action.DRIFT_CHECK: _row(
        _W.STALE, _W.NOTE, _W.NOTE, _W.NOTE, _W.NOTE, _W.NOTE, _W.NOTE, _W.NOTE, _W.NOTE, _W.NOTE, _W.LOST
    ),
    Action.AB_TEST: _row(
        _W.STALE, _W.DEAD, _W.REVIEW, _W.NOTE, _W.DEAD, _W.TRIAL, _W.NOTE, _W.TRIAL, _W.TRIAL, _W.TRIAL, _W.LOST
    ),
    Action.RETIRE: _row(
        _W.STALE, _W.DEAD, _W.REVIEW, _W.NOTE, _W.DEAD, _W.RETIRE, _W.WAIT, _W.REVIEW, _W.RETIRE, _W.RETIRE, _W.LOST
    ),
    Action.PORT: _row(
        _W.STALE, _W.DEAD, _W.REVIEW, _W.NOTE, _W.DEAD, _W.TRIAL, _W.BACKPORT, _W.TRIAL, _W.TRIAL, _W.TRIAL, _W.LOST
    ),
    Action.COOKBOOK: _row(
        _W.COOKBOOK, _W.COOKBOOK, _W.COOKBOOK, _W.COOKBOOK, _W.COOKBOOK, _W.COOKBOOK,
        _W.COOKBOOK, _W.COOKBOOK, _W.COOKBOOK, _W.COOKBOOK, _W.COOKBOOK,
    ),
    Trigger.REVIEW: _row(
        _W.STALE, _W.DEAD, _W.REVIEW, _W.NOTE, _W.DEAD, _W.REVIEW_PIN,
        _W.REVIEW_MERGE, _W.REVIEW, _W.REVIEW_PIN, _W.REVIEW_PIN, _W.LOST,
    ),
    Trigger.RETIRE: _row(
        _W.STALE, _W.DEAD, _W.REVIEW, _W.NOTE, _W.DEAD, _W.RETIRE, _W.WAIT, _W.REVIEW, _W.RETIRE, _W.RETIRE, _W.LOST
    ),
    Trigger.REANCHOR: _row(
        _W.STALE, _W.DEAD, _W.REVIEW, _W.NOTE, _W.DEAD, _W.REANCHOR,
        _W.REANCHOR, _W.REANCHOR, _W.REANCHOR, _W.REANCHOR, _W.REVIEW,
    ),
}  # fmt: skip

_K = DecisionKind
_SUBJECTS = tuple(Subject)


def _kinds(*kinds: DecisionKind) -> dict[Subject, DecisionKind]:
    return dict(zip(_SUBJECTS, kinds, strict=True))


# In each row: carrier, bound, unbuilt, planned, ended, nobody.
MEANING: dict[Want, dict[Subject, DecisionKind]] = {
    Want.STALE: _kinds(*[_K.STALE] * 6),
    Want.NOTE: _kinds(*[_K.NOTE] * 6),
    Want.COOKBOOK: _kinds(*[_K.COOKBOOK] * 6),
    Want.DEAD: _kinds(
        _K.TRIGGER_DEAD, _K.TRIGGER_DEAD, _K.TRIGGER_DEAD, _K.TRIGGER_DEAD, _K.NOTE, _K.TRIGGER_DEAD
    ),
    Want.WAIT: _kinds(_K.NOTE, _K.NOTE, _K.BACKPORT_WANTED, _K.BACKPORT_WANTED, _K.NOTE, _K.NOTE),
    Want.REVIEW: _kinds(_K.REVIEW, _K.REVIEW, _K.REVIEW, _K.REVIEW, _K.NOTE, _K.REVIEW),
    Want.REVIEW_MERGE: _kinds(_K.REVIEW, _K.REVIEW, _K.REVIEW, _K.BACKPORT_WANTED, _K.NOTE, _K.REVIEW),
    Want.REVIEW_PIN: _kinds(_K.REVIEW, _K.REVIEW, _K.REVIEW, _K.BACKPORT_NOT_NEEDED, _K.NOTE, _K.REVIEW),
    Want.RETIRE: _kinds(
        _K.RETIRE_CANDIDATE, _K.RETIRE_CANDIDATE, _K.BACKPORT_NOT_NEEDED, _K.BACKPORT_NOT_NEEDED, _K.NOTE, _K.REVIEW
    ),
    Want.BACKPORT: _kinds(
        _K.NOTE, _K.BACKPORT_WANTED, _K.BACKPORT_WANTED, _K.BACKPORT_WANTED, _K.REVIEW, _K.BACKPORT_WANTED
    ),
    Want.TRIAL: _kinds(*[_K.TRIAL] * 6),
    Want.REANCHOR: _kinds(_K.REANCHOR, _K.REANCHOR, _K.NOTE, _K.NOTE, _K.NOTE, _K.REVIEW),
    Want.LOST: _kinds(*[_K.REGRESSION] * 6),
}  # fmt: skip


class Hold(StrEnum):
    """Whether the anchors of a row's patches stand the change."""

    HOLDS = "holds"
    BREAKS = "breaks"
    UNSEEN = "unseen"


HELD: dict[Hold, DecisionKind] = {
    Hold.HOLDS: DecisionKind.REVIEW,
    Hold.BREAKS: DecisionKind.REANCHOR,
    Hold.UNSEEN: DecisionKind.REANCHOR,
}
"""What a wanted re-anchoring comes to: anchors that hold leave the question whether the patch still means the same."""
