"""One patch on texts: what is applied, and everything that is refused."""

import pytest

from genesisd.patches.edits import AnchorEdit, Marker, NewFile, Placement, ReplaceFile, Variant
from genesisd.patches.engine import plan
from genesisd.patches.lifecycle import Implementation
from genesisd.patches.outcome import (
    AlreadyApplied,
    AnchorAmbiguous,
    AnchorMissing,
    Applied,
    Failed,
    Fault,
    NotApplicable,
    Superseded,
    TargetMissing,
)
from genesisd.patches.scope import Span
from genesisd.patches.survey import digest
from tests.unit.patches.made import FILE, after, before, edit, patch

TWINS = """\
class Scheduler:
    def step_a(self):
        n = self.count
        return n + 1

    def step_b(self):
        n = self.count
        return n + 1
"""

APPLIED = [
    ("x = 1\n", edit("x = 1", "x = 2"), "x = 2\n"),
    ("x = 1\n", after("x = 1\n", "y = 2\n"), "x = 1\ny = 2\n"),
    ("x = 1\n", before("x = 1\n", "y = 2\n"), "y = 2\nx = 1\n"),
    ("keep()\ndrop()\n", edit("keep()\ndrop()\n", "keep()\n"), "keep()\n"),
    ("def f():\n    return 1\n", edit("return 1", "return 2", "f"), "def f():\n    return 2\n"),
    ("def f():\n    return 1\n", edit("def f():", "def f(a=1):", "f"), "def f(a=1):\n    return 1\n"),
    ("def f():\n    return 1\n", edit("def f():", "def f(a=1):"), "def f(a=1):\n    return 1\n"),
    ("def f(): return 1\n", before("def f", "@cache\n"), "@cache\ndef f(): return 1\n"),
    ("def f():\n    x()\n", after("    x()\n", "    # why\n", "f"), "def f():\n    x()\n    # why\n"),
    ("def f():\n    x()\n\ny = 1\n", after("    x()\n", "    z()\n", "f"), "def f():\n    x()\n    z()\n\ny = 1\n"),
    (
        "class C:\n    def m(self): ...\n",
        before("    def m", "    def new(self): ...\n", "C"),
        "class C:\n    def new(self): ...\n    def m(self): ...\n",
    ),
    (
        "class C:\n    def m(self): ...\n",
        after("    def m(self): ...\n", "    def new(self): ...\n", "C"),
        "class C:\n    def m(self): ...\n    def new(self): ...\n",
    ),
    (TWINS, edit("n + 1", "n + 2", "Scheduler.step_b"), "n + 2".join(TWINS.rsplit("n + 1", 1))),
    (TWINS, edit("n + 1", "n + 2", "Scheduler.step_a"), TWINS.replace("n + 1", "n + 2", 1)),
    (
        "def f():\n    def g():\n        return 1\n    return 1\n",
        edit("return 1", "return 2", "f.<locals>.g"),
        "def f():\n    def g():\n        return 2\n    return 1\n",
    ),
    (
        "def f():\n    def g():\n        return 1\n    return 1\n",
        edit("return 1", "return 2", "f"),
        "def f():\n    def g():\n        return 1\n    return 2\n",
    ),
    ("N = 4\ndef f():\n    N = 4\n", edit("N = 4", "N = 8"), "N = 8\ndef f():\n    N = 4\n"),
    (
        "class C:\n    @property\n    def x(self):\n        return 1\n    @x.setter\n    def x(self, v):\n        self.v = v\n",
        edit("self.v = v", "self.v = int(v)", "C.x"),
        "class C:\n    @property\n    def x(self):\n        return 1\n    @x.setter\n    def x(self, v):\n        self.v = int(v)\n",
    ),
    ("@old\ndef f():\n    pass\n", edit("@old\n", "@new\n", "f"), "@new\ndef f():\n    pass\n"),
    (
        "def f():\n    x()\n    # end\n",
        after("    # end\n", "    y()\n", "f"),
        "def f():\n    x()\n    # end\n    y()\n",
    ),
    (
        "def f():\n    x()\n\n\ny = 1\n",
        edit("    x()\n\n\n", "    x()\n    z()\n\n", "f"),
        "def f():\n    x()\n    z()\n\ny = 1\n",
    ),
    (
        "def f():\n    x()\n\n\ny = 1\n",
        edit("    x()\n\n\n", "    x()\n    z()\n", "f"),
        "def f():\n    x()\n    z()\ny = 1\n",
    ),
    (
        "def f():\n    x()\n\ny = 1\n",
        after("    x()\n", "\n    z()\n\n", "f"),
        "def f():\n    x()\n\n    z()\n\n\ny = 1\n",
    ),
    (
        "class C:\n    def m(self): ...\n",
        before("def m", "@cache\n    ", "C"),
        "class C:\n    @cache\n    def m(self): ...\n",
    ),
    ("", NewFile("n", "vllm/new.py", "x = 1\n"), None),
]


