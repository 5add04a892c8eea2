"""Circumstances under which a row of a table holds: facts, serve flags, config.json, environment. Pure.

Answers are of three kinds, as for ``applies_to``: what could not be had is 'cannot tell', and never a yes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field, StringConstraints

from genesisd.errors import ConfigError
from genesisd.patches import model_config
from genesisd.patches.applies_to import condition_of
from genesisd.patches.conditions import Answer, Judgement, judge
from genesisd.patches.facts import Known
from genesisd.units import SpecModel

Plain: TypeAlias = bool | int | str


class Bound(SpecModel):
    """A number of at least ``gte``."""

    gte: int


class NotOf(SpecModel):
    """Anything but these; that nothing is given, too."""

    none_of: tuple[Plain, ...] = Field(min_length=1)


Rule: TypeAlias = bool | Bound | NotOf | tuple[Plain, ...]
"""True: given and on. False: off or not given. A list: one of these. Or a bound, or none of some."""


def _condition(written: dict[str, object]) -> dict[str, object]:
    try:
        condition_of(written)
    except ConfigError as error:
        raise ValueError(f"{error.message}; {error.hint}") from error
    return written


FlagName = Annotated[str, StringConstraints(pattern=r"^--[a-z][a-z0-9-]*(\.[a-z_]+)*$")]


class When(SpecModel):
    """Circumstances that must all hold."""

    facts: Annotated[dict[str, object], AfterValidator(_condition)] = Field(default_factory=dict)
    """As ``applies_to`` of a patch."""
    flags: dict[FlagName, Rule] = Field(default_factory=dict)
    """Of ``vllm serve``; after a dot, a key of a flag that takes JSON."""
    config: dict[str, Rule] = Field(default_factory=dict)
    """Keys of the model's config.json, at its top or in its language model."""
    env: dict[str, Rule] = Field(default_factory=dict)


def holds(when: When, known: Known, environ: Mapping[str, str]) -> Judgement:
    """Whether the circumstances are given: no if one is not, else 'cannot tell' if one cannot be told."""
    unsure = None
    for found in _judged(when, known, environ):
        if found.answer is Answer.NO:
            return found
        unsure = unsure or (found if found.answer is Answer.CANNOT_TELL else None)
    return unsure or Judgement(Answer.YES)


def _judged(when: When, known: Known, environ: Mapping[str, str]) -> Iterator[Judgement]:
    if when.facts:
        yield judge(condition_of(when.facts), known.facts)
    for name, rule in when.flags.items():
        yield _flag(name, rule, known)
    for name, rule in when.config.items():
        if known.config is None:
            yield Judgement(Answer.CANNOT_TELL, f"config.json could not be had, so {name} is not known")
        else:
            yield _judge(name, rule, model_config.first(known.config, name))
    for name, rule in when.env.items():
        yield _judge(name, rule, environ.get(name))


def _flag(name: str, rule: Rule, known: Known) -> Judgement:
    base, *keys = name.split(".")
    if not known.flags.has(base) and not known.flags.whole:
        return Judgement(Answer.CANNOT_TELL, f"{base} may stand in the file that --config names")
    value: object
    if keys:
        value = known.flags.mapping(base)
        if value is None:
            return Judgement(Answer.CANNOT_TELL, f"{base} cannot be read")
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
    elif isinstance(rule, bool):
        value = known.flags.is_on(base)
    else:
        value = known.flags.number(base) if isinstance(rule, Bound) else known.flags.value(base)
    return _judge(name, rule, value)


def _judge(name: str, rule: Rule, value: object) -> Judgement:
    if isinstance(rule, bool):
        hit = (value is not None and value is not False) is rule
    elif isinstance(rule, Bound):
        hit = isinstance(value, int) and value >= rule.gte
    elif isinstance(rule, NotOf):
        hit = value not in rule.none_of
    else:
        hit = value in rule
    shown = "not given" if value is None else value
    return Judgement(Answer.YES if hit else Answer.NO, f"{name} is {shown}")
