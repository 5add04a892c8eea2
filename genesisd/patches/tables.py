"""Reading the tables of evidence strictly: a row with a slip in it would protect nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

from pydantic import AfterValidator, BeforeValidator, StringConstraints

from genesisd import yamlfile
from genesisd.errors import ConfigError
from genesisd.patches.register import Register, load_register
from genesisd.units import SpecModel
from genesisd.versions import parse_range, parse_version
from genesisd.yamlfile import Document, Location

Spec = TypeVar("Spec", bound=SpecModel)
RowName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Upstream = Annotated[str, StringConstraints(pattern=r"^[\w.-]+(/[\w.-]+)?#[1-9]\d*$")]


def _checked_range(text: str) -> str:
    parse_range(text)
    return text


def _checked_version(text: str) -> str:
    parse_version(text)
    return text


def _day(value: object) -> object:
    if isinstance(value, str):
        return date.fromisoformat(value)
    return value


Range = Annotated[str, AfterValidator(_checked_range)]
"""Versions of the engine; empty for all."""
Pin = Annotated[str, AfterValidator(_checked_version)]
"""The version of the engine that the evidence is from."""
Day = Annotated[date, BeforeValidator(_day)]


def load_table(
    path: Path, model: type[Spec], ids: Callable[[Spec], Iterator[tuple[Location, str]]]
) -> tuple[Spec, Document]:
    """The table at ``path``; ``ids`` yields each patch id in it with its place.

    Raises:
        ConfigError: with file, line and field; an id that is not in the register, as it is written there, is one.
    """
    document = yamlfile.load(path)
    spec = yamlfile.validate(model, document)
    register = load_register()
    refuse(document, [(at, _bad_id(name, register)) for at, name in ids(spec)])
    return spec, document


def refuse(document: Document, problems: Sequence[tuple[Location, str | None]]) -> None:
    """Raise one ConfigError for all problems that are not None."""
    faults = [yamlfile.fault(document, at, text) for at, text in problems if text is not None]
    if faults:
        faults.sort(key=lambda one: cast("int", one.fields["line"]))
        told: list[Any] = [one for fault in faults for one in cast("list[Any]", fault.fields["problems"])]
        text = "\n".join(fault.message for fault in faults)
        raise ConfigError(text, hint=None, **{**faults[0].fields, "problems": told})


def twice(names: Sequence[tuple[Location, str]]) -> Iterator[tuple[Location, str]]:
    """The places of names that were used before."""
    seen: set[str] = set()
    for at, name in names:
        if name in seen:
            yield at, f"{name!r} is used above already"
        seen.add(name)


def _bad_id(name: str, register: Register) -> str | None:
    found = register.find(name)
    if found is None:
        return f"no patch {name!r} in the register"
    return None if found == name else f"{name!r} is written {found!r} here"
