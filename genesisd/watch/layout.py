"""What a watchlist's bytes say: both sections, every field, strictly. Pure. docs/watchlist.md describes the format.

All that is wrong with a file is told at once, each with line, column and field. A file that was cut off lacks its
``__sentinel__`` and is refused: half a list would pass for a whole one whose other rows nobody watches any more.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from genesisd.errors import ConfigError
from genesisd.watch.parts import Listing, Mapping, Part, Scalar, compose, cut, kind, plain
from genesisd.watch.refs import Ref
from genesisd.watch.row_fields import RowFields
from genesisd.watch.row_reading import sweep_row, watch_row
from genesisd.watch.rows import Watchlist
from genesisd.watch.source import Fault, Place, Source

One = TypeVar("One")
SENTINEL = "__sentinel__"
COMPLETE = "complete"


@dataclass(frozen=True)
class Layout:
    """A watchlist with the parts that it was read from, for who edits it."""

    source: Source
    root: Mapping
    rows: Watchlist

    def section(self, name: str) -> Listing | None:
        """The list behind ``name``, or None where the file has no such section."""
        part = self.root.get(name)
        return part if isinstance(part, Listing) else None

    def said(self) -> dict[str, Any]:
        """What the file says, less how it is written: text, lists of it, and mappings."""
        return cast("dict[str, Any]", plain(self.root))


def read(text: bytes, path: Path | str) -> Watchlist:
    """The watchlist in ``text``; ``path`` serves only to name it. Raises ConfigError as ``load`` does."""
    return lay_out(text, path).rows


def lay_out(text: bytes, path: Path | str) -> Layout:
    """As ``read``, with the parts and their bytes."""
    source = Source(text, str(path))
    root = compose(source)
    if not isinstance(root, Mapping):
        raise _cut_off(source, "it is empty" if root is None else f"it is {kind(root)}")
    faults: list[Fault] = []
    _top(source, root, faults)
    watch = [watch_row(at, part, faults) for at, part in _rows(root, "watch", faults)]
    sweep = [sweep_row(at, part, faults) for at, part in _rows(root, "sweep", faults)]
    if faults:
        raise source.faults(faults)
    digest = hashlib.sha256(text).hexdigest()
    rows = Watchlist(file=str(path), digest=digest, watch=_whole(watch), sweep=_whole(sweep))
    return Layout(source, root, rows)


def _whole(rows: list[One | None]) -> tuple[One, ...]:
    """All of them: without a fault each was read."""
    return tuple(row for row in rows if row is not None)


def _cut_off(source: Source, problem: str) -> ConfigError:
    expected = f"the sections watch and sweep, and '{SENTINEL}: {COMPLETE}' as the last line"
    return source.fault(source.end(), problem, expected=expected)


def _top(source: Source, root: Mapping, faults: list[Fault]) -> None:
    """The sections, and the sentinel behind them."""
    for key, _ in root.pairs:
        if key.value not in {"watch", "sweep", SENTINEL}:
            expected = f"watch, sweep and {SENTINEL}"
            faults.append(Fault(key.place, "unknown section", cut(key.value), expected))
    sentinel = root.get(SENTINEL)
    expected = f"'{SENTINEL}: {COMPLETE}' as the last line of the file"
    if sentinel is None:
        hint = "see whether the file was cut off; if it is whole, add the line"
        faults.append(Fault(source.end(), "missing", SENTINEL, expected, hint))
    elif not isinstance(sentinel, Scalar) or sentinel.value != COMPLETE:
        faults.append(Fault(sentinel.place, f"it is {kind(sentinel)}", SENTINEL, expected))
    elif root.pairs[-1][1] is not sentinel:
        hint = "what stands behind it could be cut off unseen: move it to the end"
        faults.append(Fault(sentinel.place, "it is not the last", SENTINEL, expected, hint))


def _rows(root: Mapping, section: str, faults: list[Fault]) -> list[tuple[int, Mapping]]:
    """The rows of a section, each with its place in it."""
    part = root.get(section)
    if part is None:
        return []
    if not isinstance(part, Listing):
        hint = f"write '{section}: []' for a section without rows"
        faults.append(Fault(_from_key(root, section), f"it is {kind(part)}", section, "a list of rows", hint))
        return []
    rows = [(at, item) for at, item in enumerate(part.items) if isinstance(item, Mapping)]
    _twice(rows, section, "upstream" if section == "watch" else "pr", faults)
    faults += [
        Fault(item.place, f"it is {kind(item)}", f"{section}[{at}]", "a row: fields with their values")
        for at, item in enumerate(part.items)
        if not isinstance(item, Mapping)
    ]
    return rows


def _from_key(root: Mapping, section: str) -> Place:
    key = root.key(section)
    return key.place if key else root.place


def _twice(rows: list[tuple[int, Mapping]], section: str, field: str, faults: list[Fault]) -> None:
    """Two rows of one pull request in one section: which of them an edit or a decline meant could not be told."""
    seen: dict[Ref, Part] = {}
    for at, row in rows:
        ref = RowFields(row, "", []).ref(field, number=field == "pr")
        part = row.get(field)
        if ref is None or part is None:
            continue
        if (first := seen.setdefault(ref.folded, part)) is not part:
            problem = f"{ref} has a row already, at line {first.place.line}"
            hint = "make one row of both, or move one to the other section"
            faults.append(Fault(part.place, problem, f"{section}[{at}].{field}", "each once in a section", hint))
