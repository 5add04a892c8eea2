"""``python -m tests.helpers.builder CACHE [KEY] [--die-at N]``: make a build as a process of its own.

Prints each step, then ``writes N``: how often it changed something below the cache. With ``--die-at N`` it kills
itself, as SIGKILL would, just before the N-th time.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from genesisd.pins.builds import make_build
from tests.helpers.pin_tree import KEY, environment_of, recipe

ROOT = Path(__file__).parents[2]
FILES = {"vllm/core/sched.py": "def steps():\n    return 2\n", "vllm/core/new.py": "NEW = 1\n"}
_CHANGES = {"os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "os.chmod", "os.truncate", "subprocess.Popen"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def builder(cache: Path, *arguments: str) -> list[str]:
    """Its command line, to be run in ROOT or with the tests on the path."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.helpers.builder import main; main()"
    return [sys.executable, "-c", code, str(cache), *arguments]


def make(cache: Path, key: str = KEY, report=lambda _: None):
    """The build that the process makes."""
    whole = {"vllm/core/new.py": "new"}
    return make_build(
        cache, environment_of(cache), recipe(FILES, key, whole=whole, notes={"P0": "by the builder"}), report
    )


class Writes:
    """Counts changes from when it is made; there is no way to take it back."""

    def __init__(self, die_at: int | None = None) -> None:
        self.count = 0
        self._die_at = die_at
        sync = os.fsync

        def counted_sync(fd: int) -> None:
            self._count()
            sync(fd)

        os.fsync = counted_sync
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple) -> None:
        if event in _CHANGES or (event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING):
            self._count()

    def _count(self) -> None:
        self.count += 1
        if self.count == self._die_at:
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cache", type=Path)
    parser.add_argument("key", nargs="?", default=KEY)
    parser.add_argument("--die-at", type=int)
    asked = parser.parse_args()
    writes = Writes(asked.die_at)
    make(asked.cache, asked.key, lambda one: print(one.step, flush=True))
    print("writes", writes.count, flush=True)


if __name__ == "__main__":
    main()
