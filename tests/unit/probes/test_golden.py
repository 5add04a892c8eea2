"""Recordings: what counts as a difference, and how they are kept."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from genesisd.probes.golden import TIE, Drift, Golden, Reply, compare, difference, differences, distance
from genesisd.probes.golden_json import GoldenError, from_json, to_json, written
from genesisd.probes.recording import FLOOR, MARGIN, calibrated

REPLY = Reply("a b c", None, (), "stop", (1, 2, 3), (5.0, 0.1, 5.0))
GOLDEN = Golden(
    "m", "p", None, "book@1", {"one": REPLY}, Drift("t", (-1.0, -2.0), 0.05), "aa-bb", {"one": "P1"}, "ref", "w", 9.5
)


@pytest.mark.parametrize(
    ("came", "tie", "sure"),
    [
        (replace(REPLY, content="x b c", ids=(9, 2, 3)), False, True),
        (replace(REPLY, content="a x c", ids=(1, 9, 3)), True, False),
        (replace(REPLY, content="a b", ids=(1, 2)), False, True),
        (replace(REPLY, content="a b c d", ids=(1, 2, 3, 4)), False, False),
        (replace(REPLY, content="a b"), False, True),
        (replace(REPLY, content="x", ids=()), False, False),
        (replace(REPLY, finish="length"), False, True),
        (replace(REPLY, calls=(("f", "{}"),)), False, True),
        (replace(REPLY, reasoning="so"), False, True),
    ],
    ids=["first", "tie", "shorter", "longer", "same-ids", "no-ids", "finish", "call", "thought"],
)
def test_a_difference_says_whether_it_can_be_chance(came, tie, sure):
    """The margin of the first token that differs decides; without it nothing is ruled out."""
    found = difference(REPLY, came)
    assert found is not None
    assert (found.tie, found.sure) == (tie, sure)


def test_the_tie_ends_at_its_bound():
    """A margin of exactly the bound is a tie, a little more is none."""
    came = replace(REPLY, content="x", ids=(9,))
    for margin, tie in ((TIE, True), (TIE + 0.001, False)):
        found = difference(replace(REPLY, margins=(margin,)), came)
        assert found is not None
        assert found.tie is tie


def test_no_words_and_empty_words_are_the_same():
    """A stream cannot tell them apart; ids alone make no difference."""
    assert difference(replace(REPLY, content=""), replace(REPLY, content=None)) is None
    assert difference(REPLY, replace(REPLY, ids=(7, 8, 9))) is None


def test_the_text_shows_the_place():
    """Long answers are cut around the first character that differs."""
    long = "word " * 100
    found = difference(Reply(long + "end"), Reply(long + "END"))
    assert found is not None
    assert "END" in found.text
    assert len(found.text) < 200


def test_differences_leave_unknown_cases_out():
    """Only recorded cases can differ."""
    found = differences(GOLDEN, {"one": Reply("x"), "other": Reply("y")})
    assert list(found) == ["one"]


def test_compare_names_a_stream_that_a_patch_broke():
    """Else it would be recorded as one that is not to be compared; what a patch mends needs no word."""
    broken = replace(GOLDEN, replies={name: replace(one, streamed=False) for name, one in GOLDEN.replies.items()})
    assert set(compare(broken, GOLDEN)) == set(GOLDEN.replies)
    assert compare(GOLDEN, broken) == {}


def test_compare_names_what_a_patch_must_answer_for():
    """Cases, drift and tokenizer are told; near ties and what is alike are not."""
    tie = replace(GOLDEN, replies={"one": replace(REPLY, content="a x c", ids=(1, 9, 3))})
    assert compare(tie, GOLDEN) == {}
    other = replace(
        GOLDEN, replies={"one": Reply("x")}, drift=Drift("t", (-1.0, -2.5), 0.05), tokenizer="aa-cc"
    )  # fmt: skip
    assert list(compare(other, GOLDEN)) == ["one", "(drift)", "(tokenizer)"]
    assert list(compare(replace(GOLDEN, drift=Drift("t", (-1.0,), 0.05)), GOLDEN)) == ["(drift)"]
    assert compare(replace(GOLDEN, drift=Drift("u", (-9.0,), 0.05)), GOLDEN) == {}


def test_distance():
    """Mean of absolute differences; nothing to compare is None, what is no number is infinitely far."""
    assert distance((-1.0, -2.0), (-1.5, -2.5)) == 0.5
    assert distance((-1.0,), (-1.0, -2.0)) is None
    assert distance((), ()) is None
    assert distance((-1.0, -2.0), (-1.0, math.nan)) == math.inf


def test_calibration():
    """The bound follows the noise of repeats, and never falls below the floor."""
    assert calibrated("t", [(-1.0, -2.0)] * 3) == Drift("t", (-1.0, -2.0), FLOOR)
    noisy = calibrated("t", [(-1.0, -2.0), (-1.1, -2.1)])
    assert noisy is not None
    assert noisy.bound == pytest.approx(MARGIN * 0.1)
    assert calibrated("t", [None, None]) is None


def test_a_recording_comes_back_as_it_was():
    """Every field survives."""
    assert from_json(to_json(GOLDEN)) == GOLDEN
    plain = Golden("m", "p", None, "b")
    assert from_json(to_json(plain).encode()) == plain


@pytest.mark.parametrize("content", ["half \ud83d", "\udc80"])
def test_what_could_not_be_read_again_is_not_written(content):
    """A worker that answers half a character, or NaN, is not recorded."""
    reply = replace(GOLDEN.replies["one"], content=content)
    with pytest.raises(GoldenError, match="its answers cannot be kept"):
        written(replace(GOLDEN, replies={"one": reply}))
    with pytest.raises(GoldenError, match="its answers cannot be kept"):
        written(replace(GOLDEN, drift=replace(GOLDEN.drift, logprobs=(float("nan"),))))
    assert from_json(written(GOLDEN)) == GOLDEN


def spoilt(change):
    document = json.loads(to_json(GOLDEN))
    change(document)
    return json.dumps(document)


FOREIGN = {
    "not-json": "{",
    "a-list": "[]",
    "another-version": spoilt(lambda d: d.update(version=2)),
    "a-field-more": spoilt(lambda d: d.update(more=1)),
    "a-field-less": spoilt(lambda d: d.pop("pin")),
    "text-for-number": spoilt(lambda d: d.update(recorded="9")),
    "not-a-number": spoilt(lambda d: d["drift"].update(logprobs=[float("nan")])),
    "no-bound": spoilt(lambda d: d["drift"].update(bound=0)),
    "endless": "[" * 100_000,
    "reply-of-another-shape": spoilt(lambda d: d["replies"].update(two={"content": 1})),
}


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN.keys())
def test_foreign_content_is_refused(text):
    """What is not wholly a recording is none, and the error says how to mend it."""
    with pytest.raises(GoldenError) as caught:
        from_json(text)
    assert caught.value.hint == "record it anew"


def test_what_only_the_plain_pin_answers_is_a_difference():
    """A patch that makes the engine refuse a question must be named for it like one that changes the answer."""
    refusing = replace(GOLDEN, replies={})
    assert compare(refusing, GOLDEN) == {"one": "it is refused"}
    assert compare(GOLDEN, refusing) == {}
