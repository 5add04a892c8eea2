"""What the watch is told of patch ids."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genesisd.patches.catalog import catalog
from genesisd.patches.edits import NewFile
from genesisd.patches.lifecycle import Lifecycle, RetiredBecause, Retirement, StableKind
from genesisd.patches.register import Register, load_register
from genesisd.patches.register_spec import PatchRecord
from genesisd.watch.refs import parse_ref
from genesisd.wiring.patch_facts import CHECKOUT, PatchFacts
from tests.unit.patches.made import edit, patch


def record(**fields):
    return PatchRecord.model_validate(fields)


RECORDS = {
    "P1": record(title="Old words", family="scheduler", lifecycle="stable", implemented=True, upstream=["vllm#7", "other#3", "vllm#9"]),
    "P2": record(title="Ended", lifecycle="retired", because="merged"),
    "P3": record(title="Given way", family="moe", lifecycle="experimental", superseded_by="P1"),
    "PN4": record(title="Never seen", planned=True, aliases=["N4"]),
    "PN5": record(),
}  # fmt: skip


def facts(*patches, checkout=None):
    return PatchFacts(Register(RECORDS), patches, checkout or CHECKOUT / "none")


ONE = replace(
    patch(edit("a", "b", "run", path="vllm/x.py"), edit("c", "d", "stop", path="vllm/x.py", id="two"), id="P1"),
    title="New words",
    upstream=(9, 8),
)


def test_an_implemented_patch_is_told_of_by_both():
    """The catalog's words and pull requests come first, then what the register adds and somebody can be asked about."""
    found = facts(ONE).facts()["P1"]
    assert (found.title, found.implemented, found.active, found.retired) == ("New words", True, True, False)
    assert found.upstream == tuple(map(parse_ref, ("vllm#9", "vllm#8", "vllm#7")))
    assert (found.files, found.required) == (("vllm/x.py",), True)


def test_the_text_of_a_patch_is_what_it_looks_for_and_writes():
    """Other words about it leave it the same; another edit, or another letter of one, does not."""
    told = facts(ONE).text_of("P1")
    assert told == facts(replace(ONE, title="Newer words")).text_of("P1") != ""
    other = replace(ONE, edits=(*ONE.edits[:1], edit("c", "e", "stop", path="vllm/x.py", id="two")))
    assert len({told, facts(other).text_of("P1"), facts(replace(ONE, edits=ONE.edits[:1])).text_of("P1")}) == 3
    assert facts(ONE).text_of("P2") == facts(ONE).text_of("nobody") == ""


def test_an_id_that_is_only_known_binds_nothing():
    """Neither files nor anchors; what is planned, retired or superseded says so."""
    found = facts(ONE).facts()
    assert [(one.implemented, one.active, one.files, one.required) for name, one in found.items() if name != "P1"] == [
        (False, False, (), False)
    ] * 4
    assert {name for name, one in found.items() if one.retired} == {"P2"}
    assert {name for name, one in found.items() if one.planned} == {"PN4"}
    assert found["P3"].superseded_by == "P1"
    assert found["PN5"].title == ""


@pytest.mark.parametrize(
    "ended",
    [
        replace(ONE, lifecycle=Lifecycle.DEPRECATED),
        replace(ONE, lifecycle=Lifecycle.RETIRED, retirement=Retirement(RetiredBecause.SUPERSEDED, "P3")),
        replace(ONE, lifecycle=Lifecycle.TOMBSTONE),
    ],
)
def test_a_patch_that_ended_is_not_active(ended):
    """It is in no build, whatever the register still says of it."""
    found = facts(ended).facts()["P1"]
    assert (found.implemented, found.active, found.retired) == (True, False, True)
    assert found.superseded_by == (ended.retirement.replaced_by if ended.retirement else None)


@pytest.mark.parametrize(
    ("edits", "required"),
    [
        ([edit("a", "b", "run", required=False)], False),
        ([NewFile("new", "vllm/y.py", "x = 1\n")], False),
        ([edit("a", "b", "run", required=False), edit("c", "d", "run", id="two")], True),
    ],
)
def test_only_what_must_find_its_place_tells_of_drift(edits, required):
    """An optional edit is skipped in silence, and a new file fits any tree."""
    assert facts(patch(*edits, id="P1")).facts()["P1"].required is required


def test_a_case_of_the_checkout_proves_its_patch(tmp_path):
    """By the id that it names; without a checkout the catalog's word counts."""
    folder = tmp_path / "tests" / "catalog" / "cases"
    folder.mkdir(parents=True)
    (folder / "p_one.py").write_text('"""Words."""\n\nID = "P1"\n')
    (folder / "__init__.py").write_text("")
    assert facts(ONE, checkout=tmp_path).facts()["P1"].proven_by == "tests/catalog/cases/p_one.py"
    assert facts(ONE).facts()["P1"].proven_by == ""
    stable = replace(ONE, lifecycle=Lifecycle.STABLE, stable_kind=StableKind.BEHAVIOUR)
    assert facts(stable).facts()["P1"].proven_by == "its behaviour test"


def test_names_are_found_in_any_form():
    """In any case of letters, by an alias, and in the catalog alone."""
    known = facts(ONE, replace(ONE, id="PN99"))
    assert [known.find(one) for one in ("p1", "n4", "PN4", "pn99", "P77")] == ["P1", "PN4", "PN4", "PN99", None]
    assert known.facts()["PN99"].implemented


def test_the_project_itself():
    """Every id of the register is there, every patch of the catalog is implemented, and those of the clone are proven."""
    known = PatchFacts()
    found = known.facts()
    assert set(found) == set(load_register().records)
    assert {name for name, one in found.items() if one.implemented} == {one.id for one in catalog()}
    proven = {name for name, one in found.items() if one.proven_by.startswith("tests/")}
    if (CHECKOUT / "tests" / "catalog" / "cases").is_dir():
        assert proven == {one.id for one in catalog()}
        assert all((CHECKOUT / found[name].proven_by).is_file() for name in proven)
    assert known.facts() is found
