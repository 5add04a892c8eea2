"""Seeded walks of an engine, its users and the canary, against the pure decision."""

import random
from dataclasses import dataclass, field

import pytest

from genesisd.probes.metrics import Values
from genesisd.probes.model import Verdict
from genesisd.probes.progress import Canary, History, Look, Window, decide, wants_canary

WINDOW, PERIOD, CANARY_PERIOD, CAP = Window(10), 1.0, 2.0, 7.0
BUDGET = 15.0


@dataclass
class World:
    """An engine that steps at random intervals while it has work, until it stops for good."""

    rng: random.Random
    stops_at: float = float("inf")
    longest: float = 9.0
    blind: float = 0.0
    kv: float = 0.0
    tokens: float = 1.0
    work: float = 0.0
    due: float = 0.0
    waiting: int = 0
    canary_sent: float | None = None
    canary: Canary = Canary.NONE
    own: bool = False
    history: History = field(default_factory=History)

    def advance(self, now: float) -> None:
        if now >= self.stops_at:
            self.waiting += self.rng.random() < 0.3
            return
        if self.work <= now and self.rng.random() < 0.03:
            self.work, self.due = now + self.rng.uniform(1, 60), now + self.rng.uniform(0.1, self.longest)
        if self.work > now and now >= self.due:
            self.kv, self.due = self.rng.random(), now + self.rng.uniform(0.1, self.longest)
            if self.rng.random() < 0.5:
                self.tokens += 1
        if self.work <= now and self.canary is Canary.WAITING:
            self.canary, self.tokens = Canary.ANSWERED, self.tokens + 1

    def look(self, now: float) -> Verdict:
        values = (
            None if self.rng.random() < self.blind else Values(generation=self.tokens, kv=self.kv, waiting=self.waiting)
        )
        busy = int((now >= self.stops_at and self.waiting > 0) or self.work > now)
        age = now - self.canary_sent if self.canary_sent is not None else 0.0
        look = Look(now, values, busy, canary=self.canary, canary_age=age, own=self.own)
        self.own = self.own and values is None
        self.history = self.history.seen(look, CAP)
        verdict = decide(self.history, now, WINDOW).verdict
        if wants_canary(self.history, now, CANARY_PERIOD, WINDOW):
            self.canary, self.canary_sent, self.own = Canary.WAITING, now, True
        return verdict


def walk(world: World, seconds: float) -> float | None:
    """When it was convicted, or None."""
    now, next_look = 0.0, 0.0
    while now < seconds:
        world.advance(now)
        if now >= next_look:
            if world.look(now) is Verdict.FAILURE:
                return now
            next_look = now + PERIOD + world.rng.uniform(0, 0.05)
        now += 0.1
    return None


@pytest.mark.parametrize("seed", range(60))
def test_a_living_engine_is_never_convicted(seed: int) -> None:
    """Steps of up to 8 seconds, idle times, blind looks: never a failure."""
    assert walk(World(random.Random(seed), longest=8.0, blind=0.2), 600) is None


@pytest.mark.parametrize("seed", range(40))
def test_a_stopped_engine_is_always_convicted(seed: int) -> None:
    """Idle or busy, an engine whose steps are short is found within the budget, though requests go on arriving."""
    stop = 30.0 + seed
    found = walk(World(random.Random(seed), stops_at=stop, longest=1.0), 200)
    assert found is not None
    assert 0 < found - stop <= BUDGET
