from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]


class Breach(NamedTuple):
    """A line that breaks one contract when it is added to a module."""

    contract: str
    module: str
    line: str


BREACHES = (
    Breach("Imports point one way", "units.py", "import genesisd.store.codec"),
    Breach("Features do not know each other", "pins/__init__.py", "import genesisd.front.wire"),
    Breach("Pure modules take time, processes and files from nobody", "supervisor/model.py", "import asyncio"),
    Breach("Only the store speaks SQL", "telemetry/__init__.py", "import sqlite3"),
    Breach(
        "The client and the commands that talk to the daemon start fast", "cli/__init__.py", "import genesisd.units"
    ),
    Breach("The daemon never loads the engine", "supervisor/__init__.py", "import torch"),
)


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> str:
    """import-linter's verdict on a copy of the package with every breach planted at once."""
    copy = tmp_path_factory.mktemp("breached")
    shutil.copytree(ROOT / "genesisd", copy / "genesisd", ignore=shutil.ignore_patterns("__pycache__", "*.safetensors"))
    for breach in BREACHES:
        with (copy / "genesisd" / breach.module).open("a") as module:
            module.write(f"\n{breach.line}\n")
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", ROOT / ".importlinter"],
        capture_output=True,
        text=True,
        cwd=copy,
        env=os.environ | {"PYTHONPATH": str(copy), "COLUMNS": "200"},
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def test_every_contract_is_planted():
    """A contract without a breach here could be one that cannot fail."""
    named = re.findall(r"^name = (.+)$", (ROOT / ".importlinter").read_text(), re.MULTILINE)
    assert sorted(breach.contract for breach in BREACHES) == sorted(named)


@pytest.mark.parametrize("breach", BREACHES, ids=lambda breach: breach.module.replace("/", "."))
def test_a_breach_is_caught(broken, breach):
    """Each planted import breaks the contract that forbids it."""
    verdicts = dict(re.findall(r"^(.+?) (KEPT|BROKEN)", broken, re.MULTILINE))
    assert verdicts[breach.contract] == "BROKEN"
