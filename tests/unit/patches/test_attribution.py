"""What is switched on is accounted for: roles with what they need, findings, coverage, and its floor."""

import pytest
from pydantic import ValidationError

from genesisd.patches.attribution import Severity, below_floor, coverage, lint, on_with_roles, unknown_ids
from genesisd.patches.flags import Alias, Flag
from genesisd.patches.spec import Attribution, PatchesSpec, Policy, Role
from tests.unit.patches.made import patch

CATALOG = [patch(id="P1", flag=Flag("P1_A")), patch(id="P2", default_on="harmless"), patch(id="P3", flag=Flag("P3_C"))]
ON = {"GENESIS_ENABLE_P1_A": "1"}


@pytest.mark.parametrize(
    ("role", "needs"),
    [
        ("load_bearing", "note"),
        ("suspected_regression", "note"),
        ("optional_perf", "bench_evidence"),
        ("defensive", None),
        ("no_op", None),
        ("unknown", None),
    ],
)
def test_a_role_needs_its_reason(role, needs):
    """What it needs is named; a blank one counts for nothing."""
    if needs is None:
        assert Attribution(role=role).role == role
        return
    assert getattr(Attribution(role=role, **{needs: "why"}), needs) == "why"
    for given in ({}, {"note": "x", "bench_evidence": "x"} | {needs: None}):
        with pytest.raises(ValidationError, match=f"role {role} needs '{needs}'"):
            Attribution(role=role, **given)
    with pytest.raises(ValidationError, match="at least 1"):
        Attribution(role=role, **{needs: "  "})


def test_the_words_are_those_that_operators_write():
    """They stand in files: renaming one breaks them."""
    assert [*Role] == ["load_bearing", "defensive", "optional_perf", "suspected_regression", "no_op", "unknown"]
    assert [*Policy] == ["compat", "safe", "minimal"]


E, W = Severity.ERROR, Severity.WARN


@pytest.mark.parametrize(
    ("environ", "roles", "found"),
    [
        (ON, {"P1": "defensive", "P2": "no_op"}, []),
        (ON, {"P2": "no_op"}, [(W, ("env", "GENESIS_ENABLE_P1_A"), "P1 is switched on and nobody says why")]),
        (ON, {"P1": "unknown", "P2": "no_op"}, [(W, ("env", "GENESIS_ENABLE_P1_A"), "P1 is switched on and nobody")]),
        ({}, {}, [(W, ("patches", "attribution"), "P2 is switched on and nobody says why")]),
        (
            ON,
            {"P1": "suspected_regression", "P2": "no_op"},
            [(E, ("patches", "attribution", "P1", "role"), "P1 is suspected of a regression, and switched on")],
        ),
        ({}, {"P1": "suspected_regression", "P2": "no_op"}, []),
        (
            {"GENESIS_ENABLE_P1_A": "0"},
            {"P1": "load_bearing", "P2": "no_op"},
            [(E, ("patches", "attribution", "P1", "role"), "P1 is load_bearing, and not switched on")],
        ),
        ({}, {"P900": "load_bearing", "P2": "no_op"}, []),
    ],
)
def test_roles_agree_with_what_is_on(environ, roles, found):
    """A finding stands at the key that switches the patch on, or at its role."""
    spec = PatchesSpec(attribution={name: Attribution(role=role, note="n") for name, role in roles.items()})
    seen = lint(spec, environ, CATALOG, "0.1")
    assert [(one.severity, one.at) for one in seen] == [(severity, at) for severity, at, _ in found]
    assert all(one.text.startswith(text) for one, (_, _, text) in zip(seen, found, strict=True))


def test_ids_are_those_of_the_register():
    """Another spelling is told what it is here, and a slip the nearest."""
    names = {"p1": "P1", "pn401": "PN401"}
    spec = PatchesSpec(attribution={"p1": Attribution(), "P1": Attribution()}, allow_retired=("PN410", "x"))
    found = [
        (one.at, one.text, one.severity)
        for one in unknown_ids(spec, lambda name: names.get(name.casefold()), names.values())
    ]
    assert found == [
        (("patches", "attribution", "p1"), "'p1' is written 'P1' here", E),
        (("patches", "allow_retired", 0), "no patch 'PN410' in the register; did you mean 'PN401'?", E),
        (("patches", "allow_retired", 1), "no patch 'x' in the register", E),
    ]


def test_a_part_has_the_role_of_the_coordinator_that_switches_it():
    """What is on by one switch is accounted for once."""
    patches = [*CATALOG, patch(id="P5", flag=Flag("P5_E"), parts=("P1",))]
    found = on_with_roles({"P5": Attribution(role="defensive")}, {"GENESIS_ENABLE_P5_E": "1"}, patches, "0.1")
    by = "GENESIS_ENABLE_P5_E"
    assert found == {"P1": (Role.DEFENSIVE, by), "P2": (Role.UNKNOWN, ""), "P5": (Role.DEFENSIVE, by)}


def test_a_name_that_expired_switches_nothing():
    """The version of this program decides."""
    patches = [patch(id="P1", flag=Flag("P1_A", (Alias("P1", "0.2"),)))]
    environ = {"GENESIS_ENABLE_P1": "1"}
    assert [len(lint(PatchesSpec(), environ, patches, program)) for program in ("0.1", "0.2")] == [1, 0]


@pytest.mark.parametrize(
    ("roles", "share"),
    [([], 1.0), (["unknown"], 0.0), (["unknown", "no_op", "defensive"], 2 / 3), (["load_bearing"], 1.0)],
)
def test_coverage_is_the_share_with_a_role(roles, share):
    """With nothing on there is nothing to account for."""
    assert coverage([Role(role) for role in roles]) == share


@pytest.mark.parametrize(
    ("measured", "floor", "text"),
    [
        ({"a": 0.5}, {"a": 0.5}, None),
        ({"a": 2 / 3}, {"a": 0.66}, None),
        ({"a": 0.29}, {"a": 0.29}, None),
        ({"a": 0.49}, {"a": 0.5}, "a: 0.49 is below its floor 0.5"),
        ({"a": 0.6}, {"a": 0.5}, "a: raise its floor from 0.5 to 0.6"),
        ({"a": 0.6}, {}, "a: has no floor; add 0.6"),
        ({}, {"a": 0.6}, "a: has a floor, and is no configuration any more"),
    ],
)
def test_the_floor_may_only_rise(measured, floor, text):
    """Below it is wrong, and so is above it: the floor has to follow."""
    found = below_floor(measured, floor)
    assert len(found) == (text is not None)
    assert all(one.startswith(text) for one in found)
