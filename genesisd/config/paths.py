"""Where the daemon keeps things: what the file says, else what systemd says, else the customs of root or user."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TMPDIR_LIMIT = 70
"""Longest TMPDIR of a worker: vLLM and torch put sockets of some 35 more characters below it."""
UNIX_LIMIT = 107
"""Longest path of a Unix socket on Linux, without its final NUL."""


@dataclass(frozen=True, slots=True)
class Paths:
    """Absolute folders of one daemon.

    Attributes:
        state_dir: the store, logs, evidence; survives reboots.
        runtime_dir: sockets and the workers' short TMPDIRs; may vanish with a reboot.
        cache_dir: pin environments, compiled kernels; may be deleted at any time.
        socket: the control socket.
    """

    state_dir: Path
    runtime_dir: Path
    cache_dir: Path
    socket: Path

    @property
    def store(self) -> Path:
        """The SQLite file."""
        return self.state_dir / "genesisd.db"

    def worker_tmp(self, worker: str) -> Path:
        """The worker's TMPDIR."""
        return self.runtime_dir / "tmp" / worker


def default_dirs(environ: Mapping[str, str], *, root: bool) -> tuple[Path, Path, Path]:
    """State, runtime and cache folder where the file names none.

    GENESISD_STATE, the folder of ``make run``, goes before everything: a demonstration keeps to one folder.
    """
    if demo := _given(environ, "GENESISD_STATE"):
        return demo, demo / "run", _xdg(environ, "XDG_CACHE_HOME", _home(environ) / ".cache")
    home = _home(environ)
    state = _given(environ, "STATE_DIRECTORY") or _custom(
        root, "/var/lib/genesisd", _xdg(environ, "XDG_STATE_HOME", home / ".local/state")
    )
    cache = _given(environ, "CACHE_DIRECTORY") or _custom(
        root, "/var/cache/genesisd", _xdg(environ, "XDG_CACHE_HOME", home / ".cache")
    )
    runtime = _given(environ, "RUNTIME_DIRECTORY") or _custom(root, "/run/genesisd", _user_runtime(environ, state))
    return state, runtime, cache


def _home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111 (no raise without a passwd entry)


def _given(environ: Mapping[str, str], name: str) -> Path | None:
    """Systemd parts several folders by colons; the first is ours."""
    first = environ.get(name, "").partition(":")[0]
    return Path(first) if first.startswith("/") else None


def _custom(root: bool, of_root: str, of_user: Path) -> Path:
    return Path(of_root) if root else of_user


def _xdg(environ: Mapping[str, str], name: str, default: Path) -> Path:
    """The XDG rules: a relative value counts as unset."""
    value = environ.get(name, "")
    return (Path(value) if value.startswith("/") else default) / "genesisd"


def _user_runtime(environ: Mapping[str, str], state: Path) -> Path:
    value = environ.get("XDG_RUNTIME_DIR", "")
    return Path(value) / "genesisd" if value.startswith("/") else state / "run"
