"""A listener of probes that remembers, for tests."""

import asyncio
from typing import Any

from genesisd.probes.model import Outcome, Stage


class Ear:
    """Records what the loop says."""

    def __init__(self) -> None:
        self.said: list[tuple[Any, ...]] = []
        self.outcomes: list[tuple[Stage, str, Outcome]] = []
        self.standings: list[tuple[str, Outcome, bool]] = []

    def result(self, stage: Stage, kind: str, outcome: Outcome) -> None:
        self.outcomes.append((stage, kind, outcome))

    def weighed(self, kind: str, outcome: Outcome, *, good: bool) -> None:
        self.standings.append((kind, outcome, good))

    def startup_passed(self) -> None:
        self.said.append(("started",))

    def readiness(self, ok: bool, summary: str) -> None:
        self.said.append(("ready", ok, summary))

    def liveness_failed(self, summary: str, evidence: Any) -> None:
        self.said.append(("dead", summary, dict(evidence)))

    def progressed(self) -> None:
        self.said.append(("progressed",))

    async def hears(self, *prefix: Any, seconds: float = 60) -> tuple[Any, ...]:
        async with asyncio.timeout(seconds):
            while True:
                for one in self.said:
                    if one[: len(prefix)] == prefix:
                        return one
                await asyncio.sleep(0.01)

    def heard(self, word: str) -> bool:
        return any(one[0] == word for one in self.said)

    async def asks(self, kind: str, count: int, seconds: float = 120) -> None:
        """Until ``kind`` was asked ``count`` more times."""
        goal = len(self.of(kind)) + count
        async with asyncio.timeout(seconds):
            while len(self.of(kind)) < goal and not self.heard("dead"):
                await asyncio.sleep(0.01)

    def of(self, kind: str) -> list[Outcome]:
        return [outcome for _, one, outcome in self.outcomes if one == kind]
