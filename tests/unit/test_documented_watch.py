"""docs/watch.md says what the watch does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from genesisd.telemetry.events import KINDS
from genesisd.watch.decisions import QUIET, DecisionKind, Outcome
from genesisd.watch.model import Content, Lineage, Rung, WhyUnknown
from genesisd.watch.result import SweepOutcome
from genesisd.watch.spec import WatchSpec

TEXT = (Path(__file__).parents[2] / "docs" / "watch.md").read_text()


def rows(heading: str) -> list[list[str]]:
    """The cells of each row of the tables in a section."""
    section = TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ") and not line.startswith("|---")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def first_words(heading: str) -> list[str]:
    """What is set as code in the first cells of a section's tables."""
    return [word for cells in rows(heading) for word in re.findall(r"`([^`]+)`", cells[0])]


def settings(model: type[BaseModel], before: str = "") -> dict[str, object]:
    """Every field with its default, those of parts with a dot."""
    found: dict[str, object] = {}
    for name, field in model.model_fields.items():
        if isinstance(field.default, BaseModel):
            found |= settings(type(field.default), f"{before}{name}.")
        else:
            found[f"{before}{name}"] = field.default
    return found


def test_every_decision_says_what_it_asks_for() -> None:
    """And none that does not exist; then every outcome of a dossier."""
    kinds = [str(kind) for kind in DecisionKind if kind not in QUIET]
    assert first_words("Decisions") == [*kinds, *map(str, Outcome)]
    for kind in QUIET - {DecisionKind.NOTE}:
        assert f"`{kind}`" in TEXT


def test_every_setting_is_there_with_its_default() -> None:
    """In the order of the file."""
    told = {cells[0].strip("`"): cells[1].strip("`") for cells in rows("Settings") if cells[0].startswith("`")}
    found = settings(WatchSpec)
    assert list(told) == list(found)
    for name, default in found.items():
        match default:
            case None if name == "markers":
                assert told[name] == "those of the project"
            case None | ():
                assert told[name] == "none"
            case bool():
                assert told[name] == str(default).lower()
            case float() if default % 3600 == 0:
                assert told[name] == f"{default / 3600:.0f}h"
            case float():
                assert told[name] == f"{default / 60:.0f}m"
            case _:
                assert told[name] == str(default)


def test_every_event_is_explained_once() -> None:
    """And none that does not exist."""
    assert sorted(first_words("What tells of it")) == sorted(kind for kind in KINDS if kind.startswith("watch_"))


@pytest.mark.parametrize("words", [Lineage, Content, Rung, WhyUnknown, SweepOutcome])
def test_every_word_that_is_shown_is_on_the_page(words) -> None:
    """Whoever reads one looks there."""
    plain = {
        word
        for cells in (*rows("Three facts"), *rows("A sweep"))
        for cell in cells
        for word in re.findall(r"[a-z-]+", cell)
    }
    for word in words:
        assert f"`{word}`" in TEXT or f"*{word}*" in TEXT or str(word) in plain or word is Rung.NONE, word
