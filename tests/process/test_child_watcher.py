"""The daemon's loop, made as ``python -m genesisd`` makes it, can start children: builds are such."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import asyncio
from genesisd.__main__ import watch_children

async def main():
    watch_children()
    child = await asyncio.create_subprocess_exec("/bin/sh", "-c", "exit 7")
    print(await child.wait())

asyncio.run(main())
"""


def test_the_daemons_loop_starts_children_and_learns_how_they_end():
    """Pins and patched builds are made by children; a loop without a watcher refuses to start any."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.stderr) == ("7\n", "")
