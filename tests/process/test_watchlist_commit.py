"""Recording the watchlist in git: what is committed, what is not, and that the file is saved whatever git says."""

import asyncio
import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from genesisd.watch import commit as committing
from genesisd.watch.commit import Committed, NotCommitted
from genesisd.watch.save import save

pytestmark = pytest.mark.process
OLD, NEW = b"old: 1\n", b"new: 2\n"
SUBJECT = "Bring the list up to date"
EVIDENCE = ("vllm#1: open -> merged (2026-07-05, 1a2b3c4)", '# vllm#2: open -> closed [x] "quoted" — →')


@pytest.fixture(autouse=True)
def settings(tmp_path, monkeypatch):
    """No setting of the machine: git has no name of anybody to commit under."""
    home = tmp_path / "home"
    home.mkdir()
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def git(folder: Path, *arguments: str) -> str:
    named = ("-c", "user.name=Somebody", "-c", "user.email=somebody@localhost", *arguments)
    return subprocess.run(("git", *named), cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def path(tmp_path):
    """A watchlist in a folder of a repository."""
    folder = tmp_path / "repository" / "etc"
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main", "..")
    (folder / "list.yaml").write_bytes(OLD)
    (folder / "other").write_text("other\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message=First")
    return folder / "list.yaml"


def kept(path, content=NEW, old=OLD):
    """Save and commit, as a sweep does."""

    async def steps():
        why = await committing.unfit(path)
        await asyncio.to_thread(save, path, content, seen=hashlib.sha256(old).hexdigest())
        return why or await committing.commit(path, SUBJECT, EVIDENCE, saved=content)

    return asyncio.run(steps())


def test_what_somebody_wrote_after_the_save_is_not_committed(path):
    """It would stand there under the machine's name; the file keeps it."""
    path.write_bytes(NEW + b"theirs: 3\n")
    done = asyncio.run(committing.commit(path, SUBJECT, EVIDENCE, saved=NEW))
    assert isinstance(done, NotCommitted)
    assert "edited" in done.reason
    assert git(path.parent, "show", "HEAD:./list.yaml").encode() == OLD
    assert path.read_bytes() == NEW + b"theirs: 3\n"


def test_a_change_is_committed_with_its_evidence(path):
    """One commit of one file, by the machine's own name, whose message has a line a row, to the letter."""
    done = kept(path)
    assert isinstance(done, Committed)
    assert git(path.parent, "rev-parse", "HEAD").strip() == done.commit
    subject, _, *body = git(path.parent, "log", "-1", "--format=%B").rstrip("\n").split("\n")
    assert subject == SUBJECT
    assert tuple(body) == EVIDENCE
    assert git(path.parent, "log", "-1", "--format=%an").strip() == "genesisd"
    assert git(path.parent, "show", "--format=", "--name-only", "HEAD").split() == ["etc/list.yaml"]
    assert git(path.parent, "status", "--porcelain") == ""


def test_what_else_is_staged_stays_staged(path):
    """A person's half-made commit is left as it is."""
    (path.parent / "other").write_text("theirs\n")
    git(path.parent, "add", "other")
    assert isinstance(kept(path), Committed)
    assert git(path.parent, "status", "--porcelain") == "M  etc/other\n"
    assert git(path.parent, "show", "--format=", "--name-only", "HEAD").split() == ["etc/list.yaml"]


@pytest.mark.parametrize("staged", [False, True])
def test_changes_of_a_person_in_the_file_are_not_committed(path, staged):
    """The file is saved over what it was, theirs included; whether that is recorded is for the person to say."""
    path.write_bytes(b"theirs: 1\n")
    if staged:
        git(path.parent, "add", "list.yaml")
    before = git(path.parent, "rev-parse", "HEAD")
    done = kept(path, b"theirs: 2\n", b"theirs: 1\n")
    assert isinstance(done, NotCommitted)
    assert "nobody committed" in done.reason
    assert (path.read_bytes(), git(path.parent, "rev-parse", "HEAD")) == (b"theirs: 2\n", before)


def test_a_link_into_a_repository_is_followed(path, tmp_path):
    """The commit is made where the file is, not where the link is."""
    link = tmp_path / "list.yaml"
    link.symlink_to(path)
    assert isinstance(kept(link), Committed)
    assert path.read_bytes() == NEW


def test_a_file_outside_of_git_is_saved_and_the_reason_told(tmp_path):
    """No repository, no commit; the list is right all the same."""
    path = tmp_path / "list.yaml"
    path.write_bytes(OLD)
    done = kept(path)
    assert isinstance(done, NotCommitted)
    assert "not a git repository" in done.reason
    assert path.read_bytes() == NEW


def test_a_file_that_git_does_not_follow_is_saved(path):
    """What was never added is not added by a machine."""
    new = path.with_name("new.yaml")
    new.write_bytes(OLD)
    done = kept(new)
    assert isinstance(done, NotCommitted)
    assert "does not follow" in done.reason
    assert new.read_bytes() == NEW


def test_a_hook_that_refuses_is_heard(path):
    """The owner's rules hold for the machine; what the hook said is the reason."""
    hook = path.parent.parent / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'error: not on a Friday' >&2\nexit 1\n")
    hook.chmod(0o755)
    done = kept(path)
    assert isinstance(done, NotCommitted)
    assert "not on a Friday" in done.reason
    assert path.read_bytes() == NEW


def test_a_merge_in_progress_is_left_alone(path):
    """Git makes no commit of one file in the midst of a merge, and nothing here forces it."""
    (path.parent.parent / ".git" / "MERGE_HEAD").write_text(git(path.parent, "rev-parse", "HEAD"))
    done = kept(path)
    assert isinstance(done, NotCommitted)
    assert "merge" in done.reason


def test_a_git_that_hangs_is_ended(path, tmp_path, monkeypatch):
    """A hook that never ends costs the deadline, and no process stays behind."""
    hook = path.parent.parent / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 600\n")
    hook.chmod(0o755)
    monkeypatch.setattr(committing, "DEADLINE", 2.0)
    done = kept(path)
    assert isinstance(done, NotCommitted)
    assert "longer than" in done.reason
    pid = tmp_path / "pid"
    # On a busy machine git may not have come to the hook by the deadline.
    assert not pid.exists() or not Path(f"/proc/{pid.read_text().strip()}/cmdline").is_file() or _is_dead(pid)


def _is_dead(pid: Path) -> bool:
    status = Path(f"/proc/{pid.read_text().strip()}/stat").read_text()
    return status.rpartition(")")[2].split()[0] in {"Z", "X"}


def test_without_git_the_file_is_saved(path, monkeypatch):
    """A machine without git keeps its list."""
    monkeypatch.setenv("PATH", "/nonexistent")
    done = kept(path)
    assert isinstance(done, NotCommitted)
    assert path.read_bytes() == NEW
