"""Markers on trees: what they show, what they do not prove, and several forms of one pull request."""

from __future__ import annotations

import pytest

from genesisd.watch.looks import look_for, shown
from genesisd.watch.marker_spec import Marker, Pattern
from genesisd.watch.model import Content, Rung
from genesisd.watch.refs import Ref

FILE = "vllm/core/cache.py"
TEXT = """import math


class Cache:
    @property
    def size(self):
        return self.pages * PAGE

    def trim(self):
        self.pages = max(0, self.pages - 1)


def size():
    return math.inf
"""
REF = Ref("vllm-project/vllm", 7)


def marker(present, absent=()):
    return Marker(pr=REF, title="a fix", present=tuple(present), absent=tuple(absent))


def has(text, **more):
    return Pattern(file=FILE, has=text, **more)


GONE = Pattern(file="vllm/core/gone.py", has="anything")


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (has("math.inf"), 14),
        (has("pages * PAGE", within="Cache.size"), 7),
        (has("@property", within="Cache.size"), 5),
        (Pattern(file=FILE, matches=r"^    def \w+\(self\):$"), 6),
        (Pattern(file=FILE, matches=r"max\(0, .*1\)", within="Cache"), 10),
    ],
    ids=str,
)
def test_what_a_file_shows_is_told_with_its_line(pattern, line):
    """Exact text and expressions are found, within a definition where one is named."""
    assert f", line {line}" in shown(pattern, {FILE: TEXT})


@pytest.mark.parametrize(
    "pattern",
    [
        has("math.inf", within="Cache"),
        has("pages * PAGE", within="size"),
        has("pages", within="Cache.nothing"),
        Pattern(file=FILE, matches=r"size.*inf"),
        Pattern(file=FILE, lacks="math"),
        Pattern(file=FILE, lacks="pages", within="Cache.nothing"),
        Pattern(file=FILE, missing=True),
        Pattern(file=FILE, missing=True, within="Cache.trim"),
        Pattern(file="vllm/core/gone.py", lacks="math"),
        GONE,
    ],
    ids=str,
)
def test_what_a_file_does_not_show(pattern):
    """Text of another scope, over a line's end, or in what is not there, shows nothing; nor does what is lacking there."""
    assert shown(pattern, {FILE: TEXT}) is None


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        (Pattern(file=FILE, lacks="torch"), f"no 'torch' in {FILE}"),
        (Pattern(file=FILE, lacks="inf", within="Cache"), f"no 'inf' in Cache of {FILE}"),
        (Pattern(file=FILE, missing=True, within="Cache.grow"), f"Cache.grow is not in {FILE}"),
        (Pattern(file="vllm/core/gone.py", missing=True), "vllm/core/gone.py is not there"),
    ],
)
def test_what_is_lacking_is_shown_where_its_place_is_there(pattern, told):
    """A lack is a sign only in a file and a definition that exist; a missing file or definition is one by itself."""
    assert shown(pattern, {FILE: TEXT}) == told


def test_carriage_returns_hide_nothing():
    """Text over several lines is found in a file with other line ends, on its line."""
    found = shown(has("pages = max(0, self.pages - 1)\n", within=None), {FILE: TEXT.replace("\n", "\r\n")})
    assert found is not None
    assert found.endswith("line 10")


def test_a_file_that_is_no_python_has_no_definitions():
    """A scope in a file that does not parse shows nothing, and the rest of it still does."""
    broken = TEXT + "def (:\n"
    assert shown(has("math.inf", within="size"), {FILE: broken}) is None
    assert shown(has("math.inf"), {FILE: broken}) is not None


@pytest.mark.parametrize(
    ("present", "absent", "content"),
    [
        ([has("math.inf")], [has("math.nan")], Content.PRESENT),
        ([has("math.inf")], [], Content.PRESENT),
        ([has("math.inf"), has("PAGE")], [has("math.nan")], Content.PRESENT),
        ([has("math.nan")], [has("math.inf")], Content.ABSENT),
        ([has("math.nan")], [Pattern(file="vllm/core/gone.py", missing=True)], Content.ABSENT),
        ([has("math.nan")], [], Content.CHANGED),
        ([has("math.nan")], [has("torch.inf")], Content.CHANGED),
        ([has("math.inf"), has("math.nan")], [], Content.CHANGED),
        ([has("math.inf"), has("math.nan")], [has("PAGE")], Content.CHANGED),
        ([has("math.inf")], [has("PAGE")], Content.CHANGED),
        ([has("math.nan")], [has("PAGE"), has("torch.inf")], Content.CHANGED),
        ([GONE], [], Content.NOT_APPLICABLE),
        ([GONE], [has("torch.inf")], Content.CHANGED),
    ],
)
def test_all_signs_of_one_side_and_none_of_the_other(present, absent, content):
    """Present and absent want all their signs, and none, or not all, of the other's; the rest has changed."""
    found = look_for([marker(present, absent)], {FILE: TEXT})
    assert (found.content, found.rung) == (content, Rung.MARKERS)
    assert found.evidence


def test_forms_of_a_pull_request_add_up():
    """The form that fits the tree decides, whichever it is; two forms that contradict each other are neither."""
    fits, misses = marker([has("math.inf")], [has("math.nan")]), marker([has("torch.inf")], [has("torch.nan")])
    before = marker([has("math.nan")], [has("PAGE")])
    assert look_for([misses, fits], {FILE: TEXT}).content is Content.PRESENT
    assert look_for([misses, before], {FILE: TEXT}).content is Content.ABSENT
    assert look_for([misses, misses], {FILE: TEXT}).content is Content.CHANGED
    assert look_for([marker([GONE]), misses], {FILE: TEXT}).content is Content.CHANGED
    both = look_for([fits, before], {FILE: TEXT})
    assert both.content is Content.CHANGED
    assert " but " in both.evidence


def test_no_marker_says_nothing():
    """Without a row there is no verdict."""
    assert look_for([], {FILE: TEXT}).content is Content.UNKNOWN
