"""kill -9 of the daemon at any moment: the next one finds the truth, and never two trees."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from pathlib import Path

import pytest

from genesisd.identity import process_ref, signal_exactly
from genesisd.supervisor import tree
from tests.helpers.keeper import Place, Reports, alive, eventually

ROOT = Path(__file__).parents[2]
DOOMED = ROOT / "tests" / "helpers" / "doomed_daemon.py"


@pytest.fixture
async def place():
    place = Place()
    yield place
    assert await place.clean() == []


@pytest.mark.parametrize("kill_shim", [False, True], ids=["daemon", "daemon and shim"])
async def test_a_daemon_that_is_killed_anywhere_leaves_at_most_one_tree_and_the_next_finds_it(place, kill_shim):
    """Between intent and spawn, while a shim starts, in a life, in a sweep: adopted or reaped, never doubled."""
    seed = random.Random(7)
    newest = 0
    for _ in range(8):
        await _run_and_kill(place, seed)
        if kill_shim and (place.runtime / "shims" / "w1.lock").read_text().strip():
            _kill_shim(place)
        runner, reports = place.runner(), Reports()
        found = await runner.adopt("w1", reports)
        lives = tree.lives_by_token(f"{runner._instance}:w1:")
        assert len(lives) <= 1
        for life in lives.values():
            assert found.life is not None
            assert life.pid == found.life.leader.pid
        if found.life and not lives:  # the dead daemon's last order was a kill, and it took effect just now
            await reports.end_of(found.life.incarnation)
        assert found.incarnation >= newest
        newest = found.incarnation
        await place.drop(runner)


async def _run_and_kill(place, seed):
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    daemon = await asyncio.create_subprocess_exec(
        sys.executable, DOOMED, place.state, place.runtime, env=env, stdout=-1
    )
    for _ in range(seed.randrange(1, 8)):
        assert await daemon.stdout.readline() in {b"spawn\n", b"kill\n"}
    await asyncio.sleep(seed.random() * 0.03)
    daemon.kill()
    await daemon.communicate()


def _kill_shim(place):
    """Kill the shim that holds the lock; a lock that still names a dead one has no holder yet."""
    shim = process_ref(place.shim_pid())
    if shim and b"shim.py" in Path(f"/proc/{shim.pid}/cmdline").read_bytes():
        signal_exactly(shim, signal.SIGKILL)


async def test_a_shim_that_is_still_starting_is_waited_for(place):
    """A daemon that died right after it had started a shim leaves one that does not listen yet."""
    runner = place.runner()
    starting = asyncio.create_task(runner.spawn(place.launch(1), Reports()))
    lock = place.runtime / "shims" / "w1.lock"
    await eventually(lock.exists)
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)
    await place.drop(runner)
    following = place.runner()
    found = await following.adopt("w1", Reports())
    if found.life is None:
        assert (await following.spawn(place.launch(found.incarnation + 1), Reports())).worker == "w1"


async def test_a_cleared_runtime_folder_does_not_leave_two_keepers(place):
    """A shim that no daemon can reach any more leaves once its tree is gone."""
    runner = place.runner()
    await runner.spawn(place.launch(1), Reports())
    shim = place.shim_pid()
    await place.drop(runner)
    for path in (place.runtime / "shims").iterdir():
        path.unlink()
    following, reports = place.runner(), Reports()
    found = await following.adopt("w1", reports)
    assert (found.life.incarnation, found.shim_alive) == (1, False)
    await following.kill("w1", 1)
    await reports.end_of(1)
    await eventually(lambda: not alive(shim))
    await following.spawn(place.launch(2), reports)
