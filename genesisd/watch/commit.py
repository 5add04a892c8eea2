"""Recording a changed watchlist in git, with the evidence as the message. Asked for by the operator, and never in the way.

Only the watchlist is committed, whatever else is staged. Changes of a person that are in the file and not committed are
not the machine's to commit: then nothing is, and the reason is told. What git refuses leaves the saved file as it is.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

DEADLINE = 60.0
"""Seconds for one git command, hooks included."""
_AUTHOR = ("-c", "user.name=genesisd", "-c", "user.email=genesisd@localhost")


@dataclass(frozen=True, slots=True)
class Committed:
    """It was recorded as ``commit`` (40 hex digits)."""

    commit: str


@dataclass(frozen=True, slots=True)
class NotCommitted:
    """It was not, for ``reason``; the file is saved all the same."""

    reason: str


async def unfit(path: Path) -> NotCommitted | None:
    """Why a change of ``path`` could not be committed by itself, asked before it is made; None where it could."""
    target = await asyncio.to_thread(path.resolve)
    code, said = await _git(target, "ls-files", "--error-unmatch", "--", target.name)
    if code:
        return NotCommitted(f"git does not follow {path}: {_last(said)}")
    code, said = await _git(target, "diff", "--quiet", "HEAD", "--", target.name)
    if code == 1:
        return NotCommitted(f"{path} holds changes that nobody committed yet: commit or undo them")
    return NotCommitted(_last(said)) if code else None


async def commit(path: Path, subject: str, evidence: tuple[str, ...], *, saved: bytes) -> Committed | NotCommitted:
    """Commit ``path``, which holds what was ``saved``: a subject, and a line of evidence for each change.

    What somebody writes in the moment after the look at the file is committed along: git reads the file by itself.
    """
    target = await asyncio.to_thread(path.resolve)
    if await asyncio.to_thread(_content, target) != saved:
        return NotCommitted(f"somebody edited {path} since it was saved")
    message = "\n".join((subject, "", *evidence)).rstrip() + "\n"
    arguments = ("commit", "--quiet", "--only", "--cleanup=verbatim", "--file=-", "--", target.name)
    code, said = await _git(target, *_AUTHOR, *arguments, stdin=message)
    if code:
        return NotCommitted(f"git commit: {_last(said)}")
    code, said = await _git(target, "rev-parse", "HEAD")
    return NotCommitted(f"git rev-parse: {_last(said)}") if code else Committed(said.strip())


async def _git(target: Path, *arguments: str, stdin: str = "") -> tuple[int, str]:
    """Exit status and output of git beside ``target``; a status above 0 also where git is missing or too slow."""
    # What git was told by whoever started the daemon (GIT_DIR, GIT_INDEX_FILE) is about another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        child = await asyncio.create_subprocess_exec(
            "git",
            *arguments,
            cwd=target.parent,
            env=environment | {"GIT_TERMINAL_PROMPT": "0", "GIT_LITERAL_PATHSPECS": "1", "LC_ALL": "C"},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        return 127, f"git could not be started: {error.strerror}"
    try:
        async with asyncio.timeout(DEADLINE):
            output, _ = await child.communicate(stdin.encode())
    except TimeoutError:
        return 124, f"git took longer than {DEADLINE:.0f} s"
    finally:
        if child.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, 9)
            await child.wait()
    return child.returncode or 0, output.decode(errors="replace")


def _content(target: Path) -> bytes | None:
    try:
        return target.read_bytes()
    except OSError:
        return None


def _last(said: str) -> str:
    """The line that tells why; git puts advice before and after it."""
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith("hint:")]
    told = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return (told or lines or ["git gave no reason"])[-1]
