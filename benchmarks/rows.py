"""What a night of 113 rows costs: requests and seconds against a double of GitHub, a process of its own."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp

import genesisd
from benchmarks.figures import Figure, Figures, Target
from benchmarks.rig import there_and_back
from genesisd.clock import SystemClock
from genesisd.store.store import Store
from genesisd.watch.model import Pull
from genesisd.watch.refs import UPSTREAM, Ref
from genesisd.watch.sources.github import GitHub
from genesisd.watch.spec import WatchSpec

ROOT = Path(genesisd.__file__).parents[1]
ROWS = 113
TOKEN = "benchmark-token"


def rows(rounds: int) -> Figures:
    """The rows of a watchlist, their answers kept in a store of the disk: first on a night when all is new, then on one
    when nothing changed, and what looking for other pull requests costs on that night. The peer asks for one a request,
    as scripts around a command-line client do; ours does so without a token."""
    figures = {
        "new": Figure(f"{ROWS} rows, all new", "s", Target(2.0, "max"), digits=3),
        "same": Figure(f"{ROWS} rows, nothing changed", "s", Target(2.0, "max"), digits=3),
        "asked": Figure(f"requests for {ROWS} rows, nothing changed", "requests", Target(6, "max"), digits=0),
        "others": Figure("requests for other pull requests, nothing changed", "requests", Target(1, "max"), digits=0),
    }
    labels = {"genesisd": True, "one a request": False}
    with _double() as address, tempfile.TemporaryDirectory(prefix="genesis-bench-") as folder:
        (Path(folder) / "token").write_text(TOKEN)
        (Path(folder) / "token").chmod(0o600)
        for label in there_and_back(rounds, list(labels)):
            for name, value in asyncio.run(_nights(address, Path(folder), token=labels[label])).items():
                figures[name].add(label, value)
    return list(figures.values())


async def _nights(address: str, folder: Path, *, token: bool) -> dict[str, float]:
    declared = {"api": address, "requests": 500, "token": {"file": folder / "token"} if token else {}}
    spec, clock = WatchSpec.model_validate(declared), SystemClock()
    refs = [Ref(UPSTREAM, 40001 + index) for index in range(ROWS)]
    with tempfile.TemporaryDirectory(dir=folder) as home:
        store = Store.open(Path(home) / "store.db", clock)
        try:
            async with aiohttp.ClientSession() as session:
                mark, found = None, {}
                for night in ("new", "same"):
                    github = GitHub(session, spec, clock, store.watch_facts, Path(home) / "diffs")
                    began = time.perf_counter()
                    answers = await github.pulls(refs)
                    await store.watch_facts.learn(tuple(answers.values()))
                    found[night] = time.perf_counter() - began
                    if not all(isinstance(answer, Pull) for answer in answers.values()):
                        raise RuntimeError("a row was not answered")
                    found["asked"] = sum(github.asked().requests.values())
                    recent = await github.recent(UPSTREAM, mark, most=100)
                    if recent is None:
                        raise RuntimeError("the changes were not told")
                    mark = recent.mark
                    found["others"] = sum(github.asked().requests.values()) - found["asked"]
        finally:
            store.close()
    return found


@contextmanager
def _double() -> Iterator[str]:
    argv = [sys.executable, "-m", "tests.helpers.fakegithub", "--token", TOKEN, "--anonymous", "1000000"]
    with subprocess.Popen([*argv, "--synthetic", "200"], cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield child.stdout.readline().strip()
        finally:
            child.terminate()
