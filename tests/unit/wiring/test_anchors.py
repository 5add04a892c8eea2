"""What a pull request breaks of the catalog's kind of edits, found by the engine's own matcher on changed text."""

from __future__ import annotations

import pytest

from genesisd.patches.edits import AnchorEdit, Marker, NewFile, ReplaceFile, Variant
from genesisd.patches.survey import digest
from genesisd.watch.collide import collide
from genesisd.watch.model import Place
from genesisd.wiring.anchors import CatalogAnchors, chain, in_range
from tests.helpers.git_diffs import changes
from tests.unit.patches.made import FILE, after, edit, patch

CORE = """\
import os

LIMIT = 8


class Scheduler:
    def admit(self, request):
        budget = self.budget
        if budget < request.tokens:
            return None
        self.taken.append(request)
        return request

    def finish(self, request):
        self.taken.remove(request)
        return request


def helper():
    return 1
"""
TWO_LINES = "        if budget < request.tokens:\n            return None\n"
ADMIT = edit(TWO_LINES, "        self.check(request)\n", "Scheduler.admit", id="check")
LIMITS = after("LIMIT = 8\n", "MORE = 9\n", id="limit")


def found(new, *patches, old=None, moves=None):
    """What becomes of the edits of ``patches`` where upstream changes the one text into the other."""
    before = {FILE: CORE} if old is None else old
    after_ = {FILE: new} if isinstance(new, str) else new
    anchors = CatalogAnchors(patches, {one.id: one for one in patches}, before)
    return collide(changes(before, after_, moves), before, anchors)


def told(*given, **more):
    return [(one.place, one.breaks, one.before, one.after) for one in found(*given, **more)]


def test_lines_put_between_those_of_the_anchor_break_it():
    """The commonest collision: no line of ours is touched."""
    new = CORE.replace("tokens:\n", "tokens:\n            self.refused += 1\n")
    assert told(new, patch(ADMIT)) == [(Place.INSIDE, True, 1, 0)]


def test_a_rewritten_line_of_the_anchor_breaks_it():
    """What everybody looks for."""
    assert told(CORE.replace("budget <", "budget <="), patch(ADMIT)) == [(Place.OVER, True, 1, 0)]


def test_a_second_place_of_the_same_scope_breaks_it():
    """The matcher may not choose between twins."""
    new = CORE.replace("        self.taken.append", f"{TWO_LINES}        self.taken.append")
    assert told(new, patch(ADMIT))[0][1:] == (True, 1, 2)
    twin = CORE.replace("    def finish", f"    def admit(self, request):\n{TWO_LINES}\n    def finish")
    assert told(twin, patch(ADMIT)) == [(Place.TWIN, True, 1, 2)]


def test_a_twin_in_another_function_does_not():
    """The scope tells them apart."""
    new = CORE.replace("        self.taken.remove", f"        budget = 1\n{TWO_LINES}        self.taken.remove")
    assert told(new, patch(ADMIT)) == []


def test_a_scope_that_is_renamed_or_goes_away_breaks_it():
    """Its text may stand word for word: nothing finds it there."""
    assert told(CORE.replace("def admit", "def accept"), patch(ADMIT)) == [(Place.MOVED, True, 1, 0)]
    assert told(CORE.replace("class Scheduler", "class Planner"), patch(ADMIT)) == [(Place.MOVED, True, 1, 0)]
    gone = CORE[: CORE.index("    def admit")] + CORE[CORE.index("    def finish") :]
    assert told(gone, patch(ADMIT)) == [(Place.MOVED, True, 1, 0)]


def test_an_anchor_that_moves_to_another_function_breaks_it():
    """And the text says where it stands."""
    new = CORE.replace(TWO_LINES, "").replace("        self.taken.remove", f"{TWO_LINES}        self.taken.remove")
    (one,) = found(new, patch(ADMIT))
    assert (one.place, one.breaks) == (Place.MOVED, True)
    assert "it stands in Scheduler.finish" in one.text


@pytest.mark.parametrize("edited", [ADMIT, LIMITS], ids=["in a scope", "in the module"])
def test_a_file_that_moves_or_goes_away_breaks_it(edited):
    """Though it is the same to the letter elsewhere."""
    (one,) = found({"vllm/new.py": CORE}, patch(edited), moves={FILE: "vllm/new.py"})
    assert (one.place, one.breaks, one.before, one.after) == (Place.MOVED, True, 1, 0)
    assert "the file goes to vllm/new.py" in one.text
    assert told({}, patch(edited)) == [(Place.MOVED, True, 1, 0)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("        budget = self.budget\n", "        budget = self.budget - 1\n"),
        ("        self.taken.append", "        self.seen += 1\n        self.taken.append"),
    ],
    ids=["before", "after"],
)
def test_a_change_next_to_the_anchor_is_told_and_breaks_nothing(old, new):
    """The neighbour: worth a word."""
    assert told(CORE.replace(old, new), patch(ADMIT)) == [(Place.BESIDE, False, 1, 1)]


