"""The ladder of content: each rung, what each is not to be fooled by, and how many places make one verdict."""

from __future__ import annotations

import pytest

from genesisd.watch.content import judge
from genesisd.watch.diffs import read_diff
from genesisd.watch.marker_spec import Marker, Pattern
from genesisd.watch.model import Content, Rung
from genesisd.watch.refs import Ref
from tests.helpers.headed_diff import FILE, diff

BEFORE = '''"""Steps."""

import logging

logger = logging.getLogger(__name__)


class Scheduler:
    """Decides who runs."""

    def __init__(self, limit):
        self.limit = limit
        self.waiting = []

    def admit(self, request):
        self.waiting.append(request)
        logger.debug("admitted %s", request)
        return len(self.waiting)

    def step(self):
        batch = self.waiting[: self.limit]
        self.waiting = self.waiting[self.limit :]
        for request in batch:
            request.computed += request.scheduled
        return batch

    def finish(self, request):
        request.done = True
        request.blocks.clear()
        return request
'''
FIXED = BEFORE.replace(
    "            request.computed += request.scheduled\n",
    "            if not request.aborted:\n                request.computed += request.scheduled\n",
)
TWICE = FIXED.replace(
    "        request.blocks.clear()\n", "        self.free_blocks(request.blocks)\n        request.blocks.clear()\n"
)


def change(before, after, path=FILE, **more):
    return read_diff(diff(before, after, path, **more))


def verdict(changes, text, *markers, path=FILE, **more):
    texts = {"vllm/__init__.py": ""} | ({} if text is None else {path: text})
    return judge(changes, texts, markers, **more)


FIX = change(BEFORE, FIXED)
BOTH = change(BEFORE, TWICE)


def test_the_file_after_the_change_has_it():
    """A file that the change was made to holds it, and the evidence names the line and the method."""
    found = verdict(FIX, FIXED)
    assert (found.content, found.rung) == (Content.PRESENT, Rung.REVERSE_APPLY)
    assert f"{FILE}:24 in Scheduler.step" in found.evidence


def test_the_file_before_the_change_lacks_it():
    """A file that the change was not made to lacks it."""
    found = verdict(FIX, BEFORE)
    assert (found.content, found.rung) == (Content.ABSENT, Rung.REVERSE_APPLY)
    assert found.evidence == f"its place is as before the change ({FILE}:24 in Scheduler.step)"


@pytest.mark.parametrize(("text", "content"), [(FIXED, Content.PRESENT), (BEFORE, Content.ABSENT)])
def test_lines_elsewhere_in_the_file_do_not_matter(text, content):
    """What others changed above and around the place moves it, and changes no verdict."""
    moved = "# A licence.\n" * 40 + text.replace("batch = self", "batch: list = self").replace(
        "return batch", "return tuple(batch)"
    )
    assert verdict(FIX, moved).content is content


def test_a_file_with_other_line_ends_is_the_same_file():
    """Carriage returns in the tree do not hide what is there."""
    assert verdict(FIX, FIXED.replace("\n", "\r\n")).content is Content.PRESENT


def test_a_place_that_was_rewritten_is_neither():
    """Where neither the old nor the new lines are, the verdict is that the place changed, and not that it is absent."""
    other = FIXED.replace("if not request.aborted:", "if request.live:").replace(
        "+= request.scheduled", "= request.take()"
    )
    found = verdict(FIX, other)
    assert (found.content, found.rung) == (Content.CHANGED, Rung.REGION_HASH)
    assert "neither as before nor as after" in found.evidence


def test_partly_landed_is_said_to_be():
    """One place as after and one as before the change is neither a yes nor a no."""
    found = verdict(BOTH, FIXED)
    assert (found.content, found.rung) == (Content.CHANGED, Rung.REVERSE_APPLY)
    assert found.evidence.startswith("partly landed: 1 of 2 places is as after the change (")
    assert ":24 in Scheduler.step" in found.evidence
    assert ":30 in Scheduler.finish" in found.evidence


def test_most_places_there_is_not_all():
    """Where one place was rewritten later, the others do not make the change present."""
    rewritten = TWICE.replace("self.free_blocks(request.blocks)\n        request.blocks.clear()", "self.drop(request)")
    found = verdict(BOTH, rewritten)
    assert found.content is Content.CHANGED
    assert found.evidence.startswith("1 of 2 places is as after the change")


def test_most_places_as_before_is_absent():
    """Where at least half of the places are as before and none as after, it is not there."""
    rewritten = BEFORE.replace("request.blocks.clear()", "self.drop(request)").replace(
        "request.done = True", "request.end()"
    )
    assert verdict(BOTH, rewritten).content is Content.ABSENT


