"""``process``: the leader runs, no engine process is stopped or dead, and none that was there is missing."""

from __future__ import annotations

import asyncio
import re

import aiohttp

from genesisd.probes import procfs
from genesisd.probes.model import Outcome, Verdict, failure, success, unknown
from genesisd.probes.ports import Target
from genesisd.probes.procfs import Stat
from genesisd.probes.spec import ProcessProbe

_ENGINE = re.compile(r"^\S*::(EngineCore|Worker|DPCoordinator|APIServer)")
"""vLLM's process titles. Anything else in the tree (a compiler, the resource tracker) may come and go."""
_NOTE_PERIOD = 10.0
"""Seconds between two looks for new engine processes: listing the tree reads all of /proc."""
_CONFIRM = 0.2
"""Seconds between two looks at a bad sign: SIGSTOP and SIGCONT in one breath is not a fault."""
_PARTING = 3.0
"""Seconds that the leader gets to leave by itself once an engine process is dead. vLLM's does within one, and its
last words tell the cause; ended by us it would leave with 'stopped', and the engine's death would not be on record."""


class Process:
    """Remembers the engine processes of this life: pid -> (start time, title)."""

    def __init__(self, spec: ProcessProbe, session: aiohttp.ClientSession) -> None:  # noqa: ARG002 - one signature
        self._parting = min(_PARTING, spec.timeout / 2)
        self._seen: dict[int, tuple[int, str]] = {}
        self._noted_at = -_NOTE_PERIOD

    async def ask(self, target: Target, now: float) -> Outcome:
        """Look, and look again before saying that something is wrong."""
        if now - self._noted_at >= _NOTE_PERIOD or not self._seen:
            self._noted_at = now
            self._note(target)
        found = self._look(target)
        if found.verdict is not Verdict.FAILURE:
            return found
        await asyncio.sleep(_CONFIRM)
        found = self._look(target)
        if (
            found.verdict is Verdict.FAILURE
            and found.evidence["state"] != "T"
            and found.evidence["pid"] != target.leader
        ):
            return await self._parted(target)
        return found

    async def _parted(self, target: Target) -> Outcome:
        """An engine process is dead: what is to be said of the leader, which mostly follows."""
        end = asyncio.get_running_loop().time() + self._parting
        while asyncio.get_running_loop().time() < end:
            leader = procfs.stat(target.leader)
            if leader is None or leader.state in "ZX":
                return unknown("an engine process died and the leader left after it", pid=target.leader)
            await asyncio.sleep(0.05)
        return self._look(target)

    async def late(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """Reading /proc is local: if that takes long, this machine is the one that is slow."""
        return unknown("/proc did not answer in time")

    async def close(self) -> None:
        """Nothing is kept open."""

    def _look(self, target: Target) -> Outcome:
        leader = procfs.stat(target.leader)
        if leader is None:
            return _bad(target.leader, "leader", "is gone")
        members = {target.leader: "leader"} | {pid: title for pid, (_, title) in self._seen.items()}
        for pid, name in members.items():
            now = procfs.stat(pid)
            if outcome := self._judge(pid, name, now):
                return outcome
        return success(f"the leader and {len(self._seen)} engine processes run", pids=sorted(members))

    def _note(self, target: Target) -> None:
        for pid in target.members():
            if pid == target.leader or pid in self._seen:
                continue
            title, stat = procfs.title(pid), procfs.stat(pid)
            if stat and _ENGINE.match(title):
                self._seen[pid] = (stat.start, title)

    def _judge(self, pid: int, name: str, now: Stat | None) -> Outcome | None:
        born = self._seen.get(pid)
        if now is None or (born and now.start != born[0]):
            return _bad(pid, name, "is gone")
        if now.state == "T":
            return _bad(pid, name, "is stopped (state T)", now.state)
        if now.state in "ZX":
            return _bad(pid, name, f"is dead (state {now.state})", now.state)
        if now.state == "t":
            return unknown(f"{name} (pid {pid}) is held by a debugger", pid=pid, name=name, state="t")
        return None


def _bad(pid: int, name: str, text: str, state: str = "") -> Outcome:
    return failure(f"{name} (pid {pid}) {text}", pid=pid, name=name, state=state)
