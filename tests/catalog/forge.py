"""Trees with patches in them, and a process that runs cases on them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from genesisd.patches.model import Patch
from genesisd.patches.outcome import Outcome
from genesisd.patches.stack import StackPlan, plan_all

SERVER = Path(__file__).with_name("server.py")
EXTRAS = Path(__file__).with_name("extras.txt")
SECONDS = 240.0


def texts_for(tree: Path, patches: list[Patch]) -> dict[str, str]:
    """The files that the patches name, as far as the tree has them."""
    names = {edit.path for patch in patches for edit in patch.edits}
    names |= {marker.path for patch in patches for marker in patch.markers}
    return {name: _read(tree / name) for name in names if (tree / name).is_file()}


def plan_on(tree: Path, patches: list[Patch]) -> StackPlan:
    """What the patches make of the tree."""
    return plan_all(texts_for(tree, patches), patches)


def outcome_on(tree: Path, patch: Patch, others: list[Patch]) -> Outcome:
    """What becomes of one patch, with those that it needs beside it."""
    return plan_on(tree, [patch, *others]).outcomes[patch.id]


def linked(tree: Path, target: Path, changed: Mapping[str, str]) -> Path:
    """A copy of the tree by hard links, with ``changed`` put in the place of what was there.

    Bytecode that another process is just writing has a name for a moment only.
    """
    unfinished = shutil.ignore_patterns("*.pyc.*")
    shutil.copytree(tree / "vllm", target / "vllm", copy_function=os.link, ignore=unfinished)
    for name, text in changed.items():
        place = target / name
        place.unlink(missing_ok=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
    return target


def extras(python: Path, cache: Path) -> Path:
    """A folder with the libraries of ``extras.txt``, installed once."""
    digest = hashlib.sha256(EXTRAS.read_bytes()).hexdigest()[:12]
    target = cache / "trees" / f"extras-{digest}"
    if not target.is_dir():
        new = target.with_name(f".{target.name}-{os.getpid()}")
        what = ("--no-deps", "--only-binary=:all:", "--require-hashes", "-r", str(EXTRAS), "--target", str(new))
        done = subprocess.run(
            [python, "-m", "pip", "install", "-q", *what], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        new.rename(target)
    return target


class Server:
    """The process that runs cases, one after the other."""

    def __init__(self, python: Path, extras: Path) -> None:
        self._extras = extras
        environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        self._process = subprocess.Popen(
            [python, SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ
        )
        self._answer()

    def observe(self, tree: Path, version: str, case: Path) -> Any:
        """What the case sees in the tree. Fails with the case's own traceback."""
        assert self._process.stdin is not None
        request = {"path": [str(tree)], "extras": str(self._extras), "case": str(case), "tree": version}
        print(json.dumps(request), file=self._process.stdin, flush=True)
        answer = self._answer()
        assert "error" not in answer, f"{case.name} on {version}:\n{answer['error']}"
        return answer["seen"]

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(SECONDS)
        self._process.stdout.close()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        late = threading.Timer(SECONDS, self._process.kill)
        late.start()
        try:
            line = self._process.stdout.readline()
        finally:
            late.cancel()
            late.join()
        assert line, "the server of cases ended"
        answer: dict[str, Any] = json.loads(line)
        return answer


def _read(path: Path) -> str:
    with path.open(encoding="utf-8", newline="") as file:
        return file.read()
