"""Where each thread of a tree stands: by py-spy where that is allowed, else by what /proc tells.

py-spy only reads (``--nonblocking``: nothing is paused, so a live worker may be looked at), and locals are never
asked for: they hold what users wrote.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

SECONDS = 2.5
"""For one process; a stack that takes longer is not had."""
TOGETHER = 8
MOST = 16
"""Processes of a tree that are looked at, the leader first: two rounds, within what a bundle may take."""
LIMIT = 256 << 10
"""Bytes of one process's stacks."""
_STATUS = ("Name", "State", "Threads", "VmRSS", "VmSwap", "SigPnd", "ShdPnd", "SigBlk")


def program() -> str | None:
    """The path of py-spy: beside this Python, or wherever the system has it."""
    beside = Path(sys.executable).with_name("py-spy")
    return str(beside) if beside.exists() else shutil.which("py-spy")


async def stacks(pids: Sequence[int], spy: str | None = None, seconds: float = SECONDS) -> str:
    """The stacks of all, as text. Never raises: what could not be had is said in its place."""
    if not pids:
        return "no process of it lives\n"
    spy = spy or program()
    gate = asyncio.Semaphore(TOGETHER)

    async def one(pid: int) -> str:
        async with gate:
            return await _stack(pid, spy, seconds)

    found = list(await asyncio.gather(*(one(pid) for pid in pids[:MOST])))
    if len(pids) > MOST:
        found.append(f"and {len(pids) - MOST} processes more\n")
    return "\n".join(found)


async def _stack(pid: int, spy: str | None, seconds: float) -> str:
    if spy is None:
        return _by_kernel(pid, "py-spy is not installed")
    try:
        child = await asyncio.create_subprocess_exec(
            spy, "dump", "--nonblocking", "--pid", str(pid),
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
    except OSError as error:
        return _by_kernel(pid, f"py-spy cannot be run: {error.strerror}")
    try:
        async with asyncio.timeout(seconds):
            said, complaint = await child.communicate()
    except TimeoutError:
        return _by_kernel(pid, f"py-spy took longer than {seconds:g} s")
    finally:
        if child.returncode is None:
            with suppress(ProcessLookupError):
                child.kill()
            await child.wait()
    if child.returncode == 0:
        return said[:LIMIT].decode(errors="replace")
    lines = complaint.decode(errors="replace").split("\n")
    return _by_kernel(pid, "py-spy: " + "; ".join(line.strip() for line in lines if line.strip())[:400])


def _by_kernel(pid: int, reason: str) -> str:
    """What can be had without looking into the process, and why it is no more."""
    base = Path(f"/proc/{pid}")
    found = [f"Process {pid} ({reason})"]
    for name in ("wchan", "stack"):
        with suppress(OSError):
            if text := (base / name).read_text(encoding="utf-8", errors="replace").strip():
                found += [f"  {name}: {line}" for line in text.splitlines()]
    try:
        status = (base / "status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return f"Process {pid} is gone\n"
    found += [f"  {line}" for line in status.splitlines() if line.partition(":")[0] in _STATUS]
    return "\n".join(found) + "\n"
