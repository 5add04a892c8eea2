"""``port-owner``: who listens on the engine's port is this life's tree, and nobody else.

An orphan of an earlier life, or a stranger that shares the port by SO_REUSEPORT, would answer every other probe.
"""

from __future__ import annotations

import asyncio

import aiohttp

from genesisd.probes import procfs, sockets
from genesisd.probes.model import Outcome, Verdict, failure, success, unknown
from genesisd.probes.ports import Target
from genesisd.probes.sockets import Listening
from genesisd.probes.spec import PortOwnerProbe

_CONFIRM = 0.2
"""Seconds between the looks: a process may be forking or handing its socket over."""


class PortOwner:
    """Stateless."""

    def __init__(self, spec: PortOwnerProbe, session: aiohttp.ClientSession) -> None:  # noqa: ARG002 - one signature
        self._timeout = spec.timeout

    async def ask(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """Match the port's listening sockets with what the tree's processes hold; a failure is looked at twice."""
        found = self._look(target)
        if found.verdict is not Verdict.FAILURE:
            return found
        await asyncio.sleep(_CONFIRM)
        return self._look(target)

    def _look(self, target: Target) -> Outcome:
        try:
            found = sockets.listeners(target.leader, target.host, target.port)
        except OSError as error:
            return unknown(f"could not read the listeners of port {target.port}: {error}", error=repr(error))
        if not found:
            return failure(f"nobody listens on port {target.port}", port=target.port)
        return _match(target, {one.inode: one for one in found})

    async def late(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """Reading /proc is local: if that takes long, this machine is the one that is slow."""
        return unknown(f"/proc did not answer within {self._timeout:g} s")

    async def close(self) -> None:
        """Nothing is kept."""


def _match(target: Target, unclaimed: dict[int, Listening]) -> Outcome:
    count, owners, hidden = len(unclaimed), [], []
    # The leader first: it mostly owns the port, and then nobody else has to be looked at.
    for pid in dict.fromkeys((target.leader, *target.members())):
        if not unclaimed:
            break
        try:
            held = procfs.socket_inodes(pid) & unclaimed.keys()
        except PermissionError:
            hidden.append(pid)
            continue
        if held:
            owners.append(pid)
        for inode in held:
            del unclaimed[inode]
    if not unclaimed:
        return success(f"port {target.port} belongs to pid {owners[0]}", port=target.port, pids=owners, sockets=count)
    if hidden:
        return unknown(f"may not see the sockets of pid {hidden[0]}: run genesisd as the worker's user", pids=hidden)
    return _foreign(target, next(iter(unclaimed.values())), owners)


def _foreign(target: Target, socket: Listening, owners: list[int]) -> Outcome:
    pid = _holder(socket.inode)
    name = procfs.title(pid) if pid else f"an unknown process of uid {socket.uid}"
    who = f"pid {pid} ({name})" if pid else name
    also = "also " if owners else ""
    return failure(
        f"port {target.port} is {also}listened on by {who}, which is not of this worker",
        port=target.port, pid=pid, name=name, uid=socket.uid, address=socket.address, ours=owners,
    )  # fmt: skip


def _holder(inode: int) -> int | None:
    for pid in procfs.all_pids():
        try:
            if inode in procfs.socket_inodes(pid):
                return pid
        except PermissionError:
            continue
    return None
