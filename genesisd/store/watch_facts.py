"""What upstream said, kept: the newest answer about each ref, the newest failure beside it, and small notes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter

from genesisd.clock import Clock
from genesisd.store.codec import plain
from genesisd.store.writer import Writer
from genesisd.watch.model import Answer, Known, Pull, Unanswered
from genesisd.watch.refs import Ref, parse_ref

_PULL = TypeAdapter(Pull)
_UNANSWERED = TypeAdapter(Unanswered)
_ANSWERED = """
INSERT INTO watch_facts (ref, pull, checked_at) VALUES (?1, ?2, ?3)
ON CONFLICT (ref) DO UPDATE SET pull = ?2, checked_at = ?3, unknown = NULL, failed_at = NULL
"""
_FAILED = """
INSERT INTO watch_facts (ref, unknown, failed_at) VALUES (?1, ?2, ?3)
ON CONFLICT (ref) DO UPDATE SET unknown = ?2, failed_at = ?3
"""
_ALL = "SELECT ref, pull, unknown FROM watch_facts"
_ONE = f"{_ALL} WHERE ref = ?"
_NOTES = "SELECT key, value FROM watch_notes WHERE kind = ?"
_NOTE = "SELECT key, value FROM watch_notes WHERE kind = ? AND key = ?"
_PUT = "INSERT OR REPLACE INTO watch_notes (kind, key, at, value) VALUES (?, ?, ?, ?)"
_DROP = "DELETE FROM watch_notes WHERE kind = ? AND key = ?"
_FORGET = "DELETE FROM watch_facts WHERE ref = ?"
_FORGET_DOSSIERS = "DELETE FROM watch_dossiers WHERE ref = ?"


class WatchFacts:
    """Implements ``watch.ports.Facts``. Raises StoreReadError when the disk does not answer."""

    def __init__(self, writer: Writer, clock: Clock) -> None:
        self._writer = writer
        self._clock = clock

    async def known(self, refs: Sequence[Ref] | None = None) -> Mapping[Ref, Known]:
        """What is known of these, or of all. A row that cannot be read is as if it were not there."""

        def work(connection: sqlite3.Connection) -> list[tuple[str, str | None, str | None]]:
            if refs is None:
                return connection.execute(_ALL).fetchall()
            return [row for ref in refs for row in connection.execute(_ONE, (key_of(ref),))]

        rows = await self._writer.ask(work)
        return {known.ref: known for row in rows for known in _known(*row)}

    async def learn(self, answers: Sequence[Answer]) -> None:
        """Keep answers, and failures beside them, in one transaction."""
        rows = [_row(answer) for answer in answers]

        def work(connection: sqlite3.Connection) -> None:
            for sql, row in rows:
                connection.execute(sql, row)

        await self._writer.ask(work)

    async def recall(self, kind: str, keys: Sequence[str] | None = None) -> Mapping[str, Any]:
        """Small JSON values of a kind, by key; one that cannot be read is left out."""

        def work(connection: sqlite3.Connection) -> list[tuple[str, str]]:
            if keys is None:
                return connection.execute(_NOTES, (kind,)).fetchall()
            return [row for key in keys for row in connection.execute(_NOTE, (kind, key))]

        return dict(_read(await self._writer.ask(work)))

    async def note(self, kind: str, values: Mapping[str, Any]) -> None:
        """Keep them, in one transaction; None removes one."""
        at = self._clock.wall()
        rows = [(kind, key, at, None if value is None else plain(json.dumps(value))) for key, value in values.items()]

        def work(connection: sqlite3.Connection) -> None:
            for row in rows:
                if row[3] is None:
                    connection.execute(_DROP, row[:2])
                else:
                    connection.execute(_PUT, row)

        await self._writer.ask(work)

    async def forget(self, ref: Ref) -> tuple[bool, int]:
        """Drop what upstream said of ``ref``, and the dossiers that rest on it, in one transaction.

        Whether anything was said, and how many dossiers there were. One that is being made meanwhile finds no answer.
        """

        def work(connection: sqlite3.Connection) -> tuple[bool, int]:
            said = connection.execute(_FORGET, (key_of(ref),)).rowcount > 0
            return said, connection.execute(_FORGET_DOSSIERS, (str(ref),)).rowcount

        gone: tuple[bool, int] = await self._writer.ask(work)
        return gone


def key_of(ref: Ref) -> str:
    """How a pull request is called in the table: by its whole name."""
    return f"{ref.repo}#{ref.number}"


def _row(answer: Answer) -> tuple[str, tuple[object, ...]]:
    if isinstance(answer, Pull):
        return _ANSWERED, (key_of(answer.ref), _text(_PULL.dump_python(answer)), answer.checked_at)
    return _FAILED, (key_of(answer.ref), _text(_UNANSWERED.dump_python(answer)), answer.at)


def _text(fields: Any) -> str:
    """As JSON. What upstream wrote need not be text, and one answer must not keep the others from being kept."""
    return plain(json.dumps(fields, ensure_ascii=False))


def _known(key: str, pull: str | None, unknown: str | None) -> Iterator[Known]:
    try:
        yield Known(
            parse_ref(key),
            None if pull is None else _PULL.validate_json(pull),
            None if unknown is None else _UNANSWERED.validate_json(unknown),
        )
    except ValueError:
        return


def _read(rows: Sequence[tuple[str, str]]) -> Iterator[tuple[str, Any]]:
    for key, value in rows:
        try:
            yield key, json.loads(value)
        except ValueError:
            continue
