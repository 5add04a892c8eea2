"""What the checks look at: a watchlist, the register, and what is known of upstream. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from genesisd.watch.findings import Finding, FindingKind, Level
from genesisd.watch.model import Known, PatchFact, Pull
from genesisd.watch.refs import Ref
from genesisd.watch.rows import Row, Watchlist, WatchRow, row_id


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Everything that a check may use.

    Attributes:
        watchlist: as read.
        patches: the register's facts by id.
        find: the id that a name means, or None.
        known: what upstream said, or None where there is no store to ask: then nothing is told that would need it.
        now: for ages.
        max_age: seconds after which an answer is old.
        marked: pull requests that have markers, or None where the markers were not read.
        ran: patches whose test was run on the pin that serves, or None where there is no store to ask.
    """

    watchlist: Watchlist
    patches: Mapping[str, PatchFact]
    find: Callable[[str], str | None]
    known: Mapping[Ref, Known] | None
    now: float
    max_age: float
    marked: Collection[Ref] | None = None
    ran: Collection[str] | None = None

    def rows(self) -> tuple[Row, ...]:
        """All, as they follow in the file's sections."""
        return (*self.watchlist.watch, *self.watchlist.sweep)

    def bound(self, row: Row) -> tuple[PatchFact, ...]:
        """The facts of the row's patches, as far as the register has them; each once."""
        ids = dict.fromkeys(id_ for name in row.patches if (id_ := self.find(name)) is not None)
        return tuple(self.patches[id_] for id_ in ids if id_ in self.patches)

    def pull(self, ref: Ref) -> Pull | None:
        """The newest answer about ``ref``, if there is one."""
        known = (self.known or {}).get(ref)
        return known.pull if known else None

    def watch_row(self, ref: Ref) -> WatchRow | None:
        """The row of ``ref`` in ``watch``."""
        return next((row for row in self.watchlist.watch if row.upstream == ref), None)


def about(row: Row, kind: FindingKind, severity: Level, text: str, hint: str = "") -> Finding:
    """A finding about ``row``."""
    return Finding(kind=kind, severity=severity, line=row.line, row=row_id(row), text=text, hint=hint)


def day(at: float) -> str:
    """The day of a time, UTC."""
    return datetime.fromtimestamp(at, UTC).date().isoformat()


def several(names: Collection[str]) -> str:
    """Names in a sentence."""
    return ", ".join(names)
