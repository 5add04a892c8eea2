"""Whatever the change and however much its lines repeat: the file before it never has it, the one after never lacks it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from genesisd.watch.content import judge
from genesisd.watch.diffs import read_diff
from genesisd.watch.model import Content
from tests.helpers.headed_diff import FILE, diff

LINES = (
    "class Cache:",
    "def grow(self):",
    "    def trim(self):",
    "    def size(self):",
    "        self.pages += count",
    "        self.pages -= count",
    "        return self.pages",
    "        pass",
    "",
    "import queue",
    "        # a remark on pages",
)
"""Few, so that twins and repetitions are the rule."""
files = st.lists(st.sampled_from(LINES), min_size=1, max_size=30).map(lambda lines: "\n".join(lines) + "\n")


@st.composite
def edits(draw):
    """A file and the same file with a few lines put in, taken out or replaced."""
    before = draw(files)
    lines = before.splitlines()
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines)))
        gone = draw(st.integers(0, 3))
        lines[at : at + gone] = draw(st.lists(st.sampled_from(LINES), max_size=4))
    return before, "\n".join(lines) + "\n"


def verdict(before, after, text, *, heading=True):
    return judge(read_diff(diff(before, after, heading=heading)), {FILE: text}).content


@given(edits(), st.booleans())
def test_the_file_before_never_has_it(edit, heading):
    """Not even where what the change adds stands elsewhere in the file, many times."""
    before, after = edit
    assert verdict(before, after, before, heading=heading) is not Content.PRESENT


@given(edits(), st.booleans())
def test_the_file_after_never_lacks_it(edit, heading):
    """Not even where what the change takes away stands elsewhere in the file, many times."""
    before, after = edit
    assert verdict(before, after, after, heading=heading) is not Content.ABSENT


@given(files, edits())
def test_any_file_gets_a_verdict_with_evidence(text, edit):
    """Nothing that a tree may hold makes the judge fail or fall silent."""
    found = judge(read_diff(diff(*edit)), {FILE: text})
    assert found.content is not Content.UNKNOWN or edit[0] == edit[1]
    assert found.evidence
