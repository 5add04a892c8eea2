"""What goes before a spawn, what the shim is told of it, and what its refusal means."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from genesisd.supervisor.ports import Launch, SpawnError
from genesisd.supervisor.runners import scratch
from genesisd.supervisor.shim_link import ShimRefused

HOPELESS = frozenset({errno.ENOENT, errno.EACCES, errno.ENOEXEC, errno.ENOTDIR, errno.EISDIR, errno.ELOOP})
"""Failures of an exec that only a change of the configuration or the disk mends."""


def order(launch: Launch, instance: str, cgroup: Path | None) -> dict[str, Any]:
    """The fields of the request; ``instance`` tells daemons of one machine apart."""
    return {
        "incarnation": launch.incarnation,
        "argv": list(launch.argv),
        "env": dict(launch.env),
        "cwd": str(launch.cwd or Path.cwd()),  # the shim's own folder is the root, and it may be of an older daemon
        "cgroup": str(cgroup) if cgroup else None,
        "token": f"{instance}:{launch.worker}:{launch.incarnation}",
        "log": {"max_bytes": launch.log_max_bytes, "keep": launch.log_keep},
        "note": {"host": launch.host, "port": launch.port, "scratch": [str(path) for path in launch.scratch]},
    }


async def empty(launch: Launch) -> None:
    """Empty its scratch folders. Raises SpawnError."""
    if faults := await scratch.empty(launch.scratch):
        raise SpawnError(f"a scratch folder of {launch.worker} cannot be emptied: {faults[0]}", cause="scratch")


def stuck(worker: str, pids: Sequence[int]) -> SpawnError:
    """What is left of an earlier incarnation stands in the way."""
    return SpawnError(
        f"processes of {worker}'s last incarnation cannot be killed: {pids}",
        cause="unkillable",
        hint="they hang in the kernel (a card or a disk): see 'ps -o pid,stat,wchan'",
    )


def refused(worker: str, refusal: ShimRefused) -> SpawnError:
    """The same, as supervision knows it."""
    permanent = refusal.refusal == "exec-failed" and refusal.errno in HOPELESS
    return SpawnError(f"{worker}: {refusal}", cause=refusal.refusal, permanent=permanent, errno=refusal.errno)
