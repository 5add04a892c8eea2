"""How much counters grew lately, whatever restarts lie in between. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Window:
    """Sums of growth over the last ``seconds``. Times must not run backwards.

    What was counted before the first look is not growth: it may be hours old.
    """

    seconds: float
    _before: Mapping[str, float] | None = None
    _sums: dict[str, float] = field(default_factory=dict)
    _marks: deque[tuple[float, dict[str, float]]] = field(default_factory=deque)

    def add(self, now: float, counters: Mapping[str, float]) -> None:
        """Take the counters as they are. Where one went down all began again: they are of one server."""
        before = self._before
        if before is not None:
            again = any(value < before.get(name, 0.0) for name, value in counters.items())
            for name, value in counters.items():
                since = 0.0 if again else before.get(name, 0.0)
                self._sums[name] = self._sums.get(name, 0.0) + value - since
        self._before = dict(counters)
        self._marks.append((now, dict(self._sums)))
        while len(self._marks) > 1 and self._marks[1][0] <= now - self.seconds:
            self._marks.popleft()

    def growth(self, name: str) -> float:
        """Of one counter; 0.0 for one that was never seen."""
        if not self._marks:
            return 0.0
        return self._sums.get(name, 0.0) - self._marks[0][1].get(name, 0.0)

    @property
    def span(self) -> float:
        """Seconds between the oldest and the newest look that count."""
        return self._marks[-1][0] - self._marks[0][0] if self._marks else 0.0
