"""What must hold of a file after its edits, and what need not."""

import pytest

from genesisd.patches.edits import ReplaceFile
from genesisd.patches.engine import plan
from genesisd.patches.outcome import Applied, Failed, Fault
from genesisd.patches.survey import digest
from tests.unit.patches.made import edit, patch


@pytest.mark.parametrize(
    ("path", "fault"),
    [("vllm/core.py", Fault.SYNTAX), ("vllm/_C.pyi", Fault.SYNTAX), ("vllm/py", None), ("chat.jinja", None)],
)
def test_what_is_parsed(path, fault):
    """Modules and stubs have to stay Python; any other file is text."""
    outcome = plan({path: "x = 1\n"}, patch(edit("x = 1", "x = (", path=path)))
    assert (outcome.fault if isinstance(outcome, Failed) else None) is fault


def replaced(before, text, path="vllm/core.py"):
    return plan({path: before}, patch(ReplaceFile("r", path, text, digest(before))))


def test_a_replaced_file_may_lose_what_it_defined():
    """Whoever replaces a whole file answers for all of it: no definition is held in its place."""
    assert isinstance(replaced("def f(): ...\nclass C: ...\n", "def g(): ...\n"), Applied)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_an_empty_file_takes_any_line_ending(ending):
    """An empty file, as many an __init__.py is, has no line ending that could be changed."""
    assert isinstance(replaced("", f"x = 1{ending}y = 2{ending}"), Applied)