def test_a_change_elsewhere_in_the_file_is_not_worth_a_word():
    """Nor is one in a file that no patch names."""
    assert told(CORE.replace("return 1", "return 2"), patch(ADMIT)) == []
    assert told({FILE: CORE, "other.py": "a\n"}, patch(ADMIT), old={FILE: CORE, "other.py": "b\n"}) == []


def test_an_edit_that_never_landed_is_not_broken():
    """Nothing is lost where nothing was."""
    lost = edit("nowhere", "x", "Scheduler.admit")
    assert told(CORE.replace("budget <", "budget <="), patch(lost)) == []


def test_an_edit_that_comes_to_land_is_told():
    """The near miss: the counts differ, and it is no harm."""
    wanted = edit("budget <=", "x", "Scheduler.admit")
    assert told(CORE.replace("budget <", "budget <="), patch(wanted)) == [(Place.BESIDE, False, 0, 1)]


def test_an_edit_with_a_form_for_the_new_text_is_not_broken():
    """That is what forms are for."""
    forms = (Variant(TWO_LINES, "first()", "old"), Variant(TWO_LINES.replace("<", "<="), "second()", "new"))
    both = AnchorEdit("check", FILE, "Scheduler.admit", forms)
    assert told(CORE.replace("budget <", "budget <="), patch(both)) == [(Place.OVER, False, 1, 1)]


def test_a_patch_that_gives_way_is_not_broken():
    """Upstream brings its own fix with the change: the marker is there afterwards."""
    new = CORE.replace("budget <", "budget <=")
    marked = patch(ADMIT, markers=(Marker(FILE, "budget <="),))
    (one,) = found(new, marked)
    assert (one.place, one.breaks, one.after) == (Place.OVER, False, 0)
    assert "gives way" in one.text


def test_a_change_that_writes_the_whole_patch_does_not_break_it():
    """And one that writes half of it does: that half cannot be told from ours."""
    new = CORE.replace(TWO_LINES, "        self.check(request)\n")
    assert [one.breaks for one in found(new, patch(ADMIT))] == [False]
    halves = found(new, patch(ADMIT, LIMITS))
    assert [(one.edit, one.breaks) for one in halves] == [("check", True)]


def test_optional_edits_are_told_as_such():
    """The patch can do without."""
    optional = edit(TWO_LINES, "x", "Scheduler.admit", required=False)
    assert [one.required for one in found(CORE.replace("budget <", "budget <="), patch(optional))] == [False]


def test_whole_files_break_where_upstream_has_another():
    """A new file that upstream brings too, and a replaced one that it changes."""
    fresh = patch(NewFile("n", "vllm/fresh.py", "ours = 1\n"))
    assert told({FILE: CORE, "vllm/fresh.py": "theirs = 1\n"}, fresh) == [(Place.OVER, True, 1, 0)]
    whole = patch(ReplaceFile("r", FILE, "ours = 1\n", digest(CORE)))
    assert told(CORE + "\n", whole) == [(Place.OVER, True, 1, 0)]
    assert told({FILE: CORE, "vllm/other.py": "a\n"}, fresh) == []


def test_a_file_that_only_we_make_collides_with_nothing_of_a_pin_without_it():
    """Upstream changes one of that name which this pin does not have: there are no lines to lay it beside."""
    fresh = patch(NewFile("n", "vllm/fresh.py", "left = 1\n"), id="P1")
    upon = patch(edit("left = 1\n", "left = 0\n", path="vllm/fresh.py", after="P1"), id="P2")
    theirs = changes({"vllm/fresh.py": "a = 1\nb = 2\n"}, {"vllm/fresh.py": "a = 1\nleft = 1\nb = 2\n"})
    before = {FILE: CORE}
    assert collide(theirs, before, CatalogAnchors((fresh, upon), {"P1": fresh, "P2": upon}, before)) == ()


BASE = patch(
    after("        budget = self.budget\n", "        spare = budget\n        left = spare\n", "Scheduler.admit"),
    id="P1",
)
UPON = patch(edit("        left = spare\n", "        left = 0\n", "Scheduler.admit", after="P1"), id="P2")


