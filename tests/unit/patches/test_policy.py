"""Policies leave out what their name says, and never switch anything on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genesisd.patches.flags import Alias, Flag, variables
from genesisd.patches.model import ConflictSet
from genesisd.patches.parameters import Kind, Parameter
from genesisd.patches.policy import apply_policy, diff
from genesisd.patches.spec import Attribution, Policy, Role
from genesisd.patches.switches import switched_on
from tests.unit.patches.made import patch

NEW = "0.2"
CATALOG = [
    patch(id="P1", flag=Flag("P1_A"), parameters=(Parameter("GENESIS_P1_SIZE", Kind.INT, 1),)),
    patch(id="P2", flag=Flag("P2_B", (Alias("P2"), Alias("P2_OLD", "0.1"))), requires=("P1",)),
    patch(id="P3", flag=Flag("P3_C"), default_on="harmless everywhere", conflicts=("P4",)),
    patch(id="P4", flag=Flag("P4_D")),
    patch(id="P5", flag=Flag("P5_E"), parts=("P1", "P2")),
    patch(id="P6"),
    patch(id="P7", default_on="a library that others use"),
]
NOTED = {
    Role.LOAD_BEARING: {"note": "n"},
    Role.SUSPECTED_REGRESSION: {"note": "n"},
    Role.OPTIONAL_PERF: {"bench_evidence": "b"},
}


def entries(**roles):
    return {name: Attribution(role=role, **NOTED.get(Role(role), {})) for name, role in roles.items()}


def plan(environ, policy=None, conflicts=(), **roles):
    return apply_policy(environ, policy and Policy(policy), entries(**roles), CATALOG, NEW, conflicts)


E = "GENESIS_ENABLE_"
D = "GENESIS_DISABLE_"


@pytest.mark.parametrize(
    ("environ", "policy", "roles", "after", "included"),
    [
        # No policy, and compat: only what is off already goes.
        ({E + "P1_A": "1", E + "P4_D": "0"}, None, {}, {E + "P1_A": "1", E + "P4_D": "0"}, ["P1", "P3", "P7"]),
        ({E + "P1_A": "1", E + "P4_D": "0"}, "compat", {}, {E + "P1_A": "1"}, ["P1", "P3", "P7"]),
        ({E + "P1_A": "1"}, "compat", {"P1": "suspected_regression"}, {E + "P1_A": "1"}, ["P1", "P3", "P7"]),
        # Safe: what does nothing here.
        ({E + "P1_A": "1"}, "safe", {"P1": "no_op"}, {}, ["P3", "P7"]),
        ({E + "P1_A": "1"}, "safe", {"P1": "unknown"}, {E + "P1_A": "1"}, ["P1", "P3", "P7"]),
        # Minimal: what nobody accounts for.
        ({E + "P1_A": "1"}, "minimal", {}, {}, ["P3", "P7"]),
        ({E + "P1_A": "1"}, "minimal", {"P1": "suspected_regression"}, {}, ["P3", "P7"]),
        ({E + "P1_A": "1"}, "minimal", {"P1": "defensive"}, {E + "P1_A": "1"}, ["P1", "P3", "P7"]),
        ({E + "P1_A": "1"}, "minimal", {"P1": "optional_perf"}, {E + "P1_A": "1"}, ["P1", "P3", "P7"]),
        # Every name of a switch goes, whatever its prefix and age.
        ({"SNDR_ENABLE_P2": "1", E + "P2_B": "1", E + "P1_A": "1"}, "safe", {"P2": "no_op"}, {E + "P1_A": "1"}, ["P1", "P3", "P7"]),
        # A default is accounted for by its reason, and goes by a switch.
        ({}, "minimal", {}, {}, ["P3", "P7"]),
        ({}, "safe", {"P3": "no_op"}, {D + "P3_C": "1"}, ["P7"]),
        ({E + "P3_C": "1"}, "minimal", {}, {D + "P3_C": "1"}, ["P7"]),
        # What switches off is kept where something else would switch on.
        ({E + "P3_C": "0"}, "compat", {}, {E + "P3_C": "0"}, ["P7"]),
        ({E + "P5_E": "1", E + "P1_A": "0"}, "compat", {}, {E + "P5_E": "1", E + "P1_A": "0"}, ["P2", "P3", "P5", "P7"]),
        ({E + "P5_E": "0", E + "P1_A": "1"}, "compat", {}, {}, ["P3", "P7"]),
        ({E + "P1_A": "1", "SNDR_ENABLE_P1_A": "0"}, "compat", {}, {}, ["P3", "P7"]),
        ({E + "P1_A": "1", D + "P1_A": "1"}, "compat", {}, {D + "P1_A": "1"}, ["P3", "P7"]),
        # A coordinator accounts for its parts, unless they have a role of their own.
        ({E + "P5_E": "1"}, "minimal", {"P5": "defensive"}, {E + "P5_E": "1"}, ["P1", "P2", "P3", "P5", "P7"]),
        ({E + "P5_E": "1"}, "safe", {"P5": "defensive", "P2": "no_op"}, {E + "P5_E": "1", D + "P2_B": "1"}, ["P1", "P3", "P5", "P7"]),
        ({E + "P5_E": "1"}, "minimal", {}, {}, ["P3", "P7"]),
    ],
)  # fmt: skip
def test_what_a_policy_makes_of_an_environment(environ, policy, roles, after, included):
    """The whole table: environment, policy and roles in, environment and ids out."""
    found = plan(environ, policy, **roles)
    assert (found.policy, dict(found.environ), list(found.included)) == (policy, after, included)


def test_parameters_and_what_is_not_known_pass():
    """Only switches of known patches are a policy's affair; a slip is left for the check of the environment to find."""
    environ = {"GENESIS_P1_SIZE": "8", E + "P99": "1", E + "P2_OLD": "1", "VLLM_X": "0", E + "P1_A": "1"}
    found = plan(environ, "minimal")
    assert dict(found.environ) == {name: environ[name] for name in list(environ)[:4]}
    assert found.passthrough == tuple(list(environ)[:4])


