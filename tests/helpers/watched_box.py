"""The watch on a box of its own: real store, client, git and appraising child, in front of the double of GitHub.

Its package index is a folder of the box: a machine's own one lies across a network, and may take longer than any test.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import aiohttp
import yaml

from genesisd.clock import SystemClock
from genesisd.config import load
from genesisd.store.store import Store
from genesisd.telemetry.metrics import Metrics
from genesisd.watch.claims import Swept
from genesisd.watch.decisions import KeptDecision
from genesisd.watch.kinds import SweepKind
from genesisd.wiring.watch_api import WatchDesk
from genesisd.wiring.watch_needs import WatchNeeds
from genesisd.wiring.watching import Watching
from tests.helpers.fakegithub import FakeGitHub, World, fake_github

RELEASE = "vllm-0.33.0-py3-none-any.whl"
"""What the box's index has."""
NEVER = {"nightly": None, "hourly": None, "weekly": None}


class ShiftedClock(SystemClock):
    """The machine's clock, some time ahead."""

    ahead = 0.0

    def wall(self) -> float:
        return super().wall() + self.ahead

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead


class Heard:
    """Takes events."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []

    def emit(self, kind: str, worker: str | None = None, /, **fields: Any) -> None:
        self.events.append((kind, fields))

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [fields for name, fields in self.events if name == kind]


class NoWorkers:
    """No worker is configured, or those that a test gives."""

    def __init__(self, facts: Mapping[str, Mapping[str, object]]) -> None:
        self.told = dict(facts)

    async def facts(self) -> dict[str, Mapping[str, object]]:
        return self.told


@dataclass
class WatchedBox:
    """One folder with a watchlist; ``desk`` is what operators have."""

    folder: Path
    double: FakeGitHub
    store: Store
    watching: Watching
    desk: WatchDesk
    sink: Heard
    metrics: Metrics
    clock: ShiftedClock
    workers: NoWorkers
    _kept: list[Any] = field(default_factory=list)

    @property
    def file(self) -> Path:
        return self.folder / "watchlist.yaml"

    async def sweep(self, kind: SweepKind = SweepKind.NOW) -> Swept:
        """One sweep on a person's word, to its end."""
        async with asyncio.timeout(100):
            return await self.watching.order(kind)

    async def kept(self) -> tuple[KeptDecision, ...]:
        return await self.store.watch_decisions.all()

    async def kinds(self) -> set[str]:
        return {str(one.decision.kind) for one in await self.kept()}


@asynccontextmanager
async def watched_box(
    folder: Path,
    text: bytes,
    world: World,
    *,
    pins: Mapping[str, Any] | None = None,
    workers: Mapping[str, Mapping[str, object]] | None = None,
    session: aiohttp.ClientSession | None = None,
    **spec: Any,
) -> AsyncIterator[WatchedBox]:
    """Open a box; one that is opened again in the same folder goes on from what was kept.

    Args:
        folder: everything lies in it; pins' trees under ``cache/trees``.
        text: the watchlist, unless the folder has one.
        world: what upstream knows.
        pins: the pins file.
        workers: their facts.
        session: to be shared; None: one of its own.
        spec: more of ``watch``.
    """
    folder.mkdir(exist_ok=True)
    if not (folder / "watchlist.yaml").exists():
        (folder / "watchlist.yaml").write_bytes(text)
    with patch.dict(os.environ, _environment(folder), clear=True):
        async with _opened(folder, world, pins, workers, session, spec) as box:
            yield box


def _environment(folder: Path) -> dict[str, str]:
    """With a package index that pip reads from disk, and nothing else of this machine's pip."""
    page = folder / "simple" / "vllm" / "index.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(f'<a href="{RELEASE}">{RELEASE}</a>')
    others = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    return others | {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": (folder / "simple").as_uri()}


@asynccontextmanager
async def _opened(
    folder: Path,
    world: World,
    pins: Mapping[str, Any] | None,
    workers: Mapping[str, Mapping[str, object]] | None,
    session: aiohttp.ClientSession | None,
    spec: Mapping[str, Any],
) -> AsyncIterator[WatchedBox]:
    async with fake_github(world) as double, aiohttp.ClientSession() as own:
        token = folder / "token"
        token.write_text(double.token)
        token.chmod(0o600)
        content: dict[str, Any] = {
            "daemon": {key: str(folder / key) for key in ("state_dir", "runtime_dir")}
            | {"cache_dir": str(folder / "cache")},
            "watch": {"watchlist": "watchlist.yaml", "api": double.url, "token": {"file": "token"}, "schedule": NEVER}
            | {**spec},
        }
        if pins is not None:
            (folder / "pins.yaml").write_text(yaml.safe_dump(pins))
            content["pins"] = "pins.yaml"
        (folder / "genesisd.yaml").write_text(yaml.safe_dump(content))
        config = load(folder / "genesisd.yaml")
        for path in (config.paths.state_dir, config.paths.cache_dir):
            path.mkdir(exist_ok=True)
        clock, sink, told = ShiftedClock(), Heard(), NoWorkers(workers or {})
        store = Store.open(config.paths.store, clock)
        metrics = Metrics(clock)
        needs = WatchNeeds(
            config=lambda: config,
            store=store,
            session=session or own,
            sink=sink,
            metrics=metrics.watch,
            clock=clock,
            workers=told,
        )
        watching = Watching(needs)
        desk = WatchDesk(watching, told, store, sink, clock)
        try:
            await watching.start()
            yield WatchedBox(folder, double, store, watching, desk, sink, metrics, clock, told)
        finally:
            await watching.close()
            store.close()
