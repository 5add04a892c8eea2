"""What a whole night holds in memory: 113 rows with their diffs on a real release's files, in a real daemon."""

from __future__ import annotations

import difflib
import os
import random
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks.figures import Figure, Figures, Target
from benchmarks.rig import pss
from genesisd.config.paths import default_dirs
from genesisd.pins.trees import fetch_tree
from genesisd.wiring.patch_facts import patch_facts
from tests.helpers.box import Box, descendants
from tests.helpers.fakegithub import World, synthetic
from tests.helpers.fakegithub.server import TOKEN
from tests.helpers.github_thread import github_thread

ROWS = 113
PACKAGE, VERSION = "vllm", "0.33.0"
HEAD = "watch: []\nsweep:\n"
ROW = "- pr: {number}\n  genesis_patch: {patch}\n  trigger: review-on-merge\n  note: a row\n"
TAIL = "__sentinel__: complete\n"


def night(rounds: int) -> Figures:
    """A sweep of 113 pull requests, each of which changes a file that our patches change, on the files of a release.
    What the job holds is the daemon's memory above idle; the child that looks into the files ends with its answer, and
    is told beside it."""
    held = Figure("memory of the daemon in a sweep, above idle", "MiB PSS", Target(80, "max"))
    child = Figure("memory of the child that looks into the pin's files", "MiB PSS")
    whole = Figure(f"a sweep of {ROWS} rows with their diffs", "s")
    cache = Path(os.environ.get("GENESISD_CACHE") or default_dirs(os.environ, root=False)[2])
    tree = fetch_tree(PACKAGE, VERSION, cache)
    for _ in range(max(1, rounds // 4)):
        with _watched(tree) as box:
            daemon = box.process.pid if box.process else 0
            time.sleep(3)
            idle = pss(daemon)
            with _peaks(daemon) as peaks:
                began = time.monotonic()
                sweep = box.ask("sweep", "nightly")["id"]
                with box.client() as client:
                    ended = list(client.sweep_progress(sweep))[-1]
                    looked = [row for row in client.watch_rows() if row["in_pins"].get("now", "unknown") != "unknown"]
                whole.add("genesisd", time.monotonic() - began)
            if len(looked) != ROWS:
                raise RuntimeError(f"{len(looked)} of {ROWS} rows were looked for in the pin: {ended}")
            held.add("genesisd", peaks["daemon"] - idle)
            child.add("genesisd", peaks["child"])
    return [held, child, whole]


@contextmanager
def _watched(tree: Path) -> Iterator[Box]:
    patched = [(one.id, path) for one in patch_facts().values() if one.active for path in one.files]
    with github_thread(_world(tree, patched)) as double, tempfile.TemporaryDirectory(prefix="genesis-bench-") as name:
        folder = Path(name)
        (folder / "token").write_text(TOKEN)
        (folder / "token").chmod(0o600)
        facts = sorted(double.world.facts)
        rows = [ROW.format(number=ref.number, patch=patched[n % len(patched)][0]) for n, ref in enumerate(facts)]
        (folder / "list.yaml").write_text(HEAD + "".join(rows) + TAIL)
        (folder / "pins.yaml").write_text(
            f'pins:\n  now: {{package: {PACKAGE}, version: "{VERSION}", python: "3.11"}}\nslots: {{current: now}}\n'
        )
        (folder / "cache" / "trees").mkdir(parents=True)
        (folder / "cache" / "trees" / tree.name).symlink_to(tree)
        box = Box(folder, {})
        never = {"nightly": None, "hourly": None, "weekly": None}
        watch = {"watchlist": "list.yaml", "api": double.url, "token": {"file": "token"}, "schedule": never}
        box.settings |= {"pins": "pins.yaml", "watch": watch}
        box.write()
        box.start()
        try:
            yield box
        finally:
            box.finish()


def _world(tree: Path, patched: list[tuple[str, str]]) -> World:
    """Pull requests that put a few lines into a file of ours, each elsewhere."""
    drawn, world = random.Random(0), World()
    for n, fact in enumerate(synthetic(ROWS).facts.values()):
        name = patched[n % len(patched)][1]
        old = (tree / name).read_text().splitlines(keepends=True) if (tree / name).is_file() else ["\n"]
        at = drawn.randrange(len(old))
        new = [*old[:at], f"# added by {fact.ref}\n", "pass\n", *old[at:]]
        diff = f"diff --git a/{name} b/{name}\n" + "".join(difflib.unified_diff(old, new, f"a/{name}", f"b/{name}"))
        world.add(replace(fact, is_issue=False, files=(name,), diff=diff))
    return world


@contextmanager
def _peaks(daemon: int) -> Iterator[dict[str, float]]:
    """The most that the daemon and its children held, looked at every 20 ms."""
    peaks, over = {"daemon": 0.0, "child": 0.0}, threading.Event()

    def look() -> None:
        while not over.wait(0.02):
            peaks["daemon"] = max(peaks["daemon"], pss(daemon))
            peaks["child"] = max([peaks["child"], *_held(descendants(daemon))])

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield peaks
    finally:
        over.set()
        thread.join()


def _held(pids: list[int]) -> list[float]:
    found = []
    for pid in pids:
        try:
            found.append(pss(pid))
        except (OSError, ValueError):
            continue
    return found