def test_what_is_left_out_has_its_reason():
    """Who switched it off, or which role the policy drops."""
    found = plan({E + "P1_A": "1", "SNDR_DISABLE_P4_D": "1", E + "P2_B": "1"}, "minimal", P2="no_op")
    assert found.excluded == {
        "P1": "minimal drops role unknown",
        "P2": "minimal drops role no_op",
        "P4": "switched off by SNDR_DISABLE_P4_D",
    }


@pytest.mark.parametrize(
    ("environ", "policy", "roles", "warning"),
    [
        ({E + "P4_D": "1"}, None, {}, "P3 conflicts with P4: neither will be applied"),
        ({E + "P1_A": "1", E + "P2_B": "1"}, "safe", {"P1": "no_op"}, "P2 requires P1, which is left out (safe drops role no_op)"),
        ({}, "safe", {"P7": "no_op"}, "P7 has no switch of its own and stays on (safe drops role no_op)"),
        ({E + "P1_A": "maybe"}, None, {}, "'maybe' is neither on (1) nor off (0)"),
        ({E + "P1_A": "1", E + "P4_D": "1"}, "compat", {}, "P1, P4 may not be applied together: they lost 29 %"),
    ],
)  # fmt: skip
def test_what_will_not_come_as_expected_is_told(environ, policy, roles, warning):
    """Conflicts, requirements that fall with the policy, values that are none."""
    found = plan(environ, policy, [ConflictSet("x", frozenset({"P1", "P4"}), "they lost 29 %")], **roles)
    assert any(warning in text for text in found.warnings), found.warnings


def test_warnings_have_an_order():
    """That of the sets' names."""
    sets = [ConflictSet(name, frozenset({"P1"}), name) for name in ("b", "a", "c")]
    found = plan({E + "P1_A": "1"}, None, sets).warnings
    assert [text[-1] for text in found] == ["a", "b", "c"]


def test_a_set_that_is_all_there_is_speaks_too():
    """Nothing else needs to be on."""
    assert plan({}, None, [ConflictSet("x", frozenset({"P3", "P7"}), "why")]).warnings == (
        "P3, P7 may not be applied together: why",
    )


def test_a_name_that_expired_is_told():
    """Though it switches nothing."""
    (text,) = plan({E + "P2_OLD": "1"}).warnings
    assert text == f"{E}P2_OLD was removed in 0.1: write {E}P2_B"


def test_a_difference_names_ids_reasons_and_keys():
    """What an operator sees before changing the policy."""
    environ = {E + "P1_A": "1", E + "P4_D": "1", "GENESIS_P1_SIZE": "8"}
    found = diff(plan(environ, "compat", P4="defensive"), plan(environ, "minimal", P4="defensive"))
    assert (found.only_first, found.only_second) == (("P1",), ())
    assert found.why == {"P1": "minimal drops role unknown"}
    assert found.environ == {E + "P1_A": ("1", None)}


def test_the_same_plan_does_not_differ():
    """Nothing is told where nothing changes."""
    one = plan({E + "P1_A": "1"}, "safe")
    found = diff(one, one)
    assert [found.only_first, found.only_second, found.why, found.environ] == [(), (), {}, {}]


KEYS = [name for one in CATALOG if one.flag for name in variables(one.flag, NEW)]
PARAMETERS = ["GENESIS_P1_SIZE", "GENESIS_BUFFER_MODE", "SNDR_X", "OMP_NUM_THREADS", "GENESIS_ENABLE_P99"]
environs = st.dictionaries(st.sampled_from([*KEYS, *PARAMETERS]), st.sampled_from(["1", "0", "yes", "off", "?"]))
attributions = st.dictionaries(st.sampled_from([one.id for one in CATALOG]), st.sampled_from([*Role])).map(
    lambda roles: entries(**roles)
)


@given(environs, attributions)
def test_a_stricter_policy_includes_no_more(environ, attribution):
    """What minimal includes, safe does; what safe includes, compat does; and compat what was on before."""
    plans = [apply_policy(environ, policy, attribution, CATALOG, NEW) for policy in (None, "compat", "safe", "minimal")]
    included = [set(one.included) for one in plans]
    assert included[3] <= included[2] <= included[1] == included[0]


@given(environs, attributions)
def test_without_a_policy_nothing_is_touched(environ, attribution):
    """The very mapping goes on."""
    found = apply_policy(environ, None, attribution, CATALOG, NEW)
    assert found.environ is environ
    assert found.excluded == {}


@given(environs, attributions, st.sampled_from([*Policy]))
def test_parameters_always_pass(environ, attribution, policy):
    """With their values, in every policy."""
    after = apply_policy(environ, policy, attribution, CATALOG, NEW).environ
    assert {name: after.get(name) for name in PARAMETERS} == {name: environ.get(name) for name in PARAMETERS}


@given(environs, attributions, st.sampled_from([*Policy]))
def test_a_plan_says_what_its_environment_does(environ, attribution, policy):
    """Included is what the new environment switches on; nothing that was excluded is among it; again changes nothing."""
    found = apply_policy(environ, policy, attribution, CATALOG, NEW)
    assert found.included == switched_on(CATALOG, found.environ, NEW)
    assert not set(found.included) & set(found.excluded)
    assert apply_policy(found.environ, policy, attribution, CATALOG, NEW).included == found.included
