"""Locks of a cache that is not ours to write."""

from __future__ import annotations

import errno
import fcntl
import os

import pytest

from genesisd.pins import lock


@pytest.fixture
def read_only(monkeypatch):
    """Opening to write, and making folders, fail as on a file system that is mounted to be read only."""
    real = os.open

    def refuse(path, flags, *rest, **more):
        if flags & (os.O_RDWR | os.O_CREAT):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        return real(path, flags, *rest, **more)

    def switch():
        monkeypatch.setattr(os, "open", refuse)

    return switch


@pytest.mark.parametrize("there", [True, False])
def test_a_read_only_cache_can_be_run_from(tmp_path, read_only, there):
    """A shared lock needs no right to write; one that nobody ever made is no obstacle."""
    path = tmp_path / "locks" / "name"
    if there:
        path.parent.mkdir()
        path.touch()
    else:
        path = tmp_path / "absent" / "name"
    read_only()
    with lock.shared_now(path) as fd:
        assert fd is not None
    with lock.shared(path) as fd:
        assert fd >= 0


def test_a_read_only_lock_that_a_remover_holds_is_not_shared(tmp_path, read_only):
    """It keeps out as any other."""
    path = tmp_path / "name"
    with path.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        read_only()
        with lock.shared_now(path) as fd:
            assert fd is None


def test_other_faults_are_told(tmp_path):
    """A lock that cannot be opened for another reason is no read-only cache."""
    with pytest.raises(IsADirectoryError), lock.shared_now(tmp_path):
        pass
