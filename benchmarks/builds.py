"""A patched engine beside the pristine one, as genesisd builds it and as ``git apply`` and quilt patch a copy."""

from __future__ import annotations

import ast
import difflib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import genesisd
from benchmarks.figures import Figure, Figures, Target
from benchmarks.rig import there_and_back
from genesisd.pins.build_gc import remove_build
from genesisd.pins.build_verify import verify_build
from genesisd.pins.builds import find_build, make_build
from genesisd.pins.catalog import find_pin, load_pins
from genesisd.pins.environment import Environment, find_environment
from genesisd.pins.install import site_packages
from genesisd.pins.layout import Cache
from genesisd.pins.pristine_make import pristine_of
from genesisd.pins.progress import Progress, Step, silent
from genesisd.pins.recipe import Recipe

FILES = 20
CACHE = Path(os.environ.get("GENESISD_CACHE", "~/.cache/genesisd")).expanduser()
ROOT = Path(genesisd.__file__).parents[1]
PIN = "cpu-0.32.0"
KEY = "0123456789ab"


def patched(rounds: int) -> Figures:
    """A patched engine of 20 changed files out of thousands. Ours comes from a record of the pristine tree that was
    made before, and ends with bytecode, hashes and everything durable; the peers' is ``cp -al`` and the diffs."""
    environment = find_environment(find_pin(load_pins(ROOT / "etc" / "pins.yaml"), PIN), CACHE)
    if environment is None:
        print(f"patched: skipped, {PIN} is not built in {CACHE} (make pin)", file=sys.stderr)
        return []
    with ExitStack() as stack:
        # Beside the environment, since hard links do not cross file systems.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=".bench-", dir=CACHE)))
        return _measure(Rig(folder, environment, sample(site_packages(environment.path))), rounds)


@dataclass(frozen=True)
class Rig:
    """A folder to work in, the pin, and what is to be changed: path to text before and after."""

    folder: Path
    environment: Environment
    changes: dict[str, tuple[str, str]]

    @property
    def recipe(self) -> Recipe:
        """The changes as a build wants them."""
        plugin = Path(genesisd.__file__).parent / "attest" / "plugin.py"
        scopes = {f"P{n}": [[path, ""]] for n, path in enumerate(self.changes)}
        return Recipe(KEY, {path: after for path, (_, after) in self.changes.items()}, plugin, scopes=scopes)

    def diffs(self) -> list[Path]:
        """The changes as one diff a file."""
        made = []
        for number, (path, (before, after)) in enumerate(self.changes.items()):
            lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"a/{path}", f"b/{path}")
            made.append(self.folder / "patches" / f"{number:02}.patch")
            made[-1].parent.mkdir(exist_ok=True)
            made[-1].write_text("".join(lines))
        (self.folder / "patches" / "series").write_text("".join(f"{path.name}\n" for path in made))
        return made


def sample(packages: Path) -> dict[str, tuple[str, str]]:
    """Every tenth file of the engine's core from the largest on, with a statement more in its first function.

    Together they are as large as what a real set of patches touches: the largest of all among them.
    """
    largest = sorted((packages / "vllm" / "v1").rglob("*.py"), key=lambda path: (-path.stat().st_size, str(path)))
    found = {}
    for path in largest[::10]:
        before = path.read_text(encoding="utf-8")
        first = next((node for node in ast.walk(ast.parse(before)) if isinstance(node, ast.FunctionDef)), None)
        if first is None or first.body[-1].lineno == first.lineno:
            continue
        lines, last = before.splitlines(keepends=True), first.body[-1]
        above = min([last.lineno, *(one.lineno for one in getattr(last, "decorator_list", ()))])
        lines.insert(above - 1, " " * last.col_offset + "_benchmark = 1\n")
        found[str(path.relative_to(packages))] = before, "".join(lines)
        if len(found) == FILES:
            break
    return found


def _measure(rig: Rig, rounds: int) -> Figures:
    whole = Figure("a patched tree beside the pristine one, 20 files", "s", Target(2), digits=3)
    alone = Figure("the 20 files in it alone", "s", digits=3)
    found = Figure("finding a build that is there", "ms", Target(200), digits=2)
    looked = Figure("looking at a build again, 20 own files", "s", digits=3)
    deep = Figure("the same, every file read", "s", digits=3)
    began = time.perf_counter()
    pristine_of(Cache(rig.folder), rig.environment, silent)
    record = Figure("recording the pristine tree, once a pin", "s", digits=2)
    record.add("genesisd", time.perf_counter() - began)
    contestants = _contestants(rig)
    for label in there_and_back(rounds, list(contestants)):
        both = contestants[label]()
        whole.add(label, both[0])
        alone.add(label, both[1])
        if label == "genesisd":
            _again(rig, found, looked, deep)
    return [whole, alone, found, looked, deep, record]


def _again(rig: Rig, found: Figure, looked: Figure, deep: Figure) -> None:
    begin = time.perf_counter()
    build = find_build(rig.folder, rig.environment.name, KEY)
    found.add("genesisd", 1000 * (time.perf_counter() - begin))
    assert build is not None
    for figure, reads in ((looked, False), (deep, True)):
        begin = time.perf_counter()
        faults = verify_build(build, rig.folder, deep=reads)
        figure.add("genesisd", time.perf_counter() - begin)
        assert not faults, faults
    remove_build(rig.folder, build.name)


def _contestants(rig: Rig) -> dict[str, Callable[[], tuple[float, float]]]:
    """Each makes a tree and gives the seconds of all of it and of the changed files; those not here are told."""
    diffs = rig.diffs()
    quilt = {"QUILT_PATCHES": str(rig.folder / "patches"), "QUILT_PC": ".pc"}
    peers = {
        "git apply": (["git", "apply", "-p1", *map(str, diffs)], {"GIT_CEILING_DIRECTORIES": str(rig.folder)}),
        "quilt": (["quilt", "--quiltrc", "-", "push", "-a", "-q"], quilt),
    }
    contestants: dict[str, Callable[[], tuple[float, float]]] = {"genesisd": lambda: _ours(rig)}
    for label, (argv, env) in peers.items():
        if shutil.which(argv[0]) is None:
            print(f"patched: {label} is left out, {argv[0]} is not installed", file=sys.stderr)
            continue
        contestants[label] = lambda argv=argv, env=env: _theirs(rig, argv, env)  # type: ignore[misc]
    return contestants


def _ours(rig: Rig) -> tuple[float, float]:
    at: dict[Step, float] = {}

    def note(progress: Progress) -> None:
        at.setdefault(progress.step, time.perf_counter())

    begin = time.perf_counter()
    make_build(rig.folder, rig.environment, rig.recipe, note)
    return time.perf_counter() - begin, at[Step.CHECK] - at[Step.PATCH]


def _theirs(rig: Rig, argv: list[str], env: dict[str, str]) -> tuple[float, float]:
    tree = rig.folder / "tree"
    tree.mkdir()
    begin = time.perf_counter()
    subprocess.run(["cp", "-al", site_packages(rig.environment.path) / "vllm", tree / "vllm"], check=True)
    copied = time.perf_counter()
    subprocess.run(argv, cwd=tree, env=os.environ | env, check=True, stdout=subprocess.DEVNULL)
    end = time.perf_counter()
    for path, (_, after) in rig.changes.items():
        assert (tree / path).read_text(encoding="utf-8") == after, path
    shutil.rmtree(tree)
    return end - begin, end - copied
