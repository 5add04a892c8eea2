"""What all probe kinds have in common, and what those that judge answers have besides. Edges only. Pure."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from genesisd.units import Duration, SpecModel


class ProbeBase(SpecModel):
    """What every probe kind has in common."""

    period: Duration = Field(default=5.0, gt=0)
    """Seconds from the end of one ask to the start of the next (before jitter)."""
    timeout: Duration = Field(default=5.0, gt=0)
    """Deadline of one ask in seconds; passing it is a failure unless the kind says otherwise."""
    failures: int = Field(default=3, ge=1)
    """Consecutive failures before the probe turns bad."""
    successes: int = Field(default=1, ge=1)
    """Consecutive successes before the probe turns good."""
    jitter: float = Field(default=0.1, ge=0, le=1)
    """Share of the period by which each wait is varied."""


class Action(StrEnum):
    """What may at most be done about a probe that turned bad, in the order in which the judge goes up."""

    NOTE = "note"
    """Journal and status."""
    ALERT = "alert"
    """And the metric that rules watch."""
    RESTART = "restart"
    ROLLBACK = "rollback"
    """And start the last build that was good."""
    QUARANTINE = "quarantine"
    """And look for the patch that is to blame, and leave it out."""


class CorrectnessProbe(ProbeBase):
    """What the kinds that judge answers have in common.

    They are asked one at a time for each worker, when users leave room or the patience is at its end.
    """

    period: Duration = Field(default=600.0, gt=0)
    timeout: Duration = Field(default=120.0, gt=0)
    """Deadline of a whole ask. Passing it while the engine moves says nothing: users come first."""
    failures: int = Field(default=2, ge=1)
    recheck: Duration = 2.0
    """Seconds from a failure to the next ask, so that hysteresis does not cost whole periods."""
    patience: float = Field(default=0.5, ge=0, le=1)
    """Share of the period for which an ask waits for a moment without user traffic; then it is asked beside it."""
    max_tokens: int = Field(default=2000, ge=1)
    """Prompt and completion tokens that one ask may cost; cases take turns where all would cost more."""
    action: Action = Action.QUARANTINE