TWIN = """class One:
    def step_a(self, request):
        count = request.scheduled
        request.computed += count
        return count


class Two:
    def step_b(self, request):
        count = request.scheduled
        request.computed += count
        return count
"""
TWIN_FIXED = TWIN.replace(
    "class Two:\n    def step_b(self, request):\n        count = request.scheduled\n",
    "class Two:\n    def step_b(self, request):\n        count = max(0, request.scheduled)\n",
)


def test_the_twin_that_has_it_proves_nothing():
    """A class that already has the lines is not the class that the change is about."""
    other = TWIN.replace("request.scheduled\n", "max(0, request.scheduled)\n", 1)
    assert verdict(change(TWIN, TWIN_FIXED), other).content is Content.ABSENT


def test_the_twin_left_alone_proves_nothing():
    """Where the place itself is gone, its twin's lines make the change neither present nor absent."""
    gone = TWIN_FIXED.partition("class Two:")[0] + "class Two:\n    pass\n"
    found = verdict(change(TWIN, TWIN_FIXED), gone)
    assert found.content is Content.CHANGED


def test_two_twins_that_nothing_tells_apart_are_neither():
    """Old lines in one place and new ones in another, and no heading: that is neither a yes nor a no."""
    place = "    a = self.first\n    b = self.second\n    c = self.third\n    total = {}\n    d = self.fourth\n    e = self.fifth\n    f = self.sixth\n"
    old, new = place.format("a + b"), place.format("a + b + c")
    changes = change(f"{old}    g = 1\n", f"{new}    g = 1\n", heading=False)
    assert (
        verdict(changes, f"def one(self):\n{new}    g = 1\n\n\ndef two(self):\n{old}    h = 1\n").content
        is Content.CHANGED
    )


def test_what_is_added_is_not_taken_from_a_twin_when_its_place_is_gone():
    """Lines that another method had before the change, and a place that was rewritten, are no landing."""
    added = "        self.pool.release(request)\n        self.pool.compact()\n"
    before = BEFORE.replace("        logger.debug", added + "        logger.debug")
    changes = change(before, before.replace("        request.done = True\n", "        request.done = True\n" + added))
    rewritten = before.replace("request.done = True", "request.end()").replace("request.blocks.clear()", "self.drop()")
    assert verdict(changes, rewritten).content is Content.CHANGED


def test_lines_added_at_the_end_are_not_seen_where_they_are_not():
    """At the end of a file the lines before the change begin those after it: only one of the two is found."""
    longer = BEFORE + "\n    def drain(self):\n        return self.waiting.copy()\n"
    added = change(BEFORE, longer)
    assert verdict(added, BEFORE).content is Content.ABSENT
    assert verdict(added, longer).content is Content.PRESENT


def test_lines_removed_at_the_end_are_seen_while_they_are_there():
    """The other way round: what is to go is found although the rest is there too."""
    shorter = BEFORE.partition("    def finish")[0]
    removed = change(BEFORE, shorter)
    assert verdict(removed, BEFORE).content is Content.ABSENT
    assert verdict(removed, shorter).content is Content.PRESENT


def test_a_hidden_revert_is_absent():
    """A pin whose history has the change and whose file has the old lines lacks it."""
    assert verdict(FIX, BEFORE + "\n\ndef later():\n    return None\n").content is Content.ABSENT


@pytest.mark.parametrize(
    "after",
    [
        BEFORE.replace('    """Decides who runs."""', '    """Decides who runs, and when."""'),
        BEFORE.replace("        batch = self", "        # Those at the front.\n        batch = self"),
        BEFORE.replace("        return batch", "\n        return batch"),
        BEFORE.replace("self.waiting[: self.limit]", "self.waiting[\n            : self.limit,\n        ]").replace(
            "limit,", "limit"
        ),
    ],
    ids=["docstring", "comment", "blank", "layout"],
)
def test_words_for_people_are_no_content(after):
    """A change of docstrings, comments, blank lines or layout brings nothing that a pin could lack."""
    changes = change(BEFORE, after)
    assert {verdict(changes, text).content for text in (BEFORE, after)} == {Content.NOT_APPLICABLE}


@pytest.mark.parametrize("path", ["tests/core/test_sched.py", "docs/sched.md", "csrc/sched.cu", "vllm/sched.json"])
def test_files_that_a_pin_does_not_ship_are_no_content(path):
    """Tests, pages, kernels and data are not in the tree that is looked at."""
    found = verdict(change(BEFORE, FIXED, path), BEFORE)
    assert found.content is Content.NOT_APPLICABLE
    assert found.evidence == "it changes no file that the pin ships"


