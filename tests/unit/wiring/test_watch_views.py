"""Rows as people are shown them, with the very severity that their decisions have."""

from __future__ import annotations

import pytest

from genesisd.watch.model import State
from genesisd.watch.rows import Action, Trigger, Watchlist
from genesisd.watch.triage import Grounds, cases_of, triage
from genesisd.wiring.watch_views import Looked, rows
from tests.unit.watch.cases import MAX_AGE, NOW, OTHER, REF, known, patch, sweep_row, watch_row

PATCHES = {"P1": patch("P1", required=True), "P2": patch("P2", OTHER), "P3": patch("P3", active=False, retired=True)}


def find(name: str) -> str | None:
    """In any case of letters, or by an alias."""
    return {"p1": "P1", "first": "P1", "p2": "P2", "p3": "P3"}.get(name.casefold())


@pytest.mark.parametrize(
    ("watch", "sweep", "told"),
    [
        ([watch_row(Action.WATCH, severity="P0-crash")], [sweep_row(Trigger.REVIEW)], [("P0", False), ("P0", False)]),
        ([], [sweep_row(Trigger.REANCHOR, patches=("p1",))], [("P1", True)]),
        ([], [sweep_row(Trigger.REANCHOR, patches=("first",))], [("P1", True)]),
        ([], [sweep_row(Trigger.REVIEW, upstream=OTHER, planned="P2 (x)", planned_ids=("P2",))], [("P2", True)]),
        ([], [sweep_row(Trigger.REVIEW, planned="P2 (x)", planned_ids=("P2",))], [("P3", True)]),
        ([], [sweep_row(Trigger.REVIEW, patches=("P3",))], [("P3", True)]),
    ],
    ids=["its twin says", "in small letters", "by an alias", "planned and done", "planned yet", "ended"],
)
def test_a_row_is_as_grave_as_its_decisions(watch, sweep, told):
    """Whatever its patches are called, and whichever section says how bad it is."""
    listed = Watchlist(file="w.yaml", digest="", watch=tuple(watch), sweep=tuple(sweep))
    answers = {ref: known(State.OPEN, ref) for ref in (REF, OTHER)}
    looked = Looked(watchlist=listed, known=answers, patches=PATCHES, find=find)
    assert [(one.severity, one.derived) for one in rows(looked, NOW, MAX_AGE)] == told
    grounds = Grounds(known=answers, patches=PATCHES, find=find, now=NOW, max_age=MAX_AGE)
    made = [triage(case)[0] for case in cases_of(listed, grounds)]
    assert [(one.severity, one.derived) for one in made] == told
