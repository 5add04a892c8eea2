"""Cuts put together: which of them clash, and what comes out."""

import pytest

from genesisd.patches.scope import Span
from genesisd.patches.splice import Cut, collisions, splice
from tests.unit.patches.made import FILE


def cut(start: int, end: int, text: str = "", at: int | None = None) -> Cut:
    anchor = Span(start, end)
    return Cut(f"{start}", FILE, "", "", anchor, anchor if at is None else Span(at, at), text)


@pytest.mark.parametrize(
    ("cuts", "pairs"),
    [
        ([], []),
        ([cut(0, 2), cut(2, 4)], []),
        ([cut(0, 3), cut(2, 4)], [("0", "2")]),
        ([cut(2, 4), cut(0, 3)], [("0", "2")]),
        ([cut(0, 9), cut(1, 2), cut(5, 6)], [("0", "1"), ("0", "5")]),
        ([cut(0, 1), cut(5, 7), cut(6, 8)], [("5", "6")]),
        ([cut(0, 2, at=2), cut(2, 4, at=2)], [("0", "2")]),
        ([cut(0, 2, at=0), cut(2, 4, at=2)], []),
        ([cut(0, 2, at=2), cut(2, 4)], []),
    ],
)
def test_what_clashes(cuts, pairs):
    """Cuts clash when they share a character or insert at the same place; touching alone is no clash."""
    assert [(one.edit, other.edit) for one, other in collisions(cuts)] == pairs


def test_all_cuts_are_made_at_once():
    """The order in which cuts are listed changes nothing, and each knows where it landed."""
    cuts = [cut(4, 6, "EEE"), cut(0, 1, "")]
    text, landed = splice("abcdefgh", cuts)
    assert text == "bcdEEEgh"
    assert splice("abcdefgh", cuts[::-1]) == (text, landed)
    assert [text[c.landed.start : c.landed.end] for c in landed] == ["", "EEE"]