def test_tests_beside_the_change_do_not_make_it_partial():
    """A fix with its test is present where the fix is: the test is never shipped."""
    both = read_diff(diff(BEFORE, FIXED) + diff(None, "def test():\n    pass\n", "tests/test_sched.py"))
    assert verdict(both, FIXED).content is Content.PRESENT


def test_a_file_that_is_not_there_is_no_content():
    """A change to a file that this pin does not have is not applicable, and says which."""
    found = verdict(FIX, None)
    assert found.content is Content.NOT_APPLICABLE
    assert found.evidence == f"{FILE} is not there"


def test_a_new_file_is_there_or_is_not():
    """A file that the change brings is absent until it is there, and stays present when it is changed a little."""
    new = change(None, BEFORE)
    assert verdict(new, None).content is Content.ABSENT
    assert verdict(new, BEFORE).rung is Rung.REVERSE_APPLY
    later = verdict(new, FIXED)
    assert (later.content, later.rung) == (Content.PRESENT, Rung.REGION_HASH)
    assert verdict(new, "def other():\n    return 1\n").content is Content.CHANGED


def test_a_new_file_that_lies_elsewhere_is_not_absent():
    """Where the tree defines what the file brings in another module, the place has changed."""
    texts = {"vllm/v1/sched.py": BEFORE}
    found = judge(change(None, BEFORE), texts)
    assert found.content is Content.CHANGED
    assert "Scheduler is defined in vllm/v1/sched.py" in found.evidence


def test_what_a_change_moves_itself_is_absent_until_it_has():
    """A class that the change takes out of one file and into another is not there just because it is in the first."""
    away = diff(BEFORE, BEFORE.partition("class Scheduler")[0]) + diff(None, BEFORE, "vllm/v1/sched.py")
    assert verdict(read_diff(away), BEFORE).content is Content.ABSENT


def test_a_file_to_be_removed_is_absent_while_it_is_there():
    """A removal has landed where the file is gone."""
    removed = change(BEFORE, None)
    assert verdict(removed, BEFORE).content is Content.ABSENT
    assert verdict(removed, None).content is Content.PRESENT


def test_words_out_of_their_condition_are_not_the_change():
    """The same words in the same order, and another program: neither present nor absent. Deeper as a whole is the same."""
    after = BEFORE.replace(
        "        logger.debug", "        if request.late:\n            self.count(request)\n        logger.debug"
    )
    changes = change(BEFORE, after)
    again = after.replace("self.count(request)", "self.count( request )")
    assert verdict(changes, again).rung is Rung.REGION_HASH
    assert verdict(changes, again).content is Content.PRESENT
    left = BEFORE.replace("            request.computed += request.scheduled\n", "            self.see( request )\n")
    within = BEFORE.replace(
        "            request.computed", "            self.see(request)\n            request.computed"
    )
    dedented = left.replace(
        "        return batch", "        request.computed += request.scheduled\n        return batch"
    )
    assert verdict(change(BEFORE, within), dedented).content is Content.CHANGED


def test_a_file_that_only_went_elsewhere_was_not_removed():
    """Its class stands in another file of that pin, which nobody removed: a person looks.

    Near miss: what the change itself puts elsewhere is to be there, and short names are in many a file.
    """
    removed = change(BEFORE, None)
    there = {"vllm/v1/sched.py": BEFORE}
    found = judge(removed, there)
    assert (found.content, "Scheduler is defined in vllm/v1/sched.py" in found.evidence) == (Content.CHANGED, True)
    away = read_diff(diff(BEFORE, None) + diff(None, BEFORE, "vllm/v1/sched.py"))
    assert judge(away, there).content is Content.PRESENT
    short = change(BEFORE.replace("Scheduler", "Main"), None)
    assert judge(short, {"vllm/v1/sched.py": BEFORE.replace("Scheduler", "Main")}).content is Content.PRESENT


def test_a_rename_is_looked_for_under_both_names():
    """A file that moves is present under the new name, absent under the old one."""
    text = (
        "diff --git a/vllm/old.py b/vllm/new.py\nsimilarity index 90%\nrename from vllm/old.py\nrename to vllm/new.py\n"
        + diff(BEFORE, FIXED).replace(f"a/{FILE}", "a/vllm/old.py").replace(f"b/{FILE}", "b/vllm/new.py")
    )
    changes = read_diff(text)
    assert judge(changes, {"vllm/new.py": FIXED}).content is Content.PRESENT
    assert judge(changes, {"vllm/old.py": BEFORE}).content is Content.ABSENT
    assert judge(changes, {"vllm/new.py": BEFORE}).content is Content.CHANGED


