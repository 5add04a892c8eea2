"""Markers and the ladder of content on real releases: what they say, and what people found there."""

from __future__ import annotations

import json
import random
import re
from itertools import pairwise
from pathlib import Path

import pytest

from genesisd.watch.content import judge
from genesisd.watch.diffs import read_diff
from genesisd.watch.gates import Barrier, stand
from genesisd.watch.looks import look_for
from genesisd.watch.markers import load
from genesisd.watch.model import Content
from genesisd.watch.refs import Ref
from genesisd.watch.text import Names
from genesisd.wiring.tree_texts import TreeTexts
from tests.catalog.releases import RELEASES
from tests.helpers.headed_diff import diff

pytestmark = pytest.mark.catalog
ROOT = Path(__file__).parents[2]
GATHERED = ROOT.parent / "shared" / "fixtures" / "pull_requests.json"
MARKERS = load()
PLACES_GONE = {("0.32.0", 40886), ("0.33.0", 40886)}
"""vllm#55911 removed what it was about."""


@pytest.fixture(scope="session")
def texts(tree):
    """``texts(version)``: the release's files by path."""
    return {version: TreeTexts(tree(version), keep=4096) for version in RELEASES}.__getitem__


def test_every_marker_tells_of_every_release(texts):
    """No row is silent about a release, and none is sure of both sides at once."""
    found = {
        (ref, version): look_for(rows, texts(version)) for ref, rows in MARKERS.by_ref.items() for version in RELEASES
    }
    assert {fact.content for fact in found.values()} <= set(Content) - {Content.UNKNOWN}
    assert all(fact.evidence for fact in found.values())


def test_the_page_says_what_the_markers_say(texts):
    """The table in the page is of these rows on these releases."""
    page = (ROOT / "docs" / "markers.md").read_text()
    told = dict(re.findall(r"^\| (vllm#\d+) [^|]*\| (.*) \|$", page, re.MULTILINE))
    for ref, rows in MARKERS.by_ref.items():
        seen = [str(look_for(rows, texts(version)).content).replace("-", " ") for version in RELEASES]
        assert told[str(ref)] == " | ".join(seen), ref
    assert len(told) == len(MARKERS.by_ref)


@pytest.mark.skipif(not GATHERED.is_file(), reason="the facts that were gathered by hand are not part of a clone")
def test_markers_agree_with_what_people_found(texts):
    """What people saw is present, and what they did not see is present nowhere; a changed place is one of theirs too."""
    for facts in json.loads(GATHERED.read_text()):
        seen = facts["content_present_in"] or {}
        for version in seen.keys() & set(RELEASES):
            content = look_for(MARKERS.of(Ref(facts["repo"], facts["number"])), texts(version)).content
            if content is Content.CHANGED:
                refactored = "refactored" in (facts["needle_note"] or "") and not seen[version]
                assert refactored or (version, facts["number"]) in PLACES_GONE, (version, facts["number"])
            else:
                assert (content is Content.PRESENT) == seen[version], (version, facts["number"], content)


def test_the_turboquant_gate_is_open_on_every_release(texts):
    """Each of these releases was cut before what breaks, or after what mends it."""
    for version in RELEASES:
        contents = {ref: look_for(rows, texts(version)) for ref, rows in MARKERS.by_ref.items()}
        (fact,) = stand(MARKERS.gates, version, contents, {"llm": {"is_turboquant": True}})
        assert fact.barrier is Barrier.OPEN, (version, fact.reason)


def test_the_turboquant_gate_would_shut_between_the_two(texts):
    """A tree that has what breaks and nothing that mends it, as main had for a day, is told as shut."""
    path = "vllm/v1/worker/gpu/attn_utils.py"
    broken = {
        path: "def _reshape_kv_cache():\n    layer = 'auto' if kv_cache_spec.kv_quant_mode == KVQuantMode.NONE else d\n"
        "    shape(cache_dtype_str=layer_cache_dtype)\n",
        "vllm/v1/kv_cache_interface.py": "class KVQuantMode:\n    NONE = 0\n",
    }
    contents = {ref: look_for(rows, broken) for ref, rows in MARKERS.by_ref.items()}
    (fact,) = stand(MARKERS.gates, "dev", contents, {"llm": {"is_turboquant": True}})
    assert fact.barrier is Barrier.SHUT
    assert fact.blocks


@pytest.mark.parametrize(("old", "new"), list(pairwise(RELEASES)))
def test_changes_between_releases_are_never_turned_round(texts, old, new):
    """What changed in a file is never told as present in the release before it, nor as absent in the one after it."""
    before, after = texts(old), texts(new)
    both = sorted(path for path in before if path.endswith(".py") and path in after and before[path] != after[path])
    names = {old: Names(before), new: Names(after)}
    told = {old: 0, new: 0}
    for path in random.Random(7).sample(both, 40):
        changes = read_diff(diff(before[path], after[path], path))
        was, now = judge(changes, before, names=names[old]).content, judge(changes, after, names=names[new]).content
        assert was is not Content.PRESENT, path
        assert now is not Content.ABSENT, path
        told[old] += was is Content.ABSENT
        told[new] += now is Content.PRESENT
    assert min(told.values()) >= 30, "the judge says neither too often to be of use"
