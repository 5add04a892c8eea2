"""A hunk that finds no place is laid beside the anchor by the lines that both have."""

from __future__ import annotations

import pytest

from genesisd.watch.diffs import Hunk
from genesisd.watch.drifted import laid_beside, owed, scope_taken, twin_put
from genesisd.watch.model import Place

FILE = [
    "def schedule(self):\n",
    "    budget = self.max_tokens\n",
    "    for request in self.waiting:\n",
    "        take(request, budget)\n",
    "    return\n",
    "def finish(self):\n",
    "    self.close_all_requests()\n",
    "    return\n",
]
ANCHOR = (2, 3)
FORMS = ("    for request in self.waiting:\n        take(request, budget)\n",)


def hunk(*lines):
    return Hunk(40, 40, tuple((line[0], line[1:] + "\n") for line in lines))


def laid(*lines, anchor=ANCHOR, forms=FORMS):
    found = laid_beside(FILE, anchor, forms, [hunk(*lines)])
    return None if found is None else found.place


def test_a_hunk_that_rewrites_a_line_of_the_anchor_ends_it():
    """The line above has drifted, so that the hunk has no place."""
    assert (
        laid("     budget = self.other", "-    for request in self.waiting:", "+    for one in waiting:") is Place.OVER
    )


def test_a_hunk_that_puts_lines_between_those_of_the_anchor_ends_it():
    """It takes none of them away."""
    inside = (
        "     drifted()",
        "     for request in self.waiting:",
        "+        check(request)",
        "         take(request, budget)",
    )
    assert laid(*inside) is Place.INSIDE


@pytest.mark.parametrize(
    "lines",
    [
        ("     drifted()", "+    new()", "     for request in self.waiting:", "         take(request, budget)"),
        ("     for request in self.waiting:", "         take(request, budget)", "+    new()", "     drifted()"),
    ],
    ids=["before", "after"],
)
def test_a_hunk_next_to_the_anchor_does_not(lines):
    """The near miss: the anchor's own lines stay together."""
    assert laid(*lines) is None


def test_a_line_that_differs_is_no_shared_line():
    """Of the anchor, all that both have must be equal to the letter."""
    assert laid("     for request in self.waiting:", "-        take(request, limit)", "+        take(request)") is None


def test_a_lone_return_says_nothing():
    """The file has it twice, and so has every other."""
    assert laid("     drifted()", "-    return", "+    return 1", anchor=(7, 7), forms=("    return",)) is None


def test_a_line_that_says_nothing_is_told_by_the_lines_around_it():
    """Which are no part of the anchor, and stand in the file but once."""
    lines = ("     drifted()", "     self.close_all_requests()", "-    return", "+    return 1")
    assert laid(*lines, anchor=(7, 7), forms=("    return\n",)) is Place.OVER


def test_an_anchor_that_is_whole_again_has_not_ended():
    """The hunk moves it, or writes the other form that the edit knows."""
    both = ("         drifted()", "-        take(request, budget)", "+        take(request, limit)")
    assert laid(*both, anchor=(3, 3), forms=("take(request, budget)",)) is Place.OVER
    assert laid(*both, anchor=(3, 3), forms=("take(request, budget)", "take(request, limit)")) is None


def test_a_form_that_this_pin_has_not_ends_as_well():
    """Upstream's base has the other form already, and the change rewrites that."""
    lines = ("     drifted()", "-    run_every_request(waiting)", "+    run(waiting)")
    assert laid(*lines, forms=(*FORMS, "run_every_request(waiting)")) is Place.OVER


SCOPED = ("     drifted()", "-def finish(self):", "-    self.close_all_requests()")


def taken(scope, lines, *others):
    one = hunk(*lines)
    return scope_taken(scope, FILE, (5, 7), ("    self.close_all_requests()\n",), [one], [one, *others]) is not None


def test_a_hunk_that_takes_the_head_of_the_scope_away_ends_the_anchor():
    """Renamed or removed."""
    assert taken("finish", SCOPED)
    assert taken("finish.<locals>.inner", SCOPED)


def test_a_head_with_other_arguments_is_still_there():
    """The hunk puts it again."""
    assert not taken("finish", (*SCOPED, "+def finish(self, why):", "+    self.close_all_requests()"))


def test_a_scope_that_moves_within_the_file_is_still_there():
    """Another hunk puts its head with the anchor behind it; with another text behind it, it is another one."""
    assert not taken("finish", SCOPED, hunk("+def finish(self):", "+    self.close_all_requests()"))
    assert taken("finish", SCOPED, hunk("+def finish(self):", "+    pass"))


def test_a_name_that_begins_alike_tells_nothing():
    """``finish_all`` is not ``finish``."""
    assert not taken("finish", ("-def finish_all(self):",))


def test_a_head_that_the_file_has_twice_is_told_by_the_lines_around_it():
    """Of two methods of one name, the one whose neighbours the hunk shows."""
    both = [*FILE, "def other(self):\n", "    pass_on_everything()\n", "def finish(self):\n", "    self.lay_down()\n"]
    first = hunk("     drifted()", "-def finish(self):", "+def end(self):", "     self.close_all_requests()")
    second = hunk("     drifted()", "-def finish(self):", "+def end(self):", "     self.lay_down()")
    bare = hunk("     drifted()", "-def finish(self):", "+def end(self):", "     drifted()")
    found = {name: scope_taken("finish", both, (5, 7), (), [one], [one]) is not None for name, one in
             {"first": first, "second": second, "bare": bare}.items()}  # fmt: skip
    assert found == {"first": True, "second": False, "bare": False}


TWIN = ("     drifted()", "+def schedule(self):", "+    for request in self.waiting:", "+        take(request, budget)")


def test_a_hunk_that_brings_another_definition_of_the_scope_brings_a_twin():
    """With the anchor in it; one in a definition of another name is none."""
    assert twin_put("Engine.schedule", FORMS, [hunk(*TWIN)]) is not None
    assert twin_put("Engine.finish", FORMS, [hunk(*TWIN)]) is None
    assert twin_put("Engine.schedule", ("nothing",), [hunk(*TWIN)]) is None


def test_what_is_brought_in_one_place_and_taken_in_another_is_no_twin():
    """It has moved."""
    away = hunk("-    for request in self.waiting:", "-        take(request, budget)", "     drifted()")
    assert twin_put("Engine.schedule", FORMS, [hunk(*TWIN), away]) is None


def test_an_anchor_of_the_module_has_a_twin_outside_of_definitions():
    """A second import; in a function it is another place."""
    assert twin_put("", ("import os\n",), [hunk("     drifted()", "+import os")]) is not None
    assert twin_put("", ("import os\n",), [hunk("     drifted()", "+def f():", "+import os")]) is None


def test_hunks_that_would_have_taken_a_form_are_owed():
    """A twin that came with the rest of the diff is no twin once they are made."""
    takes, keeps = hunk("-take(request, budget)"), hunk(" take(request, budget)", "+more()")
    assert owed(("take(request, budget)",), [takes, keeps, takes]) == 2
