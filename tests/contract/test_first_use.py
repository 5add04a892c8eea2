"""An engine that stands still to compile for a probe's first question is not taken for a hung one."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from genesisd.probes import PROBES
from genesisd.probes.http_client import open_session
from genesisd.probes.model import Verdict
from genesisd.probes.ports import Target
from genesisd.probes.recording import record
from genesisd.probes.spec import LogprobDriftProbe, ProgressProbe
from tests.helpers.honest import Honest
from tests.helpers.judged import BOOK
from tests.helpers.raw_engine import RawEngine

SECONDS = 60
"""Of pretended time, one look each; the window is 10."""


class Stalling:
    """Generates nothing while it is told to stand still."""

    def __init__(self):
        self.honest = Honest()
        self.free = asyncio.Event()
        self.free.set()
        self.stalled = 0

    async def serve(self, engine, request, reader, writer):
        if request.head.startswith(b"POST"):
            self.stalled += not self.free.is_set()
            await self.free.wait()
        await self.honest.serve(engine, request, reader, writer)


async def proven(probe, target):
    """Ask until a canary was answered; the pretended time of the last look."""
    now = 0.0
    async with asyncio.timeout(20):
        while (await probe.ask(target, now)).evidence.get("canary") != "answered":
            now += 1.0
            await asyncio.sleep(0.01)
    return now


async def looks(probe, target, now):
    found = []
    for _ in range(SECONDS):
        now += 1.0
        found.append(await probe.ask(target, now))
    return found


async def test_a_stall_is_found_unless_it_is_a_first_use():
    """The same stillness is a hang once the feature was used before, and the window stays as it was."""
    engine = Stalling()
    async with RawEngine(engine.serve) as raw, open_session() as session:
        target = Target("w", 1, 1, "127.0.0.1", raw.port, lambda: (), model="m", casebook=BOOK)
        golden = await record(target, BOOK, session, model="m", pin="p", build=None)
        target = replace(target, golden=lambda: golden)
        target.seen.used.clear()  # what was recorded in an earlier life
        drift = PROBES["logprob-drift"](LogprobDriftProbe(), session)
        progress = PROBES["progress"](ProgressProbe(), session)
        now = await proven(progress, target)
        for first in (True, False):
            engine.free.clear()
            engine.stalled = 0
            task = asyncio.create_task(drift.ask(target, 0.0))
            async with asyncio.timeout(20):
                while not engine.stalled:
                    await asyncio.sleep(0.01)
            found = await looks(progress, target, now)
            assert (Verdict.FAILURE in {one.verdict for one in found}) is not first
            assert target.seen.first_uses == first
            now += SECONDS
            engine.free.set()
            assert (await task).verdict is Verdict.SUCCESS
            assert target.seen.first_uses == 0
            windows = {one.evidence["window_seconds"] for one in found if "window_seconds" in one.evidence}
            assert windows <= {10.0}
        await progress.close()


async def test_compiling_has_an_end():
    """A first use that lasts longer than compiling takes is looked at as anything else."""
    engine = Stalling()
    async with RawEngine(engine.serve) as raw, open_session() as session:
        target = Target("w", 1, 1, "127.0.0.1", raw.port, lambda: (), model="m")
        progress = PROBES["progress"](ProgressProbe(warmup=20), session)
        now = await proven(progress, target)
        engine.free.clear()
        with target.seen.using("logprobs"):
            found = await looks(progress, target, now)
        verdicts = [one.verdict for one in found]
        assert set(verdicts[:20]) == {Verdict.UNKNOWN}
        assert Verdict.FAILURE in verdicts[20:]
        engine.free.set()
        await progress.close()
