"""The engine tier takes four clauses, and the audit tells the first that fails."""

import pytest

from genesisd.patches.catalog import catalog
from genesisd.patches.register import load_register
from genesisd.patches.tier import Clause, Tier, audit, tier_of
from tests.unit.patches.made import patch

ALONE = {"title": "Tile narrow batches", "credit": "Genesis"}


@pytest.mark.parametrize(
    ("fields", "failed"),
    [
        (ALONE, None),
        (ALONE | {"credit": ""}, None),
        (ALONE | {"credit": "Genesis, Sander"}, None),
        (ALONE | {"credit": "Genesis and Sander"}, None),
        (ALONE | {"id": "P2"}, Clause.NOT_PUBLIC),
        (ALONE | {"credit": "Genesis, noonghunna"}, Clause.NO_CREDIT),
        (ALONE | {"credit": "Genesis and z1ying"}, Clause.NO_CREDIT),
        (ALONE | {"title": "Keep placeholders out, by Someone"}, Clause.NO_CREDIT),
        (ALONE | {"title": "Keep @z1ying's placeholders out"}, Clause.NO_CREDIT),
        (ALONE | {"title": "Tile narrow batches (#40925)"}, Clause.NO_PULL),
        (ALONE | {"title": "Tile narrow batches as PR 40925 does"}, Clause.NO_PULL),
        (ALONE | {"title": "Tile as in github.com/x/y/pull/1"}, Clause.NO_PULL),
        (ALONE | {"upstream": (40925,)}, Clause.NO_UPSTREAM),
        (ALONE | {"applied_upstream": "0.26"}, Clause.NO_UPSTREAM),
        (ALONE | {"id": "P2", "credit": "z1ying", "upstream": (1,)}, Clause.NOT_PUBLIC),
        (ALONE | {"credit": "z1ying, #1", "upstream": (1,)}, Clause.NO_CREDIT),
    ],
)
def test_one_clause_that_fails_is_enough(fields, failed):
    """All four must hold; the first that does not is the one that is told."""
    found = tier_of(patch(**fields), public={"P2"})
    assert (found.tier, found.failed) == (Tier.COMMUNITY if failed else Tier.ENGINE, failed)


def test_the_audit_tells_each_patch_with_its_clause():
    """One line a patch, sorted, with the clause in words."""
    lines = [str(one) for one in audit([patch(id="P2"), patch(id="P1")], {"P2"})]
    assert lines == ["P1: engine", "P2: community (fails: it is not on the public repository)"]


def test_what_the_lists_name_is_the_communitys():
    """Every id that came with the project is public, whatever else its patch says."""
    public = load_register().records
    assert {one.failed for one in audit(catalog(), public) if one.patch in public} == {Clause.NOT_PUBLIC}
