"""The daemon, with an experiment of worker ``w`` under way from its start on: a scratch worker that is asked for ever.

    python -m tests.helpers.experimenting --config FILE

For a worker with a command of its own, which nothing real experiments with: what matters here is the scratch worker.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from genesisd import __main__ as program
from genesisd.wiring.bisection_case import Case
from genesisd.wiring.correctness import Correctness

_start = Correctness.start


def start(self: Correctness) -> None:
    """As the real one, and then the experiment."""

    async def forever(_target: object) -> Any:
        await asyncio.Event().wait()

    async def run(worker: str, _pin: str, without: Any, text: str, _ask: Any) -> Any:
        return await self.scratch.run(worker, None, without, text, forever)  # type: ignore[arg-type]

    _start(self)
    self.bisections._run = run
    self.bisections.begin("w", Case(("degeneration",), "none", ("P1",), {}, "it answers wrong"))


if __name__ == "__main__":
    Correctness.start = start  # type: ignore[method-assign]
    sys.exit(program.main())
