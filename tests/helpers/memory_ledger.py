"""A ledger of sweeps in memory; tests/contract/test_watch_ledger.py holds it to what the store's promises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Swept:
    """A row: one attempt at a window."""

    id: int
    kind: str
    window: str
    owner: str
    started: float
    lease: float
    finished: float | None = None
    outcome: str | None = None
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    def counts(self) -> bool:
        return self.outcome in {"done", "partial"}


@dataclass
class MemoryLedger:
    """``fail`` is raised by the call that is named so, as a disk would."""

    rows: list[Swept] = field(default_factory=list)
    fail: dict[str, Exception] = field(default_factory=dict)

    async def begin(self, kind: str, window: str, owner: str, now: float, *, lease: float) -> int | None:
        self._may_fail("begin")
        same = self._of(kind, window)
        if any(row.counts for row in same):
            return None
        if any(row.outcome is None and now < row.lease <= now + lease for row in same):
            return None
        row = Swept(len(self.rows) + 1, kind, window, owner, now, now + lease)
        self.rows.append(row)
        return row.id

    async def renew(self, sweep: int, now: float, *, lease: float) -> bool:
        self._may_fail("renew")
        row = self.rows[sweep - 1]
        if row.outcome is not None or not self._is_newest(row):
            return False
        row.lease = now + lease
        return True

    async def finish(self, sweep: int, now: float, *, outcome: str, summary: Mapping[str, Any]) -> None:
        self._may_fail("finish")
        row = self.rows[sweep - 1]
        if row.outcome is not None:
            return
        row.outcome = outcome if self._is_newest(row) else "failed"
        row.finished, row.summary = now, dict(summary)

    async def last(self, kind: str) -> tuple[str, float] | None:
        self._may_fail("last")
        found = [row for row in self.rows if row.kind == kind and row.counts]
        return (found[-1].window, found[-1].finished or 0.0) if found else None

    def counted(self, kind: str | None = None) -> list[str]:
        """Windows that are done, each as often as it was."""
        return [row.window for row in self.rows if row.counts and kind in {None, row.kind}]

    def _of(self, kind: str, window: str) -> list[Swept]:
        return [row for row in self.rows if (row.kind, row.window) == (kind, window)]

    def _is_newest(self, row: Swept) -> bool:
        return self._of(row.kind, row.window)[-1] is row

    def _may_fail(self, call: str) -> None:
        if (error := self.fail.get(call)) is not None:
            raise error
