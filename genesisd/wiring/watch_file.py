"""The watchlist as it reads now, parsed again only when the file is another one."""

from __future__ import annotations

from pathlib import Path

from genesisd.errors import ConfigError
from genesisd.watch.rows import Watchlist
from genesisd.watch.watchlist import in_short, load


class WatchlistFile:
    """Remembers one reading. Used from threads: two that read at once read twice, and either is right."""

    def __init__(self) -> None:
        self._read: tuple[object, Watchlist | None, str] = (None, None, "")

    def read(self, path: Path) -> tuple[Watchlist | None, str]:
        """The list, or the newest one of this life that could be read, and why it cannot be. Blocks.

        A list that somebody broke by a slip is watched by nobody; were it taken for none, its rows would not even
        be told as growing old.
        """
        identity = _identity(path)
        known, found, trouble = self._read
        if identity is None or identity != known:
            try:
                found, trouble = load(path), ""
            except ConfigError as error:
                found, trouble = found if found is not None and found.file == str(path) else None, in_short(error)
            self._read = (identity, found, trouble)
        return found, trouble


def _identity(path: Path) -> object:
    """What is another one after every edit; None where the file cannot be looked at."""
    try:
        seen = path.stat()
    except OSError:
        return None
    return str(path), seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns
