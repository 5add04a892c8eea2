"""A daemon that does nothing but spawn and kill, as fast as it can, until somebody kills it.

    doomed_daemon.py STATE RUNTIME

It prints a line for each order before it gives it, so that its killer can aim.
"""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path

from genesisd.supervisor.model import Event, Swept
from genesisd.supervisor.ports import Launch
from genesisd.supervisor.runners.local import LocalRunner


async def main(state: Path, runtime: Path) -> None:
    runner, swept = LocalRunner(state, runtime), asyncio.Queue()

    def report(event: Event) -> None:
        if isinstance(event, Swept):
            swept.put_nowait(event)

    found = await runner.adopt("w1", report)
    incarnation = found.incarnation
    if found.life:
        print("kill", flush=True)
        await runner.kill("w1", incarnation)
        await swept.get()
    while True:
        incarnation += 1
        launch = Launch("w1", incarnation, ("/bin/sleep", "600"), {}, None, "127.0.0.1", 1)
        print("spawn", flush=True)
        await runner.spawn(launch, report)
        await asyncio.sleep(random.random() * 0.01)
        print("kill", flush=True)
        await runner.kill("w1", incarnation)
        await swept.get()


asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
