"""docs/configuration.md says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import BaseModel

from genesisd.config import DaemonSpec
from genesisd.config.diff import LAUNCH
from genesisd.supervisor.spec import WorkerSpec

TEXT = (Path(__file__).parents[3] / "docs" / "configuration.md").read_text()


def leaves(model: BaseModel, prefix=""):
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, BaseModel) and not hasattr(value, "first"):
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name


def section(heading):
    return TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def test_every_field_of_the_daemon_is_documented():
    """And none that does not exist."""
    rows = re.findall(r"^\| `([a-z_.]+)` \|", section("daemon"), re.MULTILINE)
    assert set(rows) == set(leaves(DaemonSpec()))


def test_every_field_of_a_worker_is_documented_with_what_a_change_takes():
    """The column ``reload`` agrees with the diff."""
    rows = dict(re.findall(r"^\| `([a-z_.]+)` \| [^|]* ?\| (restart|live) \|", section("workers"), re.MULTILINE))
    assert set(rows) == set(leaves(WorkerSpec(command=("x",))))
    launch = {leaf for leaf in leaves(WorkerSpec(command=("x",))) if leaf in LAUNCH or leaf.partition(".")[0] in LAUNCH}
    assert {name for name, reload in rows.items() if reload == "restart"} == launch
