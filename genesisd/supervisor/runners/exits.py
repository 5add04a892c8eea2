"""Exit records on disk: ``exits/<incarnation>.json``, as the shim writes them, and what they mean."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from genesisd.supervisor.classify import Ending, classify
from genesisd.supervisor.kernel_lines import KernelLine
from genesisd.supervisor.model import ExitRecord
from genesisd.supervisor.runners.lives import LifeRecord, replace_json

TAIL_BYTES = 64 << 10


BEFORE, AFTER = 120.0, 10.0
"""Seconds around an exit in which what the kernel said may be about it: a pid may mean somebody else later."""
KernelWords = Callable[[], Sequence[KernelLine]]


def no_kernel_words() -> Sequence[KernelLine]:
    """Where the kernel's log is not looked at."""
    return ()


def exit_record(raw: Mapping[str, Any], kernel: KernelWords = no_kernel_words) -> ExitRecord:
    """The meaning of a raw record. Fields of the wrong type count as not known."""
    tail = raw.get("tail")
    return classify(
        Ending(
            code=_whole(raw.get("code")),
            signal=_whole(raw.get("signal")),
            tail=[str(line) for line in tail] if isinstance(tail, list) else (),
            asked=str(raw["asked"]) if raw.get("asked") else None,
            pid=_whole(raw.get("pid")),
            title=f"genesis:{raw.get('worker')}:{raw.get('incarnation')}",
            kernel=_around(raw.get("ended"), kernel()),
        )
    )


def _around(ended: object, lines: Sequence[KernelLine]) -> Sequence[KernelLine]:
    if isinstance(ended, bool) or not isinstance(ended, int | float):
        return ()
    return [line for line in lines if ended - BEFORE <= line.at <= ended + AFTER]


def read_exit(folder: Path, incarnation: int) -> dict[str, Any] | None:
    """One raw record, or None when it is absent or torn."""
    try:
        raw = json.loads((folder / f"{incarnation}.json").read_text())
    except (OSError, ValueError):
        return None
    return raw if isinstance(raw, dict) else None


def newest_exit(folder: Path) -> tuple[int, dict[str, Any] | None]:
    """The highest incarnation that has a record, with the record where it is readable; 0 when there is none."""
    try:
        known = [int(path.stem) for path in folder.glob("*.json") if path.stem.isdecimal()]
    except OSError:
        known = []
    newest = max(known, default=0)
    return newest, read_exit(folder, newest) if newest else None


def write_unwatched(folder: Path, life: LifeRecord, log: Path, asked: str | None) -> dict[str, Any]:
    """Record the end of a life whose shim was dead: nobody could wait for it, so its status is not known."""
    raw = {
        "v": 1,
        "worker": life.worker,
        "incarnation": life.incarnation,
        "code": None,
        "signal": None,
        "asked": asked,
        "ended": time.time(),
        "boot_id": life.leader.boot_id,
        "pid": life.leader.pid,
        "survivors": None,
        "tail": file_tail(log, TAIL_BYTES),
    }
    replace_json(folder / f"{life.incarnation}.json", raw)
    return raw


def mark_swept(folder: Path, incarnation: int) -> None:
    """Note that the tree is gone: its session's number may belong to a stranger from now on."""
    raw = read_exit(folder, incarnation)
    if raw is not None:
        replace_json(folder / f"{incarnation}.json", {**raw, "survivors": 0})


def file_tail(path: Path, limit: int) -> list[str]:
    """Last whole lines of a file within so many bytes; none when it cannot be read."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - limit))
            text = file.read(limit)
    except OSError:
        return []
    if size > limit:
        text = text.partition(b"\n")[2] or text
    return text.decode(errors="replace").splitlines()


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
