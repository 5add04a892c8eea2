"""The start of a front that is given up while it comes up."""

from __future__ import annotations

import asyncio
import os

import pytest

from genesisd.front import start as module
from genesisd.front.start import Seat, Settings, start


@pytest.mark.parametrize("turns", range(8))
async def test_a_start_that_is_given_up_is_given_up_at_whatever_moment(turns, monkeypatch, tmp_path):
    """A keeper that is to stop waits for its task: a cancellation that got lost would leave it waiting for ever."""
    says, ended = asyncio.Event(), []

    async def first_line(fd):
        await says.wait()
        os.close(fd)
        return b'{"ready": true}\n'

    async def end_child(pid, within):
        ended.append(pid)

    monkeypatch.setattr(module, "_spawn", lambda seat, settings, writing: 7)
    monkeypatch.setattr(module, "_first_line", first_line)
    monkeypatch.setattr(module, "_end_child", end_child)
    starting = asyncio.create_task(start(Seat("w", tmp_path), Settings("127.0.0.1", 1, 0.0, 0)))
    await asyncio.sleep(0.01)
    says.set()
    for _ in range(turns):
        await asyncio.sleep(0)
    given_up = starting.cancel()
    await asyncio.wait([starting])
    assert (starting.cancelled(), ended) == (given_up, [7] * given_up)
