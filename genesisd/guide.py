"""Tells a person at a terminal what the daemon is doing, and what to try once everything is ready."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, TextIO

from genesisd.supervisor.model import Phase, WorkerState

if TYPE_CHECKING:
    from genesisd.daemon import Daemon

LOOK_SECONDS = 0.2
TRY_IT = """
All ready after {seconds:.0f} s. {name} answers at {url}

Three things to try, in another terminal:

  1. Ask it something:
       curl -s {url}/v1/chat/completions -H 'Content-Type: application/json' \\
         -d '{body}'
  2. See what is supervised, whether its answers are right, and why it is as it is:
       {ctl} status; {ctl} probes; {ctl} why {name}
  3. Kill its engine and watch it come back, with nothing orphaned:
       kill -9 {pid}; {ctl} events -f

Ctrl-C here drains and ends everything.
"""
ENDING = "\nEnding: what is being answered may take up to {seconds:g} s. Ctrl-C again ends it at once."


class Guide:
    """Follows one daemon from its start to readiness."""

    def __init__(self, daemon: Daemon, out: TextIO | None = None) -> None:
        self._daemon = daemon
        self._out = sys.stdout if out is None else out
        self._began = time.monotonic()
        self._said: dict[str, str] = {}

    async def run(self) -> None:
        """Until everything that is wanted is ready (or failed for good), and again at the end."""
        await self._daemon.started.wait()
        await self._follow()
        await self._daemon.ending.wait()
        specs = self._daemon.parts.supervisor.specs.values()
        self._print(ENDING.format(seconds=max((spec.stop.drain for spec in specs), default=0)))

    async def _follow(self) -> None:
        while not self._daemon.ending.is_set():
            states = self._daemon.parts.supervisor.states
            for name, state in states.items():
                self._tell(name, state)
            if self._settled(states):
                self._finish(states)
                return
            await asyncio.sleep(LOOK_SECONDS)

    @staticmethod
    def _settled(states: Mapping[str, WorkerState]) -> bool:
        return all(state.phase in {Phase.READY, Phase.FAILED} for state in states.values() if state.wanted)

    def _tell(self, name: str, state: WorkerState) -> None:
        line = f"{name}: {state.phase}, {state.reason.text}"
        if self._said.get(name) != line:
            self._said[name] = line
            self._print(f"[{time.monotonic() - self._began:5.1f} s] {line}")

    def _finish(self, states: Mapping[str, WorkerState]) -> None:
        ready = [name for name, state in states.items() if state.phase is Phase.READY]
        if not ready:
            self._print(f"\nNothing is ready. See what happened: {self._ctl()} status")
            return
        view = self._daemon.views.worker(ready[0])
        spec = self._daemon.parts.supervisor.specs[view.name]
        prompt = {"role": "user", "content": "What is the capital of France?"}
        body = {"model": spec.served_model_name or view.name, "messages": [prompt], "temperature": 0}
        text = TRY_IT.format(
            seconds=time.monotonic() - self._began,
            name=view.name,
            url=view.url,
            body=json.dumps(body),
            ctl=self._ctl(),
            pid=view.pid,
        )
        self._print(text)

    def _ctl(self) -> str:
        return f"genesisctl --socket {self._daemon.current.config.paths.socket}"

    def _print(self, text: str) -> None:
        # One write: the log goes to the same terminal, and would get between a line and its end.
        self._out.write(text + "\n")
        self._out.flush()
