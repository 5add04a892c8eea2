"""What a patch applies to: conditions over facts about the model, the serve flags and the cards. Pure.

A fact that could not be had makes the answer 'cannot tell', and never a yes. ``None`` as a fact's value is
knowledge ("no speculative method"); a fact that is absent is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Fact(StrEnum):
    """What can be known about a worker before it starts."""

    MODEL_CLASS = "model_class"
    MODEL_ARCH = "model_arch"
    IS_HYBRID = "is_hybrid"
    IS_TURBOQUANT = "is_turboquant"
    QUANTIZATION = "quantization"
    KV_CACHE_DTYPE = "kv_cache_dtype"
    SPEC_METHOD = "spec_method"
    CUDAGRAPH_MODE = "cudagraph_mode"
    """Which CUDA graphs would be captured on a card, by the engine's name in capitals: FULL_AND_PIECEWISE."""
    TOOL_CALL_PARSER = "tool_call_parser"
    REASONING_PARSER = "reasoning_parser"
    SM = "sm"
    """Compute capability without its dot: 86."""
    N_GPUS = "n_gpus"


Value: TypeAlias = bool | int | str | None
Facts: TypeAlias = Mapping[Fact, Value]


class Answer(StrEnum):
    """Yes, no, or that a fact was missing."""

    YES = "yes"
    NO = "no"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class Judgement:
    """An answer and why."""

    answer: Answer
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Is:
    """The fact is one of ``values``."""

    fact: Fact
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Within:
    """The fact is a number between ``low`` and ``high``, both included; None leaves a side open."""

    fact: Fact
    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part holds; without parts, always."""

    parts: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One part holds at least."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: Condition


Condition: TypeAlias = Is | Within | AllOf | AnyOf | Not
ALWAYS = AllOf()


def judge(condition: Condition, facts: Facts) -> Judgement:
    """Whether ``condition`` holds of ``facts``."""
    match condition:
        case Is():
            return _known(condition.fact, facts) or _is(condition, facts[condition.fact])
        case Within():
            return _known(condition.fact, facts) or _within(condition, facts[condition.fact])
        case Not():
            return _opposite(judge(condition.part, facts))
        case AllOf():
            return _first([judge(part, facts) for part in condition.parts], Answer.NO, otherwise=Answer.YES)
        case AnyOf():
            judged = [judge(part, facts) for part in condition.parts]
            found = _first(judged, Answer.YES, otherwise=Answer.NO)
            if found.answer is Answer.NO:
                return Judgement(Answer.NO, "; ".join(part.reason for part in judged) or "any_of is empty")
            return found


def _first(judged: list[Judgement], decisive: Answer, *, otherwise: Answer) -> Judgement:
    """The first decisive part; failing that the first that cannot tell; failing that ``otherwise``."""
    for answer in (decisive, Answer.CANNOT_TELL):
        for part in judged:
            if part.answer is answer:
                return part
    return Judgement(otherwise, "; ".join(part.reason for part in judged if part.reason))


def _known(fact: Fact, facts: Facts) -> Judgement | None:
    return None if fact in facts else Judgement(Answer.CANNOT_TELL, f"{fact} is not known")


def _is(condition: Is, value: Value) -> Judgement:
    # 1 == True in Python; a count is no switch.
    hit = any(type(value) is type(wanted) and value == wanted for wanted in condition.values)
    wanted = " or ".join(str(value) for value in condition.values)
    return Judgement(
        Answer.YES if hit else Answer.NO, f"{condition.fact} is {value}" + ("" if hit else f", not {wanted}")
    )


def _within(condition: Within, value: Value) -> Judgement:
    if isinstance(value, bool) or not isinstance(value, int):
        return Judgement(Answer.CANNOT_TELL, f"{condition.fact} is {value!r}, not a number")
    low_ok = condition.low is None or value >= condition.low
    high_ok = condition.high is None or value <= condition.high
    wanted = f"{'' if condition.low is None else condition.low}..{'' if condition.high is None else condition.high}"
    hit = low_ok and high_ok
    return Judgement(
        Answer.YES if hit else Answer.NO, f"{condition.fact} is {value}" + ("" if hit else f", not in {wanted}")
    )


def _opposite(judged: Judgement) -> Judgement:
    flipped = {Answer.YES: Answer.NO, Answer.NO: Answer.YES, Answer.CANNOT_TELL: Answer.CANNOT_TELL}
    return Judgement(flipped[judged.answer], judged.reason)
