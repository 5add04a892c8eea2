"""Several patches put into one file: what only comes out together, and who falls with whom."""

import itertools

import pytest

from genesisd.patches.edits import NewFile, ReplaceFile
from genesisd.patches.engine import plan
from genesisd.patches.outcome import AlreadyApplied, Applied, Failed, Fault
from genesisd.patches.stack import plan_all
from genesisd.patches.survey import digest
from tests.unit.patches.made import FILE, after, edit, patch

TEXT = "a = 1\nb = 1\nc = 1\n"
LINE = [
    patch(edit("a = 1\nb", "a = 2\nb", id="e1"), id="A"),
    patch(edit("b = 1\nc", "b = 2\nc", id="e2"), id="B"),
    patch(edit("c = 1", "c = 2", id="e3"), id="C"),
]


@pytest.mark.parametrize("listed", list(itertools.permutations(LINE)), ids=range(6))
def test_a_line_of_clashes_falls_as_a_whole(listed):
    """Of three, the middle one clashes with both others: to keep an end would be to choose."""
    found = plan_all({FILE: TEXT}, listed)
    assert {name: getattr(one, "fault", type(one)) for name, one in found.outcomes.items()} == dict.fromkeys(
        "ABC", Fault.OVERLAP
    )
    assert found.texts == {}
    ends = plan_all({FILE: TEXT}, [one for one in listed if one.id != "B"])
    assert ends.texts == {FILE: "a = 2\nb = 1\nc = 2\n"}


def test_patches_that_only_together_swallow_a_definition_fail_together():
    """A class that one opens ends where upstream's next line stands, until the other indents that line."""
    text = "if flag:\n    y = 1\nx = 2\nif x:\n    def h(): ...\n"
    opens = patch(after("    y = 1\n", "class K:\n    z = 1\n", id="opens"), id="A")
    indents = patch(edit("x = 2\nif x:\n", "    x = 2\n", id="indents"), id="B")
    assert all(isinstance(plan({FILE: text}, one), Applied) for one in (opens, indents))
    found = plan_all({FILE: text}, [opens, indents])
    for outcome in found.outcomes.values():
        assert isinstance(outcome, Failed), outcome
        assert (outcome.fault, outcome.path, outcome.edits) == (Fault.OUT_OF_SCOPE, FILE, ("opens", "indents"))
        assert ": h would" in outcome.detail
    assert found.texts == {}


def test_a_whole_file_comes_out_of_a_stack():
    """Files that are put in place stand in the result beside those that are edited."""
    overlay = patch(ReplaceFile("r", "w.py", "y = 1\n", digest("x = 1\n")), NewFile("n", "n.py", "z = 1\n"), id="W")
    patches = [overlay, patch(edit("a = 1", "a = 2"), id="A")]
    found = plan_all({FILE: TEXT, "w.py": "x = 1\n"}, patches)
    assert found.texts == {FILE: TEXT.replace("a = 1", "a = 2"), "n.py": "z = 1\n", "w.py": "y = 1\n"}
    assert [type(one) for one in plan_all(found.texts, patches).outcomes.values()] == [AlreadyApplied, AlreadyApplied]
