"""Whose turn it is, where one ask has no room for all cases: each in turn, and the one that failed first. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Item = TypeVar("Item")


@dataclass(slots=True)
class Turns(Generic[Item]):
    """Remembers what each item cost, where the last ask ended, and what failed.

    Attributes:
        key: what tells items apart from ask to ask.
        guess: tokens that an item will cost which was never asked.
    """

    key: Callable[[Item], str]
    guess: Callable[[Item], int] = lambda _: 300
    _costs: dict[str, int] = field(default_factory=dict)
    _last: str = ""
    _failed: str = ""

    def pick(self, items: Sequence[Item], budget: int) -> list[Item]:
        """At least one; those that follow the last ask's as far as the budget reaches."""
        picked: list[Item] = []
        spent = 0
        for item in self._order(items):
            spent += self._costs.get(self.key(item)) or self.guess(item)
            if picked and spent > budget:
                break
            picked.append(item)
        return picked

    def asked(self, item: Item, tokens: int) -> None:
        """It was asked, whatever came; ``tokens`` is what it cost, 0 where nobody knows."""
        self._last = self.key(item)
        if tokens:
            self._costs[self._last] = tokens
        if self._failed == self._last:
            self._failed = ""

    def failed(self, item: Item) -> None:
        """It is asked first next time."""
        self._failed = self.key(item)

    def _order(self, items: Sequence[Item]) -> list[Item]:
        keys = [self.key(item) for item in items]
        start = keys.index(self._last) + 1 if self._last in keys else 0
        turned = [*items[start:], *items[:start]]
        return sorted(turned, key=lambda item: self.key(item) != self._failed)