def test_an_edit_on_the_output_of_another_patch_is_looked_for_there():
    """It breaks with the patch that it stands on, and not without."""
    assert [one.breaks for one in found(CORE.replace("= self.budget", "= self.tokens"), BASE, UPON)] == [True, True]
    beside = found(CORE.replace("budget <", "budget <="), BASE, UPON)
    assert [(one.patch, one.place, one.breaks) for one in beside] == [
        ("P1", Place.BESIDE, False),
        ("P2", Place.BESIDE, False),
    ]


@pytest.mark.parametrize(("more", "breaks"), [("", False), ("budget <", True)])
def test_half_a_diff_that_leaves_no_python_breaks_only_what_it_takes_away(more, breaks):
    """Its other half found no place; what is left cannot be read, and the anchors' text alone can be counted."""
    base = CORE.replace("LIMIT = 8", "LIMIT = 7")
    new = base.replace("LIMIT = 7", "LIMIT = 6").replace("return 1", "return (1")
    new = new.replace(more, "budget <=") if more else new
    anchors = CatalogAnchors([patch(ADMIT)], {}, {FILE: CORE})
    collisions = collide(changes({FILE: base}, {FILE: new}), {FILE: CORE}, anchors)
    assert [(one.edit, one.breaks, one.after) for one in collisions] == [("check", breaks, int(not breaks))]


DRIFTED = CORE.replace("        budget = self.budget\n", "        budget = self.budgets[request.kind]\n")


def test_a_hunk_whose_context_has_drifted_is_judged_by_the_anchors_lines():
    """It is not made, and is told as judged by lines."""
    diff = changes({FILE: DRIFTED}, {FILE: DRIFTED.replace("budget <", "budget <=")})
    (one,) = collide(diff, {FILE: CORE}, CatalogAnchors([patch(ADMIT)], {}, {FILE: CORE}))
    assert (one.place, one.breaks, one.before, one.after) == (Place.OVER, True, 1, 0)
    assert "judged by the lines" in one.text


def test_a_drifted_hunk_beside_the_anchor_breaks_nothing():
    """The near miss of the one above; and a renamed function is seen all the same."""
    diff = changes(
        {FILE: DRIFTED}, {FILE: DRIFTED.replace("        self.taken.append", "        pass\n        self.taken.append")}
    )
    anchors = CatalogAnchors([patch(ADMIT)], {}, {FILE: CORE})
    assert [one for one in collide(diff, {FILE: CORE}, anchors) if one.breaks] == []
    diff = changes({FILE: DRIFTED}, {FILE: DRIFTED.replace("def admit", "def accept")})
    assert [(one.place, one.breaks) for one in collide(diff, {FILE: CORE}, anchors)] == [(Place.MOVED, True)]


def test_what_brought_the_anchor_itself_is_no_twin_of_it():
    """The pin has the change: word for word, or (known to be there in part) with what came later."""
    without = CORE[: CORE.index("    def admit")] + CORE[CORE.index("    def finish") :]
    diff = changes({FILE: without}, {FILE: CORE})
    anchors = CatalogAnchors([patch(ADMIT)], {}, {FILE: CORE})
    assert collide(diff, {FILE: CORE}, anchors) == ()
    later = {
        FILE: CORE.replace("class Scheduler:", "class Scheduler(Base):").replace(
            "return request\n\n    def", "return 1\n\n    def"
        )
    }
    anchors = CatalogAnchors([patch(ADMIT)], {}, later)
    assert [one.place for one in collide(diff, later, anchors)] == [Place.TWIN]
    assert collide(diff, later, anchors, in_part=True) == ()


def test_what_moved_or_found_no_place_is_told():
    """A hunk that had to move may have met a twin of its place."""
    base = {FILE: "\n\n" + CORE}
    diff = changes(base, {FILE: base[FILE].replace("budget <", "budget <=")})
    (one,) = collide(diff, {FILE: CORE}, CatalogAnchors([patch(ADMIT)], {}, {FILE: CORE}))
    assert "1 hunk(s) moved by up to 2 lines" in one.text


def test_ranges_and_chains():
    """Which patches count on a pin, and which come along."""
    assert in_range(patch(ADMIT, versions=">=0.23,<0.30"), "0.23.1rc1.dev714+g123abcd")
    assert not in_range(patch(ADMIT, versions=">=0.23,<0.30"), "0.30.0")
    needs = patch(ADMIT, id="P3", requires=("P2", "unknown"))
    every = {one.id: one for one in (BASE, UPON, needs)}
    assert {one.id for one in chain(needs, every)} == {"P1", "P2", "P3"}
