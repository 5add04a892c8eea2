"""Views as JSON text, field by field. For what is asked now and then; ``wire`` is faster for what is asked often."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from genesisd.control.protocol import SCHEMA


def plain(value: object) -> object:
    """What JSON has words for. A number that is none, as a broken engine may give, becomes its name."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one) for one in value]
    return value


def answer(**told: Any) -> str:
    """A whole answer with these fields."""
    return json.dumps({"schema": SCHEMA} | told, separators=(",", ":"), default=str)


def whole(view: object) -> str:
    """A whole answer that has the fields of a view."""
    told = plain(view)
    assert isinstance(told, dict)  # noqa: S101 - a dataclass becomes a dict
    return answer(**told)
