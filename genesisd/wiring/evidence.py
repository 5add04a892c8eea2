"""What shows a fault, kept before the fault is ended: tree, stacks, last log lines, metrics, what probes were told.

One folder a fault under the worker's state folder, within one budget for all workers.
"""

from __future__ import annotations

import asyncio
import platform
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import aiohttp

import genesisd
from genesisd.clock import Clock
from genesisd.incidents import disk
from genesisd.incidents.bundle import METRICS_LIMIT, Gathered, files
from genesisd.incidents.model import Incident, Recorded
from genesisd.incidents.redact import Redactor
from genesisd.incidents.stacks import stacks
from genesisd.supervisor.model import Reason
from genesisd.supervisor.ports import EventSink, Runner
from genesisd.supervisor.spec import WorkerSpec
from genesisd.units import Address

LOG_LINES = 400
METRICS_SECONDS = 2.0
PARALLEL = 4
"""Bundles that are gathered at once: when a whole box goes down, its workers take turns."""
Asks = Callable[[str], Sequence[Recorded]]
Open = Callable[[], Mapping[str, Incident]]


class FolderEvidence:
    """Implements ``Evidence``.

    Args:
        folder: of all workers' state.
        runner: knows the tree and its log.
        session: asks the engine for its metrics.
        sink: is told where a bundle lies.
        clock: names it.
        redact: masks secrets and withholds prompts.
        specs: of the workers, by name.
        asks: the failed asks of a worker's probes (``IncidentRecorder.transcript``).
        build: what the worker runs, or None.
        still_open: incidents whose bundles stay (``IncidentRecorder.open``).
        budget: what all bundles may take.
    """

    def __init__(
        self,
        folder: Path,
        runner: Runner,
        session: aiohttp.ClientSession,
        sink: EventSink,
        clock: Clock,
        *,
        redact: Redactor | None = None,
        specs: Callable[[], Mapping[str, WorkerSpec]] = dict,
        asks: Asks = lambda _: (),
        build: Callable[[str], str | None] = lambda _: None,
        still_open: Open = dict,
        budget: disk.Budget | None = None,
    ) -> None:
        self._folder = folder
        self._runner = runner
        self._session = session
        self._sink = sink
        self._clock = clock
        self._redact = redact or Redactor()
        self._specs = specs
        self._asks = asks
        self._build = build
        self._still_open = still_open
        self._budget = budget or disk.Budget()
        self._turn = asyncio.Semaphore(PARALLEL)

    async def save(self, worker: str, incarnation: int, reason: Reason) -> None:
        """Write one bundle. Raises OSError when the disk will not take any of it."""
        async with self._turn:
            found = await self._gather(worker, incarnation, reason)
        stamp = f"{int(self._clock.wall())}-{incarnation}-{reason.code}"
        target = await asyncio.to_thread(self._write, self._folder / worker / disk.FOLDER / stamp, found, self._stays())
        self._sink.emit("evidence_saved", worker, incarnation=incarnation, path=str(target))

    async def _gather(self, worker: str, incarnation: int, reason: Reason) -> Gathered:
        members = list(self._runner.members(worker))
        metrics, log, where = await asyncio.gather(
            self._metrics(worker), self._runner.tail(worker, LOG_LINES), stacks(members)
        )
        spec = self._specs().get(worker)
        build = self._build(worker)
        return Gathered(
            summary={"worker": worker, "incarnation": incarnation, "reason": reason.code, "text": reason.text},
            processes=[process for pid in members if (process := snapshot(pid)) is not None],
            stacks=where,
            log=log,
            metrics=metrics,
            asks=self._asks(worker),
            spec={} if spec is None else spec.model_dump(mode="json"),
            versions={**_versions(), "pin": None if spec is None else spec.pin, "build": build},
        )

    def _write(self, target: Path, found: Gathered, stays: Collection[Path]) -> Path:
        """In a thread. Room is made before, so that a disk that is full of old bundles takes the new one."""
        number = 1
        while target.exists():
            number += 1
            target = target.with_name(f"{target.name.removesuffix(f'.{number - 1}')}.{number}")
        contents = files(found, self._redact)
        disk.trim(self._folder, self._less(sum(map(len, contents.values()))), stays)
        disk.write(target, contents)
        return target

    def _less(self, size: int) -> disk.Budget:
        return disk.Budget(max(0, self._budget.size - size), max(0, self._budget.count - 1))

    def _stays(self) -> frozenset[Path]:
        return frozenset(Path(one.evidence) for one in self._still_open().values() if one.evidence)

    async def _metrics(self, worker: str) -> str:
        life = self._runner.life(worker)
        if life is None:
            return ""
        url = f"http://{Address(host=life.host, port=life.port)}/metrics"
        try:
            async with self._session.get(url, timeout=aiohttp.ClientTimeout(total=METRICS_SECONDS)) as answer:
                page = bytearray()
                while len(page) < METRICS_LIMIT and (part := await answer.content.read(METRICS_LIMIT)):
                    page += part
                return page.decode(errors="replace")
        except (aiohttp.ClientError, TimeoutError) as error:
            return f"# could not be had: {str(error) or type(error).__name__}\n"


def _versions() -> dict[str, str]:
    return {"genesisd": genesisd.__version__, "python": sys.version.split()[0], "kernel": platform.release()}


def snapshot(pid: int) -> dict[str, Any] | None:
    """One process as /proc shows it; None when it is gone."""
    base = Path(f"/proc/{pid}")
    try:
        stat = (base / "stat").read_text(encoding="utf-8", errors="replace")
        argv = (base / "cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0")
    except OSError:
        return None
    name, _, rest = stat.partition("(")[2].rpartition(")")
    fields = rest.split()
    return {"pid": pid, "name": name, "state": fields[0], "parent": int(fields[1]), "argv": argv}
