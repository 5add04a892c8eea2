# Pathlib would cost each fake start-up time and memory.
# ruff: noqa: PTH116, PTH123
"""Faults that can be flipped while the fake runs: a JSON file that is read again for each request."""

import json
import os
from typing import Any

DEFAULTS: dict[str, Any] = {
    "generate": "ok",  # ok | hang | stall-after-1 | error | empty | no-finish | garbage
    "latency": 0.0,  # seconds before a generation begins
    "health": 200,
    "health_delay": 0.0,
    "metrics": 200,
    "metrics_delay": 0.0,
    "load": None,  # a number to answer instead of the true one
    "models": None,  # served names to list instead of the true one
    "freeze_counters": False,
    "running": None,
    "waiting": None,
    "kv": None,
    "prefill_seconds": None,
    "token_delay": None,
}


class Control:
    """The present faults: flags of the command line overlaid by the file."""

    def __init__(self, path: str | None, **flags: Any) -> None:
        self._path = path
        self._base = DEFAULTS | flags
        self._seen: tuple[int, int, int] | None = None
        self._now = dict(self._base)

    def read(self) -> dict[str, Any]:
        """The faults as they are now; a missing or half-written file changes nothing."""
        if self._path is None:
            return self._now
        try:
            stat = os.stat(self._path)
            mark = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
            if mark != self._seen:
                with open(self._path, encoding="utf-8") as file:
                    self._now = self._base | json.load(file)
                self._seen = mark
        except (FileNotFoundError, ValueError):
            pass
        return self._now
