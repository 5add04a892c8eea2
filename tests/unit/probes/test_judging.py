"""What makes an answer wrong, judge by judge."""

import pytest

from genesisd.probes.answered import Answered
from genesisd.probes.casebook import Needle
from genesisd.probes.judging.calls import same
from genesisd.probes.judging.constraints import hopeless
from genesisd.probes.judging.cutting import was_cut
from genesisd.probes.judging.garbage import garbled
from genesisd.probes.judging.haystack import ROOM, Haystack, believable, fitting
from genesisd.probes.judging.leaks import leaked_beside_calls, leaked_in_prose, leaked_thoughts
from genesisd.probes.judging.repeats import Limits, degenerate, tail
from genesisd.probes.model import Exchange


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        ({"a": 1, "b": [2]}, {"b": [2.0], "a": 1}),
        ([], []),
        (None, None),
        ("", ""),
        (True, True),
        (10**20, 1e20),
    ],
)
def test_equal_json_values(one, other):
    """Order of fields and writing of numbers do not matter."""
    assert same(one, other)
    assert same(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [("1", 1), (True, 1), (False, 0), (0, None), ("", None), ([1, 2], [2, 1]), ([1], [1, 1]), ({}, []), ({"a": 1}, {}),
     ({"a": 1}, {"a": 1, "b": None}), ({"a": "x"}, {"a": "X"}), ({"a": [True]}, {"a": [1]}), (0.1, 0.1000001)],
)  # fmt: skip
def test_other_json_values(one, other):
    """Kinds, lengths and order of lists do matter."""
    assert not same(one, other)
    assert not same(other, one)


@pytest.mark.parametrize(
    ("text", "unit", "times", "length"),
    [("", "", 0, 0), ("abc", "", 0, 0), ("aaaa", "a", 4, 4), ("xababab", "ab", 3, 6), ("babab", "ab", 2, 5),
     ("no no no ", "no ", 3, 9), ("aaab", "", 0, 0), ("abcabc", "abc", 2, 6), ("aabaab", "aab", 2, 6)],
)  # fmt: skip
def test_the_repetition_at_the_end(text, unit, times, length):
    """The longest, by its shortest unit, with the part of one more before it."""
    found = tail(text)
    assert (found.unit, found.times, found.length) == (unit, times, length)


def test_a_unit_longer_than_the_limit_is_not_looked_for():
    """That bounds what a look costs."""
    assert tail("abcd" * 3, limit=3).times == 0


@pytest.mark.parametrize(
    ("text", "cut", "wrong"),
    [
        ("x" * 47, True, False),
        ("x" * 48, True, True),
        ("abc" * 16, False, False),
        ("twelve char." * 5, True, False),
        ("twelve char." * 6, True, True),
        ("a" * 74 + "b" * 48, True, False),
        ("a" * 70 + "b" * 48, True, True),
        ("-" * 399, True, False),
        ("-" * 400, True, True),
        ("ab" * 39, False, False),
        ("ab" * 40, False, True),
        ("some words. " + "x" * 228, False, True),
        ("some words. " + "x" * 227, False, False),
        ("x" * 80 + "\n\n", False, True),
    ],
)
def test_the_bounds_of_a_repetition(text, cut, wrong):
    """Six times, 48 characters, two fifths of a cut answer; forty times and all but a twentieth of one that ended."""
    text = text.replace("a" * 74, "".join(chr(97 + one % 26) for one in range(74)))
    text = text.replace("a" * 70, "".join(chr(97 + one % 26) for one in range(70)))
    assert (degenerate(text, cut=cut) is not None) is wrong


def test_the_limits_can_be_set():
    """For who knows a model that repeats itself."""
    assert degenerate("x" * 60, cut=True, limits=Limits(characters=100)) is None


