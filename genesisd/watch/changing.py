"""Writing what a sweep found into the watchlist: on the file as it is now, which may not be the one that was swept."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from genesisd.errors import ConflictError, GenesisError
from genesisd.watch import commit
from genesisd.watch.edit import set_status
from genesisd.watch.layout import read
from genesisd.watch.result import StatusChange
from genesisd.watch.rows import Watchlist, WatchRow, row_id
from genesisd.watch.save import save
from genesisd.watch.watchlist import in_short

TRIES = 3
NAMED = 3
"""Pull requests in the subject of a commit."""
Written = tuple[tuple[StatusChange, ...], str]
"""The changes that were made, and what went wrong ("" if nothing did)."""


async def write(path: Path, changes: Sequence[StatusChange], *, record: bool) -> Written:
    """As ``write_changes``, and ``record`` commits the file with git, the evidence in the message."""
    clean = await asyncio.to_thread(_bytes, path) if record else b""
    unfit = await commit.unfit(path) if record else None
    made, trouble, saved = await asyncio.to_thread(write_changes, path, changes)
    if not record or not made or saved is None:
        return made, trouble
    if unfit is None and saved.before != clean:  # what git was asked about is not what was changed
        unfit = commit.NotCommitted(f"somebody edited {path} just before it was saved")
    subject = f"Follow upstream: {', '.join(f'{one.ref} is {one.after}' for one in made[:NAMED])}"
    subject += f" and {len(made) - NAMED} more" if len(made) > NAMED else ""
    evidence = tuple(f"{one.ref}: {one.evidence}" for one in made)
    done = unfit or await commit.commit(path, subject, evidence, saved=saved.after)
    return made, f"not committed: {done.reason}" if isinstance(done, commit.NotCommitted) else trouble


@dataclass(frozen=True, slots=True)
class Saved:
    """What the file held before, and holds now."""

    before: bytes
    after: bytes


def write_changes(path: Path, changes: Sequence[StatusChange]) -> tuple[tuple[StatusChange, ...], str, Saved | None]:
    """Make the changes whose rows still say what they said.

    Returns those, what went wrong ("" if nothing did), and what was saved (None where something did).

    Somebody may edit the file while a sweep goes on: it is read again, and their words stand. All changes are saved
    at once or none is. Blocks.
    """
    for attempt in range(1, TRIES + 1):
        try:
            made, saved = _once(path, changes)
        except ConflictError as error:
            if attempt == TRIES:
                return (), error.message, None
        except GenesisError as error:
            return (), in_short(error), None
        else:
            return made, "", saved
    return (), "", None


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _once(path: Path, changes: Sequence[StatusChange]) -> tuple[tuple[StatusChange, ...], Saved]:
    try:
        before = text = path.read_bytes()
    except OSError as error:
        raise GenesisError(f"{path}: cannot be read: {error.strerror}") from error
    seen = read(text, path)
    made = tuple(one for one in changes if _row(seen, one) is not None)
    for one in made:
        row = _row(read(text, path), one)  # where it stands after the changes before it
        if row is not None:
            text = set_status(text, row, one.after, one.evidence, file=str(path))
    if made:
        save(path, text, seen=seen.digest)
    return made, Saved(before, text)


def _row(watchlist: Watchlist, change: StatusChange) -> WatchRow | None:
    rows: Iterable[WatchRow] = watchlist.watch
    return next((row for row in rows if row_id(row) == change.row and row.status is change.before), None)
