# Pathlib would cost each fake start-up time and memory.
# ruff: noqa: PTH116, PTH123
"""Faults that can be flipped while the fake runs: a JSON file that is read again for each request.

Those marked (demo) take effect with --demo. ``fakevllm/faults.py`` says what ``answer`` may name.
"""

import json
import os
from typing import Any

DEFAULTS: dict[str, Any] = {
    "generate": "ok",  # ok | hang | stall-after-1 | error | error-chunk | empty | no-finish | garbage
    "answer": "ok",  # (demo) a wrong answer's name, or a list of them
    "answer_only": None,  # (demo) "stream" or "whole": the other half answers right
    "needle_limit": 0,  # (demo) tokens of prompt above which needle-lost loses it
    "refuse": None,  # a status, such as 429 or 500, that every generation gets
    "first_request_kills": False,  # the first generation of a life ends EngineCore
    "latency": 0.0,  # seconds before a generation begins: the first token is late
    "token_delay": None,  # seconds between tokens
    "prefill_seconds": None,
    "health": 200,
    "health_delay": 0.0,
    "metrics": 200,
    "metrics_delay": 0.0,
    "load": None,  # a number to answer instead of the true one
    "models": None,  # served names to list instead of the true one
    "freeze_counters": False,
    "running": None,  # gauges that say this instead of the truth
    "waiting": None,
    "kv": None,
    "kv_leak": 0.0,  # the KV gauge grows by this share a second
    "rss_leak": 0,  # bytes a second that the API server takes and keeps
    "vram_leak": 0,  # bytes a second that each entry of the ledger grows by
    "acceptance": None,  # share of drafts that is accepted; default 0.8
    "tokenizer": "ok",  # ok | shifted: /tokenize gives other ids
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
