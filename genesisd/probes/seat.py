"""One correctness probe's place in the rounds of a life: how it stands, when it is due, what it cost."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from dataclasses import dataclass, field

from genesisd.probes.model import Outcome, Stage, Verdict
from genesisd.probes.ports import Probe
from genesisd.probes.schedule import Turn
from genesisd.probes.spec import CorrectnessProbe
from genesisd.probes.threshold import Threshold

_CONCLUSIVE = frozenset({Verdict.SUCCESS, Verdict.FAILURE})
_SHORTEST = 0.001
"""Seconds: an interval of nothing could not be measured in."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How one correctness probe stands, for status. Times are monotonic.

    Attributes:
        standing: ``good``, ``bad``, ``undecided`` (no yes or no yet) or ``skipped``.
        outcome: the newest, also of an ask that could not be made; None before the first.
        asked: time of ``outcome``.
        answered: time of the newest yes or no.
        due: when it wants to be asked next.
        streak: equal answers in a row.
        tokens: what it cost in this life.
    """

    kind: str
    spec: CorrectnessProbe
    standing: str
    outcome: Outcome | None
    asked: float | None
    answered: float | None
    due: float | None
    streak: int
    tokens: int


@dataclass(slots=True)
class Seat:
    """State of one probe; ``waiting`` are operators who want it asked now."""

    kind: str
    spec: CorrectnessProbe
    probe: Probe
    due: float = 0.0
    interval: float = 1.0
    told: float = 0.0
    threshold: Threshold = field(default_factory=lambda: Threshold.fresh(Stage.CORRECTNESS))
    outcome: Outcome | None = None
    asked: float | None = None
    answered: float | None = None
    skipped: bool = False
    tokens: int = 0
    costs: deque[int] = field(default_factory=lambda: deque(maxlen=4))
    waiting: list[asyncio.Future[Outcome]] = field(default_factory=list)

    def begin(self, now: float, delay: float) -> None:
        """The rounds begin; nothing is overdue yet."""
        self.due, self.interval, self.told = now + delay, max(self.spec.period, _SHORTEST), now

    def turn(self) -> Turn:
        """For the schedule. Cases take turns, so the dearest of the last few asks is what the next may cost."""
        spec = self.spec
        cost = max(self.costs, default=spec.max_tokens)
        return Turn(self.kind, self.due, self.interval, spec.period, spec.patience, cost, self.told)

    def heard(self, outcome: Outcome, now: float) -> bool:
        """Take the newest outcome; True if it is a yes or a no."""
        self.outcome, self.asked, self.told = outcome, now, now
        self.tokens += outcome.tokens
        self.threshold = self.threshold.after(outcome.verdict, self.spec.failures, self.spec.successes)
        conclusive = outcome.verdict in _CONCLUSIVE
        if conclusive:
            self.answered = now
        if outcome.verdict is not Verdict.UNKNOWN:
            self.skipped = outcome.verdict is Verdict.SKIPPED
        return conclusive

    def plan(self, now: float, rng: random.Random) -> None:
        """When to ask again: soon where the newest answer contradicts the standing, else after a period.

        Jitter only shortens the wait: a fault is to be found within a period.
        """
        spec = self.spec
        self.costs.append(self.outcome.tokens if self.outcome else 0)
        self.interval = max(spec.recheck if self._turning() else spec.period, _SHORTEST)
        self.due = now + self.interval * (1 - spec.jitter * rng.random())

    def _turning(self) -> bool:
        if self.outcome is None or self.outcome.verdict not in _CONCLUSIVE:
            return False
        return (self.outcome.verdict is Verdict.SUCCESS) is not self.threshold.good

    def standing(self) -> Standing:
        """For status."""
        if self.skipped:
            word = "skipped"
        elif self.answered is None:
            word = "undecided"
        else:
            word = "good" if self.threshold.good else "bad"
        due = self.due if self.told else None
        facts = (self.outcome, self.asked, self.answered, due, self.threshold.streak, self.tokens)
        return Standing(self.kind, self.spec, word, *facts)
