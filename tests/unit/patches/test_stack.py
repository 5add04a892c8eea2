"""Several patches on one pristine tree: what they may share, and how they fall."""

import pytest

from genesisd.patches.edits import Marker, NewFile, ReplaceFile
from genesisd.patches.engine import plan
from genesisd.patches.order import BrokenChain, cycle, levels
from genesisd.patches.outcome import (
    AlreadyApplied,
    AnchorMissing,
    Applied,
    Failed,
    Fault,
    NotApplicable,
    Superseded,
)
from genesisd.patches.stack import plan_all
from genesisd.patches.survey import digest
from tests.unit.patches.made import FILE, after, before, edit, patch

TEXT = "a = 1\nb = 1\nc = 1\n"
TREE = {FILE: TEXT}


def outcomes(tree, *patches):
    found = plan_all(tree, patches)
    return {name: getattr(outcome, "fault", type(outcome)) for name, outcome in found.outcomes.items()}


def test_patches_share_a_file():
    """Patches at different places of one file are all in the result."""
    found = plan_all(TREE, [patch(edit("c = 1", "c = 2"), id="C"), patch(after("a = 1\n", "x = 1\n"), id="A")])
    assert found.texts == {FILE: "a = 1\nx = 1\nb = 1\nc = 2\n"}


CLASHES = [
    (edit("b = 1", "b = 2"), edit("b = 1", "b = 3")),
    (edit("b = 1", "b = 2"), edit("b = 1", "b = 2")),
    (edit("a = 1\nb = 1", "b = 2"), edit("b = 1\nc = 1", "b = 3")),
    (after("a = 1\n", "x = 1\n"), before("b = 1\n", "y = 1\n")),
    (after("a = 1\n", "x = 1\n"), after("a = 1\n", "y = 1\n")),
    (edit("b = 1", "b = 2"), ReplaceFile("r", FILE, "z = 1\n", digest(TEXT))),
    (NewFile("n", "n.py", "x = 1\n"), NewFile("n", "n.py", "x = 2\n")),
    (ReplaceFile("r", FILE, "z = 1\n", digest(TEXT)), ReplaceFile("r", FILE, "z = 1\n", digest(TEXT))),
    (edit("a = 1", "a = [1]"), edit("1\nb", "2\nb")),
]


@pytest.mark.parametrize(("one", "other"), CLASHES, ids=range(len(CLASHES)))
def test_a_clash_shuts_out_both(one, other):
    """What two patches without a declared order both want, neither gets; a third is not touched by it."""
    third = patch(edit("c = 1", "c = 2", path="other.py"), id="Z")
    tree = TREE | {"other.py": TEXT}
    found = plan_all(tree, [patch(one, id="A"), patch(other, id="B"), third])
    assert {name: getattr(o, "fault", type(o)) for name, o in found.outcomes.items()} == {
        "A": Fault.OVERLAP,
        "B": Fault.OVERLAP,
        "Z": Applied,
    }
    assert found.texts == {"other.py": TEXT.replace("c = 1", "c = 2")}


def test_a_file_that_both_bring_in_one_text_is_brought_once():
    """Two patches that carry code of this program carry the packages in which it lies, and perhaps the same module."""
    shared = NewFile("n", "n.py", "x = 1\n")
    one, other = patch(edit("a = 1", "a = 2"), shared, id="A"), patch(edit("c = 1", "c = 2"), shared, id="B")
    found = plan_all(TREE, [one, other])
    assert {name: type(outcome) for name, outcome in found.outcomes.items()} == {"A": Applied, "B": Applied}
    assert found.texts == {FILE: "a = 2\nb = 1\nc = 2\n", "n.py": "x = 1\n"}
    assert outcomes(TREE | found.texts, one, other) == {"A": AlreadyApplied, "B": AlreadyApplied}


