"""What to tell a person about one pydantic error: the field that was meant, the quotes that are missing."""

from __future__ import annotations

import datetime as dt
import difflib
import types
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic_core import ErrorDetails

Location = tuple[str | int, ...]
_SHOWN = 60
_SHAPES = {"dict_type": "a mapping", "list_type": "a list", "model_type": "a mapping", "tuple_type": "a list"}


def describe(model: type[BaseModel], detail: ErrorDetails) -> str:
    """One line: what was found, what was expected, how to mend it."""
    kind, found = detail["type"], detail["input"]
    if kind == "extra_forbidden":
        return unknown_field(str(detail["loc"][-1]), allowed_fields(model, detail["loc"][:-1]))
    if kind == "missing":
        return "missing, and it has no default"
    if kind in _SHAPES:
        return f"expected {_SHAPES[kind]}, not {_short(found)}"
    message = detail["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    message = message[:1].lower() + message[1:]
    if kind == "string_type" and isinstance(found, bool | int | float | dt.date):
        return f"{message}, not {found!r}: write it in quotes"
    if kind == "value_error" or isinstance(found, dict | list):
        return message
    return f"{message}, not {_short(found)}"


def unknown_field(name: str, allowed: set[str]) -> str:
    """Names the nearest allowed field, or all of them when none is near."""
    near = difflib.get_close_matches(name, sorted(allowed), n=1)
    if near:
        return f"unknown field; did you mean {near[0]!r}?"
    return f"unknown field; known here: {', '.join(sorted(allowed))}" if allowed else "unknown field"


def allowed_fields(annotation: object, location: Location) -> set[str]:
    """Names of the fields of the model that stands at ``location`` inside ``annotation``."""
    return {name for model in _models_at(annotation, location) for name in _fields(model)}


def _models_at(annotation: object, location: Location) -> Iterator[type[BaseModel]]:
    """Every model that may stand there: of a union, the members that fit the rest of the location."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield from _in_model(annotation, location)
        return
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from _models_at(inside[0], location)
    elif origin in {Union, types.UnionType}:
        yield from _in_union(inside, location)
    elif location and inside:
        yield from _models_at(inside[0] if isinstance(location[0], int) else inside[-1], location[1:])


def _in_model(model: type[BaseModel], location: Location) -> Iterator[type[BaseModel]]:
    if not location:
        yield model
    elif location[0] in (fields := _fields(model)):
        yield from _models_at(fields[str(location[0])], location[1:])


def _in_union(members: tuple[Any, ...], location: Location) -> Iterator[type[BaseModel]]:
    """Pydantic puts the member's tag, or its class name, into the location; the file does not have it."""
    tagged = [member for member in members if location and location[0] in _tags(member)]
    for member in tagged or members:
        yield from _models_at(member, location[1:] if tagged else location)


def _tags(member: Any) -> set[object]:
    """What may stand for ``member`` in a location: its class name and the values of its Literal fields."""
    while get_origin(member) is Annotated:
        member = get_args(member)[0]
    if not (isinstance(member, type) and issubclass(member, BaseModel)):
        return set()
    return {member.__name__} | {value for kind in _fields(member).values() for value in _literals(kind)}


def _literals(annotation: object) -> tuple[object, ...]:

    return get_args(annotation) if get_origin(annotation) is Literal else ()


def _fields(model: type[BaseModel]) -> dict[str, object]:
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
