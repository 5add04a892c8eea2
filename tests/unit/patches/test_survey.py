"""A file that no edit may be made in says what it is, and markers count where they can."""

import pytest

from genesisd.patches.edits import AnchorEdit, Marker, NewFile, ReplaceFile, Variant
from genesisd.patches.engine import plan
from genesisd.patches.outcome import AlreadyApplied, AnchorMissing, Failed, Fault
from genesisd.patches.survey import digest, shows
from tests.unit.patches.made import FILE, edit, patch

WHOLE = ReplaceFile("r", FILE, "y = 1\n", digest("z = 1\n"))
REFUSED = [
    ("x = 1\r\ny = 2\n", edit("x = 1", "x = 2"), Fault.MIXED_ENDINGS, ()),
    ("x = (\n", edit("x", "y"), Fault.NOT_PYTHON, ("line 1",)),
    ("x = 1\n", NewFile("n", FILE, "y = 1\n"), Fault.FILE_EXISTS, ()),
    ("x = 1\n", WHOLE, Fault.FILE_CHANGED, (digest("z = 1\n")[:12], digest("x = 1\n")[:12])),
]


@pytest.mark.parametrize(("text", "change", "fault", "words"), REFUSED, ids=[fault for *_, fault, _ in REFUSED])
def test_a_file_that_is_refused_is_told_with_the_edit(text, change, fault, words):
    """The failure names the file, the edit that wanted it, and what was found there."""
    outcome = plan({FILE: text}, patch(change))
    assert isinstance(outcome, Failed)
    assert (outcome.fault, outcome.path, outcome.edits) == (fault, FILE, (change.id,))
    assert outcome.detail
    assert all(word in outcome.detail for word in words), outcome.detail


def test_a_digest_is_shortened_for_people():
    """Twelve digits of each content tell them apart; the rest would bury the sentence."""
    outcome = plan({FILE: "x = 1\n"}, patch(WHOLE))
    found = [word.strip(",") for word in outcome.detail.split() if len(word) > 11]
    assert found == [digest("z = 1\n")[:12], digest("x = 1\n")[:12]]


MARKED = [
    ("chat.jinja", "def f():\n    fixed()\n", Marker("chat.jinja", "fixed()"), True),
    ("chat.jinja", "def f():\n    fixed()\n", Marker("chat.jinja", "fixed()", "f"), False),
    (FILE, "a()\r\nb()\nc()\n", Marker(FILE, "b()\nc()"), True),
    (FILE, "a()\r\nb()\nc()\n", Marker(FILE, "a()\nb()"), False),
]


@pytest.mark.parametrize(("path", "text", "marker", "there"), MARKED, ids=range(len(MARKED)))
def test_a_marker_in_an_odd_file(path, text, marker, there):
    """A text that is not Python has no scopes, though it look like it; a file of mixed line endings speaks \\n."""
    assert shows(marker, {path: text}) is there


def test_an_anchor_that_stands_outside_every_definition_is_told_so():
    """Whoever looks for the anchor in a function learns that the module's own text has it."""
    text = "n = 1\ndef f():\n    n = 1\n    return n\ndef g(): ...\n"
    expected = AnchorMissing("e", FILE, "g", ("the module", "f"))
    assert plan({FILE: text}, patch(edit("n = 1", "n = 2", "g"))) == expected


FORMS = AnchorEdit("e", FILE, "f", (Variant("old(a)", "mine(a)", "first"), Variant("old(b)", "mine(b)", "second")))


@pytest.mark.parametrize(("text", "form"), [("mine(a)", "first"), ("mine(b)", "second")])
def test_what_is_there_already_says_whose_it_is(text, form):
    """A claim on text in place names the edit, its file, its scope and the form, as a cut does."""
    outcome = plan({FILE: f"def f():\n    {text}\n"}, patch(FORMS))
    assert isinstance(outcome, AlreadyApplied), outcome
    (claim,) = outcome.claims
    assert (claim.edit, claim.path, claim.scope, claim.variant) == ("e", FILE, "f", form)
