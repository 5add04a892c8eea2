"""WorkerState to JSON and back. Pure.

Monotonic times mean something within one boot only. After a reboot they are moved onto the new boot's clock by
the wall time between, so that a restart budget spent five minutes before the reboot is still spent after it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from pydantic import TypeAdapter

from genesisd.supervisor.model import WorkerState

SCHEMA = 1
"""Version of the JSON, kept beside it. A field that is added with a default needs no new version."""
_ADAPTER = TypeAdapter(WorkerState)


@dataclass(frozen=True, slots=True)
class Moment:
    """One instant on both clocks of one boot."""

    boot_id: str
    monotonic: float
    wall: float


def encode(state: WorkerState) -> str:
    """The state as one line of JSON.

    A reason may quote a worker's last words, which need not be text; what UTF-8 cannot hold becomes a question mark.
    """
    return plain(json.dumps(_ADAPTER.dump_python(state), ensure_ascii=False, separators=(",", ":")))


def plain(text: str) -> str:
    """Text that SQLite takes: lone surrogates replaced."""
    return text.encode("utf-8", "replace").decode()


def decode(text: str, schema: int) -> WorkerState:
    """The state back. Raises ValueError on anything that ``encode`` cannot have written."""
    if schema != SCHEMA:
        raise ValueError(f"it has version {schema}, known is {SCHEMA}")
    return _ADAPTER.validate_json(text)


def rebase(state: WorkerState, saved: Moment, now: Moment) -> WorkerState:
    """The state on the present boot's clock; itself when the boot is the same.

    A wall clock that went backwards counts as no time passed, so nothing lands in the future.
    """
    if saved.boot_id == now.boot_id:
        return state
    elapsed = max(0.0, now.wall - saved.wall)

    def past(at: float) -> float:
        return now.monotonic - elapsed - max(0.0, saved.monotonic - at)

    def ahead(at: float) -> float:
        return now.monotonic + max(0.0, at - saved.monotonic - elapsed)

    return replace(
        state,
        since=past(state.since),
        deadline=None if state.deadline is None else ahead(state.deadline),
        started=None if state.started is None else past(state.started),
        restarts=tuple(past(at) for at in state.restarts),
    )
