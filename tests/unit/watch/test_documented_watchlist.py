"""docs/watchlist.md says what is: its example is read, and it has every field, word and finding with a true example."""

import re
from pathlib import Path

import pytest

from genesisd.errors import ConfigError
from genesisd.watch.findings import FindingKind
from genesisd.watch.model import State
from genesisd.watch.row_reading import SWEEP_FIELDS, WATCH_FIELDS
from genesisd.watch.rows import Action, Detection, Trigger
from genesisd.watch.watchlist import read
from tests.unit.watch.test_checks import CASES, look, of

PAGE = (Path(__file__).parents[3] / "docs" / "watchlist.md").read_text()
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| `")]


def section(title: str) -> str:
    """The text under a heading."""
    return re.split(r"^## ", PAGE.partition(f"## {title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def test_the_example_is_a_watchlist():
    """Whoever copies the example has a file that is read."""
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    rows = read(example.encode(), "example")
    assert (len(rows.watch), len(rows.sweep)) == (1, 2)


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("Rows of `watch`", {*WATCH_FIELDS, *Action, *State}),
        ("Rows of `sweep`", {*SWEEP_FIELDS, *Trigger, *Detection, "watch-only"}),
        ("Checks", set(FindingKind)),
    ],
)
def test_every_word_of_the_format_is_explained(title, words):
    """Fields, words and kinds stand in the section that explains them, as they are written in the file."""
    assert words - set(re.findall(r"`([\w-]+)`", section(title))) == set()


@pytest.mark.parametrize("kind", FindingKind)
def test_every_finding_has_a_true_example(kind):
    """The example is what the check really says, and the severity is the one that it has."""
    (row,) = [row for row in ROWS if row[0] == f"`{kind}`"]
    (text, pulls), _ = CASES[kind]
    finding = of(kind, look(text, *pulls))[0]
    assert row[2] == finding.text
    assert finding.severity in row[1]


def test_the_complaint_is_what_is_really_said():
    """The first line of the example is the message of a file that has the fault."""
    told = re.search(r"^list.yaml:3:11: .*$", PAGE, re.MULTILINE)
    with pytest.raises(ConfigError) as caught:
        read(
            b"watch:\n- upstream: vllm#1\n  status: Open\n  action: watch\n  since: 2026-06-01\n__sentinel__: complete\n",
            "list.yaml",
        )
    assert told
    assert caught.value.message == told[0]
