"""A file as changes look for their lines in it: headings, scopes, words, prose, and names."""

from __future__ import annotations

import pytest

from genesisd.watch.text import Fit, Heading, Names, Text, bare, defined, telling, words

TEXT = Text('''import os

LIMIT = 3


@register
class Pool(
    Base,
):
    """Holds pages.

    def not_a_method(self): in prose
    """

    def take(
        self,
        count: int,
    ) -> int:
        # Nothing is taken
# from an empty pool.
        def inner():
            return count

        return inner()

    async def give(self):
        return self.take(1)


def take():
    return LIMIT
''')


def line(text):
    return next(n for n, one in enumerate(TEXT.lines) if text in one)


@pytest.mark.parametrize(
    ("at", "scope"),
    [
        ("return count", "Pool.take.inner"),
        ("return inner", "Pool.take"),
        ("count: int", "Pool.take"),
        ("async def give", "Pool"),
        ("return self.take", "Pool.give"),
        ("return LIMIT", "take"),
        ("LIMIT = 3", ""),
        ("from an empty pool", "Pool.take"),
    ],
)
def test_scopes_are_read_from_the_layout(at, scope):
    """The definitions around a line, also where a signature takes several and a comment stands at the margin."""
    assert TEXT.scope(line(at)) == scope


@pytest.mark.parametrize(
    ("at", "heading", "fit"),
    [
        ("return inner", "class Pool(", Fit.YES),
        ("return inner", "def take(", Fit.YES),
        ("return self.take", "def take(", Fit.NO),
        ("return self.take", "async def give(self, count):", Fit.YES),
        ("return LIMIT", "class Pool(", Fit.NO),
        ("return LIMIT", "class Heap:", Fit.UNTOLD),
        ("return LIMIT", "", Fit.UNTOLD),
        ("class Pool(", "LIMIT = 3", Fit.YES),
        ("return LIMIT", "LIMIT = 3", Fit.NO),
        (
            "def inner",
            "def take(self, count: int, more: str = 'a very long line that git cuts off at eighty by",
            Fit.YES,
        ),
    ],
)
def test_headings_fit_by_either_rule_of_git(at, heading, fit):
    """The line at the margin, the nearest definition, or any around it; a signature may have changed since."""
    assert TEXT.fit(line(at), Heading(heading)) is fit


def test_what_a_change_brings_may_stand_over_its_place():
    """A heading is of the file before the change, which may define something between."""
    at = line("return self.take")
    assert TEXT.fit(at, Heading("def take(", frozenset({"give"}))) is Fit.YES


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("f(a, b)", "f( a,\n  b,\n)"),
        ("x = 'a'", 'x = "a"  # why'),
        ("if a:\n    b()", "if a:\n\n        b()"),
        ("y = [1, 2]", "y = [\n    1,\n    2,\n]"),
    ],
)
def test_layout_is_no_word(one, other):
    """Line ends, comments, indentation, quotes and trailing commas are not compared."""
    assert words(one.split("\n")) == words(other.split("\n"))
    assert Text(f"z = 0\n{other}\n").find_words(words(one.split("\n")))


@pytest.mark.parametrize(
    ("one", "other"), [("f(a, b)", "f(b, a)"), ("x = '#1'", "x = '#2'"), ("""x = '"'""", "x = ''")]
)
def test_other_words_are_others(one, other):
    """Order counts, and a hash in quotes is no comment."""
    assert words([one]) != words([other])


@pytest.mark.parametrize(
    ("lines", "count"),
    [((")", "else:", "return None", "", "# a remark on pages"), 0), (("pages += 1", ")", "if pages:"), 2)],
)
def test_some_lines_tell_nothing(lines, count):
    """Brackets, bare keywords, blanks and comments are in every file."""
    assert telling(lines) == count


def test_prose_is_known_by_its_place():
    """Lines of a docstring and comments are prose; code is not, though it be a word."""
    start = line("Holds pages")
    assert TEXT.is_prose(start, start + 4)
    assert not TEXT.is_prose(start, start + 6)
    assert TEXT.is_prose(line("# Nothing"), line("# from") + 1)


def test_blocks_are_found_at_all_their_places():
    """Places may overlap, the first and the last line count, and a part of a line does not."""
    text = Text("a\na\na")
    assert text.find(("a", "a")) == (0, 1)
    assert Text("ab\nb\n").find(("b",)) == (1,)
    assert text.find(()) == ()


def test_line_ends_are_taken_off():
    """Whatever ends a line in the diff, the line is the same."""
    assert bare(("a\r\n", "b\n", "c")) == ("a", "b", "c")


@pytest.mark.parametrize(
    ("text", "name"), [("    async def f(x):", "f"), ("class C:", "C"), ("define = 1", None), ("# def f():", None)]
)
def test_definitions_are_seen_by_their_line(text, name):
    """What begins with def or class defines; what looks like it does not."""
    assert defined(text) == name


def test_names_are_of_modules_and_long_enough():
    """Methods and short names are in many a file and prove nothing."""
    names = Names(
        {
            "vllm/a.py": "class Scheduler:\n    def schedule_all(self): ...\n\n\ndef run():\n    ...\n",
            "b.txt": "class Elsewhere:",
        }
    )
    assert names.where("Scheduler") == "vllm/a.py"
    assert [names.where(one) for one in ("schedule_all", "run", "Elsewhere")] == [None, None, None]
