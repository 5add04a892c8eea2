"""Saving a watchlist: what the new file keeps of the old, and when nothing is written."""

import fcntl
import hashlib
import os
from pathlib import Path

import pytest

from genesisd.errors import ConflictError, PermissionDeniedError, UnavailableError
from genesisd.watch.save import save

OLD, NEW = b"old: 1\n", b"new: 22\n"


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "list.yaml"
    file.write_bytes(OLD)
    return file


def files(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664, 0o640])
def test_the_file_is_replaced_with_its_mode(path, mode):
    """New bytes, the old permissions, and nothing else in the folder."""
    path.chmod(mode)
    save(path, NEW, seen=digest(OLD))
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (NEW, mode)
    assert files(path.parent) == ["list.yaml"]


def test_a_reader_that_has_it_open_reads_the_old(path):
    """The file is replaced, not written over: nobody ever reads a half of each."""
    with path.open("rb") as reader:
        save(path, NEW, seen=digest(OLD))
        assert reader.read() == OLD


def test_a_link_stays_a_link(tmp_path):
    """What the link leads to is replaced, beside itself, so that a folder of links to a checkout keeps working."""
    home = tmp_path / "checkout"
    home.mkdir()
    (home / "real.yaml").write_bytes(OLD)
    (tmp_path / "first").symlink_to("checkout/real.yaml")
    (tmp_path / "list.yaml").symlink_to(tmp_path / "first")
    save(tmp_path / "list.yaml", NEW, seen=digest(OLD))
    assert (tmp_path / "list.yaml").readlink() == tmp_path / "first"
    assert ((home / "real.yaml").read_bytes(), files(home)) == (NEW, ["real.yaml"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_stays(path):
    """A daemon that runs as root does not take a person's file."""
    os.chown(path, 12345, 23456)
    save(path, NEW, seen=digest(OLD))
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 23456)


@pytest.mark.parametrize("mode", [0o444, 0o400])
def test_a_file_that_nobody_may_write_is_left(path, mode):
    """Replacing it would need no leave, but whoever took that from all means something by it; also to root."""
    path.chmod(mode)
    with pytest.raises(PermissionDeniedError, match="nobody may write it") as caught:
        save(path, NEW, seen=digest(OLD))
    assert "chmod u+w" in caught.value.hint
    assert (path.read_bytes(), files(path.parent)) == (OLD, ["list.yaml"])


def test_a_file_that_would_change_hands_is_left(path, monkeypatch):
    """Who may not give the file back to its owner does not replace it; the error says whose it is."""

    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    real = os.fstat
    monkeypatch.setattr(os, "fchown", refuse)

    def strangers(fd):
        # The new file is empty yet when it is looked at: it looks like another user's.
        status = real(fd)
        return os.stat_result((*status[:4], status.st_uid + (status.st_size == 0), *status[5:10]))

    monkeypatch.setattr(os, "fstat", strangers)
    with pytest.raises(PermissionDeniedError, match="would change hands") as caught:
        save(path, NEW, seen=digest(OLD))
    assert caught.value.hint
    assert (path.read_bytes(), files(path.parent)) == (OLD, ["list.yaml"])


def test_extended_attributes_stay(path):
    """Access lists and labels are attributes, and go along."""
    try:
        os.setxattr(path, "user.genesisd", b"mine")
    except OSError:
        pytest.skip("the file system has no extended attributes")
    save(path, NEW, seen=digest(OLD))
    assert os.getxattr(path, "user.genesisd") == b"mine"


def test_what_somebody_changed_meanwhile_is_not_overwritten(path):
    """The file is not what the change was made from: it stays, and the error says what to do."""
    path.write_bytes(b"somebody's\n")
    with pytest.raises(ConflictError, match="changed since it was read") as caught:
        save(path, NEW, seen=digest(OLD))
    assert (caught.value.fields["file"], bool(caught.value.hint)) == (str(path), True)
    assert (path.read_bytes(), files(path.parent)) == (b"somebody's\n", ["list.yaml"])


def test_what_somebody_changed_is_told_also_where_nothing_is_to_be_saved(path):
    """Nothing to write is no leave to say that the file is as it should be."""
    path.write_bytes(b"somebody's\n")
    with pytest.raises(ConflictError, match="changed since it was read"):
        save(path, OLD, seen=digest(OLD))


@pytest.mark.parametrize("how", ["write", "replace"])
def test_what_somebody_changes_in_the_last_moment_is_not_overwritten(path, monkeypatch, how):
    """An editor that saves while the new file goes to the disk wins, in whichever way it saves."""
    real = os.fsync

    def edited_meanwhile(fd):
        real(fd)
        if how == "write":
            path.write_bytes(b"somebody's\n")
        else:
            (path.parent / "theirs").write_bytes(b"somebody's\n")
            (path.parent / "theirs").replace(path)

    monkeypatch.setattr(os, "fsync", edited_meanwhile)
    with pytest.raises(ConflictError, match="changed since"):
        save(path, NEW, seen=digest(OLD))
    assert (path.read_bytes(), files(path.parent)) == (b"somebody's\n", ["list.yaml"])


def test_the_same_content_is_not_written(path):
    """A sweep without changes does not touch the file, so that nobody's editor asks to read it again."""
    before = path.stat()
    save(path, OLD, seen=digest(OLD))
    assert path.stat().st_ino == before.st_ino
    assert path.stat().st_mtime_ns == before.st_mtime_ns


def test_two_at_once_do_not_both_save(path):
    """Whoever holds the file saves; the other is told, and writes nothing."""
    with path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(ConflictError, match="another process"):
            save(path, NEW, seen=digest(OLD))
    assert path.read_bytes() == OLD
    save(path, NEW, seen=digest(OLD))
    assert path.read_bytes() == NEW


def test_what_a_killed_save_left_is_cleared_away(path):
    """A leftover neither stands in the way nor gains company."""
    (path.parent / ".list.yaml.genesisd-new").write_bytes(b"half a fi")
    save(path, NEW, seen=digest(OLD))
    assert (path.read_bytes(), files(path.parent)) == (NEW, ["list.yaml"])


def test_a_leftover_that_is_a_link_is_not_followed(path, tmp_path):
    """A link that bears the name of the new file costs the file it leads to nothing."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious\n")
    (path.parent / ".list.yaml.genesisd-new").symlink_to(victim)
    save(path, NEW, seen=digest(OLD))
    assert (victim.read_bytes(), path.read_bytes()) == (b"precious\n", NEW)


@pytest.mark.parametrize("dangling", [False, True])
def test_a_file_that_is_gone_is_not_made_anew(tmp_path, dangling):
    """Somebody took it away on purpose."""
    path = tmp_path / "list.yaml"
    if dangling:
        path.symlink_to("nowhere")
    with pytest.raises(ConflictError, match="gone"):
        save(path, NEW, seen=digest(OLD))
    assert not path.exists()


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_disk_that_does_not_take_it_leaves_the_old_file(path, monkeypatch, call):
    """The error says that the old file stands, and no half of a new one is left."""

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    if call == "fsync":
        monkeypatch.setattr(os, "fsync", full)
    else:
        monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(UnavailableError, match="the old file stands: no space left"):
        save(path, NEW, seen=digest(OLD))
    assert (path.read_bytes(), files(path.parent)) == (OLD, ["list.yaml"])
