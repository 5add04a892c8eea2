"""The record of a life: enough to find, adopt or kill its tree when no shim can be asked."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from genesisd.process_ref import ProcessRef
from genesisd.supervisor.ports import Life
from genesisd.supervisor.tree import Marks


@dataclass(frozen=True, slots=True)
class LifeRecord:
    """One incarnation as its shim described it before the exec."""

    worker: str
    incarnation: int
    leader: ProcessRef
    host: str
    port: int
    scratch: tuple[Path, ...]
    token: str
    cgroup: Path | None
    life: Life = field(init=False, compare=False)
    """The same, as supervision knows it. Made once: whoever shows workers knows by the object that nothing changed."""

    def __post_init__(self) -> None:
        life = Life(self.worker, self.incarnation, self.leader, self.host, self.port)
        object.__setattr__(self, "life", life)

    @property
    def marks(self) -> Marks:
        """By what its members are known."""
        return Marks(self.leader, title_of(self.worker, self.incarnation), self.token, self.cgroup)


def title_of(worker: str, incarnation: int) -> str:
    """What vLLM is told to put into the titles of its processes (VLLM_PROCESS_NAME_PREFIX)."""
    return f"genesis:{worker}:{incarnation}"


def parse_life(worker: str, raw: Mapping[str, Any] | None) -> LifeRecord | None:
    """A record from a shim's answer or from ``life.json``; None when it is not whole."""
    try:
        note = raw["note"]  # type: ignore[index] # None ends in the handler like any other wrong shape
        return LifeRecord(
            worker=worker,
            incarnation=int(raw["incarnation"]),  # type: ignore[index]
            leader=ProcessRef(int(raw["pid"]), int(raw["start_ticks"]), str(raw["boot_id"])),  # type: ignore[index]
            host=str(note["host"]),
            port=int(note["port"]),
            scratch=tuple(Path(str(path)) for path in note["scratch"]),
            token=str(raw["token"]),  # type: ignore[index]
            cgroup=Path(raw["cgroup"]) if raw["cgroup"] else None,  # type: ignore[index]
        )
    except (KeyError, TypeError, ValueError):
        return None


def read_life(worker: str, path: Path) -> LifeRecord | None:
    """The life that the worker's folder speaks of, or None."""
    try:
        raw = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return parse_life(worker, raw) if isinstance(raw, dict) else None


def replace_json(path: Path, value: object) -> None:
    """Write a file in one step, so that a reader finds the old one or the new one. A full disk is no reason to fail."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with contextlib.suppress(OSError):
        try:
            with temporary.open("w") as file:
                json.dump(value, file)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
