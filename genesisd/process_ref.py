"""The name of one process, for as long as this boot lasts. Pure: ``identity`` reads and uses it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProcessRef:
    """A process that cannot be confused with a later one that got the same pid.

    Attributes:
        pid: process id.
        start_ticks: field 22 of /proc/PID/stat, clock ticks since boot.
        boot_id: /proc/sys/kernel/random/boot_id.
    """

    pid: int
    start_ticks: int
    boot_id: str
