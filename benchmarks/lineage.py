"""Git's word on 113 pull requests and four pins, on a repository of upstream's size, beside one question a pair."""

from __future__ import annotations

import asyncio
import random
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure, Figures, Target
from genesisd.watch.model import Pin, Pull, State
from genesisd.watch.refs import UPSTREAM, Ref
from genesisd.watch.sources.git import GitMirror

COMMITS = 30_000
ROWS = 113
PINS = 4
BODY = "\n".join(f"Signed-off-by: Somebody {n} <somebody{n}@lab.example>" for n in range(12))


def lineage(rounds: int) -> Figures:
    """113 pull requests against four pins on release branches, in 30,000 squashed commits. Ours reads the history once
    a pin and looks for copies and reverts too; the peer is ``git merge-base --is-ancestor`` for each pair, which finds
    neither. Asked again, as every night after the first, ours only resolves the names."""
    took = Figure("lineage of 113 pull requests on 4 pins", "s", Target(10), digits=2)
    again = Figure("the same on the next night", "s", Target(1), digits=2)
    held = Figure("loop held meanwhile", "ms", Target(50), digits=1)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "mirror.git"
        make(path, COMMITS)
        pulls, pins = questions(path)
        for _ in range(max(1, rounds // 4)):
            asyncio.run(ours(GitMirror(path, fetch=False), pulls, pins, (took, again), held))
            took.add("git, a pair at a time", one_by_one(path, pulls, pins))
    return [took, again, held]


async def ours(
    mirror: GitMirror, pulls: list[Pull], pins: list[Pin], figures: tuple[Figure, ...], held: Figure
) -> None:
    for figure in figures:
        longest = Longest()
        watching = asyncio.create_task(longest.watch())
        began = time.monotonic()
        await mirror.lineage(pulls, pins)
        figure.add("genesisd", time.monotonic() - began)
        watching.cancel()
        held.add("genesisd", longest.seconds * 1000)


def one_by_one(path: Path, pulls: list[Pull], pins: list[Pin]) -> float:
    began = time.monotonic()
    for merge in (pull.merge_commit for pull in pulls if pull.merge_commit):
        for pin in pins:
            subprocess.run(["git", "-C", path, "merge-base", "--is-ancestor", merge, str(pin.commit)], check=False)
    return time.monotonic() - began


def questions(path: Path) -> tuple[list[Pull], list[Pin]]:
    """Of the last 3,000 commits; one in five is not merged."""
    by_number = {int(line.rpartition("(#")[2][:-1]): line[:40] for line in git(path, "log", "--format=%H %s", "main")}
    numbers = random.Random(9).sample(range(COMMITS - 3000, COMMITS), ROWS)
    tips = [git(path, "rev-parse", f"releases/v{n}")[0] for n in range(PINS)]
    pulls = [
        Pull(
            ref=Ref(UPSTREAM, n),
            state=State.MERGED if n % 5 else State.OPEN,
            checked_at=0.0,
            merge_commit=by_number[n] if n % 5 else None,
        )
        for n in numbers
    ]
    return pulls, [Pin(id=f"p{n}", version="0", commit=tip) for n, tip in enumerate(tips)]


def make(path: Path, commits: int) -> None:
    """A bare repository with ``main`` and a release branch for each pin, kept as a server keeps it."""
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", path], check=True)
    with subprocess.Popen(["git", "-C", path, "fast-import", "--quiet", "--force"], stdin=subprocess.PIPE) as child:
        assert child.stdin is not None
        for line in story(commits):
            child.stdin.write(line.encode())
    assert child.returncode == 0
    git(path, "repack", "-adq")
    git(path, "commit-graph", "write", "--reachable", "--no-progress")


def story(commits: int) -> Iterator[str]:
    drawn = random.Random(7)
    files = [f"vllm/part{n % 40}/file{n}.py" for n in range(2000)]
    for number in range(1, commits + 1):
        title = f"[Part {number % 17}] Change a thing of some length that says what it does (#{number})"
        if drawn.random() < 0.01 and number > 100:
            title = f'Revert "[Part] Something else (#{number - drawn.randrange(1, 90)})" (#{number})'
        yield commit("main", number, title, drawn.choice(files), drawn.random())
    for pin in range(PINS):
        tip = f"{commits - 1500 + pin * 400}"
        yield f"reset refs/heads/releases/v{pin}\nfrom :{tip}\n\n"
        for n in range(60):
            picked = commits - 1490 + pin * 400 + n * 3
            mark = commits + 1 + pin * 1000 + n
            yield commit(f"releases/v{pin}", mark, f"Picked without a word {picked}", drawn.choice(files), n)


def commit(branch: str, mark: int, title: str, path: str, seed: float) -> str:
    message = f"{title}\n\nWhy it is so, in a line.\n\n{BODY}\n"
    text = f"value = {seed}\nmark = {mark}\n"
    return (
        f"commit refs/heads/{branch}\nmark :{mark}\ncommitter A <a@lab.example> {1_600_000_000 + mark * 60} +0000\n"
        f"data {len(message)}\n{message}M 100644 inline {path}\ndata {len(text)}\n{text}\n"
    )


def git(path: Path, *arguments: str) -> list[str]:
    ended = subprocess.run(["git", "-C", path, *arguments], capture_output=True, text=True, check=True)
    return ended.stdout.splitlines()


class Longest:
    """The longest time between two turns of the loop."""

    seconds = 0.0

    async def watch(self) -> None:
        while True:
            at = time.monotonic()
            await asyncio.sleep(0.001)
            self.seconds = max(self.seconds, time.monotonic() - at - 0.001)
