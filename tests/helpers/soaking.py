"""A daemon that is watched for an hour while nothing is wrong: what it said of anybody, and what it grew by."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from genesisd.probes.slope import HOUR, growth
from tests.helpers.box import Box

SECONDS = float(os.environ.get("GENESISD_SOAK_SECONDS", "3600"))
"""Length of a soak."""
MIB = 1 << 20
GROWN = 16 * MIB
"""Bytes an hour by which the daemon's memory may surely grow."""
FEW = 8
"""Descriptors and threads that may come and go."""
ALARMS = frozenset(
    {"liveness_failed", "worker_exited", "worker_restart", "incident_opened", "evidence_saved", "effect_failed", "store_error",
     "judge_told", "judge_restart", "judge_rollback", "judge_bisect", "judge_hold", "patch_quarantined", "front_lost"}
)  # fmt: skip


OVERLAP = 2.0
"""Seconds before a look that the next one sees again: an event may be written a moment after it happened."""


class Watched:
    """One daemon, looked at every few seconds."""

    def __init__(self, box: Box) -> None:
        assert box.process is not None
        self.box, self.pid, self.began = box, box.process.pid, time.time()
        self._looked = self.began
        self.points: list[tuple[float, float]] = []
        self.held: list[tuple[int, int]] = []

    def soak(self, seconds: float = SECONDS) -> None:
        """Look until the time has passed; what it takes for itself in the first tenth does not count."""
        begin, end = time.monotonic(), time.monotonic() + seconds
        every = min(5.0, seconds / 100)
        while time.monotonic() < end:
            time.sleep(every)
            self.calm()
            if time.monotonic() > begin + seconds / 10:
                self.points.append((time.monotonic(), float(self._resident())))
                self.held.append((self._fds(), self._threads()))

    def calm(self) -> None:
        """Nothing was told of anybody since the last look; what was is in the failure, with what stood around it."""
        since, self._looked = self._looked, time.time() - OVERLAP
        events = list(self.box.ask("events", since, follow=False, worker=None))
        told = [one for one in events if self._alarm(one)]
        if told:
            standings = [one for one in self.box.ask("probes", None) if one["standing"] not in {"good", "skipped"}]
            raise AssertionError(json.dumps({"told": told, "around": events, "standings": standings}, indent=1))

    def _alarm(self, event: Mapping[str, Any]) -> bool:
        failed = event["kind"] == "probe_changed" and event["fields"]["verdict"] == "failure"
        return failed or event["kind"] in ALARMS

    def judged(self, worker: str) -> dict[str, dict[str, Any]]:
        """Its correctness probes by kind: none bad, none that never could be asked; prints what each found."""
        found = {one["kind"]: one for one in self.box.ask("probes", worker) if one["stage"] == "correctness"}
        for kind, one in found.items():
            print(f"{worker:<10} {kind:<18} {one['standing']:<10} {one['tokens'] or 0:>8} {one['summary']}")
        assert {kind for kind, one in found.items() if one["standing"] == "bad"} == set()
        runs = [run for kind in found for run in self.box.ask("probe_history", worker, kind, 1000)]
        assert [run for run in runs if run["verdict"] == "failure"] == []
        return found

    def grew(self) -> str:
        """What it grew by; fails where that is surely too much."""
        fds, threads = (max(one[i] for one in self.held[-10:]) - max(one[i] for one in self.held[:10]) for i in (0, 1))
        sure = growth(self.points, 0.99)
        rate = "too few looks" if sure is None else f"surely {sure.rate * HOUR / MIB:+.2f} MiB an hour"
        total = (self.points[-1][1] - self.points[0][1]) / MIB
        text = f"daemon: {rate}, {total:+.2f} MiB over {len(self.points)} looks, {fds:+d} fds, {threads:+d} threads"
        assert fds <= FEW, text
        assert threads <= FEW, text
        assert sure is None or not sure.exceeds(GROWN), text
        return text

    def _resident(self) -> int:
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def _fds(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    def _threads(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/task").iterdir()))
