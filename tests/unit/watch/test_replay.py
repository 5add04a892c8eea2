"""A diff made on texts: exactly where it says, or at the one place that has its lines, or not at all."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genesisd.watch.diffs import FileChange, Hunk
from genesisd.watch.replay import FARTHEST, Why, lines_of, replay
from tests.helpers.git_diffs import changes

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "    a\n", "\n"]), max_size=14).map("".join)
TWINS = """\
class Engine:
    def step_a(self):
        self.begin()
        self.work()
        self.end()

    def step_b(self):
        self.begin()
        self.work()
        self.end()
"""


def hunk(*lines, at=1, heading=""):
    return Hunk(at, at, tuple((line[0], line[1:] + "\n") for line in lines), heading)


def made(text, *hunks):
    return replay([FileChange("x", "x", hunks)], {"x": text})


def test_a_hunk_lands_where_it_says():
    """Even where its lines stand elsewhere too."""
    done = made("a\nb\na\nb\n", hunk(" a", "-b", "+c", at=3))
    assert done.texts == {"x": "a\nb\na\nc\n"}
    assert [(one.at, one.moved) for one in done.landed] == [(2, 0)]


def test_a_hunk_that_drifted_lands_at_the_one_place_of_its_lines_and_says_so():
    """By how many lines it moved is told: it may have met a twin."""
    done = made("new\nnew\na\nb\n", hunk(" a", "-b", "+c", at=1))
    assert done.texts == {"x": "new\nnew\na\nc\n"}
    assert [(one.at, one.moved) for one in done.landed] == [(2, 2)]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("new\na\nB\n", Why.GONE),
        ("new\na\nb\nx\na\nb\n", Why.SEVERAL),
        ("new\n" * (FARTHEST + 1) + "a\nb\n", Why.FAR),
        ("", Why.GONE),
    ],
)
def test_a_hunk_that_fits_nowhere_or_in_two_places_is_not_made(text, why):
    """Never a line of context less, and never the nearer of two."""
    done = made(text, hunk(" a", "-b", "+c"))
    assert [one.why for one in done.refused] == [why]
    assert done.over({"x": text}) == {"x": text}


def test_a_hunk_that_was_made_before_is_told_as_there():
    """Its new lines stand, and its old ones do not; and the near miss has neither."""
    assert [one.why for one in made("x\na\nc\n", hunk(" a", "-b", "+c")).refused] == [Why.THERE]
    assert [one.why for one in made("x\na\nd\n", hunk(" a", "-b", "+c")).refused] == [Why.GONE]


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ((" a", "-b", " c"), Why.THERE),
        ((" a", "-b"), Why.GONE),
        (("-b", " c"), Why.GONE),
        ((" a", "-b", "+"), Why.GONE),
    ],
)
def test_lines_that_are_gone_are_told_by_what_they_stood_between(lines, why):
    """The lines on one side alone stand there as well while the others have but drifted."""
    assert [one.why for one in made("a\nc\n\na\n\n", hunk(*lines)).refused] == [why]


def test_as_far_as_it_may_drift_it_lands():
    """The near miss of the one that is too far off."""
    assert made("new\n" * FARTHEST + "a\nb\n", hunk(" a", "-b", "+c")).landed[0].moved == FARTHEST


def test_the_other_hunks_of_a_file_are_made_all_the_same():
    """A refusal is a hunk's, not a file's."""
    done = made("a\nb\nc\n", hunk(" a", "-b", "+B"), hunk("-x", "+y", at=3))
    assert done.texts == {"x": "a\nB\nc\n"}
    assert [one.why for one in done.refused] == [Why.GONE]


def test_hunks_keep_their_order():
    """The second may not land before the first, though its lines stand there."""
    done = made("b\nx\na\n", hunk("-a", "+A", at=3), hunk("-b", "+B", at=9))
    assert done.texts == {"x": "b\nx\nA\n"}
    assert [one.why for one in done.refused] == [Why.GONE]


def test_a_hunk_for_one_function_does_not_land_in_its_twin():
    """``step_b`` was rewritten; the same lines stand in ``step_a``, and the heading names the other."""
    first, _, second = TWINS.partition("    def step_b")
    text = f"{first}    def step_b{second.replace('work', 'other')}"
    one = hunk(
        "         self.begin()", "-        self.work()", "+        self.rest()", at=8, heading="def step_b(self):"
    )
    done = made(text, one)
    assert [refused.why for refused in done.refused] == [Why.GONE]
    assert made(text, replace(one, heading="def step_a(self):")).landed[0].at == 2


def test_a_heading_chooses_between_twins():
    """Two places have the lines, one of them under the heading."""
    one = hunk(
        "         self.begin()", "-        self.work()", "+        self.rest()", at=1, heading="def step_b(self):"
    )
    assert made("import x\n" + TWINS, one).landed[0].at == 8


def test_a_heading_that_is_no_more_tells_nothing():
    """The function got another argument meanwhile."""
    one = hunk(" a", "-b", "+c", at=9, heading="def gone(self):")
    assert made("def f(self):\na\nb\n", one).landed


@pytest.mark.parametrize("text", ["a\n", "a\nb\n"])
def test_lines_without_any_context_have_no_place(text):
    """Nothing would tell whether it is the right one."""
    assert [one.why for one in made(text, hunk("+new", at=1)).refused] == [Why.NO_CONTEXT]


def test_the_last_line_without_its_end_is_another_line():
    """What a file ends with counts."""
    at_end = Hunk(1, 1, ((" ", "a\n"), ("-", "b"), ("+", "c")))
    assert made("a\nb", at_end).texts == {"x": "a\nc"}
    assert [one.why for one in made("a\nb\n", at_end).refused] == [Why.GONE]
    assert [one.why for one in made("x\na\nb\n", at_end).refused] == [Why.GONE]


def test_line_endings_are_part_of_lines():
    """A hunk with line feeds does not fit a file with carriage returns."""
    assert [one.why for one in made("a\r\nb\r\n", hunk(" a", "-b", "+c")).refused] == [Why.GONE]


def test_files_come_go_and_move():
    """By the paths that they have afterwards."""
    before = {"gone.py": "a\n", "here.py": "a\nb\n", "same.py": "s\n"}
    after = {"there.py": "a\nc\n", "new.py": "n\n", "same.py": "s\n"}
    done = replay(changes(before, after, {"here.py": "there.py"}), before)
    assert done.over(before) == after
    assert (done.gone, done.moves) == ({"gone.py", "here.py"}, {"here.py": "there.py"})


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (FileChange("other", "other", (hunk("-a", "+b"),)), Why.NO_FILE),
        (FileChange("other", "moved", ()), Why.NO_FILE),
        (FileChange(None, "x", (hunk("+b"),)), Why.FILE_THERE),
        (FileChange(None, "image", (), binary=True), Why.BINARY),
        (FileChange("x", "x", (), binary=True), Why.BINARY),
    ],
)
def test_what_cannot_be_made_is_told(change, why):
    """And leaves the texts as they are."""
    done = replay([change], {"x": "a\n"})
    assert [one.why for one in done.refused] == [why]
    assert done.over({"x": "a\n"}) == {"x": "a\n"}


def test_a_new_file_that_is_there_already_word_for_word_is_as_made():
    """The pin may have taken it."""
    assert not replay([FileChange(None, "x", (hunk("+a"),))], {"x": "a\n"}).refused


@settings(deadline=None)
@given(LINES, LINES)
def test_the_steps_of_landed_hunks_are_the_whole_change(before, after):
    """Making them one by one, from the last, gives the new text; none of them holds context."""
    done = replay(changes({"x": before}, {"x": after}), {"x": before})
    lines = lines_of(before)
    steps = [step for landed in done.landed for step in landed.steps()]
    for step in reversed(steps):
        assert tuple(lines[step.at : step.at + len(step.taken)]) == step.taken
        lines[step.at : step.at + len(step.taken)] = step.put
    assert "".join(lines) == after
    assert all(one.at + len(one.taken) < two.at for one, two in pairwise(steps))


@settings(deadline=None)
@given(LINES, LINES, LINES)
def test_each_hunk_is_made_whole_or_told_and_nothing_else_changes(before, after, other):
    """On any other text: what lands has all its old lines there, and the rest of the text stays."""
    diff = changes({"x": before}, {"x": after})
    done = replay(diff, {"x": other})
    assert len(done.landed) + len(done.refused) == sum(len(one.hunks) for one in diff)
    lines, rest = lines_of(other), 0
    for one in done.landed:
        assert one.at >= rest
        assert tuple(lines[one.at : one.at + len(one.hunk.old)]) == one.hunk.old
        rest = one.at + len(one.hunk.old)
    grown = sum(len(one.hunk.new) - len(one.hunk.old) for one in done.landed)
    assert len(lines_of(done.over({"x": other})["x"])) == len(lines) + grown


@settings(deadline=None)
@given(st.text(st.sampled_from("ab\n\r\x0c\u2028"), max_size=30))
def test_lines_joined_are_the_text(text):
    """And only line feeds end them."""
    lines = lines_of(text)
    assert "".join(lines) == text
    assert all(line.find("\n") in {-1, len(line) - 1} for line in lines)
