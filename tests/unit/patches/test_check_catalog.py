"""A catalog is checked before there is a tree: one mistake, one problem."""

import pytest

from genesisd.patches.check_catalog import problems
from genesisd.patches.edits import AnchorEdit, Marker, NewFile, ReplaceFile, Variant
from genesisd.patches.flags import Alias, Flag
from genesisd.patches.lifecycle import Implementation, Lifecycle, Origin, RetiredBecause, Retirement, StableKind
from genesisd.patches.model import ConflictSet, Study
from genesisd.patches.parameters import Kind, Parameter
from genesisd.patches.problems import ProblemKind
from tests.unit.patches.made import FILE, after, edit, patch

E1 = edit("x = 1", "x = 2")
PROVEN = {"lifecycle": Lifecycle.STABLE, "stable_kind": StableKind.BEHAVIOUR}


def one(id="A", *, edits=(E1,), **more):  # noqa: A002
    return patch(*edits, id=id, **more)


def anchored(**more):
    return one(edits=(AnchorEdit(**{"id": "e", "path": FILE, "scope": "", "variants": (Variant("a", "b"),)} | more),))


SOUND = [
    (),
    (one(),),
    (one(**PROVEN),),
    (one(**PROVEN, origin=Origin.BACKPORT, study=Study("theirs", "ours", "none")),),
    (one(origin=Origin.BACKPORT),),
    (one(edits=(), lifecycle=Lifecycle.RETIRED, retirement=Retirement(RetiredBecause.MERGED)),),
    (one(edits=(), lifecycle=Lifecycle.TOMBSTONE),),
    (one(edits=(), implementation=Implementation.SPEC_ONLY, reason="an idea"),),
    (one(edits=(), implementation=Implementation.COORDINATOR, flag=Flag("A"), parts=("B",)), one("B")),
    (one(), one("B", edits=(edit("x = 2", "x = 3", after="A"),))),
    (one(requires=("B",)), one("B", follows=())),
    (one(parameters=(Parameter("N", Kind.INT, 3, 0, 5),)),),
    (anchored(scope="Scheduler.schedule.<locals>.größe"),),
    (one(markers=(Marker(FILE, "fixed()"),)),),
    (one(edits=(E1, edit("y", "z", id="o", required=False))),),
    (one(flag=Flag("A", (Alias("A1", "2.0"),))), one("B", flag=Flag("B"))),
]


@pytest.mark.parametrize("catalog", SOUND, ids=range(len(SOUND)))
def test_a_sound_catalog_has_no_problems(catalog):
    """What is right is not complained about."""
    assert problems(catalog) == ()


