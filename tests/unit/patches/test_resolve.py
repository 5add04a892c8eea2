"""The gates, in their order, and what falls with what."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genesisd.patches.conditions import Fact, Is
from genesisd.patches.flags import Alias, Flag
from genesisd.patches.lifecycle import Implementation, Lifecycle, RetiredBecause, Retirement
from genesisd.patches.model import ConflictSet
from genesisd.patches.order import BrokenChain
from genesisd.patches.resolve import Gate, Request, Ruling, resolve
from genesisd.versions import parse_version
from tests.unit.patches.made import edit, patch

DEV = "0.23.1rc1.dev748+g2dfaae752"
HYBRID = Is(Fact.IS_HYBRID, (True,))


def flagged(id, **more):  # noqa: A002
    return patch(**{"id": id, "flag": Flag(id)} | more)


def request(*on, version="0.32.0", facts=None, allow=(), conflicts=(), **environ):
    switched = {f"GENESIS_ENABLE_{name}": "1" for name in on}
    return Request(parse_version(version), switched | environ, "1.0.0", facts or {}, frozenset(allow), tuple(conflicts))


RETIRED = {"lifecycle": Lifecycle.RETIRED, "retirement": Retirement(RetiredBecause.SUPERSEDED, "P9")}

ALONE = [
    (flagged("A"), request("A"), None, "switched on by GENESIS_ENABLE_A"),
    (flagged("A"), request(SNDR_ENABLE_A="true"), None, "SNDR_ENABLE_A"),
    (flagged("A"), request(), Gate.NOT_ENABLED, "nothing"),
    (flagged("A", default_on="fixes a crash"), request(), None, "fixes a crash"),
    (patch(id="A"), request(), Gate.NOT_ENABLED, "nothing"),
    (patch(id="A", default_on="needed"), request(), None, "needed"),
    (flagged("A", default_on="fixes"), request(GENESIS_DISABLE_A="1"), Gate.DISABLED, "GENESIS_DISABLE_A"),
    (flagged("A", default_on="fixes"), request(GENESIS_ENABLE_A="0"), Gate.DISABLED, "GENESIS_ENABLE_A"),
    (flagged("A"), request("A", SNDR_DISABLE_A="1"), Gate.DISABLED, "SNDR_DISABLE_A"),
    (flagged("A"), request("A", GENESIS_DISABLE_A="0"), None, "GENESIS_ENABLE_A"),
    (flagged("A"), request(GENESIS_ENABLE_A="mabye"), Gate.DISABLED, "GENESIS_ENABLE_A"),
    (flagged("A", **RETIRED), request("A"), Gate.RETIRED, "superseded, replaced by P9"),
    (flagged("A", **RETIRED), request("A", allow="A"), None, ""),
    (flagged("A", **RETIRED), request(allow="A"), Gate.NOT_ENABLED, ""),
    (flagged("A", lifecycle=Lifecycle.DEPRECATED), request("A"), Gate.RETIRED, "deprecated"),
    (flagged("A", lifecycle=Lifecycle.TOMBSTONE), request("A", allow="A"), Gate.RETIRED, "burned"),
    (flagged("A", versions=">=0.23,<0.26"), request("A"), Gate.VERSION, "for >=0.23,<0.26, not for 0.32.0"),
    (flagged("A", versions=">=0.23,<0.33"), request("A"), None, ""),
    (flagged("A", applies_to=HYBRID), request("A", facts={Fact.IS_HYBRID: True}), None, ""),
    (
        flagged("A", applies_to=HYBRID),
        request("A", facts={Fact.IS_HYBRID: False}),
        Gate.APPLIES_TO,
        "is_hybrid is False",
    ),
    (flagged("A", applies_to=HYBRID), request("A"), Gate.APPLIES_TO, "cannot tell: is_hybrid is not known"),
    (flagged("A", requires=("B",)), request("A"), Gate.REQUIRES, "B (unknown)"),
]


@pytest.mark.parametrize(("one", "asked", "gate", "reason"), ALONE, ids=range(len(ALONE)))
def test_the_gates_of_one_patch(one, asked, gate, reason):
    """The first shut gate is the verdict, with the reason in words."""
    ruling = resolve([one], asked).rulings["A"]
    assert (ruling.gate, reason in ruling.reason) == (gate, True), ruling
    assert resolve([one], asked).selected == (() if gate else ("A",))


SHUT = {
    Gate.DISABLED: lambda p, r: (p, {**r, "GENESIS_DISABLE_A": "1"}),
    Gate.NOT_ENABLED: lambda p, r: (p, {k: v for k, v in r.items() if not k.endswith("ENABLE_A")}),
    Gate.QUARANTINED: lambda p, r: (p, {**r, "quarantined": {"A": "it makes answers wrong"}}),
    Gate.RETIRED: lambda p, r: (p | RETIRED, r),
    Gate.VERSION: lambda p, r: (p | {"versions": "<0.1"}, r),
    Gate.APPLIES_TO: lambda p, r: (p | {"applies_to": HYBRID}, r),
    Gate.REQUIRES: lambda p, r: (p | {"requires": ("C",)}, r),
    Gate.CONFLICT: lambda p, r: (p | {"conflicts": ("B",)}, r),
}


def test_every_gate_can_be_shut_here():
    """The table covers the gates, in their order."""
    assert list(SHUT) == list(Gate)


@pytest.mark.parametrize(("first", "later"), list(itertools.combinations(Gate, 2)))
def test_the_first_shut_gate_wins(first, later):
    """With two gates shut the earlier one is told."""
    words, environ = {}, {"GENESIS_ENABLE_A": "1", "GENESIS_ENABLE_B": "1"}
    for gate in (later, first):
        words, environ = SHUT[gate](words, environ)
    quarantined = environ.pop("quarantined", {})
    catalog = [flagged("A", **words), flagged("B"), flagged("C")]
    asked = replace(request(**environ), quarantined=quarantined)
    assert resolve(catalog, asked).rulings["A"].gate is first


DEV_RANGES = [
    ("<0.23.1", True),
    ("<=0.23.1", True),
    (">=0.23.1", False),
    (">=0.23.0", True),
    (">0.23.0", True),
    ("==0.23.*", True),
    ("!=0.23.*", False),
    ("~=0.23.0", True),
    ("~=0.23.1", False),
    ("==0.23.1rc1.dev748", True),
    ("!=0.23.1rc1.dev748", False),
    ("===0.23.1rc1.dev748+g2dfaae752", True),
    ("===0.23.1rc1.dev748", False),
    (">0.23.1rc1.dev748", False),
    ("<0.23.1rc1.dev748", False),
    (">=0.23.0,<0.24", True),
]


@pytest.mark.parametrize(("versions", "inside"), DEV_RANGES)
def test_a_development_pin_at_the_version_gate(versions, inside):
    """The gate takes a development pin by its order, and being switched on does not open it."""
    ruling = resolve([flagged("A", versions=versions)], request("A", version=DEV)).rulings["A"]
    assert (ruling.gate is None) is inside
    assert ruling.gate in {None, Gate.VERSION}


def test_overrides_and_beaten_switches_are_told():
    """What an operator overrode, or contradicted, is in the notes."""
    allowed = resolve([flagged("A", **RETIRED)], request("A", allow="A")).rulings["A"]
    assert allowed.notes == ("retired, and applied because allow_retired names it",)
    beaten = resolve([flagged("A")], request("A", GENESIS_DISABLE_A="1")).rulings["A"]
    assert beaten.notes == ("GENESIS_DISABLE_A beats GENESIS_ENABLE_A",)


def test_old_names_work_until_they_expire():
    """An alias switches until its version, and then says what to write instead."""
    flag = Flag("P65_DOWNGRADE", (Alias("P65", "1.0.0"), Alias("P65_OLD", "2.0.0")))
    late = resolve([patch(id="A", flag=flag)], request("P65")).rulings["A"]
    assert (late.gate, late.notes) == (
        Gate.NOT_ENABLED,
        ("GENESIS_ENABLE_P65 was removed in 1.0.0: write GENESIS_ENABLE_P65_DOWNGRADE",),
    )
    assert resolve([patch(id="A", flag=flag)], request("P65_OLD")).selected == ("A",)


def test_a_coordinator_switches_its_parts():
    """A coordinator's flag switches its parts on and off; off beats a part's own on."""
    lead = flagged("LEAD", parts=("A",), implementation=Implementation.COORDINATOR)
    assert resolve([lead, flagged("A")], request("LEAD")).rulings["A"].gate is None
    off = resolve([lead, flagged("A")], request("A", GENESIS_DISABLE_LEAD="1")).rulings["A"]
    assert (off.gate, off.reason) == (Gate.DISABLED, "switched off by GENESIS_DISABLE_LEAD")


def gates(catalog, asked):
    return {name: ruling.gate for name, ruling in resolve(catalog, asked).rulings.items()}


def test_what_requires_the_shut_out_is_shut_out():
    """A missing requirement falls through a whole line of patches."""
    catalog = [flagged("C", requires=("B",)), flagged("B", requires=("A",)), flagged("A")]
    assert gates(catalog, request("A", "B", "C")) == {"A": None, "B": None, "C": None}
    assert gates(catalog, request("B", "C")) == {"A": Gate.NOT_ENABLED, "B": Gate.REQUIRES, "C": Gate.REQUIRES}


def test_a_conflict_shuts_out_both_and_what_needs_them():
    """Neither side of a conflict is chosen by its place in the list; who requires one falls too."""
    catalog = [flagged("A"), flagged("B", conflicts=("A",)), flagged("C", requires=("A",)), flagged("D")]
    assert gates(catalog, request("A", "B", "C", "D")) == {
        "A": Gate.CONFLICT,
        "B": Gate.CONFLICT,
        "C": Gate.REQUIRES,
        "D": None,
    }
    assert gates(catalog, request("A", "C")) == {"A": None, "B": Gate.NOT_ENABLED, "C": None, "D": Gate.NOT_ENABLED}


def test_a_conflict_with_what_does_not_stand_is_none():
    """A patch that falls to an earlier gate conflicts with nobody."""
    catalog = [flagged("A", requires=("X",)), flagged("B", conflicts=("A",))]
    assert gates(catalog, request("A", "B")) == {"A": Gate.REQUIRES, "B": None}


def test_a_conflict_set_needs_all_its_members():
    """A named set conflicts only when all of it is on, and says its name and reason."""
    catalog = [flagged("P83"), flagged("P84"), flagged("P85")]
    together = ConflictSet("prefix-cache trio", frozenset({"P83", "P84", "P85"}), "29% slower with prefix caching")
    asked = request("P83", "P84", "P85", conflicts=[together])
    assert set(gates(catalog, asked).values()) == {Gate.CONFLICT}
    assert "29% slower" in resolve(catalog, asked).rulings["P84"].reason
    assert gates(catalog, request("P83", "P84", conflicts=[together]))["P83"] is None


CHAIN = [
    flagged("PN353A", edits=(edit("x", "y"),)),
    flagged("PN399", edits=(edit("y", "z", after="PN353A"),)),
    flagged("PN400", edits=(edit("z", "q", after="PN399"),)),
]


@pytest.mark.parametrize(
    ("words", "environ", "why"),
    [
        (RETIRED, {}, "retired: retired: superseded, replaced by P9"),
        ({}, {"GENESIS_DISABLE_PN353A": "1"}, "disabled: switched off by GENESIS_DISABLE_PN353A"),
        ({"versions": "<0.30"}, {}, "version: for <0.30, not for 0.32.0"),
    ],
)
def test_a_chain_without_its_base_fails_the_plan(words, environ, why):
    """Taking away the base of a chain is told with everything that stands on it."""
    catalog = [flagged("PN353A", edits=(edit("x", "y"),), **words), *CHAIN[1:]]
    found = resolve(catalog, request("PN353A", "PN399", "PN400", **environ))
    assert found.broken == (BrokenChain("PN353A", why, ("PN399", "PN400")),)


def test_a_chain_nobody_stands_on_breaks_nothing():
    """A base that is off is no matter when its dependants are off as well."""
    assert resolve(CHAIN, request("PN353A")).broken == ()
    assert resolve(CHAIN, request()).broken == ()


def test_the_order_is_the_declared_one_then_by_id():
    """Bases, requirements and what is followed come first; the rest is sorted."""
    catalog = [flagged("D"), flagged("A", follows=("C",)), flagged("C"), flagged("B", requires=("D",))]
    assert resolve(catalog, request("A", "B", "C", "D")).selected == ("C", "D", "A", "B")


@given(st.permutations(range(6)), st.sets(st.sampled_from("ABCDEF")))
def test_the_listing_order_means_nothing(order, on):
    """Rulings, order and broken chains are the same however the catalog is listed."""
    catalog = [
        flagged("A", conflicts=("B",)),
        flagged("B"),
        flagged("C", requires=("A",)),
        flagged("D", edits=(edit("x", "y", after="C"),)),
        flagged("E", follows=("D",)),
        flagged("F", requires=("E",)),
    ]
    asked = request(*on)
    assert resolve([catalog[index] for index in order], asked) == resolve(catalog, asked)


BEATEN = ("GENESIS_ENABLE_A='maybe' is neither on (1) nor off (0) and counts as off",)
TOLD = [
    ([flagged("A")], request(), Ruling("A", Gate.NOT_ENABLED, "nothing switches it on")),
    (
        [flagged("A")],
        request(GENESIS_ENABLE_A="maybe"),
        Ruling("A", Gate.DISABLED, "switched off by GENESIS_ENABLE_A", BEATEN),
    ),
    (
        [flagged("A", lifecycle=Lifecycle.TOMBSTONE)],
        request("A"),
        Ruling("A", Gate.RETIRED, "the id is burned; no override applies it"),
    ),
    (
        [flagged("A", applies_to=HYBRID)],
        request("A", facts={Fact.IS_HYBRID: False}),
        Ruling("A", Gate.APPLIES_TO, "is_hybrid is False, not True"),
    ),
    (
        [flagged("A", lifecycle=Lifecycle.RETIRED, retirement=Retirement(RetiredBecause.SUPERSEDED))],
        request("A"),
        Ruling("A", Gate.RETIRED, "retired: superseded"),
    ),
    (
        [flagged("A", requires=("X", "C")), flagged("C")],
        request("A"),
        Ruling("A", Gate.REQUIRES, "requires C (not_enabled), X (unknown)"),
    ),
    (
        [flagged("A"), flagged("B", conflicts=("A",))],
        request("A", "B"),
        Ruling("A", Gate.CONFLICT, "conflicts with B: switch one of them off"),
    ),
    (
        [flagged("A", conflicts=("B",)), flagged("B")],
        request("A", "B"),
        Ruling("A", Gate.CONFLICT, "conflicts with B: switch one of them off"),
    ),
    (
        [flagged("A"), flagged("B")],
        request("A", "B", conflicts=[ConflictSet(name, frozenset({"A", "B"}), "slow") for name in ("two", "one")]),
        Ruling("A", Gate.CONFLICT, "one (A, B): slow"),
    ),
]


@pytest.mark.parametrize(("catalog", "asked", "ruling"), TOLD, ids=range(len(TOLD)))
def test_a_ruling_in_full(catalog, asked, ruling):
    """A ruling is the patch, the gate, the reason as people read it, and notes."""
    assert resolve(catalog, asked).rulings["A"] == ruling


@pytest.mark.parametrize(
    "words", [{"requires": ("X",)}, {"conflicts": ("B",)}, {}], ids=["requires", "conflict", "none"]
)
def test_notes_outlive_every_later_gate(words):
    """What was noted about the switches is told whichever gate is shut after them."""
    catalog = [flagged("A", lifecycle=Lifecycle.DEPRECATED, **words), flagged("B")]
    ruling = resolve(catalog, request("A", "B", allow=["A"])).rulings["A"]
    assert (ruling.patch, len(ruling.notes)) == ("A", 1)
