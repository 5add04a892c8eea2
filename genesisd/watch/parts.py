"""A YAML file as parts that know which bytes they are: what edits by the byte and exact complaints rest on. Pure.

Read from libyaml's events, since nodes and loaders have resolved away what matters here. An alias is refused: a part
that two rows share could not be changed in one of them. So are tags, for which a watchlist has no use.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from genesisd.watch.source import MARK, Place, Source

MAX_DEPTH = 8
"""Twice what a watchlist needs."""
_UNSEEN = "remove the character; an editor may not show it"
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value. ``style`` is "" for plain text, else the sign that it opens with."""

    value: str
    style: str
    place: Place

    @property
    def is_null(self) -> bool:
        """It says nothing."""
        return not self.style and self.value in _NULLS

    @property
    def is_block(self) -> bool:
        """It is written below its key (``|`` or ``>``)."""
        return self.style in {"|", ">"}


@dataclass(frozen=True, slots=True)
class Listing:
    """A list; ``flow`` is one in brackets. A list without brackets begins at its first dash."""

    items: tuple[Part, ...]
    flow: bool
    place: Place


@dataclass(frozen=True, slots=True)
class Mapping:
    """Pairs in the order of the file, no key twice; ``flow`` is a mapping in braces."""

    pairs: tuple[tuple[Scalar, Part], ...]
    flow: bool
    place: Place

    def get(self, name: str) -> Part | None:
        """The value of a key, or None."""
        return next((value for key, value in self.pairs if key.value == name), None)

    def key(self, name: str) -> Scalar | None:
        """The key itself, or None."""
        return next((key for key, _ in self.pairs if key.value == name), None)


Part = Scalar | Listing | Mapping
Plain = str | list["Plain"] | dict[str, "Plain"]


def compose(source: Source) -> Part | None:
    """The root of the only document in ``source``, or None where there is nothing but comments.

    Raises:
        ConfigError: not YAML, or something that a watchlist does not have; with file, line and column.
    """
    loader = yaml.CSafeLoader(source.text)
    try:
        return _Composer(source, loader).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = " ".join(part for part in (error.context, error.problem) if part)
        place = source.place(mark.index, mark.index) if mark else source.place(0, 0)
        hint = _UNSEEN if mark and _is_marked(source.text, mark.index) else _mend(said)
        raise source.fault(place, f"not valid YAML: {said}", hint=hint) from error
    except yaml.YAMLError as error:
        reason = getattr(error, "reason", error)
        raise source.fault(_of_reader(source, error), f"not valid YAML: {reason}", hint=_UNSEEN) from error
    finally:
        loader.dispose()


def plain(part: Part | None) -> Plain:
    """What it says, less how it is written."""
    match part:
        case None:
            return ""
        case Scalar():
            return part.value
        case Listing():
            return [plain(item) for item in part.items]
        case Mapping():
            return {key.value: plain(value) for key, value in part.pairs}


def scalars(part: Part | None) -> Iterator[Scalar]:
    """Every key and value within, in the order of the file."""
    match part:
        case Scalar():
            yield part
        case Listing():
            for item in part.items:
                yield from scalars(item)
        case Mapping():
            for key, value in part.pairs:
                yield key
                yield from scalars(value)


def kind(part: Part) -> str:
    """Its kind, in words for people."""
    match part:
        case Scalar():
            return "nothing" if part.is_null else shown(part.value)
        case Listing():
            return "a list"
        case Mapping():
            return "a mapping"


def shown(text: str) -> str:
    """A value within a sentence: in quotes, and not longer than one can take in."""
    return repr(cut(text))


def cut(text: str) -> str:
    """Not longer than one can take in."""
    return text if len(text) <= 60 else f"{text[:57]}..."


def _mend(said: str) -> str | None:
    if "mapping values are not allowed" in said:
        return "put quotes around a text that has ': ' in it"
    if "cannot start any token" in said:
        return "indent with spaces, and put quotes around a text that begins with a sign"
    return None


def _is_marked(text: str, at: int) -> bool:
    """Whether the line of ``at`` begins with a byte-order mark, as where two files were put together."""
    return text[text.rfind("\n", 0, at) + 1 : at].lstrip(" ").startswith(MARK)


def _of_reader(source: Source, error: yaml.YAMLError) -> Place:
    """Where a character stands that YAML does not take; libyaml counts bytes here."""
    position = getattr(error, "position", 0)
    before = source.text.encode()[: position if isinstance(position, int) else 0]
    at = len(before.decode(errors="ignore"))
    return source.place(at, at)


class _Composer:
    """Parts from events."""

    def __init__(self, source: Source, loader: yaml.CSafeLoader) -> None:
        self._source = source
        self._loader = loader

    def document(self) -> Part | None:
        self._next()
        if isinstance(self._next(), yaml.StreamEndEvent):
            return None
        root = self._part(self._next(), 0)
        self._next()
        if not isinstance(after := self._next(), yaml.StreamEndEvent):
            raise self._complain(after, "a second document begins", "one document in the file")
        return root

    def _part(self, event: Any, depth: int) -> Part:
        self._refuse(event, depth)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(event, depth + 1)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._listing(event, depth + 1)
        return Scalar(event.value, event.style or "", self._place(event, event))

    def _listing(self, start: Any, depth: int) -> Listing:
        items: list[Part] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            items.append(self._part(event, depth))
        return Listing(tuple(items), bool(start.flow_style), self._place(start, event))

    def _mapping(self, start: Any, depth: int) -> Mapping:
        pairs: list[tuple[Scalar, Part]] = []
        seen: dict[str, Scalar] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key = self._key(event, depth)
            if (first := seen.setdefault(key.value, key)) is not key:
                problem = f"{shown(key.value)} is set twice, first at line {first.place.line}"
                raise self._complain(event, problem, "each field once in a row", "remove the one that is out of date")
            pairs.append((key, self._part(self._next(), depth)))
        return Mapping(tuple(pairs), bool(start.flow_style), self._place(start, event))

    def _key(self, event: Any, depth: int) -> Scalar:
        key = self._part(event, depth)
        if not isinstance(key, Scalar) or key.is_block or key.is_null:
            raise self._complain(event, f"{kind(key)} is no name of a field", "the name of a field")
        return key

    def _refuse(self, event: Any, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise self._complain(
                event, "nested deeper than any part of a watchlist", "sections, rows, and lists in them"
            )
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            expected = "each row by itself, since a change of one must not change another"
            raise self._complain(event, "anchors and aliases are not taken", expected, "write the value out")
        if event.tag is not None:
            raise self._complain(event, f"the tag {event.tag} is not taken", "plain values", "remove the tag")

    def _next(self) -> Any:
        # The stubs give events none of their fields.
        return self._loader.get_event()

    def _place(self, start: Any, end: Any) -> Place:
        return self._source.place(start.start_mark.index, end.end_mark.index)

    def _complain(self, event: Any, problem: str, expected: str, hint: str | None = None) -> Exception:
        return self._source.fault(self._place(event, event), problem, expected=expected, hint=hint)
