"""What can go wrong with the store, and which of SQLite's codes mean what."""

from __future__ import annotations

import errno
import sqlite3

from genesisd.errors import ConflictError, GenesisError


class StoreError(GenesisError):
    """The store cannot be opened and starting anew would not mend it."""

    code = "store"


class StoreLockedError(ConflictError):
    """Another process has the store open; ``fields`` holds path and pid."""


class StoreTooNewError(StoreError):
    """A newer genesisd wrote the file; nothing was touched. ``fields`` holds path, found and known."""


_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_NO_ROOM = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR})


UNSTORABLE = (OverflowError, UnicodeError, sqlite3.DataError, sqlite3.InterfaceError, sqlite3.ProgrammingError)
"""A value that no retry will write: it is dropped and counted, so that it does not hold up the others for ever."""


def _primary(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


def is_damage(error: sqlite3.Error) -> bool:
    """The file's bytes are wrong: trying again gives the same."""
    return _primary(error) in _DAMAGED


def is_no_room(error: Exception) -> bool:
    """The disk is full or fails; anything else (whose file is it?) is for the operator to mend."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO)
    return isinstance(error, sqlite3.Error) and _primary(error) in _NO_ROOM