MISTAKES = [
    ((one(), one()), ProblemKind.DUPLICATE_ID, "used by title of A and by title of A"),
    ((one(edits=(E1, E1)),), ProblemKind.DUPLICATE_EDIT, "2 edits are called e"),
    ((one(flag=Flag("X")), one("B", flag=Flag("Y", (Alias("X"),)))), ProblemKind.DUPLICATE_NAME, "belongs to A"),
    ((one(requires=("Z",)),), ProblemKind.UNKNOWN_REFERENCE, "requires: there is no patch Z"),
    ((one(conflicts=("Z",)),), ProblemKind.UNKNOWN_REFERENCE, "conflicts"),
    ((one(follows=("Z",)),), ProblemKind.UNKNOWN_REFERENCE, "follows"),
    ((one(edits=(edit("a", "b", after="Z"),)),), ProblemKind.UNKNOWN_REFERENCE, "after"),
    (
        (one(lifecycle=Lifecycle.RETIRED, retirement=Retirement(RetiredBecause.SUPERSEDED, "Z")),),
        ProblemKind.UNKNOWN_REFERENCE,
        "replaced_by",
    ),
    ((one(requires=("B",)), one("B", follows=("A",))), ProblemKind.CYCLE, "A"),
    ((one(follows=("A",)),), ProblemKind.CYCLE, "A -> A"),
    ((one(edits=(edit("a", "b", after="A"),)),), ProblemKind.CYCLE, "A -> A"),
    ((one(requires=("B",), conflicts=("B",)), one("B")), ProblemKind.SELF_CONFLICT, "needs B"),
    ((one(conflicts=("A",)),), ProblemKind.SELF_CONFLICT, "itself"),
    ((one(versions="0.23+"),), ProblemKind.BAD_RANGE, "0.23+"),
    ((one(flag=Flag("A", (Alias("B", "soon"),))),), ProblemKind.BAD_RANGE, "soon"),
    ((one(parameters=(Parameter("N", Kind.INT, 9, 0, 5),)),), ProblemKind.BAD_PARAMETER, "the default 9"),
    ((one(parameters=(Parameter("N", Kind.INT, "9"),)),), ProblemKind.BAD_PARAMETER, "the default '9'"),
    ((one(parameters=(Parameter("N", Kind.INT, 3, 5, 0),)),), ProblemKind.BAD_PARAMETER, "5 is above 0"),
    ((anchored(path="/etc/passwd"),), ProblemKind.BAD_PATH, "/etc/passwd"),
    ((anchored(path="vllm/../../x.py"),), ProblemKind.BAD_PATH, ".."),
    ((anchored(path="vllm\\x.py"),), ProblemKind.BAD_PATH, "x.py"),
    ((anchored(path=""),), ProblemKind.BAD_PATH, "''"),
    ((anchored(path="vllm//x.py"),), ProblemKind.BAD_PATH, "x.py"),
    ((one(markers=(Marker("/x.py", "fixed"),)),), ProblemKind.BAD_PATH, "marker"),
    ((one(markers=(Marker(FILE, " \n"),)),), ProblemKind.BAD_EDIT, "empty marker"),
    ((anchored(scope="Scheduler."),), ProblemKind.BAD_EDIT, "qualified name"),
    ((anchored(scope="f()"),), ProblemKind.BAD_EDIT, "qualified name"),
    ((anchored(variants=()),), ProblemKind.BAD_EDIT, "no variant"),
    ((anchored(variants=(Variant("\n ", "b"),)),), ProblemKind.BAD_EDIT, "everywhere"),
    ((anchored(variants=(Variant("a", "a"),)),), ProblemKind.BAD_EDIT, "changes nothing"),
    ((one(edits=(after("a", ""),)),), ProblemKind.BAD_EDIT, "changes nothing"),
    ((anchored(variants=(Variant("a", ""),)),), ProblemKind.BAD_EDIT, "nothing would be left"),
    ((anchored(variants=(Variant("a", "b\r\n"),)),), ProblemKind.BAD_EDIT, "line ends"),
    ((anchored(variants=(Variant("\ufeffa", "b"),)),), ProblemKind.BAD_EDIT, "byte order mark"),
    ((anchored(variants=(Variant("a", "b"), Variant("a", "c"))),), ProblemKind.BAD_EDIT, "2 variants"),
    ((anchored(required=False),), ProblemKind.BAD_EDIT, "all edits are optional"),
    ((anchored(unless=Marker(FILE, "fixed()")),), ProblemKind.BAD_EDIT, "expected at an optional edit"),
    ((anchored(required=False, unless=Marker("n.py", "fixed()")),), ProblemKind.BAD_EDIT, "that an edit of the patch"),
    ((one(edits=(ReplaceFile("r", FILE, "x", "abc"),)),), ProblemKind.BAD_EDIT, "64 hexadecimal"),
    (
        (one(edits=(edit("a", "b; fixed()"),), markers=(Marker(FILE, "fixed()"),)),),
        ProblemKind.MARKER_IN_PATCH,
        "A writes",
    ),
    (
        (one(markers=(Marker("n.py", "fixed()"),)), one("B", edits=(NewFile("n", "n.py", "fixed()\n"),))),
        ProblemKind.MARKER_IN_PATCH,
        "B writes",
    ),
    ((one(lifecycle=Lifecycle.STABLE),), ProblemKind.STABLE_KIND, "stable_kind"),
    ((one(**PROVEN, origin=Origin.BACKPORT),), ProblemKind.STUDY, "say what upstream does"),
    ((one(stable_kind=StableKind.BENCH),), ProblemKind.STABLE_KIND, "for stable patches"),
    ((one(lifecycle=Lifecycle.RETIRED),), ProblemKind.RETIREMENT, "say why"),
    ((one(retirement=Retirement(RetiredBecause.MERGED)),), ProblemKind.RETIREMENT, "is experimental"),
    (
        (one(lifecycle=Lifecycle.RETIRED, retirement=Retirement(RetiredBecause.SUPERSEDED)),),
        ProblemKind.RETIREMENT,
        "by which patch",
    ),
    (
        (one(edits=(), implementation=Implementation.COORDINATOR, flag=Flag("A")),),
        ProblemKind.PARTS,
        "names its parts",
    ),
    ((one(parts=("B",)), one("B")), ProblemKind.PARTS, "only a coordinator"),
    (
        (one(edits=(), implementation=Implementation.COORDINATOR, parts=("B",)), one("B")),
        ProblemKind.PARTS,
        "this one has none",
    ),
    ((one(edits=()),), ProblemKind.NO_EDITS, "without edits"),
    ((one(edits=(), implementation=Implementation.SPEC_ONLY),), ProblemKind.NO_EDITS, "give the reason"),
    ((one(implementation=Implementation.LIBRARY),), ProblemKind.NO_EDITS, "it has edits"),
]


@pytest.mark.parametrize(("catalog", "kind", "text"), MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_is_named(catalog, kind, text):
    """Each mistake is a problem of its kind, in words that say what was found; nothing else is complained about."""
    found = problems(catalog)
    assert {problem.kind for problem in found} == {kind}, found
    assert any(text in problem.text for problem in found), found


def test_a_conflict_set_names_patches():
    """A set over a patch that does not exist could never conflict."""
    (found,) = problems([one()], [ConflictSet("pair", frozenset({"A", "Z"}), "slow")])
    assert (found.kind, found.patch) == (ProblemKind.UNKNOWN_REFERENCE, "pair")


def test_every_kind_of_problem_is_provoked():
    """No kind is without a mistake above."""
    assert {kind for _, kind, _ in MISTAKES} == set(ProblemKind)
