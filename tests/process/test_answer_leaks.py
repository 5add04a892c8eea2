"""Asking leaves nothing behind: no task, no descriptor, no connection, wherever it is cut off."""

from __future__ import annotations

import asyncio
import os
import random
import resource
import time
from dataclasses import replace
from pathlib import Path

import pytest

from genesisd.probes import PROBES
from genesisd.probes.http_client import open_session
from genesisd.probes.model import Verdict
from genesisd.probes.ports import Target
from genesisd.probes.recording import record
from genesisd.probes.spec import GoldenProbe, KeepAliveProbe, LogprobDriftProbe, PrefixCacheProbe, TokenizerProbe
from tests.helpers.honest import Honest
from tests.helpers.judged import BOOK
from tests.helpers.raw_engine import RawEngine

SPECS = [GoldenProbe(), LogprobDriftProbe(), PrefixCacheProbe(), KeepAliveProbe(), TokenizerProbe()]
CUTS = 150


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


async def settled(engine, tasks, opened):
    """Connections, tasks and descriptors are those of before; what closes needs a turn or two of the loop."""
    async with asyncio.timeout(60):
        while engine.living or asyncio.all_tasks() - tasks or descriptors() > opened:
            await asyncio.sleep(0.01)


async def prepared(engine, session):
    target = Target("w", 1, 1, "127.0.0.1", engine.port, lambda: (), model="m", casebook=BOOK)
    golden = await record(target, BOOK, session, model="m", pin="p", build=None)
    return replace(target, golden=lambda: golden)


def hesitant(honest):
    """It lets others run between any two parts of an answer."""

    async def serve(engine, request, reader, writer):
        await asyncio.sleep(random.random() * 0.003)
        await honest.serve(engine, request, reader, writer)

    return RawEngine(serve)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.kind)
async def test_cut_off_anywhere(spec):
    """Cancelled at whatever point, an ask closes its connection; the next ask is answered as ever."""
    random.seed(1)
    honest = Honest(
        send=lambda asked, body, stream: [b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body), body]
    )
    async with hesitant(honest) as engine, open_session() as session:
        target = await prepared(engine, session)
        probe = PROBES[spec.kind](spec, session)
        took = []
        for _ in range(5):  # one of them may have waited for a core: cuts far beyond the usual would cut nothing
            begun = time.monotonic()
            assert (await probe.ask(target, 0.0)).verdict is Verdict.SUCCESS
            took.append(time.monotonic() - begun)
        usual = min(took)
        tasks = asyncio.all_tasks()
        await settled(engine, tasks, descriptors())
        opened, cut = descriptors(), 0
        for _ in range(CUTS):
            task = asyncio.create_task(probe.ask(target, 0.0))
            await asyncio.sleep(random.random() * usual)
            task.cancel()
            await asyncio.wait([task])
            cut += task.cancelled()
        assert cut > CUTS / 4
        await settled(engine, tasks, opened)
        assert (await probe.ask(target, 0.0)).verdict is Verdict.SUCCESS


async def test_a_thousand_asks():
    """As many descriptors and tasks after a thousand asks of right, wrong and refusing engines as before."""
    honest = Honest()
    async with honest.engine() as engine, open_session() as session:
        target = await prepared(engine, session)
        probes = [PROBES[spec.kind](spec, session) for spec in SPECS]
        tasks = asyncio.all_tasks()
        await settled(engine, tasks, descriptors())
        opened = descriptors()
        said = set()
        for turn in range(1000 // len(probes)):
            honest.refuse = lambda asked, turn=turn: (500, "boom") if turn % 5 == 1 and asked.turn % 2 else None
            honest.whole = lambda asked, document, turn=turn: b"{" if turn % 5 == 2 else document
            for probe in probes:
                said.add((await probe.ask(target, 0.0)).verdict)
        assert said >= {Verdict.SUCCESS, Verdict.FAILURE}
        await settled(engine, tasks, opened)
        assert len(target.seen.exchanges) == target.seen.exchanges.maxlen


async def test_without_descriptors_it_is_unknown():
    """An ask that finds no descriptor of our own says nothing about the engine."""
    honest = Honest()
    async with honest.engine() as engine, open_session() as session:
        target = await prepared(engine, session)
        probes = [PROBES[spec.kind](spec, session) for spec in SPECS]
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        held = []
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors() + 8, hard))
            try:
                while True:
                    held.append(os.open("/dev/null", os.O_RDONLY))
            except OSError:
                pass
            outcomes = [await probe.ask(target, 0.0) for probe in probes]
        finally:
            for one in held:
                os.close(one)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert {one.verdict for one in outcomes} == {Verdict.UNKNOWN}
