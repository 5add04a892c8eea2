"""Where genesisctl looks for the daemon."""

from __future__ import annotations

from pathlib import Path

from genesisd.control.client import SYSTEM_SOCKET, default_socket


def test_the_environment_decides(tmp_path) -> None:
    """GENESISD_SOCKET is taken as it is, whether it exists or not."""
    environ = {"GENESISD_SOCKET": "/x/y", "XDG_RUNTIME_DIR": str(tmp_path)}
    assert default_socket(environ, root=False) == Path("/x/y")


def test_ones_own_daemon_comes_before_the_systems(tmp_path) -> None:
    """A user who runs a daemon means that one."""
    own = tmp_path / "genesisd" / "control.sock"
    own.parent.mkdir()
    own.touch()
    assert default_socket({"XDG_RUNTIME_DIR": str(tmp_path)}, root=False) == own


def test_root_means_the_system(tmp_path) -> None:
    """Root's runtime folder is not looked at."""
    assert default_socket({"XDG_RUNTIME_DIR": str(tmp_path)}, root=True) == SYSTEM_SOCKET


def test_the_demonstration_has_its_own(tmp_path) -> None:
    """GENESISD_STATE names the folder of a demonstration."""
    sock = tmp_path / "run" / "control.sock"
    sock.parent.mkdir()
    sock.touch()
    assert default_socket({"GENESISD_STATE": str(tmp_path)}, root=True) == sock
