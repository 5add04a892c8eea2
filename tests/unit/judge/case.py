"""Drive the judge with events and read its orders: tests read as the history of a worker."""

from __future__ import annotations

from genesisd.judge.codec import from_json, to_json
from genesisd.judge.model import (
    BecameReady,
    Bisected,
    Event,
    Forgiven,
    JudgePolicy,
    JudgeState,
    Means,
    Order,
    Step,
    Tell,
    Ticked,
    TurnedBad,
    TurnedGood,
)
from genesisd.judge.policy import decide, next_at

POLICY = JudgePolicy(settle=60, good_for=600, budget=4, window=3600)
ALL = Means(rollback=True, bisect=True)


class Case:
    """One worker before the judge."""

    def __init__(self, means: Means = ALL, policy: JudgePolicy = POLICY, state: JudgeState | None = None) -> None:
        self.state = state or JudgeState()
        self.means = means
        self.policy = policy
        self.orders: tuple[Order, ...] = ()

    def hears(self, event: Event) -> Case:
        """The event happens; ``orders`` are what it led to. The state goes over the disk each time."""
        self.state, self.orders = decide(from_json(to_json(self.state)), event, self.policy, self.means)
        return self

    def ready(self, at: float, incarnation: int = 1) -> Case:
        return self.hears(BecameReady(at, incarnation))

    def bad(self, at: float, incarnation: int = 1, kind: str = "golden", limit: Step = Step.BISECT) -> Case:
        return self.hears(TurnedBad(at, incarnation, kind, limit, f"{kind} says no"))

    def good(self, at: float, incarnation: int = 1, kind: str = "golden") -> Case:
        return self.hears(TurnedGood(at, incarnation, kind))

    def tick(self, at: float) -> Case:
        return self.hears(Ticked(at))

    def bisected(self, at: float, *guilty: str, pin_fails: bool = False) -> Case:
        return self.hears(Bisected(at, guilty, pin_fails, "forty runs were made"))

    def forgiven(self, at: float) -> Case:
        return self.hears(Forgiven(at))

    @property
    def due(self) -> float | None:
        return next_at(self.state, self.policy)

    @property
    def does(self) -> list[str]:
        """The orders by name, a telling with its step."""
        return [f"tell {o.step}" if isinstance(o, Tell) else type(o).__name__.lower() for o in self.orders]

    @property
    def says(self) -> str:
        """The last order's sentence."""
        return self.orders[-1].text
