"""The watch's own client, in front of the double, with a clock that waits by moving on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from genesisd.watch.model import Answer, Pull, Unanswered
from genesisd.watch.refs import Ref
from genesisd.watch.sources.github import GitHub
from genesisd.watch.spec import WatchSpec
from tests.fakes.watch_facts import MemoryFacts
from tests.helpers.fakegithub import FakeGitHub, World, fake_github

NOON = 1_780_000_000.0


class LeapingClock:
    """Sleeping takes no time of the test's, and all of its own; ``slept`` has every sleep."""

    def __init__(self, wall: float = NOON) -> None:
        self.now = 1000.0
        self.offset = wall - self.now
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return self.now + self.offset

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@dataclass
class Asking:
    """The client and all around it; ``sweep`` makes the next sweep's."""

    double: FakeGitHub
    clock: LeapingClock
    facts: Any
    folder: Path
    session: aiohttp.ClientSession
    token: bool
    settings: dict[str, Any] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)

    def sweep(self, facts: Any = None, **spec: Any) -> GitHub:
        path = self.folder / "token"
        if self.token and not path.exists():
            path.write_text(self.double.token + "\n")
            path.chmod(0o600)
        declared = {"api": self.double.url, "token": {"file": path} if self.token else {}} | spec
        return GitHub(
            self.session,
            WatchSpec.model_validate(declared),
            self.clock,
            self.facts if facts is None else facts,
            self.folder / "diffs",
            tell=self.told.append,
            sleep=self.clock.sleep,
            **self.settings,
        )

    async def learn(self, refs: Sequence[Ref], github: GitHub | None = None) -> dict[Ref, Answer]:
        """Ask and keep, as a sweep does."""
        answers = dict(await (github or self.sweep()).pulls(refs))
        await self.facts.learn(tuple(answers.values()))
        return answers

    @property
    def refs(self) -> tuple[Ref, ...]:
        return tuple(self.double.world.facts)


@asynccontextmanager
async def asking(
    world: World, folder: Path, *, token: bool = True, facts: Any = None, double: Any = None, **settings: Any
) -> AsyncIterator[Asking]:
    """A client that asks a double of ``world``; ``settings`` are the client's, ``double`` those of the double."""
    clock = LeapingClock()
    async with fake_github(world, now=clock.wall, **(double or {})) as server, aiohttp.ClientSession() as session:
        yield Asking(server, clock, facts or MemoryFacts(), folder, session, token, settings)


def pulls(answers: dict[Ref, Answer]) -> dict[Ref, Pull]:
    return {ref: answer for ref, answer in answers.items() if isinstance(answer, Pull)}


def unknown(answers: dict[Ref, Answer]) -> dict[Ref, Unanswered]:
    return {ref: answer for ref, answer in answers.items() if isinstance(answer, Unanswered)}