@pytest.mark.parametrize(("text", "change", "expected"), APPLIED, ids=range(len(APPLIED)))
def test_what_fits_is_applied_and_then_known(text, change, expected):
    """The text is changed at the one place, and a second plan finds the patch applied."""
    texts = {FILE: text}
    outcome = plan(texts, patch(change))
    assert isinstance(outcome, Applied), outcome
    if expected is not None:
        assert outcome.texts == {FILE: expected}
    assert plan(texts | dict(outcome.texts), patch(change)) == AlreadyApplied()


MISSING = [
    ("x = 1\n", edit("x = 3", "x = 2"), AnchorMissing("e", FILE, "")),
    ("x  = 1\n", edit("x = 1", "x = 2"), AnchorMissing("e", FILE, "")),
    ("x = 1\nx = 1\n", edit("x = 1", "x = 2"), AnchorAmbiguous("e", FILE, "", 2)),
    ("x = aaa\n", edit("aa", "b"), AnchorAmbiguous("e", FILE, "", 2)),
    ("def f(): return 1\n", edit("return 1", "return 2", "g"), TargetMissing("e", FILE, "g")),
    ("def f(): return 1\n", edit("return 1", "return 2", path="vllm/gone.py"), TargetMissing("e", "vllm/gone.py")),
    (
        TWINS,
        edit("n + 1", "n + 2", "Scheduler"),
        AnchorMissing("e", FILE, "Scheduler", ("Scheduler.step_a", "Scheduler.step_b")),
    ),
    (TWINS, edit("n + 1", "n + 2"), AnchorMissing("e", FILE, "", ("Scheduler.step_a", "Scheduler.step_b"))),
    (
        TWINS.replace("n + 1", "n + 3").replace("n + 3", "n + 1", 1),
        edit("n + 1", "n + 2", "Scheduler.step_b"),
        AnchorMissing("e", FILE, "Scheduler.step_b", ("Scheduler.step_a",)),
    ),
    ("x = 1\n", ReplaceFile("r", "vllm/gone.py", "y\n", "0" * 64), TargetMissing("r", "vllm/gone.py")),
    ("x = 1\n", edit("x = 1", "x = 2", "f", path="a.txt"), TargetMissing("e", "a.txt")),
]


@pytest.mark.parametrize(("text", "change", "expected"), MISSING, ids=range(len(MISSING)))
def test_no_place_is_no_patch(text, change, expected):
    """An anchor that is not there exactly once, in its own scope, is named, never approximated."""
    assert plan({FILE: text}, patch(change)) == expected


