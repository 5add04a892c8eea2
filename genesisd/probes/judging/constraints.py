"""Whether an answer keeps to the constraint that was asked for. Pure.

An answer that was cut may still be on its way to a right one: it is wrong only where nothing right could begin so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, cast

Form = str
"""``json_schema``, ``regex`` or ``choice``."""
_LITERALS = ("true", "false", "null", "-")


def broken(form: Form, constraint: object, text: str) -> str | None:
    """What breaks the constraint in a whole answer."""
    if form == "json_schema":
        return _broken_schema(cast("dict[str, Any]", constraint), text)
    if form == "regex":
        fits = re.fullmatch(str(constraint), text)
        return None if fits else f"{_cut(text)} does not match {_cut(str(constraint))}"
    choices = cast("Sequence[str]", constraint)
    return None if text in choices else f"{_cut(text)} is none of {_cut(', '.join(choices))}"


def hopeless(form: Form, constraint: object, text: str) -> str | None:
    """What makes an answer that was cut wrong, however it would have gone on."""
    if form == "json_schema":
        return None if _begins_json(text) else f"{_cut(text)} is not the beginning of JSON"
    if form == "choice":
        choices = cast("Sequence[str]", constraint)
        fits = any(choice.startswith(text) for choice in choices)
        return None if fits else f"{_cut(text)} begins none of {_cut(', '.join(choices))}"
    return None


def _broken_schema(schema: dict[str, Any], text: str) -> str | None:
    import fastjsonschema  # noqa: PLC0415 - a megabyte, for those daemons alone that ask

    try:
        value = json.loads(text, parse_constant=_refused)
    except ValueError as error:
        return f"{_cut(text)} is no JSON ({error})"
    try:
        fastjsonschema.compile(schema, use_default=False)(value)
    except fastjsonschema.JsonSchemaValueException as error:
        return f"{_cut(text)} breaks the schema: {error.message}"
    return None


def _refused(name: str) -> None:
    raise ValueError(f"{name} is no JSON value")


def _begins_json(text: str) -> bool:
    stripped = text.rstrip()
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        rest = stripped[error.pos :]
        return (
            error.pos >= len(stripped)
            or error.msg.startswith(("Unterminated string", "Invalid \\"))
            or any(literal.startswith(rest) for literal in _LITERALS)
        )
    return True


def _cut(text: str, limit: int = 70) -> str:
    shown = json.dumps(text, ensure_ascii=False)
    return shown if len(shown) <= limit else f"{shown[:limit]}..."
