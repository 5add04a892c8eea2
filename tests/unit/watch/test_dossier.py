"""Deep diff: each outcome by what the pin's own text has of each edit, and by what tests say."""

from __future__ import annotations

import pytest

from genesisd.watch.decisions import Outcome
from genesisd.watch.diffs import read_diff
from genesisd.watch.dossier import LONGEST, OurEdit, Trial, compare
from genesisd.watch.model import Content, ContentFact, Rung
from genesisd.watch.refs import Ref
from tests.helpers.headed_diff import FILE, diff

PRISTINE = """class Scheduler:
    def step(self):
        for request in self.running:
            request.computed += request.scheduled
        return self.running

    def finish(self, request):
        request.blocks.clear()
        return request

    def other(self):
        return None
"""
ABORTED = (
    "            request.computed += request.scheduled\n",
    "            if request.live:\n                request.computed += request.scheduled\n",
)
FREED = ("        request.blocks.clear()\n", "        self.pool.free(request.blocks)\n        request.blocks.clear()\n")
STEP = OurEdit(id="skip-aborted", path=FILE, scope="Scheduler.step", variants=(ABORTED,))
FREE = OurEdit(id="free-blocks", path=FILE, scope="Scheduler.finish", variants=(FREED,))
HAS = ContentFact(Content.PRESENT, Rung.REVERSE_APPLY, "seen")
ONE = PRISTINE.replace(*ABORTED)
BOTH = ONE.replace(*FREED)
ANOTHER = PRISTINE.replace("self.running:\n", "self.live():\n")


def dossier(text, *, edits=(STEP, FREE), before=PRISTINE, tests=(), content=HAS, changes=None):
    changes = read_diff(diff(before, text, FILE)) if changes is None else changes
    return compare(
        "P1",
        edits,
        Ref("vllm-project/vllm", 1),
        "next",
        changes=changes,
        texts={} if text is None else {FILE: text},
        content=content,
        tests=tests,
        now=5.0,
    )


def covered(found):
    return [one.covered for one in found.edits]


PASSES = Trial(name="test_aborted", without=True, with_ours=True)
FAILS = Trial(name="test_aborted", without=False, with_ours=True)


def test_all_edits_in_the_pins_text_is_retire():
    """Where the pin has every edit, the patch may go; the dossier shows both sides."""
    found = dossier(BOTH, tests=[PASSES])
    assert found.outcome is Outcome.RETIRE
    assert covered(found) == [True, True]
    assert "+            if request.live:" in found.edits[0].ours
    assert "+            if request.live:" in found.edits[0].upstreams
    assert found.tests == {"test_aborted": "passes without, passes with ours"}
    assert (found.patch, found.pin, found.made_at) == ("P1", "next", 5.0)


def test_layout_and_comments_do_not_matter():
    """The same words in another layout, with comments between, are the same edit."""
    text = BOTH.replace("if request.live:", "if request.live:  # still wanted").replace(
        "self.pool.free(request.blocks)", "self.pool.free( request.blocks )"
    )
    assert covered(dossier(text)) == [True, True]


def test_a_line_out_of_its_condition_does_not_cover():
    """The same words one behind the other, and what ours puts into the loop stands behind it: a person judges."""
    loop = "        for request in self.running:\n            request.computed += request.scheduled\n"
    edit = OurEdit(
        id="a", path=FILE, scope="Scheduler.step", variants=((loop, f"{loop}            self.see(request)\n"),)
    )
    found = dossier(PRISTINE.replace(loop, f"{loop}        self.see(request)\n"), edits=(edit,))
    assert (found.outcome, covered(found)) == (Outcome.DIFFERENT, [None])
    inside = dossier(PRISTINE.replace(loop, f"{loop}            self.see( request )  # so\n"), edits=(edit,))
    assert (inside.outcome, covered(inside)) == (Outcome.RETIRE, [True])


def test_equal_lines_elsewhere_do_not_cover():
    """What ours brings stood in the scope before, at another place; upstream left ours as it was, so a person judges."""
    elsewhere = "        self.pool.free(request.blocks)\n        return request\n"
    text = PRISTINE.replace("        return request\n", elsewhere)
    found = dossier(text, edits=(FREE,), before=PRISTINE)
    assert (found.outcome, covered(found)) == (Outcome.DIFFERENT, [None])
    assert "stand elsewhere" in found.edits[0].text


def test_some_edits_is_partial():
    """Where upstream has one edit and left the place of the other as it was, the rest stays."""
    found = dossier(ONE)
    assert found.outcome is Outcome.PARTIAL
    assert covered(found) == [True, False]


def test_no_edit_is_keep():
    """Where upstream changes neither place, ours stays."""
    text = PRISTINE.replace("return None", "return self")
    found = dossier(text)
    assert found.outcome is Outcome.KEEP
    assert covered(found) == [False, False]


def test_another_way_to_the_same_is_for_a_person():
    """Where upstream changed the place otherwise, nobody but a person can say that it is the same."""
    found = dossier(PRISTINE.replace(ABORTED[0], "            self.advance(request)\n"), edits=[STEP])
    assert found.outcome is Outcome.DIFFERENT
    assert covered(found) == [None]
    around = dossier(ANOTHER, edits=[STEP])
    assert covered(around) == [None]
    assert "upstream left its anchor" in around.edits[0].text


