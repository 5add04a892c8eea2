"""A cgroup of its own for each incarnation, where the kernel and systemd let us; nothing depends on it.

In a delegated cgroup v2 the group is the surest list of a tree's members: no process can leave it by setsid, by a
double fork or by renaming itself. No controller is needed, so none is enabled.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

MOUNTS = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))
"""Where version 2 is mounted: alone, or beside version 1 (hybrid)."""
LEAF = "daemon"


def own_group(mounts: tuple[Path, ...] = MOUNTS, membership: Path = Path("/proc/self/cgroup")) -> Path | None:
    """Folder of the v2 group that we were put into (above our leaf), or None without version 2."""
    mount = next((mount for mount in mounts if (mount / "cgroup.procs").exists()), None)
    if mount is None:
        return None
    for line in membership.read_text().splitlines():
        if line.startswith("0::"):
            path = mount / line[3:].strip("/")
            return path.parent if path.name == LEAF else path
    return None


class Cgroups:
    """Makes and removes the incarnations' groups: ``<own>/workers/<worker>-<incarnation>-<instance>``.

    Args:
        own: the delegated group, or None: then there are no groups.
        instance: tells two daemons that share a group apart.
    """

    def __init__(self, own: Path | None, instance: str) -> None:
        self._instance = instance
        self._workers = _prepare(own) if own else None

    @property
    def enabled(self) -> bool:
        """Whether incarnations get groups."""
        return self._workers is not None

    def make(self, worker: str, incarnation: int) -> Path | None:
        """A fresh group, or None when it cannot be made: the session still marks the tree."""
        if self._workers is None:
            return None
        path = self._workers / f"{worker}-{incarnation}-{self._instance}"
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError:
            return None
        return path

    def remove(self, path: Path | None) -> None:
        """Remove a group and the empty ones below it; one that has members stays."""
        if path is not None and path.is_dir():
            for folder, _, _ in os.walk(path, topdown=False):
                with contextlib.suppress(OSError):
                    Path(folder).rmdir()

    def close(self) -> None:
        """Leave nothing behind, unless workers live on in their groups."""
        if self._workers is not None:
            with contextlib.suppress(OSError):
                self._workers.rmdir()

    def sweep(self, worker: str) -> None:
        """Remove what earlier incarnations of a worker left empty."""
        if self._workers is not None:
            for path in self._workers.glob(f"{worker}-*-{self._instance}"):
                if path.name.removeprefix(f"{worker}-").removesuffix(f"-{self._instance}").isdecimal():
                    self.remove(path)


def members(path: Path | None) -> set[int]:
    """Pids in a group and in the groups below it."""
    found: set[int] = set()
    if path is None or not path.is_dir():
        return found
    for folder, _, _ in os.walk(path):
        with contextlib.suppress(OSError, ValueError):
            found |= {int(pid) for pid in (Path(folder) / "cgroup.procs").read_text().split()}
    return found


def _prepare(own: Path) -> Path | None:
    """The folder for the workers' groups, if we may make groups and move processes into them."""
    workers = own / "workers"
    try:
        workers.mkdir(exist_ok=True)
        if (own / "cgroup.subtree_control").read_text().strip():
            _step_aside(own)
    except OSError:
        return None
    # Moving a process needs write access to the common ancestor's list as well: delegation gives it, luck may not.
    return workers if os.access(own / "cgroup.procs", os.W_OK) and os.access(workers, os.W_OK) else None


def _step_aside(own: Path) -> None:
    """Move ourselves into a leaf: with controllers enabled an inner group must not hold processes."""
    leaf = own / LEAF
    leaf.mkdir(exist_ok=True)
    (leaf / "cgroup.procs").write_text(str(os.getpid()))
