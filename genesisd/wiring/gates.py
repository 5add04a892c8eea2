"""What must hold before a spawn: the old tree gone, dependencies up, the pin built, the port and the card free.

Each gate answers None when it is open. A shut gate is waited for; nothing behind it is ever killed, since what
holds a port or a card may belong to somebody else.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from genesisd.errors import GenesisError
from genesisd.supervisor import order
from genesisd.supervisor.model import Reason, WorkerState
from genesisd.supervisor.ports import Card, CardLedger, Runner
from genesisd.supervisor.spec import WorkerSpec
from genesisd.units import Address
from genesisd.wiring.fronts import FrontAdapter

ADDRESS_REFUSED = "listen"
"""Code of a front's error: the address cannot be had."""
Gate = Callable[[str], Awaitable[Reason | None]]


class OrderedGates:
    """Implements ``Gates``: the first shut one is the answer."""

    def __init__(self, gates: Sequence[Gate]) -> None:
        self._gates = tuple(gates)

    async def check(self, worker: str) -> Reason | None:
        """The first shut gate's reason, or None."""
        for gate in self._gates:
            if (shut := await gate(worker)) is not None:
                return shut
        return None


def tree_gate(runner: Runner) -> Gate:
    """No process of an earlier incarnation is left."""

    async def check(worker: str) -> Reason | None:
        pids = runner.members(worker)
        if not pids:
            return None
        return Reason("tree", f"processes of the last incarnation are still there: {_list(pids)}")

    return check


def dependency_gate(
    specs: Callable[[], Mapping[str, WorkerSpec]], states: Callable[[], Mapping[str, WorkerState]]
) -> Gate:
    """What it waits for is ready."""

    async def check(worker: str) -> Reason | None:
        return order.waits_for(specs()[worker], states())

    return check


def port_gate(specs: Callable[[], Mapping[str, WorkerSpec]]) -> Gate:
    """A port that the operator chose is free. Freely chosen ports are tried when they are chosen."""

    async def check(worker: str) -> Reason | None:
        spec = specs()[worker]
        host, port = engine_address(spec)
        if port is None or (shut := refusal(host, port)) is None:
            return None
        address = Address(host=host, port=port)
        if shut.errno == errno.EADDRINUSE:
            return Reason("port-taken", f"{address} is taken by another process; it starts when the port is free")
        return Reason("port-unusable", f"nothing can listen on {address}: {shut.strerror}")

    return check


def card_gate(specs: Callable[[], Mapping[str, WorkerSpec]], ledger: CardLedger) -> Gate:
    """Enough memory of each of its cards is free; who holds the rest is named, never touched."""

    async def check(worker: str) -> Reason | None:
        spec = specs()[worker]
        if not spec.gpus:
            return None
        cards = await ledger.cards()
        for index in spec.gpus:
            if (shut := held(spec, cards.get(index), index)) is not None:
                return shut
        return None

    return check


def quarantine_gate(
    specs: Callable[[], Mapping[str, WorkerSpec]],
    card: Callable[[int], Reason | None],
    regained: Callable[[str], None] = lambda _: None,
) -> Gate:
    """None of its cards was lost to a process that cannot be killed; after the tree's gate.

    So what the worker itself lost its cards to is gone, which ``regained`` is told.
    """

    async def check(worker: str) -> Reason | None:
        regained(worker)
        return next((shut for index in specs()[worker].gpus if (shut := card(index)) is not None), None)

    return check


def held(spec: WorkerSpec, card: Card | None, index: int) -> Reason | None:
    """What stands against using card ``index``, or None."""
    if card is None:
        return Reason("card-missing", f"there is no GPU {index} on this box, or the driver does not show it")
    if spec.share_gpus or card.free >= spec.vram_free * card.total:
        return None
    free, total = card.free / 2**30, card.total / 2**30
    holders = ", ".join(
        f"pid {pid} ({_name(pid)}, {size / 2**30:.1f} GiB)" for pid, size in sorted(card.holders.items())
    )
    text = f"GPU {index} has {free:.1f} of {total:.1f} GiB free, and {spec.vram_free:.0%} is asked for; held by "
    return Reason("vram-held", text + (holders or "processes that the driver does not name"))


def engine_address(spec: WorkerSpec) -> tuple[str, int | None]:
    """Where the engine listens: its own port behind a front, the public one without."""
    if spec.listen is not None and not spec.front.enabled:
        return spec.listen.host, spec.listen.port
    return "127.0.0.1", spec.engine_port


def is_free(host: str, port: int) -> bool:
    """Whether a listener could be bound there now. A port in TIME_WAIT counts as free, as vLLM sees it."""
    return refusal(host, port) is None


def refusal(host: str, port: int) -> OSError | None:
    """Why no listener could be bound there now, or None."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((host, port))
        except OSError as error:
            return error
        return None


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return "gone or in another namespace"


def _list(pids: Sequence[int]) -> str:
    shown = ", ".join(str(pid) for pid in sorted(pids)[:8])
    return shown + (" and more" if len(pids) > 8 else "")


def front_gate(specs: Callable[[], Mapping[str, WorkerSpec]], fronts: FrontAdapter) -> Gate:
    """Its public address is had: a worker that nobody can reach need not start."""

    async def check(worker: str) -> Reason | None:
        try:
            await fronts.seat(worker, specs()[worker])
        except GenesisError as error:
            if error.code == ADDRESS_REFUSED:
                # Its front still sits at an address that is its own no more. Nothing lives behind it, and two workers
                # that swapped their addresses would wait for each other for ever.
                await fronts.unseat(worker)
            return Reason("listen-taken", error.message)
        return None

    return check
