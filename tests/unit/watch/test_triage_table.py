"""The table of triage: docs/triage.md and the code say the same, and every cell is what a case comes to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from genesisd.watch.case import Subject, subjects
from genesisd.watch.decisions import DecisionKind
from genesisd.watch.rows import Action, Trigger
from genesisd.watch.severity import AT_MOST, urgency
from genesisd.watch.situation import Situation, situation
from genesisd.watch.table import HELD, MEANING, TABLE, Hold, Want
from genesisd.watch.triage import triage
from tests.unit.watch.cases import SITUATIONS, anchor, case, row, subjected

PAGE = Path(__file__).parents[3] / "docs" / "triage.md"
PURPOSES = (*Action, *Trigger)


def shown(corner: str) -> dict[str, dict[str, str]]:
    """The table of the page whose first heading is ``corner``: row -> column -> cell."""
    block = re.search(rf"^\| {re.escape(corner)} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", PAGE.read_text(), re.MULTILINE)
    assert block is not None, corner
    head, _, *rows = (
        [cell.strip().strip("`") for cell in line.strip("| ").split("|")] for line in block[0].strip().splitlines()
    )
    return {name: dict(zip(head[1:], cells, strict=True)) for name, *cells in rows}


ASKED = shown("row is for \\ situation")
MEANT = shown("wanted \\ patch is")


def plain(table):
    return {str(key): {str(column): str(cell) for column, cell in cells.items()} for key, cells in table.items()}


def test_the_page_shows_the_table():
    """docs/triage.md has each cell as the code has it, and none is missing."""
    assert plain(TABLE) == ASKED
    assert set(ASKED) == {str(one) for one in PURPOSES}
    assert all(set(cells) == {str(one) for one in Situation} for cells in ASKED.values())
    assert plain(MEANING) == MEANT
    assert set(MEANT) == {str(one) for one in Want}
    assert all(set(cells) == {str(one) for one in Subject} for cells in MEANT.values())
    assert {str(key): str(value) for key, value in HELD.items()} == {
        key: cells["comes to"] for key, cells in shown("anchors").items()
    }
    assert set(HELD) == set(Hold)


def test_the_page_shows_the_urgencies():
    """docs/triage.md has how soon each severity is due, and every kind has a limit."""
    for severity, cells in shown("Severity").items():
        for column, due in cells.items():
            assert urgency(DecisionKind.REGRESSION, severity, serving=column == "serving") == due
    assert set(AT_MOST) == set(DecisionKind)


@pytest.mark.parametrize("where", Situation)
def test_facts_make_a_situation(where):
    """Each situation can come to be, and is told apart from the others."""
    told, pins = SITUATIONS[where]
    assert situation(case(row(Action.WATCH), told, *pins)) is where


@pytest.mark.parametrize("subject", Subject)
def test_patches_stand_to_a_pull_request(subject):
    """Each way for a patch to stand to its row can come to be."""
    row_, patches = subjected(row(Trigger.RETIRE), subject)
    assert tuple(subjects(case(row_, patches=patches))) == (subject,)


CELLS = [
    pytest.param(purpose, where, subject, id=f"{purpose}/{where}/{subject}")
    for purpose in PURPOSES
    for where in Situation
    for subject in Subject
    if subjected(row(purpose), subject) is not None
]


@pytest.mark.parametrize(("purpose", "where", "subject"), CELLS)
def test_every_cell(purpose, where, subject):
    """What the page shows for a purpose, a situation and a patch is what such a row comes to, with evidence."""
    row_, patches = subjected(row(purpose), subject)
    told, pins = SITUATIONS[where]
    anchors = tuple(anchor(pin_=one.pin, lands=False) for one in pins)
    made = triage(case(row_, told, *pins, patches=patches, anchors=anchors))

    expected = MEANT[ASKED[purpose][where]][subject]
    kinds = {one.kind for one in made}
    alarms = set()
    if purpose in {Action.DRIFT_CHECK, Trigger.REANCHOR} and pins and subject in {Subject.CARRIER, Subject.BOUND}:
        alarms.add("re-anchor-needed")  # the anchors of the case hold nowhere
    if where is Situation.UNTOLD:
        alarms.add("unknown")
    if alarms and expected == "note":
        expected = None  # a note says that there is nothing to do
    assert kinds == alarms | ({expected} - {None})
    assert all(one.reason and one.evidence and one.key for one in made)
    assert all(one.row == case(row_).id for one in made)
