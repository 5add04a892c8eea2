"""Git as a child: its output is read as it comes, and it never waits for a person or outlives its deadline."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

READ_SECONDS = 300.0
_CHUNK = 1 << 16
_KEPT_COMPLAINT = 1 << 14
_USERINFO = re.compile(r"//[^/@\s]*@")
_STEER = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_NAMESPACE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR")
"""Would send git to another repository; a daemon started from a hook has some of them."""
_ALWAYS = ("--no-replace-objects", "--literal-pathspecs", "-c", "core.hooksPath=/dev/null", "-c", "color.ui=false")


class GitFailed(Exception):  # noqa: N818 - caught where it is told, never seen by people
    """Git ended with another status than expected, or did not end.

    Attributes:
        code: its exit status; None: it could not be started, or ran past its deadline.
        text: one line of what it said, without credentials.
    """

    def __init__(self, code: int | None, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


@dataclass(frozen=True)
class Git:
    """The repository at ``path``.

    Attributes:
        online: a blobless repository may fetch what it lacks when it is read. Off: what is not there is missing.
    """

    path: Path
    online: bool = False

    async def read(
        self, *arguments: str, stdin: bytes = b"", seconds: float = READ_SECONDS, most: int = 1 << 24
    ) -> bytes:
        """All that it printed. Raises GitFailed, also for more than ``most`` bytes."""
        kept = bytearray()

        def take(chunk: bytes) -> None:
            kept.extend(chunk)
            if len(kept) > most:
                raise GitFailed(None, f"git {arguments[0]} printed more than {most >> 20} MiB")

        await self._run(arguments, stdin, take, seconds)
        return bytes(kept)

    async def each(
        self,
        take: Callable[[bytes], None],
        *arguments: str,
        end: bytes = b"\n",
        stdin: bytes = b"",
        seconds: float = READ_SECONDS,
    ) -> None:
        """Call ``take`` with each record, less its ``end``, as it comes: a whole history is never held. Raises GitFailed."""
        rest = b""

        def cut(chunk: bytes) -> None:
            nonlocal rest
            *whole, rest = (rest + chunk).split(end)
            for record in whole:
                take(record)

        await self._run(arguments, stdin, cut, seconds)
        if rest:
            take(rest)

    async def _run(self, arguments: Sequence[str], stdin: bytes, take: Callable[[bytes], None], seconds: float) -> None:
        child = await self._start(arguments)
        feed, complaint = asyncio.create_task(_feed(child, stdin)), asyncio.create_task(_complaint(child))
        try:
            async with asyncio.timeout(seconds):
                await _follow(child, take)
                code = await child.wait()
                told = await complaint
        except TimeoutError:
            raise GitFailed(None, f"git {arguments[0]} took longer than {seconds:g} s") from None
        finally:
            await _end(child)
            feed.cancel()
            await asyncio.gather(feed, complaint, return_exceptions=True)
        if code != 0:
            raise GitFailed(code, told or f"git {arguments[0]} ended with status {code}")

    async def _start(self, arguments: Sequence[str]) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        argv = ("git", f"--git-dir={self.path}", *_ALWAYS, *arguments)
        try:
            return await asyncio.create_subprocess_exec(
                *argv, stdin=pipe, stdout=pipe, stderr=pipe, env=self._environment(), start_new_session=True
            )
        except OSError as error:
            raise GitFailed(None, f"git cannot be run: {error.strerror}") from None

    def _environment(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if key not in _STEER}
        kept.setdefault("GIT_SSH_COMMAND", "ssh -oBatchMode=yes")
        kept |= {"LC_ALL": "C.UTF-8", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_PAGER": "cat"}
        if not self.online:
            # The second holds for every git: the first is known to newer ones only.
            kept |= {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
        return kept


async def _feed(child: asyncio.subprocess.Process, text: bytes) -> None:
    assert child.stdin is not None  # noqa: S101 - asked for above
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # its end tells why
        child.stdin.write(text)
        await child.stdin.drain()
    child.stdin.close()


async def _follow(child: asyncio.subprocess.Process, take: Callable[[bytes], None]) -> None:
    assert child.stdout is not None  # noqa: S101 - asked for above
    while chunk := await child.stdout.read(_CHUNK):
        take(chunk)


async def _complaint(child: asyncio.subprocess.Process) -> str:
    """What git says last is the reason; what goes before is progress and warnings."""
    assert child.stderr is not None  # noqa: S101 - asked for above
    kept = b""
    while chunk := await child.stderr.read(_CHUNK):
        kept = (kept + chunk)[-_KEPT_COMPLAINT:]
    lines = [line.strip() for line in kept.decode(errors="replace").splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines[-1:]
    return _USERINFO.sub("//", "; ".join(telling)[:400])


async def _end(child: asyncio.subprocess.Process) -> None:
    """Its transports speak to servers in children of its own, so the whole group goes."""
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        await child.wait()
    assert child.stdout is not None  # noqa: S101 - asked for
    while await child.stdout.read(_CHUNK):  # what nobody took would hold the pipe open
        pass