def test_tests_that_pass_alone_are_told_and_do_not_retire():
    """Passing without ours is a reason to look, not a proof that nothing else is lost."""
    found = dossier(PRISTINE.replace("return None", "return self"), tests=[PASSES])
    assert found.outcome is Outcome.DIFFERENT
    assert "without ours the pin passes test_aborted" in found.reason


@pytest.mark.parametrize("text", [BOTH, ONE, ANOTHER], ids=["all", "one", "another"])
def test_a_test_that_fails_without_ours_keeps_it(text):
    """Whatever the texts look like, a behaviour that only ours has stays ours."""
    found = dossier(text, tests=[FAILS])
    assert found.outcome is Outcome.KEEP
    assert "test_aborted fails on the pin alone" in found.reason


def test_a_test_that_fails_with_ours_too_says_nothing():
    """Such a test is broken, or tests something else."""
    found = dossier(BOTH, tests=[Trial(name="test_aborted", without=False, with_ours=False)])
    assert found.outcome is Outcome.RETIRE


def test_a_test_that_fails_where_ours_has_no_place_keeps_it_from_retiring():
    """The text looks as if it had all of it, the engine does not behave so: a person judges."""
    alone = Trial(name="test_aborted", without=False, why="ours has no place on next")
    found = dossier(BOTH, tests=[alone])
    assert found.outcome is Outcome.DIFFERENT
    assert found.reason.endswith("all 2 edits; and yet test_aborted fails on it")
    assert found.tests == {"test_aborted": "fails without, was not run with ours (ours has no place on next)"}


def test_a_test_that_was_not_run_is_told_with_its_reason():
    """What the outcome rests on then is the text alone, and the dossier says so."""
    found = dossier(BOTH, tests=[Trial(name="test_aborted", why="on next: it has no environment here")])
    assert found.outcome is Outcome.RETIRE
    assert found.reason.endswith("; no test of ours was run on it (on next: it has no environment here)")
    assert (found.ran, dossier(BOTH, tests=[PASSES]).ran) == ((), ("test_aborted",))


def test_where_ours_was_tried_is_told():
    """On another pin, where this one takes the patch no more."""
    elsewhere = Trial(name="test_aborted", without=True, with_ours=True, on="now")
    assert dossier(BOTH, tests=[elsewhere]).tests == {"test_aborted": "passes without, passes with ours on now"}


def test_absent_content_keeps_it():
    """A pull request that the pin does not have retires nothing."""
    absent = ContentFact(Content.ABSENT, Rung.MARKERS, "not seen")
    assert dossier(BOTH, content=absent).outcome is Outcome.KEEP


def test_optional_edits_do_not_decide():
    """What the patch can do without is shown, and holds up nobody."""
    optional = OurEdit(id="free-blocks", path=FILE, scope="Scheduler.finish", required=False, variants=(FREED,))
    found = dossier(ONE, edits=[STEP, optional])
    assert found.outcome is Outcome.RETIRE
    assert covered(found) == [True, False]


def test_the_form_that_fits_the_pin_is_shown():
    """Of an edit's variants the one whose anchor is there is held beside upstream's."""
    older = ("            request.steps += 1\n", "            request.steps += request.live\n")
    edit = OurEdit(id="skip-aborted", path=FILE, scope="Scheduler.step", variants=(older, ABORTED))
    assert "if request.live" in dossier(PRISTINE.replace("None", "self"), edits=[edit]).edits[0].ours


def test_the_twin_does_not_cover():
    """The same lines in another method are not the edit."""
    twin = PRISTINE.replace("        return None\n", "        self.pool.free(self.blocks)\n        return None\n")
    found = dossier(twin, edits=[FREE])
    assert covered(found) == [False]


def test_without_a_diff_a_place_as_it_was_is_not_told():
    """Upstream may have mended it elsewhere; without its diff nobody knows."""
    found = dossier(PRISTINE, changes=())
    assert covered(found) == [None, None]
    assert found.outcome is Outcome.DIFFERENT
    assert "def step(self):" in found.edits[0].upstreams


def test_a_file_that_is_gone_is_not_told():
    """An edit whose file is gone is held against nothing."""
    assert covered(dossier(None, changes=())) == [None, None]


def test_lines_taken_away_must_be_gone():
    """An edit that only removes is covered where what it removes is gone."""
    edit = OurEdit(
        id="no-clear", path=FILE, scope="Scheduler.finish", variants=(("        request.blocks.clear()\n", ""),)
    )
    assert covered(dossier(PRISTINE.replace("        request.blocks.clear()\n", ""), edits=[edit])) == [True]
    assert covered(dossier(PRISTINE.replace("None", "self"), edits=[edit])) == [False]


def test_long_excerpts_are_cut():
    """A person reads the beginning; the rest is counted."""
    text = PRISTINE.replace("        return None\n", "".join(f"        a{n} = {n}\n" for n in range(999)))
    edit = OurEdit(
        id="other", path=FILE, scope="Scheduler.other", variants=(("        return None\n", "        return 1\n"),)
    )
    shown = dossier(text, edits=[edit]).edits[0].upstreams.splitlines()
    assert len(shown) == LONGEST + 1
    assert shown[-1].endswith("lines more")
