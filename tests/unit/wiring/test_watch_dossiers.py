"""Dossiers that other versions kept: never a fault, and never taken for more than they show."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from genesisd.control import watch_wire
from genesisd.store.store import Store
from genesisd.watch.decisions import Decision, DecisionKind, KeptDecision
from genesisd.watch.model import Pin, PinFacts
from genesisd.watch.refs import UPSTREAM, Ref
from genesisd.wiring import watch_views
from genesisd.wiring.watch_dossiers import holds, is_whole, missing

REF = Ref(UPSTREAM, 1)
OLDEST = {
    "patch": "P1",
    "ref": {"repo": UPSTREAM, "number": 1},
    "pin": "now",
    "outcome": "retire",
    "edits": [
        {"edit": "e", "path": "vllm/a.py", "ours": "-a", "upstreams": "-b", "covered": True, "text": "covers it"}
    ],
    "tests": {"tests/catalog/cases/p1.py": "was not run without, was not run with ours (pin now has no environment)"},
    "made_at": 1.0,
    "reason": "upstream has all of it",
}
RAN = {"ran": ["tests/catalog/cases/p1.py"]}
FACTS = (PinFacts(pin="now", slots=("current",), of="0.32.0 abc", head="a" * 40),)
MADE_OF = {"of": "0.32.0 abc", "head": "a" * 40, "ours": "edits"}
BARE, EQUIPPED = Pin(id="now", version="0.32.0"), Pin(id="now", version="0.32.0", python="/env/bin/python")
ASKED = KeptDecision(
    id=1,
    decision=Decision(
        kind=DecisionKind.RETIRE_CANDIDATE, row="r", ref=REF, patches=("P1",), pins=("now",), reason="it is there"
    ),
    opened=0.0,
    seen=0.0,
)


class Patches:
    """One patch, or one that is not implemented any more."""

    def __init__(self, text):
        self.text = text

    def text_of(self, _):
        return self.text


@pytest.fixture
def store(tmp_path):
    store = Store.open(tmp_path / "store.db")
    yield store
    store.close()


async def read(store, kept):
    """The dossiers that are read where ``kept`` lies."""
    row = ("P1", "vllm#1", "now", 1.0, kept if isinstance(kept, str | bytes | int) else json.dumps(kept))
    sql = "INSERT OR REPLACE INTO watch_dossiers (patch, ref, pin, made_at, dossier) VALUES (?, ?, ?, ?, ?)"
    await store._writer.ask(lambda connection: connection.execute(sql, row))
    return await store.watch_decisions.dossiers()


@pytest.mark.parametrize(
    "kept",
    [
        "",
        "{",
        "null",
        "7",
        "[]",
        "{}",
        b"\xff\xfe",
        7,
        OLDEST | {"outcome": "retire-half"},
        OLDEST | {"edits": None},
        OLDEST | {"ref": "vllm#1"},
        OLDEST | {"no_environment": "now"},
        {name: value for name, value in OLDEST.items() if name != "tests"},
    ],
)
async def test_what_is_no_dossier_is_none(store, kept):
    """Cut off, of another kind, or with words that this version does not know: left out, and made again."""
    assert await read(store, kept) == ()


@pytest.mark.parametrize("more", [{}, MADE_OF, MADE_OF | {"later": {"than": "we"}}])
async def test_one_of_another_version_is_shown(store, more):
    """With fields that are missing or too many, as it was made."""
    (one,) = await read(store, OLDEST | more)
    assert (one.no_environment, one.ran, one.tests) == (None, (), OLDEST["tests"])
    shown = watch_wire.dossiers([watch_views.dossier(one, whole=True)])
    assert json.loads(shown)["dossiers"][0]["reason"] == "upstream has all of it"


@pytest.mark.parametrize("facts", [FACTS, ()])
@pytest.mark.parametrize("lacks", ["of", "ours"])
@pytest.mark.parametrize("text", ["edits", ""])
async def test_one_that_does_not_tell_what_of_lets_nothing_be_given_up(store, lacks, facts, text):
    """Also where nothing contradicts it: what pins have was forgotten, or the patch is gone."""
    (one,) = await read(store, OLDEST | {name: value for name, value in MADE_OF.items() if name != lacks})
    assert not holds(one, facts, Patches(text))
    assert missing(ASKED, (one,), facts, Patches(text)) == ("P1 on now",)


async def test_one_that_tells_what_of_counts(store):
    """For its files, its commits and its edits."""
    (one,) = await read(store, OLDEST | MADE_OF)
    assert missing(ASKED, (one,), FACTS, Patches("edits")) == ()
    assert missing(ASKED, (one,), (replace(FACTS[0], of="0.33.0 def"),), Patches("edits")) == ("P1 on now",)


@pytest.mark.parametrize(
    ("more", "pin", "whole"),
    [
        ({}, BARE, True),
        ({}, EQUIPPED, False),
        (RAN, EQUIPPED, True),
        ({"tests": {}}, EQUIPPED, True),
        ({"no_environment": []}, EQUIPPED, True),
        ({"no_environment": ["now"]}, EQUIPPED, False),
        ({"no_environment": ["now"]}, BARE, True),
        ({"no_environment": ["other"]}, EQUIPPED, True),
    ],
)
async def test_one_whose_test_was_not_run_is_made_anew_once_it_can_be(store, more, pin, whole):
    """An earlier version did not keep why it was not: that it never would be is not believed of it."""
    (one,) = await read(store, OLDEST | MADE_OF | more)
    assert is_whole(one, [pin]) is whole