FAILURES = [
    ("x = (\n", edit("x", "y"), Fault.NOT_PYTHON),
    ("x = 1\r\ny = 2\n", edit("x = 1", "x = 2"), Fault.MIXED_ENDINGS),
    ("x = 1\ry = 2\n", edit("x = 1", "x = 2"), Fault.MIXED_ENDINGS),
    ("x = 1\n", edit("x = 1", "x = ("), Fault.SYNTAX),
    ("x = 1\n", after("x = 1\n", "return x\n"), Fault.SYNTAX),
    ("def f():\n\tx()\n", after("\tx()\n", "        y()\n", "f"), Fault.SYNTAX),
    ("x = 1\n", edit("x = 1", "x = 2\r"), Fault.LINE_ENDING),
    ("x = 1\n", edit("x = 1\n", "x = 2"), Fault.LINE_ENDING),
    ("x = 1", after("x = 1", "\ny = 2\n"), Fault.LINE_ENDING),
    ("def f():\n    x()\n", after("    x()\n", "g()\n", "f"), Fault.OUT_OF_SCOPE),
    ("def f():\n    x()\n    y()\n", edit("    x()\n    y()\n", "    x()\ny()\n", "f"), Fault.OUT_OF_SCOPE),
    ("def f():\n    x()\n", edit("def f", "def g", "f"), Fault.OUT_OF_SCOPE),
    (
        "class C:\n    a = 1\n\n    def m(self): ...\n",
        after("    a = 1\n", "\ndef g():\n    pass\n", "C"),
        Fault.OUT_OF_SCOPE,
    ),
    ("def f():\n    x()\n", before("def f():\n", "def g():\n    pass\n", "f"), Fault.OUT_OF_SCOPE),
    ("x = 1\ny = 2\n", edit("x = 1", "y = 2"), Fault.UNRECOGNISABLE),
    ("x = 1\ny = 1\nx = 2\n", edit("y = 1", "x = 2"), Fault.UNRECOGNISABLE),
    ("x = 1\n", NewFile("n", FILE, "y = 1\n"), Fault.FILE_EXISTS),
    ("x = 1\n", NewFile("n", "vllm/new.py", "y = (\n"), Fault.SYNTAX),
    ("x = 1\n", ReplaceFile("r", FILE, "y = 1\n", "0" * 64), Fault.FILE_CHANGED),
    ("x = 1\n", ReplaceFile("r", FILE, "y = 1\r\n", digest("x = 1\n")), Fault.LINE_ENDING),
    ("x = 1\n", ReplaceFile("r", FILE, "y = (\n", digest("x = 1\n")), Fault.SYNTAX),
]


@pytest.mark.parametrize(("text", "change", "fault"), FAILURES, ids=range(len(FAILURES)))
def test_what_would_do_harm_fails(text, change, fault):
    """A result that is broken, strays, or cannot be recognised is a failure that says which."""
    outcome = plan({FILE: text}, patch(change))
    assert (outcome.fault if isinstance(outcome, Failed) else None) == fault, outcome


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("final", [True, False])
@pytest.mark.parametrize("indent", ["    ", "\t", "  "])
def test_a_file_keeps_its_bytes(ending, mark, final, indent):
    """Byte order mark, line endings, tabs and a missing final newline are kept byte for byte."""
    lines = ["# 𝄞 é", "class C:", "{}x = 'é'", "{}def m(self):", "{}{}return '€'"]
    text = mark + ending.join(lines).replace("{}", indent) + (ending if final else "")
    change = after(f"{indent}x = 'é'\n", f"{indent}y = '𝄞'\n", "C")
    outcome = plan({FILE: text}, patch(change))
    lines.insert(3, "{}y = '𝄞'")
    expected = mark + ending.join(lines).replace("{}", indent) + (ending if final else "")
    assert isinstance(outcome, Applied), outcome
    assert outcome.texts[FILE].encode() == expected.encode()


def test_spans_are_exact():
    """An applied edit tells what it claimed, what it took, and where it landed, in characters."""
    text = "# €𝄞\nx = 1\nz = 3\n"
    first, second = after("x = 1\n", "y = 2\n", id="a"), edit("z = 3", "z = 10", id="b")
    outcome = plan({FILE: text}, patch(second, first))
    assert isinstance(outcome, Applied)
    spans = {cut.edit: (cut.anchor, cut.at, cut.landed) for cut in outcome.cuts}
    assert spans == {
        "a": (Span(5, 11), Span(11, 11), Span(5, 17)),
        "b": (Span(11, 16), Span(11, 16), Span(17, 23)),
    }
    assert outcome.texts[FILE][17:23] == "z = 10"


def test_the_hunk_does_not_land_in_the_twin():
    """When upstream changes one of two twins, the edit for it finds nothing rather than the other."""
    moved = TWINS.replace("    def step_b(self):\n        n = self.count\n        return n + 1\n", "")
    outcome = plan({FILE: moved}, patch(edit("return n + 1", "return n", "Scheduler.step_b")))
    assert outcome == TargetMissing("e", FILE, "Scheduler.step_b")


