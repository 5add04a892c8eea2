"""Conditions, parameters and the words of a patch."""

import pytest

from genesisd.errors import ConfigError
from genesisd.patches.applies_to import condition_of
from genesisd.patches.conditions import ALWAYS, AllOf, AnyOf, Fact, Is, Not, Within, judge
from genesisd.patches.lifecycle import Origin, retires_on_merge
from genesisd.patches.parameters import BadValue, Kind, Parameter, read_parameter

YES, NO, UNKNOWN = Is(Fact.SM, (86,)), Is(Fact.SM, (90,)), Is(Fact.N_GPUS, (2,))
FACTS = {Fact.SM: 86, Fact.SPEC_METHOD: None, Fact.IS_HYBRID: True, Fact.MODEL_CLASS: "qwen3_5"}

JUDGED = [
    (ALWAYS, "yes"),
    (YES, "yes"),
    (NO, "no"),
    (UNKNOWN, "cannot tell"),
    (Not(YES), "no"),
    (Not(NO), "yes"),
    (Not(UNKNOWN), "cannot tell"),
    (AllOf((YES, UNKNOWN)), "cannot tell"),
    (AllOf((UNKNOWN, NO)), "no"),
    (AllOf((YES, Not(NO))), "yes"),
    (AnyOf((NO, UNKNOWN)), "cannot tell"),
    (AnyOf((UNKNOWN, YES)), "yes"),
    (AnyOf((NO, NO)), "no"),
    (AnyOf(()), "no"),
    (Is(Fact.SPEC_METHOD, ("mtp", None)), "yes"),
    (Is(Fact.SPEC_METHOD, ("mtp",)), "no"),
    (Is(Fact.IS_HYBRID, (1,)), "no"),
    (Within(Fact.SM, 80), "yes"),
    (Within(Fact.SM, 86, 86), "yes"),
    (Within(Fact.SM, None, 85), "no"),
    (Within(Fact.SM, 87), "no"),
    (Within(Fact.N_GPUS, 1), "cannot tell"),
    (Within(Fact.IS_HYBRID, 0), "cannot tell"),
    (Within(Fact.SPEC_METHOD, 0), "cannot tell"),
]


@pytest.mark.parametrize(("condition", "answer"), JUDGED, ids=range(len(JUDGED)))
def test_what_is_not_known_is_never_a_yes(condition, answer):
    """A missing fact decides nothing unless the others decide it without."""
    assert judge(condition, FACTS).answer == answer


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        (YES, "sm is 86"),
        (NO, "sm is 86, not 90"),
        (Not(YES), "sm is 86"),
        (Is(Fact.SM, (89, 90)), "sm is 86, not 89 or 90"),
        (Within(Fact.SM, 80), "sm is 86"),
        (Within(Fact.SM, None, 85), "sm is 86, not in ..85"),
        (Within(Fact.IS_HYBRID, 0), "is_hybrid is True, not a number"),
        (AllOf((YES, Not(NO))), "sm is 86; sm is 86, not 90"),
        (UNKNOWN, "n_gpus is not known"),
        (Within(Fact.SM, 90), "sm is 86, not in 90.."),
        (AnyOf((NO, Within(Fact.SM, 1, 2))), "sm is 86, not 90; sm is 86, not in 1..2"),
    ],
)
def test_a_judgement_says_why(condition, reason):
    """An answer, whichever it is, names the facts it rests on."""
    assert judge(condition, FACTS).reason == reason


WRITTEN = [
    ({}, ALWAYS),
    ({"is_hybrid": True}, Is(Fact.IS_HYBRID, (True,))),
    ({"quantization": ["fp8", None]}, Is(Fact.QUANTIZATION, ("fp8", None))),
    ({"sm_min": 80, "sm_max": 89}, AllOf((Within(Fact.SM, 80), Within(Fact.SM, None, 89)))),
    ({"not": {"n_gpus_max": 1}}, Not(Within(Fact.N_GPUS, None, 1))),
    ({"any_of": [{"sm": 86}, {"sm": 89}]}, AnyOf((Is(Fact.SM, (86,)), Is(Fact.SM, (89,))))),
    ({"all_of": ({"sm": 86},)}, AllOf((Is(Fact.SM, (86,)),))),
]


