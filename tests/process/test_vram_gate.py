"""No spawn while the card is held: a real runner, a fake worker that holds memory, and a ledger that tells it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from genesisd.clock import SystemClock
from genesisd.supervisor.model import Phase
from genesisd.supervisor.ports import Card
from genesisd.supervisor.spec import WorkerSpec
from genesisd.supervisor.supervisor import Supervisor
from genesisd.wiring import gates
from genesisd.wiring.cards import NvmlLedger
from tests.fakes.supervision import Fakes, events_until_ready
from tests.helpers.fakevllm import ledger
from tests.helpers.keeper import SECONDS, Place, alive, eventually

FAKE = Path(__file__).parents[1] / "helpers" / "fake_worker.py"
TOTAL = 8 << 30
HELD = 6 << 30


class LedgerCards:
    """Implements ``CardLedger``: one card whose memory is what living processes hold in the ledger."""

    def __init__(self, folder):
        self.folder = folder

    async def cards(self):
        return self.look()

    def look(self):
        holders = ledger.holders(str(self.folder)).get(0, {})
        return {0: Card(0, TOTAL, TOTAL - sum(holders.values()), holders)}


class Box:
    """One worker on one card; ``seen`` is what the card held at each spawn."""

    def __init__(self, place, cards=None, *flags):
        self.place = place
        self.folder = place.root / "card"
        self.card = LedgerCards(self.folder)
        self.seen = []
        self.specs = {"w1": self._spec(flags)}
        self.supervisor = Supervisor(lambda supervisor: self._ports(place, cards or self.card))

    def _spec(self, flags):
        argv = (sys.executable, str(FAKE), "--port", "0", "--vram-ledger", str(self.folder))
        return WorkerSpec(
            command=(*argv, "--vram-bytes", str(HELD), "--workers", "2", *flags),
            gpus=(0,),
            vram_free=0.9,
            stop={"drain": 0, "grace": "5s"},
        )

    def _ports(self, place, cards):
        self.fakes = fakes = Fakes()
        fakes.clock = SystemClock()
        fakes.prober.auto = events_until_ready_now
        runner = place.runner()
        spawn = runner.spawn

        async def watched(launch, report):
            self.seen.append(self.card.look()[0].free)
            return await spawn(launch, report)

        runner.spawn = watched
        launcher = fakes.launcher

        async def prepare(worker, incarnation):
            scratch = (place.root / f"tmp-{worker}",)
            return place.launch(incarnation, worker=worker, argv=self.specs[worker].command, scratch=scratch)

        launcher.prepare = prepare
        ordered = gates.OrderedGates([gates.tree_gate(runner), gates.card_gate(lambda: self.specs, cards)])
        return replace(fakes.ports(), runner=runner, gates=ordered, clock=fakes.clock)

    async def start(self):
        await self.supervisor.start(self.specs, rebooted=False)

    @property
    def state(self):
        return self.supervisor.states["w1"]

    async def reach(self, phase, incarnation=0):
        async with asyncio.timeout(SECONDS):
            while self.state.phase is not phase or self.state.incarnation < incarnation:
                await self.supervisor.actor("w1").change()

    async def holding(self):
        """The worker's processes hold the card."""
        await eventually(lambda: self.card.look()[0].free < TOTAL - HELD)

    def leader(self):
        return self.supervisor._ports.runner.life("w1").leader.pid


def events_until_ready_now(life):
    return events_until_ready(type("Now", (), {"now": SystemClock().monotonic()}))(life)


@pytest.fixture
async def place():
    place = Place()
    yield place
    assert await place.clean() == []


@contextlib.asynccontextmanager
async def box(place, cards=None, *flags):
    one = Box(place, cards, *flags)
    try:
        await one.start()
        yield one
        async with asyncio.timeout(SECONDS):
            await one.supervisor.shutdown()
    finally:
        await one.supervisor.detach()


@contextlib.contextmanager
def stranger(folder):
    """Somebody else on the card."""
    argv = [sys.executable, ledger.__file__, str(folder), "--bytes", str(HELD)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"holding\n"
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("shape", [(), ("--setsid-workers", "--clinging-workers")], ids=["plain", "clinging"])
async def test_the_card_is_free_before_a_killed_worker_is_spawned_again(place, shape):
    """T8: kill -9 of the leader leaves workers that hold memory; they are swept before the next spawn."""
    async with box(place, None, *shape) as one:
        for incarnation in (1, 2, 3):
            await one.reach(Phase.READY, incarnation)
            await one.holding()
            os.kill(one.leader(), signal.SIGKILL)
        await one.reach(Phase.READY, 4)
        assert one.seen == [TOTAL] * 4


async def test_a_stranger_on_the_card_blocks_is_named_and_never_touched(place):
    """T9: no restart loop; the worker starts once the stranger is gone."""
    with stranger(place.root / "card") as other:
        async with box(place) as one:
            await one.reach(Phase.BLOCKED)
            checks = 0
            while checks < 3:  # looked at again and again, and nothing but the look happens
                await one.supervisor.actor("w1").change()
                checks += one.state.checking
            assert f"pid {other.pid} (python" in one.state.reason.text
            assert (one.state.reason.code, one.state.incarnation, one.state.restarts) == ("vram-held", 0, ())
            assert one.seen == []
            assert other.poll() is None
            other.kill()
            await one.reach(Phase.READY, 1)
            assert one.seen == [TOTAL]


async def test_a_stranger_that_comes_between_two_lives_blocks_the_second(place):
    """The gate is asked before each spawn, not only before the first."""
    async with box(place) as one:
        await one.reach(Phase.READY, 1)
        await one.holding()
        with stranger(one.folder) as other:
            os.kill(one.leader(), signal.SIGKILL)
            await one.reach(Phase.BLOCKED)
            assert f"pid {other.pid}" in one.state.reason.text
            assert other.poll() is None
        await one.reach(Phase.READY, 2)
        assert one.seen == [TOTAL, TOTAL]


async def test_a_stop_is_obeyed_while_the_card_is_held(place):
    """A worker that waits for a card is not stuck in it."""
    with stranger(place.root / "card") as other:
        async with box(place) as one:
            await one.reach(Phase.BLOCKED)
            await one.supervisor.shutdown()
            assert one.state.phase is Phase.STOPPED
            assert alive(other.pid)


async def test_a_driver_that_blocks_holds_up_nobody_else(place):
    """T17: while NVML does not return, another worker is started, served and stopped, and a stop is obeyed."""
    go = threading.Event()
    blocked = threading.Event()

    def stuck():
        blocked.set()
        go.wait()
        return {}

    try:
        async with box(place, NvmlLedger(stuck, seconds=0.2)) as one:
            await eventually(blocked.is_set)
            one.specs["w2"] = one.specs["w1"].model_copy(update={"gpus": ()})
            await one.supervisor.add_new("w2", one.specs["w2"])
            async with asyncio.timeout(SECONDS):
                await one.supervisor.actor("w2").until(frozenset({Phase.READY}))
            await one.reach(Phase.BLOCKED)
            assert (one.state.reason.code, "driver did not answer" in one.state.reason.text) == ("gate-error", True)
            await one.supervisor.remove("w2")
    finally:
        go.set()