def test_patches_that_are_python_only_apart_fail_together():
    """What each patch makes is valid, and both together are not: neither is applied."""
    tree = {FILE: "def f():\n    p()\n    q()\n"}
    assign = patch(after("    p()\n", "    x = 1\n", "f"), id="A")
    declare = patch(after("    q()\n", "    global x\n", "f"), id="B")
    assert outcomes(tree, assign) == {"A": Applied}
    assert outcomes(tree, declare) == {"B": Applied}
    assert outcomes(tree, assign, declare) == {"A": Fault.SYNTAX, "B": Fault.SYNTAX}
    assert plan_all(tree, [assign, declare]).texts == {}


def test_a_declared_order_settles_a_clash():
    """Two insertions at one place are made in the order that one of them declares."""
    one = patch(after("a = 1\n", "x = 1\n"), id="A", follows=("B",))
    other = patch(after("a = 1\n", "y = 1\n"), id="B")
    assert plan_all(TREE, [one, other]).texts == {FILE: "a = 1\nx = 1\ny = 1\nb = 1\nc = 1\n"}


BASE = patch(edit("b = 1", "b = compute()"), id="PN353A")
CHAINED = patch(edit("compute()", "compute(fast=True)", after="PN353A"), id="PN399")
THIRD = patch(edit("fast=True", "fast=2", after="PN399"), id="PN400")


def test_a_chain_stands_on_its_base():
    """A chained anchor is found in what its base wrote, however the patches are listed."""
    found = plan_all(TREE, [THIRD, CHAINED, BASE])
    assert found.texts == {FILE: "a = 1\nb = compute(fast=2)\nc = 1\n"}
    assert found.broken == ()


def test_upstreams_fix_of_a_base_fails_the_plan():
    """A superseded base is told with all that stands on it, and nothing is to be written, not even the rest."""
    fixed = patch(*BASE.edits, id="PN353A", markers=(Marker(FILE, "c = 1"),))
    bystander = patch(edit("a = 1", "a = 2"), id="Q")
    found = plan_all(TREE, [THIRD, CHAINED, fixed, bystander])
    assert found.broken == (BrokenChain("PN353A", "Superseded", ("PN399", "PN400")),)
    assert found.texts == {}
    assert isinstance(found.outcomes["PN353A"], Superseded)
    assert isinstance(found.outcomes["Q"], Applied)


def test_a_base_that_is_not_there_fails_the_plan():
    """A chain whose base was left out, or lost its anchor, is broken."""
    assert plan_all(TREE, [CHAINED]).broken == (BrokenChain("PN353A", "it is not among the patches", ("PN399",)),)
    moved = plan_all({FILE: "a = 1\n"}, [BASE, CHAINED])
    assert moved.broken == (BrokenChain("PN353A", "AnchorMissing", ("PN399",)),)
    assert moved.outcomes["PN399"].fault is Fault.BASE_MISSING


def test_a_chain_that_is_not_declared_is_refused():
    """An anchor that only another patch's text holds is refused unless the edit says so."""
    silent = patch(edit("compute()", "compute(fast=True)"), id="PN399", follows=("PN353A",))
    assert outcomes(TREE, BASE, silent) == {"PN353A": Applied, "PN399": Fault.UNDECLARED_BASE}
    unordered = patch(edit("compute()", "compute(fast=True)"), id="PN399")
    assert outcomes(TREE, BASE, unordered) == {"PN353A": Applied, "PN399": AnchorMissing}


def test_another_patchs_text_does_not_make_an_anchor_ambiguous():
    """Patches without a declared order see the pristine text, not one another's."""
    twin = patch(after("c = 1\n", "if c:\n    b = 1\n"), id="A")
    assert outcomes(TREE, twin, patch(edit("b = 1", "b = 2"), id="B")) == {"A": Applied, "B": Applied}


def test_a_marker_in_another_patchs_text_is_not_upstreams():
    """What an earlier patch wrote supersedes nobody."""
    writer = patch(after("a = 1\n", "fixed()\n"), id="A")
    reader = patch(edit("b = 1", "b = 2"), id="B", follows=("A",), markers=(Marker(FILE, "fixed()"),))
    assert outcomes(TREE, writer, reader) == {"A": Applied, "B": Applied}


