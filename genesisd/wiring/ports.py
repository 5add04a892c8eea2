"""What the control API needs of the daemon itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from genesisd.control.views import DaemonView, PatchesView, PinView, ReloadView


class Operations(Protocol):
    """The daemon, beyond its workers."""

    @property
    def config_path(self) -> Path:
        """The main configuration file."""
        ...

    def daemon(self) -> DaemonView:
        """About itself, from memory."""
        ...

    def refresh_soon(self) -> None:
        """Somebody looks: bring what is remembered up to date, without waiting."""
        ...

    def try_builds_again(self) -> None:
        """Forget that a pin or a build could not be made."""
        ...

    def refuse_when_stopping(self) -> None:
        """Raises ConflictError while the daemon ends."""
        ...

    async def pins(self) -> Sequence[PinView]:
        """The pins file, and what is built."""
        ...

    async def patches(self, worker: str) -> PatchesView:
        """What the worker's processes run, looked at now. Raises ConflictError when it has none."""
        ...

    async def reload(self) -> ReloadView:
        """Read the configuration again. Raises ConfigError and changes nothing."""
        ...

    def stop(self, *, drain: bool) -> None:
        """Begin to end."""
        ...
