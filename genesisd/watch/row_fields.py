"""One row's fields, read strictly: what is wrong is noted with its place, and reading goes on. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from enum import StrEnum
from typing import TypeVar

from genesisd.watch.parts import Listing, Mapping, Part, Scalar, cut, kind, shown
from genesisd.watch.refs import Ref, parse_ref
from genesisd.watch.source import Fault
from genesisd.yamlfields import unknown_field

PATCH_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
SEVERITY = re.compile(r"P[0-3](-[A-Za-z0-9]+)*")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_NUMBER = re.compile(r"[1-9]\d{0,8}")
_COMMENTED_OUT = "behind a space '#' begins a comment; put something before it, or use quotes"
Word = TypeVar("Word", bound=StrEnum)


class RowFields:
    """The fields of the row ``where`` (``watch[3]``); each is asked for by name, the rest are unknown.

    A getter gives None for what is absent or wrong; what is wrong, or absent and needed, is in ``faults``.
    """

    def __init__(self, row: Mapping, where: str, faults: list[Fault]) -> None:
        self._row = row
        self._where = where
        self._faults = faults

    def only(self, known: Iterable[str]) -> None:
        """Note every field that is none of ``known``."""
        allowed = set(known)
        for key, _ in self._row.pairs:
            if key.value not in allowed:
                self._fault(key, cut(key.value), unknown_field(key.value, allowed))

    def needs(self, *names: str) -> None:
        """Note which of ``names`` the row lacks."""
        for name in names:
            if self._row.key(name) is None:
                self._fault(self._row, name, "missing, and it has no default")

    def text(self, name: str, *, empty: bool = False) -> str | None:
        """Text of any length."""
        return self._written(name, "some text", empty=empty)

    def line(self, name: str, expected: str, hint: str | None = None) -> str | None:
        """Text that stands on one line, so that its bytes can be changed without moving others."""
        part = self._row.get(name)
        value = self._written(name, expected, hint=hint)
        if value is None or not isinstance(part, Scalar):
            return None
        if part.is_block or part.place.line != part.place.last_line:
            hint = "write the value on one line, behind its field"
            self._fault(part, name, "goes over several lines", expected, hint)
            return None
        return value

    def word(self, name: str, words: type[Word]) -> Word | None:
        """One of a set of words."""
        expected = _several(word.value for word in words)
        value = self.line(name, expected)
        if value is None:
            return None
        if value not in {word.value for word in words}:
            near = next((word.value for word in words if word.value.casefold() == value.casefold()), None)
            hint = f"write {near}" if near else None
            self._fault(self._row.get(name), name, f"it is {shown(value)}", expected, hint)
            return None
        return words(value)

    def ref(self, name: str, *, number: bool = False) -> Ref | None:
        """A pull request or issue; ``number`` takes a bare one, which is the home repository's."""
        expected = "a number, vllm#123 or owner/repo#123" if number else "vllm#123 or owner/repo#123"
        value = self.line(name, expected, _COMMENTED_OUT)
        if value is None:
            return None
        try:
            return parse_ref(f"#{value}" if number and _NUMBER.fullmatch(value) else value)
        except ValueError:
            self._fault(self._row.get(name), name, f"it is {shown(value)}", expected)
            return None

    def date(self, name: str) -> date | None:
        """A day, quoted or not."""
        expected = "a day such as 2026-07-05"
        value = self.line(name, expected)
        if value is None:
            return None
        try:
            if _DATE.fullmatch(value):
                return date.fromisoformat(value)
        except ValueError:
            pass
        self._fault(self._row.get(name), name, f"it is {shown(value)}", expected)
        return None

    def severity(self, name: str) -> str | None:
        """A class, and what people add to it."""
        expected = "P0 to P3, with a word behind it where that helps (P0-correctness)"
        value = self.line(name, expected)
        if value is not None and not SEVERITY.fullmatch(value):
            self._fault(self._row.get(name), name, f"it is {shown(value)}", expected)
            return None
        return value

    def ids(self, name: str) -> tuple[str, ...]:
        """A list of patch ids."""
        return tuple(one for part, one in self._items(name, "a list of patch ids") if self.is_id(name, part, one))

    def names(self, name: str) -> tuple[str, ...]:
        """A list of names."""
        return tuple(one for _, one in self._items(name, "a list of names"))

    def is_id(self, name: str, part: Part, written: str) -> bool:
        """Whether ``written`` looks like a patch id."""
        if PATCH_ID.fullmatch(written):
            return True
        self._fault(part, name, f"{shown(written)} is no patch id", "an id such as P67 or G4_60E")
        return False

    def wrong(self, name: str, problem: str, expected: str | None = None, hint: str | None = None) -> None:
        """Note what is wrong with a field beside its form."""
        self._fault(self._row.get(name) or self._row, name, problem, expected, hint)

    def _written(self, name: str, expected: str, *, empty: bool = False, hint: str | None = None) -> str | None:
        part = self._row.get(name)
        if part is None:
            return None
        if not isinstance(part, Scalar):
            self._fault(part, name, f"it is {kind(part)}", expected)
            return None
        if empty and (part.is_null or not part.value):
            return ""
        if part.is_null or not part.value.strip():
            self._fault(self._row.key(name), name, "it is empty", expected, hint)
            return None
        return part.value

    def _items(self, name: str, expected: str) -> Iterable[tuple[Scalar, str]]:
        part = self._row.get(name)
        if part is None:
            return
        if not isinstance(part, Listing):
            self._fault(part, name, f"it is {kind(part)}", expected, "write [] for an empty list")
            return
        for at, item in enumerate(part.items):
            if isinstance(item, Scalar) and not item.is_null and item.value.strip():
                yield item, item.value
            else:
                self._fault(item, f"{name}[{at}]", f"it is {kind(item)}", "one name")

    def _fault(
        self, part: Part | None, name: str, problem: str, expected: str | None = None, hint: str | None = None
    ) -> None:
        place = (part or self._row).place
        self._faults.append(Fault(place, problem, f"{self._where}.{name}", expected, hint))


def _several(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}"
