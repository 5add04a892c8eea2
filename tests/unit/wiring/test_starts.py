"""What is kept of a start, and which patches it lost against the last good one."""

from __future__ import annotations

import json

import pytest

from genesisd.patches.resolve import Gate
from genesisd.patches.verdicts import Verdict
from genesisd.wiring.starts import CHOSEN_OFF, KEPT, QUIET, PatchNote, Start, absent, from_json, lost, summary

START = Start(
    "env+0123456789ab",
    {"P1": PatchNote("applied"), "P2": PatchNote("version", "for <0.2, not for 0.3")},
    ("P2",),
    ("P9 is a worry",),
    7,
)
WORDS = [*map(str, Gate), *map(str, Verdict), "unknown"]


def good(**verdicts: str) -> Start:
    return Start("b", notes(**verdicts))


def notes(**verdicts: str) -> dict[str, PatchNote]:
    return {name: PatchNote(word) for name, word in verdicts.items()}


@pytest.mark.parametrize("start", [START, Start(None), Start(None, incarnation=3)], ids=["patched", "empty", "plain"])
def test_a_start_comes_back_from_the_store_as_it_was(start):
    """The next daemon knows exactly what this one started."""
    assert from_json(json.loads(json.dumps(start.to_json()))) == start


@pytest.mark.parametrize(
    "kept",
    [
        None,
        7,
        "text",
        [],
        {},
        {**START.to_json(), "patches": []},
        {**START.to_json(), "patches": {"P1": {"verdict": "applied", "text": "", "of a newer version": 1}}},
        {**START.to_json(), "patches": {"P1": "applied"}},
        {**START.to_json(), "incarnation": "three"},
        {name: value for name, value in START.to_json().items() if name != "lost"},
    ],
)
def test_words_of_another_version_are_nothing(kept):
    """A store that another version wrote costs a comparison, not the daemon."""
    assert from_json(kept) is None


def test_the_words_of_the_sets_are_verdicts():
    """A set with a word that no verdict has would let a loss pass unseen."""
    assert set(WORDS) >= KEPT | CHOSEN_OFF | QUIET
    assert not KEPT & CHOSEN_OFF
    assert not KEPT & QUIET


@pytest.mark.parametrize("had", sorted(KEPT))
@pytest.mark.parametrize("now", WORDS)
def test_what_was_there_is_lost_unless_it_is_kept_or_switched_off_by_a_word(had, now):
    """A switch that is merely gone is a loss; one that says off is not."""
    expected = () if now in KEPT | CHOSEN_OFF else ("P1",)
    assert lost(good(P1=had), notes(P1=now)) == expected


@pytest.mark.parametrize("had", sorted(set(WORDS) - KEPT))
def test_what_was_not_there_cannot_be_lost(had):
    """A patch that never applied is a verdict, and no loss."""
    assert lost(good(P1=had), notes(P1="anchor_missing")) == ()


def test_a_patch_that_left_the_catalog_is_lost():
    """Nobody said that it should go."""
    assert lost(good(P1="applied", P2="applied"), notes(P2="applied")) == ("P1",)


def test_without_a_good_start_nothing_is_lost():
    """There is nothing to compare with."""
    assert lost(None, notes(P1="anchor_missing")) == ()


def test_summary_groups_by_verdict_and_leaves_out_what_nobody_asked_for():
    """Three hundred patches that are off would hide the one that failed."""
    start = Start("b", notes(P1="applied", P2="applied", P3="anchor_missing", P4="not_enabled"), ("P3",))
    told = summary(start)
    assert told == {"build": "b", "patches": {"applied": ["P1", "P2"], "anchor_missing": ["P3"]}, "lost": ["P3"]}


def test_absent_is_what_had_no_effect():
    """For whatever reason; what upstream has by itself cannot be left out."""
    verdicts = ("applied", "already_applied", "superseded", "quarantined", "not_enabled", "disabled", "version")
    start = Start("b", {f"P{number}": PatchNote(verdict) for number, verdict in enumerate(verdicts)})
    assert absent(start) == ("P3", "P4", "P5", "P6")