def test_imports_decide_only_alone():
    """Everybody's changes meet in the imports: another's line there does not make a fix partial."""
    after = FIXED.replace("import logging\n", "import logging\nimport queue\n")
    changes = change(BEFORE, after)
    assert (
        verdict(
            changes, after.replace("import logging\nimport queue", "import logging\nimport heapq\nimport queue")
        ).content
        is Content.PRESENT
    )
    assert verdict(changes, FIXED).content is Content.PRESENT
    assert (
        verdict(change(BEFORE, BEFORE.replace("import logging\n", "import logging\nimport queue\n")), BEFORE).content
        is Content.ABSENT
    )


def test_the_same_words_in_another_layout_are_the_weakest_yes():
    """Code that was only laid out anew is found by its words, and the verdict says by what."""
    laid_out = FIXED.replace("        batch = self.waiting[: self.limit]\n", "        batch = take(self)\n").replace(
        "            if not request.aborted:\n                request.computed += request.scheduled\n",
        "            if not request.aborted:  # else it is gone\n\n                request.computed += (request.scheduled)\n".replace(
            "(request.scheduled)", "request.scheduled"
        ),
    )
    found = verdict(FIX, laid_out)
    assert (found.content, found.rung) == (Content.PRESENT, Rung.REGION_HASH)


def test_a_line_below_a_condition_is_no_proof_that_it_stands_alone():
    """A line that was put below a condition is still there by its words: that does not make the condition absent."""
    other = FIXED.replace("if not request.aborted:", "if not request.aborted and request.live:").replace(
        "for request in batch:", "for request in reversed(batch):"
    )
    found = verdict(FIX, other.replace("return batch", "return tuple(batch)"))
    assert (found.content, found.rung) == (Content.CHANGED, Rung.REGION_HASH)


def test_half_a_diff_never_makes_it_present():
    """Where upstream told only some files, what was told may be there and the rest not."""
    assert verdict(FIX, FIXED, complete=False).content is Content.CHANGED
    assert verdict(FIX, BEFORE, complete=False).content is Content.ABSENT


def test_nothing_to_look_with_is_unknown():
    """Without a diff and without markers there is no verdict."""
    found = verdict((), FIXED)
    assert (found.content, found.rung) == (Content.UNKNOWN, Rung.NONE)


def marker(after="if not request.aborted", before="for request in batch:\n            request.computed"):
    return Marker(
        pr=Ref("vllm-project/vllm", 1),
        title="skip what was aborted",
        present=(Pattern(file=FILE, within="Scheduler.step", has=after),),
        absent=(Pattern(file=FILE, within="Scheduler.step", has=before),),
    )


def test_markers_tell_where_there_is_no_diff():
    """People's markers alone can say present and absent."""
    assert [verdict((), text, marker()).content for text in (FIXED, BEFORE)] == [Content.PRESENT, Content.ABSENT]
    assert verdict((), FIXED, marker()).rung is Rung.MARKERS


def test_markers_tell_where_lines_cannot():
    """A place that was rewritten is judged by the marker before its words are compared."""
    rewritten = FIXED.replace("if not request.aborted:", "if not request.aborted and self:").replace(
        "+= request.scheduled", "= request.take()"
    )
    found = verdict(FIX, rewritten, marker())
    assert (found.content, found.rung) == (Content.PRESENT, Rung.MARKERS)


def test_a_marker_that_cannot_tell_is_not_overruled_by_words():
    """A weaker rung does not decide where a stronger one looked and saw neither."""
    found = verdict(FIX, BEFORE.replace("request.computed +=", "request.taken +="), marker("no such text", "nor this"))
    assert (found.content, found.rung) == (Content.CHANGED, Rung.MARKERS)


def test_lines_and_markers_that_disagree_are_neither():
    """A marker that says present where every line is as before is a marker to be mended, not a reason to retire."""
    wrong = marker(after="request.computed", before="no such text")
    found = verdict(FIX, BEFORE, wrong)
    assert (found.content, found.rung) == (Content.CHANGED, Rung.MARKERS)
    assert found.evidence.startswith("lines and markers disagree: as before the change at")


def test_markers_agree_quietly():
    """Where both say the same, the stronger rung is named."""
    assert verdict(FIX, FIXED, marker()).rung is Rung.REVERSE_APPLY
