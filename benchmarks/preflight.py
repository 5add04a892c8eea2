"""The whole catalog against one tree, as ``genesisctl patches check`` plans it and as git and quilt try the diffs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import genesisd
from benchmarks.figures import Figure, Figures, Target
from benchmarks.rig import there_and_back
from genesisd.errors import NotFoundError
from genesisd.patches.reading import read_texts
from genesisd.patches.stack import plan_all
from genesisd.patchtool.checking import look, together
from genesisd.patchtool.diff import git_diff
from genesisd.patchtool.tool import Tool
from genesisd.patchtool.trees import Tree, of_pin
from genesisd.pins.catalog import find_pin, load_pins

CACHE = Path(os.environ.get("GENESISD_CACHE", "~/.cache/genesisd")).expanduser()
ROOT = Path(genesisd.__file__).parents[1]
PIN = "cpu-0.32.0"


def preflight(rounds: int) -> Figures:
    """The whole catalog against the tree of one pin, every patch for itself and all of them together, as a process with
    its start. The peers try the diffs of all patches together: git without writing, quilt on a copy made before; they
    look at lines, where ours parses and compiles what comes out."""
    try:
        tree = of_pin(find_pin(load_pins(ROOT / "etc" / "pins.yaml"), PIN), CACHE)
    except NotFoundError:
        print(f"preflight: skipped, {PIN} is not built in {CACHE} (make pin)", file=sys.stderr)
        return []
    tool = Tool()
    figure = Figure(f"{len(tool.patches)} patches against a tree", "s", Target(1), digits=2)
    with tempfile.TemporaryDirectory(prefix="genesis-bench-") as folder:
        contestants = _contestants(tool, tree, Path(folder))
        for label in there_and_back(rounds, list(contestants)):
            figure.add(label, contestants[label]())
    return [figure]


def _contestants(tool: Tool, tree: Tree, folder: Path) -> dict[str, Callable[[], float]]:
    chosen = together(tool, look(tool, tree)[0])
    before = read_texts(tree.root, chosen)
    diff = folder / "patches" / "all.patch"
    diff.parent.mkdir()
    diff.write_bytes(git_diff(before, plan_all(before, chosen).texts).encode())
    (folder / "patches" / "series").write_text("all.patch\n")
    check = [sys.executable, "-P", "-m", "genesisd.patchtool", "-q", "check", "--tree", str(tree.root)]
    check += ["--version", str(tree.version)]
    found: dict[str, Callable[[], float]] = {"genesisd": lambda: _timed(check, ROOT)}
    if shutil.which("git"):
        found["git apply"] = lambda: _timed(["git", "apply", "--check", str(diff)], tree.root, GIT_DIR=os.devnull)
    if shutil.which("quilt"):
        found["quilt"] = lambda: _quilt(before, folder)
    return found


def _quilt(before: dict[str, str], folder: Path) -> float:
    tree = folder / "tree"
    for path, text in before.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_bytes(text.encode())
    seconds = _timed(["quilt", "--quiltrc", "-", "push", "-a", "-q"], tree, QUILT_PATCHES=str(folder / "patches"))
    shutil.rmtree(tree)
    return seconds


def _timed(argv: list[str], cwd: Path, **environ: str) -> float:
    begin = time.perf_counter()
    subprocess.run(argv, cwd=cwd, env=os.environ | environ, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin
