"""Hysteresis: how many equal answers in a row it takes to change one's mind. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from genesisd.probes.model import Stage, Verdict


@dataclass(frozen=True, slots=True)
class Threshold:
    """A probe's standing.

    Attributes:
        good: True, False, or None while neither threshold was reached since the life began.
        streak: consecutive equal verdicts, unknown ones left out.
        last: the verdict that the streak counts.
    """

    good: bool | None
    streak: int = 0
    last: Verdict | None = None

    @classmethod
    def fresh(cls, stage: Stage) -> Threshold:
        """Liveness and right answers are presumed; startup and readiness have to be earned."""
        return cls(good=True if stage in {Stage.LIVENESS, Stage.CORRECTNESS} else None)

    def after(self, verdict: Verdict, failures: int, successes: int) -> Threshold:
        """The standing after one more answer. Unknown and skipped neither count nor reset."""
        if verdict in {Verdict.UNKNOWN, Verdict.SKIPPED}:
            return self
        streak = self.streak + 1 if verdict is self.last else 1
        counted = replace(self, streak=streak, last=verdict)
        if verdict is Verdict.SUCCESS:
            return replace(counted, good=True) if streak >= successes else counted
        return replace(counted, good=False) if streak >= failures else counted