def variants(*forms, **more):
    return AnchorEdit("e", FILE, "", tuple(Variant(a, t, name) for name, a, t in forms), **more)


TWO = variants(("dev714", "old(a)", "mine(a)"), ("dev748", "old(a, b)", "mine(a, b)"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("old(a)\n", "dev714"),
        ("old(a, b)\n", "dev748"),
        ("older(a)\n", AnchorMissing("e", FILE, "")),
        ("old(a)\nold(a, b)\n", AnchorAmbiguous("e", FILE, "", 2)),
        ("old(a)\nold(a)\n", AnchorAmbiguous("e", FILE, "", 2)),
        ("mine(a)\n", AlreadyApplied()),
    ],
)
def test_exactly_one_variant_matches(text, expected):
    """Of the forms of a place exactly one is there, or the patch is not applied."""
    outcome = plan({FILE: text}, patch(TWO))
    assert (outcome.cuts[0].variant if isinstance(outcome, Applied) else outcome) == expected


def test_variants_may_write_the_same():
    """Two forms that become one text are recognised once they are."""
    both = patch(variants(("a", "old(a)", "mine()"), ("b", "old(b)", "mine()")))
    assert plan({FILE: "old(b)\n"}, both).texts == {FILE: "mine()\n"}
    assert plan({FILE: "mine()\n"}, both) == AlreadyApplied()


REQUIRED = edit("x = 1", "x = 2", id="must")
OPTIONAL = edit("y = 1", "y = 2", id="may", required=False)


@pytest.mark.parametrize(
    ("text", "expected", "skipped"),
    [
        ("x = 1\ny = 1\n", "x = 2\ny = 2\n", ()),
        ("x = 1\n", "x = 2\n", ("may",)),
        ("x = 1\ny = 2\n", "x = 2\ny = 2\n", ("may",)),
    ],
)
def test_an_optional_edit_is_skipped_aloud(text, expected, skipped):
    """An optional edit without its place is left out, and the outcome names it."""
    outcome = plan({FILE: text}, patch(REQUIRED, OPTIONAL))
    assert (outcome.texts, outcome.skipped) == ({FILE: expected}, skipped)
    assert plan(dict(outcome.texts), patch(REQUIRED, OPTIONAL)) == AlreadyApplied()


EITHER = (
    edit("x = 1", "x = 2", id="here", required=False, unless=Marker("b.py", "class Old")),
    edit("y = 1", "y = 2", path="b.py", id="there", required=False, unless=Marker(FILE, "class New")),
)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({FILE: "class New: ...\nx = 1\n"}, Applied),
        ({"b.py": "class Old: ...\ny = 1\n"}, Applied),
        ({FILE: "class New: ...\nx = 7\n"}, AnchorMissing),
        ({FILE: "class Other: ...\nx = 1\n"}, TargetMissing),
        ({FILE: "x = 1\n", "b.py": "y = 7\n"}, AnchorMissing),
        ({}, TargetMissing),
    ],
)
def test_an_optional_edit_is_skipped_only_for_its_reason(texts, expected):
    """Where the place is gone and nothing shows that it is not needed, the engine has changed: half a patch is none."""
    outcome = plan(texts, patch(*EITHER))
    assert type(outcome) is expected
    if isinstance(outcome, Applied):
        assert plan({**texts, **outcome.texts}, patch(*EITHER)) == AlreadyApplied()


PARTIAL = [
    ("x = 2\ny = 1\n", (REQUIRED, OPTIONAL), Fault.HALF_APPLIED),
    ("x = 2\nz = 1\n", (REQUIRED, edit("z = 1", "z = 2", id="too")), Fault.HALF_APPLIED),
    ("x = 2\n", (REQUIRED, edit("z = 1", "z = 2", id="too")), Fault.HALF_APPLIED),
    ("x = 1\n", (REQUIRED, edit("z = 1", "z = 2", id="too")), AnchorMissing),
    ("x = 1\ny = 1\ny = 1\n", (REQUIRED, OPTIONAL), AnchorAmbiguous),
    ("z = 1\n", (OPTIONAL,), AnchorMissing),
    ("x = 1\n", (edit("x = 1", "x = 2", id="a"), edit("x = 1\n", "x = 3\n", id="b")), Fault.OVERLAP),
    ("x = 1\ny = 1\n", (after("x = 1\n", "a = 1\n", id="a"), before("y = 1\n", "b = 1\n", id="b")), Fault.OVERLAP),
    ("x = 1\n", (edit("x = 1", "x = 2"), ReplaceFile("r", FILE, "x = 3\n", digest("x = 1\n"))), Fault.OVERLAP),
    ("x = 1\n", (NewFile("a", "n.py", "x\n"), NewFile("b", "n.py", "y\n")), Fault.OVERLAP),
    ("x = 1\n", (edit("x = 1", "x = 2"), edit("q", "p", path="gone.py", id="g")), TargetMissing),
]


