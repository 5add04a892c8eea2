"""Reading a watchlist from its file; what its bytes say is told in ``layout``."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from genesisd.errors import ConfigError, GenesisError
from genesisd.watch.layout import read
from genesisd.watch.rows import Watchlist
from genesisd.watch.source import MAX_BYTES

__all__ = ["in_short", "load", "read"]
TOLD = 3
"""Faults of one file that a sentence tells."""
_HINT = "name the watchlist under 'watch.watchlist', or write one (docs/watchlist.md)"


def load(path: Path) -> Watchlist:
    """The watchlist in the file at ``path``.

    Raises:
        ConfigError: no file, unreadable, or wrong; ``fields`` holds file, line, column, field and expected of the first
            fault, and ``problems`` the same of all.
    """
    try:
        with open(path, "rb", opener=_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ConfigError(f"{path}: it is a pipe or a device, and no file", hint=_HINT, file=str(path))
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}", hint=_HINT, file=str(path)) from error
    return read(raw, path)


def in_short(error: GenesisError) -> str:
    """What is wrong with a list, in a sentence: a slip in each of a hundred rows would fill the log at every sweep."""
    faults = error.message.splitlines()
    more = len(faults) - TOLD
    if more <= 0:
        return "; ".join(faults)
    return f"{'; '.join(faults[:TOLD])}; and {more} more (genesisctl watch check tells {'it' if more == 1 else 'them'})"


def _at_once(path: str, flags: int) -> int:
    """A pipe of that name would be waited for already here, by whoever cannot be ended."""
    return os.open(path, flags | os.O_NONBLOCK)
