"""One worker from several layers: later ones win, and where each part came from is kept. Pure.

Mappings are merged key by key. ``args`` are joined, but a flag that a later layer gives replaces the earlier one. An
entry of ``patches.attribution`` replaces an earlier one whole: a role with another's note would be a lie.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from genesisd.patches.serve_flags import Given, read
from genesisd.yamlfile import Document, Location

Origin: TypeAlias = tuple[Document, Location]
_WHOLE = ("patches", "attribution")
"""Each value below it is taken whole."""


@dataclass(frozen=True, slots=True)
class Part:
    """A value with the place where it is written; mappings and lists hold further parts."""

    value: object
    origin: Origin

    def plain(self) -> object:
        """The value alone."""
        if isinstance(self.value, dict):
            return {key: part.plain() for key, part in self.value.items()}
        return [part.plain() for part in self.value] if isinstance(self.value, list) else self.value

    def walk(self, at: Location = ()) -> Iterator[tuple[Location, Part]]:
        """This part and all below it, each with its location."""
        yield at, self
        inner = self.value.items() if isinstance(self.value, dict) else ()
        for key, part in inner or (enumerate(self.value) if isinstance(self.value, list) else ()):
            yield from part.walk((*at, key))


def part_of(content: object, origin: Origin) -> Part:
    """``content``, which stands at ``origin``, in parts."""
    document, location = origin
    if isinstance(content, dict):
        return Part({key: part_of(value, (document, (*location, key))) for key, value in content.items()}, origin)
    if isinstance(content, list):
        return Part([part_of(value, (document, (*location, n))) for n, value in enumerate(content)], origin)
    return Part(content, origin)


def merged(below: Part, above: Part, at: Location = ()) -> Part:
    """``above`` laid over ``below``; ``at`` is where in a worker they stand."""
    one, other = below.value, above.value
    if isinstance(one, dict) and isinstance(other, dict) and at[:-1] != _WHOLE:
        both = {key: merged(one[key], part, (*at, key)) for key, part in other.items() if key in one}
        return Part({**one, **other, **both}, above.origin)
    if isinstance(one, list) and isinstance(other, list) and at == ("args",):
        return Part([*_not_given_again(one, other), *other], above.origin)
    return above


def without(part: Part, key: str) -> Part:
    """A mapping less one of its keys."""
    inner = part.value if isinstance(part.value, dict) else {}
    return Part({name: value for name, value in inner.items() if name != key}, part.origin)


def _not_given_again(below: list[Part], above: list[Part]) -> Iterator[Part]:
    """The arguments of ``below`` whose flags ``above`` does not give."""
    again = {one.name for one in _flags(above)}
    gone = {n for one in _flags(below) if one.name in again for n in range(one.at.start, one.at.stop)}
    return (part for n, part in enumerate(below) if n not in gone)


def _flags(args: list[Part]) -> list[Given]:
    return list(read([str(part.value) for part in args]))