REQUIRING = patch(edit("b = 1", "b = 2"), id="B", requires=("A",))


@pytest.mark.parametrize(
    ("required", "outcome"),
    [
        (patch(edit("a = 1", "a = 2"), id="A"), Applied),
        (patch(edit("a = 1", "a = 2"), id="A", markers=(Marker(FILE, "c = 1"),)), Applied),
        (patch(edit("gone", "a = 2"), id="A"), NotApplicable),
        (patch(edit("q", "a = 2", path="gone.py"), id="A"), NotApplicable),
        (patch(edit("a = 1", "a = ("), id="A"), NotApplicable),
        (patch(edit("z", "y"), id="Z"), NotApplicable),
    ],
    ids=["applied", "superseded", "anchor missing", "target missing", "failed", "not there"],
)
def test_what_is_required_must_hold_in_the_text(required, outcome):
    """A patch waits for what it requires to be applied, or to be upstream's own."""
    assert outcomes(TREE, REQUIRING, required)["B"] is outcome


def test_upstream_word_for_word_is_already_applied():
    """A fix that upstream made in the very words of the patch needs no patch, and bears a chain."""
    found = plan_all({FILE: "b = compute()\n"}, [BASE, CHAINED])
    assert found.outcomes["PN353A"] == AlreadyApplied()
    assert found.texts == {FILE: "b = compute(fast=True)\n"}


def test_twins_of_one_name_do_not_break_a_merge():
    """Edits in the bodies of two functions, and of the class around them, come together."""
    text = "class C:\n    n = 1\n\n    def a(self):\n        return 1\n\n    def b(self):\n        return 1\n"
    found = plan_all(
        {FILE: text},
        [
            patch(edit("return 1", "return 2", "C.a"), id="A"),
            patch(after("        return 1\n", "        # end\n", "C.b"), id="B"),
            patch(after("    n = 1\n", "\n    def new(self):\n        return 1\n", "C"), id="N"),
        ],
    )
    assert found.texts == {
        FILE: "class C:\n    n = 1\n\n    def new(self):\n        return 1\n\n    def a(self):\n        return 2\n\n"
        "    def b(self):\n        return 1\n        # end\n"
    }


def test_a_failure_in_one_file_takes_the_patch_out_of_all():
    """A patch that clashes in one file leaves nothing in the others."""
    wide = patch(edit("a = 1", "a = 2", id="a"), edit("b = 1", "b = 2", path="other.py", id="b"), id="A")
    clash = patch(edit("b = 1", "b = 3", path="other.py"), id="B")
    found = plan_all(TREE | {"other.py": TEXT}, [wide, clash])
    assert found.texts == {}
    assert all(isinstance(outcome, Failed) for outcome in found.outcomes.values())


def test_what_stands_in_the_result_is_still_recognised():
    """Each of several patches is found applied in the text that all of them made."""
    patches = [patch(edit("c = 1", "c = 2"), id="C"), patch(after("a = 1\n", "x = 1\n"), id="A")]
    made = plan_all(TREE, patches).texts
    assert [plan(made, one) for one in patches] == [AlreadyApplied(), AlreadyApplied()]


def test_levels_and_cycles():
    """Within a level ids are sorted; a cycle is named, and refused."""
    round_trip = [patch(id="A", follows=("B",)), patch(id="B", requires=("A",))]
    assert levels([patch(id="B"), patch(id="A"), patch(id="C", follows=("A", "X"))]) == (("A", "B"), ("C",))
    assert set(cycle(round_trip)) == {"A", "B"}
    assert cycle([patch(id="A")]) == ()
    with pytest.raises(ValueError, match="wait for one another") as refused:
        plan_all(TREE, round_trip)
    assert str(refused.value).endswith(": " + " -> ".join(cycle(round_trip)))


