"""Decisions about upstream and what people answered, and the dossiers that lie before them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pydantic import TypeAdapter

from genesisd.errors import ConflictError, NotFoundError
from genesisd.store.codec import plain
from genesisd.store.writer import Writer
from genesisd.watch import standing as settled
from genesisd.watch.decisions import Decision, Dossier, KeptDecision, Standing
from genesisd.watch.ports import Met
from genesisd.watch.refs import Ref

_DECISION = TypeAdapter(Decision)
_DOSSIER = TypeAdapter(Dossier)
_COLUMNS = "id, decision, opened, seen, standing, by, why, until, revisit_when"
_ALL = f"SELECT {_COLUMNS} FROM watch_decisions ORDER BY id"  # noqa: S608 (a constant above)
_OPEN = f"SELECT {_COLUMNS} FROM watch_decisions WHERE standing = 'open' ORDER BY id"  # noqa: S608 (a constant above)
_ONE = f"SELECT {_COLUMNS} FROM watch_decisions WHERE id = ?"  # noqa: S608 (a constant above)
_NEW = "INSERT INTO watch_decisions (key, row, decision, opened, seen, standing) VALUES (?, ?, ?, ?, ?, 'open')"
_PUT = (
    "UPDATE watch_decisions SET row = ?, decision = ?, opened = ?, seen = ?, standing = ?, by = ?, why = ?, "
    "until = ?, revisit_when = ? WHERE id = ?"
)
_DOSSIERS = "SELECT dossier FROM watch_dossiers WHERE (?1 IS NULL OR patch = ?1) ORDER BY made_at DESC, patch, ref, pin"
_KEEP = "INSERT OR REPLACE INTO watch_dossiers (patch, ref, pin, made_at, dossier) VALUES (?, ?, ?, ?, ?)"
_DROP = "DELETE FROM watch_dossiers WHERE ref = ?"
IsTrue = Callable[[str], bool]


class WatchDecisions:
    """Implements ``watch.ports.Decisions``. Raises StoreReadError when the disk does not answer.

    ``is_true`` says whether a predicate that somebody waits for is true; it is called in the store's thread.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self.is_true: IsTrue = lambda _: False

    async def all(self, *, open_only: bool = False) -> tuple[KeptDecision, ...]:
        """In the order of their ids; one that cannot be read is left out."""
        kept: tuple[KeptDecision, ...] = await self._writer.ask(
            lambda c: _read(c.execute(_OPEN if open_only else _ALL))
        )
        return kept

    async def meet(self, decisions: Sequence[Decision], now: float, *, covers: Sequence[str] | None) -> Met:
        """Take what triage made, in one transaction; ``watch.standing`` says what becomes of each."""
        rows = None if covers is None else frozenset(covers)

        def work(connection: sqlite3.Connection) -> Met:
            kept = _read(connection.execute(_ALL))
            meeting = settled.meet(kept, decisions, now, covers=rows, is_true=self.is_true)
            for one in (*meeting.again, *meeting.passed, *meeting.reopened):
                connection.execute(_PUT, _values(one))
            opened = tuple(_open(connection, one, now) for one in meeting.opened)
            return Met(opened=opened, again=meeting.again, passed=meeting.passed, reopened=meeting.reopened)

        met: Met = await self._writer.ask(work)
        return met

    async def revisit(self, now: float) -> tuple[KeptDecision, ...]:
        """Open again what waited for something that has come true; for a new configuration, without a sweep."""

        def work(connection: sqlite3.Connection) -> tuple[KeptDecision, ...]:
            again = settled.revisit(_read(connection.execute(_ALL)), now, self.is_true)
            for one in again:
                connection.execute(_PUT, _values(one))
            return again

        opened: tuple[KeptDecision, ...] = await self._writer.ask(work)
        return opened

    async def answer(
        self, id_: int, standing: Standing, *, by: str, why: str, until: float | None, revisit_when: Sequence[str]
    ) -> KeptDecision:
        """What a person said. Raises NotFoundError, or ConflictError for one that has passed."""

        def work(connection: sqlite3.Connection) -> KeptDecision | str:
            found = _read(connection.execute(_ONE, (id_,)))
            if not found:
                return ""
            try:
                given = settled.answered(found[0], standing, by=by, why=why, until=until, revisit_when=revisit_when)
            except ValueError as error:
                return str(error)
            connection.execute(_PUT, _values(given))
            return given

        told: KeptDecision | str = await self._writer.ask(work)
        if told == "":
            raise NotFoundError(f"no decision {id_}", hint="genesisctl watch decisions --all shows them", decision=id_)
        if isinstance(told, str):
            raise ConflictError(told, decision=id_)
        return told

    async def dossiers(self, patch: str | None = None) -> tuple[Dossier, ...]:
        """Newest first; one that cannot be read is left out."""
        rows = await self._writer.ask(lambda connection: connection.execute(_DOSSIERS, (patch,)).fetchall())
        return tuple(one for (text,) in rows for one in _dossier(text))

    async def keep_dossier(self, dossier: Dossier) -> None:
        """Keep it; one a patch, ref and pin."""
        text = plain(_DOSSIER.dump_json(dossier).decode())
        row = (dossier.patch, str(dossier.ref), dossier.pin, dossier.made_at, text)
        await self._writer.ask(lambda connection: connection.execute(_KEEP, row))

    async def forget_dossiers(self, ref: Ref) -> int:
        """Drop those against ``ref``; how many there were."""
        gone: int = await self._writer.ask(lambda connection: connection.execute(_DROP, (str(ref),)).rowcount)
        return gone


def _open(connection: sqlite3.Connection, made: Decision, now: float) -> KeptDecision:
    number = connection.execute(_NEW, (plain(made.key), plain(made.row), _text(made), now, now)).lastrowid
    return KeptDecision(id=number or 0, decision=made, opened=now, seen=now)


def _values(one: KeptDecision) -> tuple[object, ...]:
    said = (str(one.standing), plain(one.by), plain(one.why), one.until, plain(json.dumps(one.revisit_when)))
    return (plain(one.decision.row), _text(one.decision), one.opened, one.seen, *said, one.id)


def _text(made: Decision) -> str:
    return plain(_DECISION.dump_json(made).decode())


def _read(rows: Iterable[Sequence[Any]]) -> tuple[KeptDecision, ...]:
    return tuple(one for row in rows for one in _kept(row))


def _kept(row: Sequence[Any]) -> Iterable[KeptDecision]:
    number, decision, opened, seen, standing, by, why, until, revisit_when = row
    try:
        yield KeptDecision(
            id=number,
            decision=_DECISION.validate_json(decision),
            opened=opened,
            seen=seen,
            standing=Standing(standing),
            by=by,
            why=why,
            until=until,
            revisit_when=tuple(json.loads(revisit_when)),
        )
    except (ValueError, TypeError):
        return


def _dossier(text: str) -> Iterable[Dossier]:
    try:
        yield _DOSSIER.validate_json(text)
    except ValueError:
        return
