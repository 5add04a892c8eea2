"""Who runs from a folder of the cache, as far as the kernel tells."""

from __future__ import annotations

import os
import re
from pathlib import Path


def user_of(folder: Path) -> int | None:
    """A process that is started from ``folder``, has a file of it mapped or imports from it, or None.

    The environment tells of PYTHONPATH before anything is imported; a process that renames itself wipes it, but has
    the engine's libraries mapped by then. Those that may not be looked at are judged by their command line.
    """
    # What is mapped stands there by its real path, what was said as it was said.
    names = {os.fsencode(folder), os.fsencode(os.path.realpath(folder))}
    mark = re.compile(b"(?:" + b"|".join(map(re.escape, sorted(names))) + rb")[/:\0]")
    processes = (path for path in Path("/proc").iterdir() if path.name.isdecimal())
    return next((int(path.name) for path in processes if _runs_from(path, mark)), None)


def _runs_from(process: Path, mark: re.Pattern[bytes]) -> bool:
    for name in ("cmdline", "environ", "maps"):
        try:
            if mark.search((process / name).read_bytes()):
                return True
        except OSError:
            continue
    return False