@pytest.mark.parametrize(("text", "edits", "expected"), PARTIAL, ids=range(len(PARTIAL)))
def test_all_that_is_required_or_nothing(text, edits, expected):
    """A patch of which a part does not hold is not applied at all."""
    outcome = plan({FILE: text}, patch(*edits))
    assert not isinstance(outcome, Applied)
    assert expected in (getattr(outcome, "fault", None), type(outcome)), outcome


def test_one_upstream_fix_among_several_files_is_a_clean_answer():
    """A marker in one file supersedes the patch as a whole, whatever its other files hold."""
    change = patch(
        edit("x = 1", "x = 2"), edit("y = 1", "y = 2", path="b.py", id="b"), markers=(Marker("b.py", "fixed()"),)
    )
    assert plan({FILE: "x = 1\n", "b.py": "fixed()\n"}, change) == Superseded(Marker("b.py", "fixed()"))


MARKERS = [
    ("def f():\n    fixed()\n", Marker(FILE, "fixed()"), True),
    ("def f():\n    fixed()\n", Marker(FILE, "fixed()", "f"), True),
    ("def f():\n    def g():\n        fixed()\n", Marker(FILE, "fixed()", "f"), True),
    ("def g():\n    fixed()\n", Marker(FILE, "fixed()", "f"), False),
    ("def f():\r\n    fixed()\r\n", Marker(FILE, "def f():\n    fixed()"), True),
    ("x = 1\n", Marker("gone.py", "fixed()"), False),
    ("fixed() = (\n", Marker(FILE, "fixed()", "f"), False),
]


@pytest.mark.parametrize(("text", "marker", "superseded"), MARKERS, ids=range(len(MARKERS)))
def test_markers_count_within_their_scope(text, marker, superseded):
    """Upstream's marker supersedes the patch only where it says."""
    outcome = plan({FILE: text}, patch(edit("no such text", "y"), markers=(marker,)))
    assert isinstance(outcome, Superseded) is superseded


def test_a_marker_that_another_patch_wrote_is_not_upstreams():
    """Markers are looked for in the pristine file, not in what earlier patches made of it."""
    change = patch(edit("x = 1", "x = 2"), markers=(Marker(FILE, "fixed()"),))
    patched = {FILE: "x = 1\nfixed()\n"}
    assert isinstance(plan(patched, change, pristine={FILE: "x = 1\n"}), Applied)
    assert isinstance(plan(patched, change), Superseded)


def test_a_new_body_under_the_old_id_is_seen():
    """What an older form of the patch wrote is not taken for the present form."""
    older = plan({FILE: "x = 1\n"}, patch(edit("x = 1", "x = 2")))
    assert isinstance(older, Applied)
    newer = patch(edit("x = 1", "x = 3"))
    assert plan(older.texts, newer) == AnchorMissing("e", FILE, "")


def test_an_insertion_is_not_made_twice():
    """The anchor of an insertion still stands once it is made; it is not taken for pristine text."""
    once = plan({FILE: "x = 1\n"}, patch(after("x = 1\n", "y = 2\n")))
    assert isinstance(once, Applied)
    assert plan(once.texts, patch(after("x = 1\n", "y = 2\n"))) == AlreadyApplied()


@pytest.mark.parametrize(
    ("kind", "reason"), [(Implementation.COORDINATOR, ""), (Implementation.SPEC_ONLY, "text only")]
)
def test_without_edits_there_is_nothing_to_apply(kind, reason):
    """A patch without edits says so."""
    outcome = plan({}, patch(implementation=kind, reason=reason))
    assert isinstance(outcome, NotApplicable)
    assert (reason or kind) in outcome.reason


def test_files_other_than_python_are_text():
    """A template is edited by its text alone."""
    outcome = plan({"chat.jinja": "{% if x %}\n"}, patch(edit("x", "y", path="chat.jinja")))
    assert isinstance(outcome, Applied)
    assert outcome.texts == {"chat.jinja": "{% if y %}\n"}


def test_a_file_is_replaced_and_then_known():
    """A whole file takes the place of the very content that it was written against."""
    overlay = patch(ReplaceFile("r", FILE, "y = 1\n", digest("x = 1\n")), NewFile("n", "new.py", "z = 1\n"))
    outcome = plan({FILE: "x = 1\n"}, overlay)
    assert isinstance(outcome, Applied)
    assert (outcome.texts, outcome.whole) == ({FILE: "y = 1\n", "new.py": "z = 1\n"}, (FILE, "new.py"))
    assert plan(outcome.texts, overlay) == AlreadyApplied()
    assert plan({FILE: "x = 1\n", "new.py": "z = 1\n"}, overlay).fault is Fault.HALF_APPLIED


def test_placements_name_every_case():
    """Each placement is used by the tables above."""
    used = {change.placement for _, change, _ in APPLIED if isinstance(change, AnchorEdit)}
    assert used == set(Placement)


TWO_EDITS = (REQUIRED, edit("z = 1", "z = 2", id="too"))
OVERLAY = ReplaceFile("r", FILE, "x = 3\n", digest("x = 1\n"))
TOLD = [
    ("x = 2\nz = 1\n", TWO_EDITS, Failed(Fault.HALF_APPLIED, FILE, "must is there already, too is not", ("must",))),
    (
        "x = 1\nx = 2\n",
        (REQUIRED,),
        Failed(Fault.UNRECOGNISABLE, FILE, "what must writes is there, and not by this patch", ("must",)),
    ),
    (
        "x = 1\n",
        (REQUIRED, OVERLAY),
        Failed(Fault.OVERLAP, FILE, "r puts in place a file that another edit changes", ("r",)),
    ),
    (
        "x = 1\n",
        (edit("x = 1", "x = 2", id="a"), edit("x = 1\n", "x = 3\n", id="b")),
        Failed(Fault.OVERLAP, FILE, "a and b want the same place", ("a", "b")),
    ),
    (
        "def f():\n    x()\n",
        (after("    x()\n", "g()\n", "f"),),
        Failed(Fault.OUT_OF_SCOPE, FILE, "the edit reaches out of its scope: f would begin or end elsewhere", ("e",)),
    ),
    (
        "x = 1\n",
        (edit("x = 1", "x = ("),),
        Failed(Fault.SYNTAX, FILE, "the result is not Python: line 1: '(' was never closed", ("e",)),
    ),
    (
        "x = 1\n",
        (edit("x = 1\n", "x = 2"),),
        Failed(Fault.LINE_ENDING, FILE, "the edit changes the line ending of the file", ("e",)),
    ),
]


@pytest.mark.parametrize(("text", "edits", "expected"), TOLD, ids=range(len(TOLD)))
def test_a_failure_in_full(text, edits, expected):
    """A failure names the file, the edits and what was found."""
    assert plan({FILE: text}, patch(*edits)) == expected


CAPTURED = "if flag:\n    y = 1\n    def h(): ...\n"
CAPTURE = after("    y = 1\n", "class K:\n    z = 1\n", id="capture")
RENAME = edit("def f(", "def g(", id="rename")
OUTSIDE = [
    ("def f(): ...\n", (RENAME,), None),
    (CAPTURED, (CAPTURE,), "h"),
    (f"def f(): ...\n{CAPTURED}", (RENAME, CAPTURE), "h"),
    ("def f():\n    pass\ny = 1\n", (before("y = 1\n", "    z = 1\n"),), "f"),
    ("def f(): ...\n", (before("def f", "class K:\n    "),), "f"),
    ("class C:\n    a = 1\n    def m(self): ...\n", (before("    def m", "    class K:\n        b = 1\n", "C"),), None),
    ("class C:\n    def m(self):\n        x()\n", (after("        x()\n", "    b = 1\n", "C.m"),), "C.m"),
]


