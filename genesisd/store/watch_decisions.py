"""Decisions about upstream and what people answered, and the dossiers that lie before them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pydantic import TypeAdapter

from genesisd.errors import ConflictError, GenesisError, NotFoundError
from genesisd.store.codec import plain
from genesisd.store.watch_facts import key_of
from genesisd.store.writer import Writer
from genesisd.watch import pin_facts
from genesisd.watch import standing as settled
from genesisd.watch.decisions import Decision, Dossier, KeptDecision, Standing
from genesisd.watch.model import PinFacts, Pull
from genesisd.watch.ports import Met, Refuse
from genesisd.watch.refs import Ref

_DECISION = TypeAdapter(Decision)
_DOSSIER = TypeAdapter(Dossier)
_COLUMNS = "id, decision, opened, seen, standing, by, why, until, revisit_when"
_ALL = f"SELECT {_COLUMNS} FROM watch_decisions ORDER BY id"  # noqa: S608 (a constant above)
_OPEN = f"SELECT {_COLUMNS} FROM watch_decisions WHERE standing = 'open' ORDER BY id"  # noqa: S608 (a constant above)
_ONE = f"SELECT {_COLUMNS} FROM watch_decisions WHERE id = ?"  # noqa: S608 (a constant above)
# What stands under the key already could not be read: it is asked anew, or no sweep could keep anything again.
_NEW = (
    "INSERT OR REPLACE INTO watch_decisions (key, row, decision, opened, seen, standing) VALUES (?, ?, ?, ?, ?, 'open')"
)
_PUT = (
    "UPDATE watch_decisions SET row = ?, decision = ?, opened = ?, seen = ?, standing = ?, by = ?, why = ?, "
    "until = ?, revisit_when = ? WHERE id = ?"
)
_DOSSIERS = "SELECT dossier FROM watch_dossiers WHERE (?1 IS NULL OR patch = ?1) ORDER BY made_at DESC, patch, ref, pin"
_KEEP = "INSERT OR REPLACE INTO watch_dossiers (patch, ref, pin, made_at, dossier) VALUES (?, ?, ?, ?, ?)"
_ANSWER = "SELECT pull FROM watch_facts WHERE ref = ?"
_NOTE = "SELECT value FROM watch_notes WHERE kind = ? AND key = ?"
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
        self,
        id_: int,
        standing: Standing,
        *,
        by: str,
        why: str,
        until: float | None,
        revisit_when: Sequence[str],
        refuse: Refuse | None = None,
    ) -> KeptDecision:
        """What a person said; see the port. ``refuse`` is called in the store's thread, within the transaction."""

        def work(connection: sqlite3.Connection) -> KeptDecision | GenesisError:
            found = _read(connection.execute(_ONE, (id_,)))
            if not found:
                hint = "genesisctl watch decisions --all shows them"
                return NotFoundError(f"no decision {id_}", hint=hint, decision=id_)
            try:
                given = settled.answered(found[0], standing, by=by, why=why, until=until, revisit_when=revisit_when)
            except ValueError as error:
                return ConflictError(str(error), decision=id_)
            if refuse is not None and (refusal := refuse(found[0], *_before(connection, found[0].decision.ref))):
                return refusal
            connection.execute(_PUT, _values(given))
            return given

        told: KeptDecision | GenesisError = await self._writer.ask(work)
        if isinstance(told, GenesisError):
            raise told
        return told

    async def dossiers(self, patch: str | None = None) -> tuple[Dossier, ...]:
        """Newest first; one that cannot be read is left out."""
        made: tuple[Dossier, ...] = await self._writer.ask(lambda connection: _dossiers(connection, patch))
        return made

    async def keep_dossier(self, dossier: Dossier, made_from: Pull | None = None) -> bool:
        """Keep it; see the port."""
        text = plain(_DOSSIER.dump_json(dossier).decode())
        row = (dossier.patch, str(dossier.ref), dossier.pin, dossier.made_at, text)

        def work(connection: sqlite3.Connection) -> bool:
            if made_from is not None and not _is_known(connection, made_from):
                return False
            connection.execute(_KEEP, row)
            return True

        kept: bool = await self._writer.ask(work)
        return kept


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


def _before(connection: sqlite3.Connection, ref: Ref) -> tuple[tuple[Dossier, ...], tuple[PinFacts, ...]]:
    """What lies before a person who answers: all dossiers, and what pins have of ``ref``."""
    note = connection.execute(_NOTE, (pin_facts.KIND, str(ref))).fetchone()
    return _dossiers(connection, None), pin_facts.read(_json(note))


def _dossiers(connection: sqlite3.Connection, patch: str | None) -> tuple[Dossier, ...]:
    return tuple(one for (text,) in connection.execute(_DOSSIERS, (patch,)) for one in _dossier(text))


def _is_known(connection: sqlite3.Connection, pull: Pull) -> bool:
    """Whether the answer that is kept tells of the same commits."""
    answer = _json(connection.execute(_ANSWER, (key_of(pull.ref),)).fetchone())
    return isinstance(answer, dict) and answer.get("head") == pull.head


def _json(row: Sequence[Any] | None) -> Any:
    try:
        return None if row is None or row[0] is None else json.loads(row[0])
    except (ValueError, TypeError):
        return None


def _dossier(text: str) -> Iterable[Dossier]:
    try:
        yield _DOSSIER.validate_json(text)
    except ValueError:
        return
