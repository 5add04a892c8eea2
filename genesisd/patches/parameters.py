"""What patches read from the environment besides their switches: declared, typed, with a range. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

Value: TypeAlias = bool | int | float | str


class Kind(StrEnum):
    """What a value is read as."""

    BOOL = "bool"
    INT = "int"
    FLOAT = "float"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A declared variable.

    Attributes:
        name: the whole name, ``GENESIS_P82_THRESHOLD_SINGLE``.
        kind: what its value is read as.
        default: its value when it is not set; None where the patch works without.
        low: least number that it may be.
        high: greatest number that it may be.
        choices: the only texts that it may be; none for any.
        aliases: older names.
    """

    name: str
    kind: Kind
    default: Value | None = None
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BadValue:
    """A value that cannot be used: what was found, what was expected."""

    name: str
    found: str
    expected: str


def read_parameter(parameter: Parameter, environ: Mapping[str, str]) -> Value | BadValue | None:
    """The value that ``environ`` gives, or the default, or what is wrong with it. The newest name wins."""
    for name in (parameter.name, *parameter.aliases):
        if name in environ:
            value = _read(parameter.kind, environ[name].strip())
            usable = value is not None and fits(parameter, value)
            return value if usable else BadValue(name, environ[name], expected(parameter))
    return parameter.default


def fits(parameter: Parameter, value: Value) -> bool:
    """Whether ``value`` is of the kind and in the range."""
    if isinstance(value, (bool, str)):
        kinds = {Kind.BOOL} if isinstance(value, bool) else {Kind.TEXT}
        return parameter.kind in kinds and (not parameter.choices or value in parameter.choices)
    if parameter.kind not in ({Kind.INT, Kind.FLOAT} if isinstance(value, int) else {Kind.FLOAT}):
        return False
    low = -math.inf if parameter.low is None else parameter.low
    high = math.inf if parameter.high is None else parameter.high
    return math.isfinite(value) and low <= value <= high


def expected(parameter: Parameter) -> str:
    """What a value has to be, in words."""
    if parameter.kind is Kind.BOOL:
        return "1 or 0"
    if parameter.choices:
        return "one of " + ", ".join(parameter.choices)
    low = "" if parameter.low is None else f" from {parameter.low:g}"
    high = "" if parameter.high is None else f" up to {parameter.high:g}"
    return f"a value of kind {parameter.kind}{low}{high}"


def _read(kind: Kind, text: str) -> Value | None:
    if kind is Kind.TEXT:
        return text
    if kind is Kind.BOOL:
        return {"1": True, "true": True, "0": False, "false": False}.get(text.lower())
    try:
        return int(text) if kind is Kind.INT else float(text)
    except ValueError:
        return None