@pytest.mark.parametrize(("text", "edits", "lost"), OUTSIDE, ids=range(len(OUTSIDE)))
def test_definitions_outside_of_the_scope_stay(text, edits, lost):
    """What an edit does not name it may neither swallow, prolong, cut short nor move into another scope."""
    outcome = plan({FILE: text}, patch(*edits))
    if lost is None:
        assert isinstance(outcome, Applied), outcome
    else:
        assert outcome.fault is Fault.OUT_OF_SCOPE
        assert f": {lost} would" in outcome.detail


def test_results_that_overlap_are_not_taken_for_the_patch():
    """Text that two edits would both have had to write was not written by them."""
    both = patch(edit("a()", "x(y)", id="one"), edit("b()", "y)\nz", id="two"))
    detail = "what one, two writes is there, and not by this patch"
    assert plan({FILE: "x(y)\nz\n"}, both) == Failed(Fault.UNRECOGNISABLE, FILE, detail, ("one", "two"))


@pytest.mark.parametrize(
    ("text", "edits", "named"),
    [
        ("n = 101\n", (edit("0", "11"),), "e"),
        ("n = 101\nm = 2\n", (edit("0", "11", id="one"), edit("m = 2", "m = 3", id="two")), "one, two"),
    ],
)
def test_a_result_that_could_be_read_in_two_ways_is_not_written(text, edits, named):
    """Where the new text and its surroundings say the same twice, nobody could find the place again: a wider anchor can."""
    detail = f"the result of {named} cannot be told from other text of the scope: make the anchor wider"
    names = tuple(edit.id for edit in edits)
    assert plan({FILE: text}, patch(*edits)) == Failed(Fault.UNRECOGNISABLE, FILE, detail, names)
    assert isinstance(plan({FILE: text}, patch(edit("101", "1111"), *edits[1:])), Applied)


def test_what_is_half_there_is_told_edit_by_edit():
    """Whoever has to mend it learns of each edit on which side it is."""
    there = [edit(f"x{n} = 1", f"x{n} = 2", id=f"there{n}") for n in (1, 2)]
    lacking = [edit(f"y{n} = 1", f"y{n} = 2", id=f"lacking{n}") for n in (1, 2)]
    detail = "there1, there2 is there already, lacking1, lacking2 is not"
    expected = Failed(Fault.HALF_APPLIED, FILE, detail, ("there1", "there2"))
    assert plan({FILE: "x1 = 2\nx2 = 2\ny1 = 1\ny2 = 1\n"}, patch(*there, *lacking)) == expected


def test_a_patch_of_several_files_tells_all_its_cuts():
    """Each file's edits are in the outcome."""
    both = patch(edit("x = 1", "x = 2", id="one"), edit("y = 1", "y = 2", id="two", path="b.py"))
    outcome = plan({FILE: "x = 1\n", "b.py": "y = 1\n"}, both)
    assert [(cut.edit, cut.path, cut.scope) for cut in outcome.cuts] == [("one", FILE, ""), ("two", "b.py", "")]


def test_optional_edits_that_stand_by_chance_are_no_patch():
    """Where nothing is to do, and what is there could not come from the patch, it says so."""
    chance = patch(edit("x = 1", "x = 2", required=False))
    detail = "what e writes is there, and not by this patch"
    assert plan({FILE: "x = 2\nx = 2\n"}, chance) == Failed(Fault.UNRECOGNISABLE, FILE, detail, ("e",))


@pytest.mark.parametrize("count", [2, 3, 4])
def test_every_place_is_counted(count):
    """An ambiguous anchor tells in how many places it stands."""
    assert plan({FILE: "x = 1\n" * count}, patch(edit("x = 1", "y"))) == AnchorAmbiguous("e", FILE, "", count)


def test_an_empty_anchor_stands_nowhere():
    """An anchor that a checked catalog would not have finds no place, rather than every place."""
    assert plan({FILE: "x = 1\n"}, patch(edit("", "y = 1\n"))) == AnchorMissing("e", FILE, "")
