"""Reports and manifests, read strictly."""

from __future__ import annotations

import json
from typing import Any

import pytest

from genesisd.attest.errors import AttestError
from genesisd.attest.expected import read_expectation
from genesisd.attest.report import Sighting, read_report
from genesisd.attest.roles import Role

REPORT: dict[str, Any] = {
    "format": 1, "pid": 5, "start_ticks": 7, "role": "engine", "title": "t", "build": "b", "python": "3.11.2", "vllm": "/v",
    "items": [{"module": "m", "name": "f", "kind": "function", "state": "live", "digest": "d", "origin": "/o"}],
    "hits": {"P1": 3}, "skips": {"P2": {"why": 2}}, "seq": 4, "at": 1.5,
}  # fmt: skip
ITEM = {"patches": ["P1"], "path": "m.py", "module": "m", "name": "f", "kind": "function", "digest": "d"}
BLIND = {"patches": ["P2"], "path": "m.py", "name": "X", "why": "computed", "covered": True}
ATTEST: dict[str, Any] = {"format": 1, "python": "3.11.2", "items": [ITEM], "unattestable": [BLIND]}


def test_a_report():
    """Each field has its place."""
    found = read_report(json.dumps(REPORT))
    assert (found.pid, found.start_ticks, found.role, found.seq) == (5, 7, Role.ENGINE, 4)
    assert found.items == {("m", "f", "function"): Sighting("live", "d", "/o")}
    assert (found.hits, found.skips, found.faults) == ({"P1": 3}, {"P2": {"why": 2}}, ())


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"format": 2}, "it has format 2, and this genesisd reads format 1"),
        ({"role": "king"}, "'king' is not a valid Role"),
        ({"items": [{}]}, "it has no field 'state'"),
        ({"items": [REPORT["items"][0] | {"state": "well"}]}, "an item is 'well', which is none of"),
        ({"items": 3}, "it is laid out otherwise"),
        ({"hits": []}, "it is laid out otherwise"),
        ({"seq": float("inf")}, "it is laid out otherwise"),
        ({"pid": "x"}, "invalid literal"),
    ],
)
def test_what_is_no_report(change: dict[str, Any], why: str):
    """The reason is a sentence."""
    with pytest.raises(ValueError, match=why):
        read_report(json.dumps(REPORT | change))


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"format": 1}', "[" * 100_000])
def test_what_is_not_even_laid_out_like_one(text: str):
    """Whatever lies there, it is a ValueError and nothing else."""
    with pytest.raises(ValueError):
        read_report(text)


def test_an_expectation():
    """Forms of one thing are one item with several digests; its patches are all of theirs."""
    twice = ATTEST | {"items": [ITEM, ITEM | {"digest": "e", "patches": ["P0"]}]}
    found = read_expectation("b", "/b", twice)
    (item,) = found.items.values()
    assert (item.digests, item.patches, item.full_name) == (frozenset({"d", "e"}), ("P0", "P1"), "m.f")
    assert found.patches() == ("P0", "P1", "P2")
    assert found.holds("/b/vllm/x.py")
    assert not found.holds("/bb/vllm/x.py")


@pytest.mark.parametrize("change", [{"format": 3}, {"items": [{}]}, {"items": None}, {"unattestable": [{}]}])
def test_a_manifest_that_cannot_be_read(change: dict[str, Any]):
    """The error names the build and says how to mend it."""
    with pytest.raises(AttestError, match="the manifest of build b does not say") as caught:
        read_expectation("b", "/b", ATTEST | change)
    assert caught.value.hint is not None
    assert caught.value.fields == {"build": "b"}