@pytest.mark.parametrize(("written", "condition"), WRITTEN, ids=range(len(WRITTEN)))
def test_conditions_are_read_from_mappings(written, condition):
    """What a person writes is the condition it says."""
    assert condition_of(written) == condition


WRONG = [
    ({"is_hybird": True}, "is_hybird", "did you mean is_hybrid?"),
    ({"colour": "red"}, "colour", "it may have: model_class"),
    ({"vllm_version_range": ">=0.23"}, "vllm_version_range", "it may have"),
    ({"sm_min": "8.6"}, "sm_min", "a whole number"),
    ({"sm_min": True}, "sm_min", "a whole number"),
    ({"not": [{"sm": 86}]}, "not", "a mapping"),
    ({"any_of": []}, "any_of", "not empty"),
    ({"any_of": [{"sm": 86}, "sm"]}, "any_of", "a list of mappings"),
    ({"all_of": [{"any_of": [{"smm": 86}]}]}, "smm", "did you mean sm?"),
    ({"quantization": []}, "quantization", "a list of values"),
    ({"sm": 8.6}, "sm", "a value"),
]


@pytest.mark.parametrize(("written", "key", "hint"), WRONG, ids=[case[1] for case in WRONG])
def test_an_unknown_key_is_an_error(written, key, hint):
    """A key that means nothing is refused, at any depth, with what was meant."""
    with pytest.raises(ConfigError) as refused:
        condition_of(written)
    assert refused.value.fields["key"] == key
    assert hint in (refused.value.hint or "")


THRESHOLD = Parameter("GENESIS_T", Kind.FLOAT, 0.3, 0, 1, aliases=("OLD_T",))
READ = [
    (THRESHOLD, {}, 0.3),
    (THRESHOLD, {"GENESIS_T": " 1 "}, 1.0),
    (THRESHOLD, {"OLD_T": "0.5"}, 0.5),
    (THRESHOLD, {"OLD_T": "0.5", "GENESIS_T": "0.7"}, 0.7),
    (THRESHOLD, {"GENESIS_T": "1.1"}, BadValue("GENESIS_T", "1.1", "a value of kind float from 0 up to 1")),
    (THRESHOLD, {"OLD_T": "much"}, BadValue("OLD_T", "much", "a value of kind float from 0 up to 1")),
    (THRESHOLD, {"GENESIS_T": "nan"}, BadValue("GENESIS_T", "nan", "a value of kind float from 0 up to 1")),
    (Parameter("N", Kind.INT, low=2), {"N": "2"}, 2),
    (Parameter("N", Kind.INT, low=2), {"N": "1"}, BadValue("N", "1", "a value of kind int from 2")),
    (Parameter("N", Kind.INT), {"N": "1.5"}, BadValue("N", "1.5", "a value of kind int")),
    (Parameter("N", Kind.INT), {}, None),
    (Parameter("B", Kind.BOOL), {"B": "0"}, False),
    (Parameter("B", Kind.BOOL), {"B": "2"}, BadValue("B", "2", "1 or 0")),
    (Parameter("C", Kind.TEXT, choices=("a", "b")), {"C": "b"}, "b"),
    (Parameter("C", Kind.TEXT, choices=("a", "b")), {"C": "c"}, BadValue("C", "c", "one of a, b")),
]


@pytest.mark.parametrize(("parameter", "environ", "value"), READ, ids=range(len(READ)))
def test_parameters_are_typed_and_bounded(parameter, environ, value):
    """A parameter is its value, its default, or what is wrong with it."""
    found = read_parameter(parameter, environ)
    assert (type(found), found) == (type(value), value)


def test_only_a_backport_retires_when_upstream_merges():
    """A merge means 'look again' for every origin but one."""
    assert [origin for origin in Origin if retires_on_merge(origin)] == [Origin.BACKPORT]