@pytest.mark.parametrize(
    ("form", "constraint", "text", "wrong"),
    [("json_schema", {}, begun, False) for begun in
     ("", "{", '{"a', '{"a"', '{"a":', '{"a": 1', '{"a": -', '{"a": tr', "[1, ", '"x\\u00', '{"a": [nul', "12", '"\\', '{"a": "x\\u0')]
    + [("json_schema", {}, lost, True) for lost in ("!", "Sure: {", '{"a" 1', "{,", '{"a": 1} x', "trux", "```json")]
    + [("choice", ["north", "south"], "nor", False), ("choice", ["north"], "North", True), ("choice", ["no"], "no!", True)]
    + [("regex", "[0-9]+", "x", False)],
)  # fmt: skip
def test_what_a_right_answer_could_have_begun_with(form, constraint, text, wrong):
    """A cut answer is wrong only where no end would mend it; of an expression that is not known."""
    assert (hopeless(form, constraint, text) is not None) is wrong


def said(finish: str, tokens: int | None, **request: object) -> Answered:
    return Answered(Exchange("/", request), finish=finish, completion_tokens=tokens)


def test_an_answer_was_cut():
    """By its reason, or by its count where the engine gives another reason."""
    assert was_cut(said("length", 3))
    assert was_cut(said("tool_calls", 24, max_tokens=24))
    assert was_cut(said("tool_calls", 24, max_completion_tokens=24, max_tokens=90))
    assert not was_cut(said("tool_calls", 23, max_tokens=24))
    assert not was_cut(said("stop", 900))
    assert not was_cut(said("stop", None, max_tokens=24))


def test_tags_leak_unless_they_are_asked_about():
    """Beside calls any mark, in prose only a whole call."""
    assert leaked_beside_calls("</tool_call>", "Weather?") == "</tool_call>"
    assert leaked_beside_calls("So: <tool_call>", "What is <tool_call>?") is None
    assert leaked_beside_calls(None, "") is None
    assert leaked_in_prose("Write <tool_call> and </tool_call>, or <function=f> too.") is None
    assert leaked_in_prose('<tool_call>\n{"name": "f"}') is not None
    assert leaked_in_prose("<function=get_weather>\n<parameter=city>") is not None
    assert leaked_thoughts("Lima.</think>", "") == "</think>"
    assert leaked_thoughts("It is </think>.", "What is </think>?") is None


@pytest.mark.parametrize("asked", ["", "\ufffd \x00 <unk>"])
def test_garbage_is_none_where_it_was_asked_for(asked):
    """The question's own marks may come back."""
    for text in ("a \ufffd b \ufffd c \ufffd d", "a\x00", "<unk> <unk> <unk>"):
        assert (garbled(text, asked) is None) is bool(asked)


def test_a_haystack_is_as_long_as_asked_and_holds_the_needle_once():
    """At its place among whole sentences, behind a salt and before the question."""
    needle = Needle(("The road goes on.", "It rained."), "The code is 7314.", "Which code?", "7314")
    for place, least, most in ((0.0, 0.0, 0.02), (0.5, 0.48, 0.52), (1.0, 0.98, 1.0)):
        text = Haystack(needle, 1000, place, "ab12").text(4.0)
        assert len(text) == pytest.approx(4000, rel=0.02)
        assert (text.count(needle.fact), text.endswith("\n\nWhich code?"), text.startswith("Notebook ab12. ")) == (
            1,
            True,
            True,
        )
        assert least <= text.index(needle.fact) / len(text) <= most


def test_steps_leave_room():
    """For the answer and the template; from the shortest, each once."""
    assert fitting((8000, 1000, 1000), 8000 + ROOM) == [1000, 8000]
    assert fitting((8000, 1000), 8000 + ROOM - 1) == [1000]
    assert fitting((8000,), None) == [8000]


def test_a_count_that_no_text_has_is_not_believed():
    """Otherwise a text of megabytes would be sent."""
    assert [believable(one) for one in (0.0, 0.5, 4.2, 8.0, 1e6)] == [0.5, 0.5, 4.2, 8.0, 8.0]
