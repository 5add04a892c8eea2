"""A real repository for tests: commits with the messages that people and forges write, on branches as upstream has."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

ENV = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@lab.example",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@lab.example",
    "HOME": "/nonexistent",
    "PATH": os.environ["PATH"],
}


@dataclass
class Repo:
    """``path`` is a work tree with one branch, ``main``. Each commit is a minute after the last."""

    path: Path
    minutes: int = 0

    @classmethod
    def make(cls, path: Path) -> Repo:
        path.mkdir(parents=True)
        repo = cls(path)
        repo.git("init", "-q", "-b", "main")
        repo.commit("Begin", **{"engine.py": lines(40)})
        return repo

    def git(self, *arguments: str, check: bool = True) -> str:
        at = f"{1_700_000_000 + self.minutes * 60} +0000"
        env = ENV | {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}
        ended = subprocess.run(
            ["git", "-C", str(self.path), *arguments], env=env, capture_output=True, text=True, check=False
        )
        if check and ended.returncode != 0:
            raise AssertionError(f"git {' '.join(arguments)}: {ended.stderr}")
        return ended.stdout.strip()

    def commit(self, message: str, **files: str) -> str:
        """Write ``files`` and commit them, or an empty commit; returns the commit."""
        for name, text in files.items():
            target = self.path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        self.git("add", "-A")
        return self._commit(message)

    def _commit(self, message: str) -> str:
        self.minutes += 1
        self.git("commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", message)
        return self.git("rev-parse", "HEAD")

    def branch(self, name: str, at: str = "HEAD") -> None:
        self.git("checkout", "-q", "-b", name, at)

    def checkout(self, name: str) -> None:
        self.git("checkout", "-q", name)

    def pick(self, commit: str, message: str | None = None, *, trailer: bool = False) -> str:
        """Cherry-pick, under the same message or another."""
        self.minutes += 1
        self.git("cherry-pick", *(["-x"] if trailer else []), commit)
        if message is not None:
            self.git("commit", "-q", "--amend", "-m", message)
        return self.git("rev-parse", "HEAD")

    def revert(self, commit: str, message: str | None = None) -> str:
        """Undo a commit; git's own words unless ``message`` is given."""
        self.minutes += 1
        self.git("revert", "--no-edit", commit)
        if message is not None:
            self.git("commit", "-q", "--amend", "-m", message)
        return self.git("rev-parse", "HEAD")

    def squash(self, branch: str, message: str) -> str:
        """As a forge merges: one new commit with all that ``branch`` changed."""
        self.git("merge", "-q", "--squash", branch)
        return self._commit(message)

    def tag(self, name: str, at: str = "HEAD") -> None:
        self.git("tag", "-a", "-m", name, name, at)

    def mirror(self, path: Path, *options: str) -> Path:
        """A bare clone, as an operator makes it."""
        self.git("clone", "-q", "--bare", *options, f"file://{self.path}", str(path))
        return path


def lines(count: int, **changed: str) -> str:
    """A file of numbered lines; ``line7="x"`` writes x on the seventh."""
    return "".join(f"{changed.get(f'line{n}', f'step {n}')}\n" for n in range(1, count + 1))
