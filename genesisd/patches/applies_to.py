"""Reading a condition that is written as a mapping, as patches and people write it. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from genesisd.errors import ConfigError
from genesisd.patches.conditions import AllOf, AnyOf, Condition, Fact, Is, Not, Within

_BOUNDS = {
    "sm_min": (Fact.SM, "low"),
    "sm_max": (Fact.SM, "high"),
    "n_gpus_min": (Fact.N_GPUS, "low"),
    "n_gpus_max": (Fact.N_GPUS, "high"),
}
_GROUPS = ("all_of", "any_of", "not")
KEYS = (*Fact, *_BOUNDS, *_GROUPS)


def condition_of(written: Mapping[str, object]) -> Condition:
    """The condition that a mapping writes: facts with a value or a list of them, bounds, all_of, any_of, not.

    Raises:
        ConfigError: an unknown key (it would be passed over, and the patch apply where it must not), or a value
            of the wrong kind.
    """
    parts = tuple(_part(key, value) for key, value in written.items())
    return parts[0] if len(parts) == 1 else AllOf(parts)


def _part(key: str, value: object) -> Condition:
    if key in _BOUNDS and isinstance(value, int) and not isinstance(value, bool):
        fact, side = _BOUNDS[key]
        return Within(fact, **{side: value})
    if key == "not" and isinstance(value, Mapping):
        return Not(condition_of(value))
    if key in {"all_of", "any_of"} and isinstance(value, (list, tuple)) and value:
        parts = tuple(condition_of(part) for part in value if isinstance(part, Mapping))
        if len(parts) == len(value):
            return AllOf(parts) if key == "all_of" else AnyOf(parts)
    if key in set(Fact):
        values = tuple(value) if isinstance(value, (list, tuple)) else (value,)
        if values and all(item is None or isinstance(item, (bool, int, str)) for item in values):
            return Is(Fact(key), values)
    if key in KEYS:
        raise ConfigError(f"applies_to: {key} cannot be {value!r}", hint=_form(key), key=key)
    near = difflib.get_close_matches(key, KEYS, n=1)
    hint = f"did you mean {near[0]}?" if near else "it may have: " + ", ".join(KEYS)
    raise ConfigError(f"applies_to: there is no key {key!r}", hint=hint, key=key)


def _form(key: str) -> str:
    forms = {"not": "a mapping", "all_of": "a list of mappings, not empty", "any_of": "a list of mappings, not empty"}
    return f"{key} takes " + forms.get(key, "a whole number" if key in _BOUNDS else "a value, or a list of values")
