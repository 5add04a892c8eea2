"""Where a worker's things are: state that outlives a reboot, and what is only of this boot."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from genesisd.supervisor.shim_link import socket_path


@dataclass(frozen=True, slots=True)
class WorkerPaths:
    """Paths of one worker below the daemon's state and runtime folders."""

    state: Path
    runtime: Path
    worker: str

    @property
    def folder(self) -> Path:
        """The worker's own folder; the shim writes below it."""
        return self.state / "workers" / self.worker

    @property
    def log(self) -> Path:
        """The current log file."""
        return self.folder / "log" / "worker.log"

    @property
    def exits(self) -> Path:
        """Exit records, one file an incarnation."""
        return self.folder / "exits"

    @property
    def life(self) -> Path:
        """The newest life, as its shim wrote it down before the exec."""
        return self.folder / "life.json"

    @property
    def socket(self) -> Path:
        """Where the shim listens."""
        return socket_path(self.runtime, self.worker)

    @property
    def lock(self) -> Path:
        """Held by the shim as long as it lives."""
        return self.runtime / "shims" / f"{self.worker}.lock"

    def make(self) -> None:
        """Create the folders; only our user may look into the runtime folder of the shims."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.exits.mkdir(exist_ok=True)
        self.socket.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