def test_what_lower_levels_changed_elsewhere_is_kept():
    """A later level that touches another file adds to the result."""
    first = patch(edit("a = 1", "a = 2"), id="A")
    later = patch(edit("b = 1", "b = 2", path="other.py"), id="B", follows=("A",))
    found = plan_all(TREE | {"other.py": TEXT}, [first, later])
    assert found.texts == {FILE: TEXT.replace("a = 1", "a = 2"), "other.py": TEXT.replace("b = 1", "b = 2")}


def test_clashes_in_several_files_are_all_told():
    """Every pair that clashes falls, wherever its file comes in the order."""
    patches = [
        patch(edit("a = 1", f"a = {n}", path=path), id=f"{path}{n}") for path in ("x.py", "y.py") for n in (2, 3)
    ]
    found = plan_all({"x.py": TEXT, "y.py": TEXT}, patches)
    assert {name: outcome.path for name, outcome in found.outcomes.items()} == {
        "x.py2": "x.py",
        "x.py3": "x.py",
        "y.py2": "y.py",
        "y.py3": "y.py",
    }
    assert found.texts == {}


SILENT = patch(edit("compute()", "compute(fast=True)"), id="PN399", follows=("PN353A",))
WHOLE = patch(ReplaceFile("r", FILE, "z = 1\n", digest(TEXT)), id="W")
TOLD = [
    (
        [patch(edit("b = 1", "b = 2", id="e1"), id="A"), patch(edit("b = 1", "b = 3", id="e2"), id="B")],
        "A",
        Failed(Fault.OVERLAP, FILE, "A, B want the same place, and no order between them is declared", ("e1", "e2")),
    ),
    ([WHOLE, BASE], "W", Failed(Fault.OVERLAP, FILE, "PN353A, W put a whole file there, or edit it")),
    ([CHAINED], "PN399", Failed(Fault.BASE_MISSING, FILE, "it stands on PN353A, not applied")),
    (
        [BASE, SILENT],
        "PN399",
        Failed(
            Fault.UNDECLARED_BASE,
            FILE,
            "the anchor of e is not in the pristine file: say after which patch it stands",
            ("e",),
        ),
    ),
    ([REQUIRING], "B", NotApplicable("it requires A, which is not applied")),
    (
        [patch(*REQUIRING.edits, id="B", requires=("A", "Z"))],
        "B",
        NotApplicable("it requires A, Z, which is not applied"),
    ),
    (
        [patch(edit("x", "y", id="e1", after="A"), edit("y", "z", id="e2", after="Z"), id="B")],
        "B",
        Failed(Fault.BASE_MISSING, FILE, "it stands on A, Z, not applied"),
    ),
    (
        [patch(edit("a = 0", "a = 1", id="e1"), id="A"), patch(edit("a = 1", "a = 2", id="e2"), id="B")],
        "B",
        Failed(Fault.OVERLAP, FILE, "A, B want the same place, and no order between them is declared", ("e1", "e2")),
    ),
]


@pytest.mark.parametrize(("patches", "name", "outcome"), TOLD, ids=range(len(TOLD)))
def test_a_failure_says_who_and_where(patches, name, outcome):
    """What people read names the patches, the file and the edits."""
    assert plan_all(TREE, patches).outcomes[name] == outcome


def test_what_upstream_already_has_is_not_undone():
    """A patch that finds its text in place holds it against others that would change it unasked."""
    there = patch(edit("a = 0", "a = 1"), id="A")
    again = patch(edit("a = 00", "a = 1"), id="B")
    undoing = patch(edit("a = 1", "a = 2"), id="C")
    assert outcomes(TREE, there, again) == {"A": AlreadyApplied, "B": AlreadyApplied}
    assert outcomes(TREE, there, undoing) == {"A": Fault.OVERLAP, "C": Fault.OVERLAP}
    declared = patch(edit("a = 1", "a = 2", after="A"), id="C")
    assert plan_all(TREE, [there, declared]).texts == {FILE: TEXT.replace("a = 1", "a = 2")}
