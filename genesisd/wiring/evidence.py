"""What shows a fault, kept before the fault is ended: process tree, last log lines, metrics.

One folder a fault under the worker's state folder; the oldest go when there are too many.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import aiohttp

from genesisd.clock import Clock
from genesisd.supervisor.model import Reason
from genesisd.supervisor.ports import EventSink, Runner
from genesisd.units import Address

KEEP = 10
LOG_LINES = 400
METRICS_LIMIT = 4 << 20
METRICS_SECONDS = 2.0


class FolderEvidence:
    """Implements ``Evidence``."""

    def __init__(
        self, folder: Path, runner: Runner, session: aiohttp.ClientSession, sink: EventSink, clock: Clock
    ) -> None:
        self._folder = folder
        self._runner = runner
        self._session = session
        self._sink = sink
        self._clock = clock

    async def save(self, worker: str, incarnation: int, reason: Reason) -> None:
        """Write one bundle. Raises OSError when the disk will not take it."""
        metrics, log = await asyncio.gather(self._metrics(worker), self._runner.tail(worker, LOG_LINES))
        members = self._runner.members(worker)
        stamp = f"{int(self._clock.wall())}-{incarnation}-{reason.code}"
        target = self._folder / worker / "evidence" / stamp
        summary = {"worker": worker, "incarnation": incarnation, "reason": reason.code, "text": reason.text}
        await asyncio.to_thread(_write, target, summary, members, log, metrics)
        self._sink.emit("evidence_saved", worker, incarnation=incarnation, path=str(target))

    async def _metrics(self, worker: str) -> bytes:
        life = self._runner.life(worker)
        if life is None:
            return b""
        url = f"http://{Address(host=life.host, port=life.port)}/metrics"
        try:
            async with self._session.get(url, timeout=aiohttp.ClientTimeout(total=METRICS_SECONDS)) as answer:
                return await answer.content.read(METRICS_LIMIT)
        except (aiohttp.ClientError, TimeoutError) as error:
            return f"# could not be had: {str(error) or type(error).__name__}\n".encode()


def _write(target: Path, summary: dict[str, Any], members: Any, log: list[str], metrics: bytes) -> None:
    target.mkdir(parents=True, exist_ok=True)
    processes = [process for pid in members if (process := snapshot(pid)) is not None]
    (target / "summary.json").write_text(json.dumps({**summary, "processes": processes}, indent=2), encoding="utf-8")
    (target / "log.txt").write_text("\n".join(log), encoding="utf-8")
    (target / "metrics.txt").write_bytes(metrics)
    for old in sorted(target.parent.iterdir(), key=lambda path: path.stat().st_mtime)[:-KEEP]:
        shutil.rmtree(old, ignore_errors=True)


def snapshot(pid: int) -> dict[str, Any] | None:
    """One process as /proc shows it; None when it is gone."""
    base = Path(f"/proc/{pid}")
    try:
        stat = (base / "stat").read_text(encoding="utf-8", errors="replace")
        command = (base / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return None
    name, _, rest = stat.partition("(")[2].rpartition(")")
    fields = rest.split()
    found = {"pid": pid, "name": name, "state": fields[0], "parent": int(fields[1]), "command": command}
    for extra in ("wchan", "stack"):
        try:
            found[extra] = (base / extra).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            continue  # root only, or a kernel without it
    return found
