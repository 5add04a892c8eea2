"""Diffs on the disk: whole or not there, one a pull request."""

import os
import time

import pytest

from genesisd.watch.refs import Ref
from genesisd.watch.sources.cache import UNUSED, DiffCache

ONE, OTHER = Ref("a/b", 1), Ref("a/b", 12)
HEADS = ("a" * 40, "b" * 40)


def test_what_is_kept_is_found(tmp_path):
    """By ref and head, also by the next daemon."""
    kept = DiffCache(tmp_path / "diffs").keep(ONE, HEADS[0], b"text", complete=True)
    found = DiffCache(tmp_path / "diffs").find(ONE, HEADS[0])
    assert found == kept
    assert found.path.read_bytes() == b"text"
    assert DiffCache(tmp_path / "diffs").find(ONE, HEADS[1]) is None
    assert DiffCache(tmp_path / "diffs").find(OTHER, HEADS[0]) is None


def test_another_head_takes_its_place(tmp_path):
    """Only the newest head of a pull request stays, and others' diffs are left alone."""
    cache = DiffCache(tmp_path)
    cache.keep(OTHER, HEADS[0], b"other", complete=True)
    cache.keep(ONE, HEADS[0], b"old", complete=True)
    cache.keep(ONE, HEADS[1], b"new", complete=True)
    assert cache.find(ONE, HEADS[0]) is None
    assert cache.find(ONE, HEADS[1]).path.read_bytes() == b"new"
    assert cache.find(OTHER, HEADS[0]) is not None


def test_a_part_says_so_until_the_whole_comes(tmp_path):
    """An incomplete diff is found as such, and the complete one takes its place."""
    cache = DiffCache(tmp_path)
    cache.keep(ONE, HEADS[0], b"part", complete=False)
    assert not cache.find(ONE, HEADS[0]).complete
    cache.keep(ONE, HEADS[0], b"whole", complete=True)
    assert cache.find(ONE, HEADS[0]).complete
    assert len(list(tmp_path.iterdir())) == 1


def test_what_nobody_asks_for_goes(tmp_path):
    """Diffs unused for a season, and what a killed daemon left half written, are cleared away."""
    old = DiffCache(tmp_path).keep(OTHER, HEADS[0], b"old", complete=True)
    used = DiffCache(tmp_path).keep(Ref("a/b", 3), HEADS[0], b"used", complete=True)
    half, foreign = tmp_path / ".x.tmp", tmp_path / "README"
    half.write_text("")
    foreign.write_text("")
    long_ago = time.time() - UNUSED - 10
    for path in (old.path, used.path, half, foreign):
        os.utime(path, (long_ago, long_ago))
    cache = DiffCache(tmp_path)
    assert cache.find(used.ref, HEADS[0]) is not None
    cache.keep(ONE, HEADS[0], b"new", complete=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["README", used.path.name, cache.find(ONE, HEADS[0]).path.name]
    )


def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    """What could not be written whole is not there."""
    monkeypatch.setattr(os, "fdopen", _full)
    with pytest.raises(OSError, match="No space"):
        DiffCache(tmp_path).keep(ONE, HEADS[0], b"text", complete=True)
    assert list(tmp_path.iterdir()) == []


def _full(handle: int, _mode: str) -> object:
    os.close(handle)
    raise OSError(28, "No space left on device")


def test_what_may_only_be_read_is_found(tmp_path, monkeypatch):
    """In a folder of another user, or on a disk that was mounted for reading, marks of use cannot be set."""
    cache = DiffCache(tmp_path)
    kept = cache.keep(ONE, "a" * 40, b"x", complete=True)

    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "utime", refuse)
    assert cache.find(ONE, "a" * 40) == kept


def test_a_diff_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    """A power cut in between would leave a name without bytes, and an empty diff changes nothing."""
    seen = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (seen.append([one.suffix for one in tmp_path.iterdir()]), real(fd)))
    DiffCache(tmp_path).keep(ONE, "a" * 40, b"x", complete=True)
    assert seen == [[".tmp"]]
