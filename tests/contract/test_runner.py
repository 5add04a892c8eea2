"""What every runner promises to supervision, whatever it starts processes with."""

from __future__ import annotations

import os
import signal

import pytest

from genesisd.supervisor.model import Exited, Swept
from genesisd.supervisor.ports import SpawnError
from tests.helpers.keeper import Place, Reports, alive, eventually

pytestmark = pytest.mark.process
RUNNERS = {"local": lambda place: place.runner()}
"""A further runner is one line here."""


@pytest.fixture
async def place():
    place = Place()
    yield place
    assert await place.clean() == []


@pytest.fixture(params=RUNNERS)
def runner(request, place):
    return RUNNERS[request.param](place)


async def test_nothing_is_found_of_a_worker_that_never_was(runner):
    """Adopting the unknown finds nothing and raises nothing."""
    found = await runner.adopt("w1", Reports())
    assert (found.life, found.incarnation, found.last_exit) == (None, 0, None)


async def test_a_spawned_life_is_known_without_asking(runner, place):
    """After a spawn the runner names the life, its members and its address."""
    life = await runner.spawn(place.launch(7), Reports())
    assert (life.worker, life.incarnation, life.host, life.port) == ("w1", 7, "127.0.0.1", 18000)
    assert runner.life("w1") == life
    assert life.leader.pid in runner.members("w1")
    assert os.getsid(life.leader.pid) == life.leader.pid


async def test_an_exit_is_reported_once_with_its_status_and_then_swept(runner, place):
    """A death gives Exited with the status and Swept, each once."""
    reports = Reports()
    await runner.spawn(place.launch(1, "--exit", "3"), reports)
    exited = await reports.end_of(1)
    assert (exited.record.code, exited.record.signal) == (3, None)
    assert runner.life("w1") is None
    assert list(runner.members("w1")) == []


async def test_terminate_reaches_the_leader(runner, place):
    """SIGTERM ends an obedient leader, and the record says that it was asked for."""
    reports = Reports()
    await runner.spawn(place.launch(1), reports)
    await place.pids(1)
    await runner.terminate("w1", 1)
    exited = await reports.end_of(1)
    assert (exited.record.signal, exited.record.cause) == (signal.SIGTERM, "stopped")


async def test_a_leader_that_ignores_sigterm_is_killed(runner, place):
    """SIGKILL follows where SIGTERM is ignored."""
    reports = Reports()
    await runner.spawn(place.launch(1, "--ignore-term", "--shapes", "same,setsid"), reports)
    pids = await place.pids(1)
    await runner.terminate("w1", 1)
    await runner.kill("w1", 1)
    assert (await reports.end_of(1)).record.signal == signal.SIGKILL
    assert [pid for pid in pids if alive(pid)] == []


async def test_orders_for_another_incarnation_are_harmless(runner, place):
    """A late order for an old life does not touch the present one."""
    reports = Reports()
    life = await runner.spawn(place.launch(2), reports)
    await runner.terminate("w1", 1)
    await runner.kill("w1", 3)
    assert (await runner.tail("w1", 1)) is not None
    assert alive(life.leader.pid)
    assert reports.of(Exited, 2) == []


async def test_a_kill_of_what_is_dead_still_ends_in_exited_and_swept(runner, place):
    """Whoever waits for the end of a life gets it, also when the life is over already."""
    first, second = Reports(), Reports()
    await runner.spawn(place.launch(1, "--exit", "0"), first)
    await first.end_of(1)
    await runner.adopt("w1", second)
    await runner.kill("w1", 1)
    assert (await second.end_of(1)).record.code == 0


async def test_a_program_that_does_not_exist_is_an_error_and_no_life(runner, place):
    """A failed exec raises, is permanent, and the same incarnation can be spawned after it."""
    with pytest.raises(SpawnError, match="No such file") as caught:
        await runner.spawn(place.launch(1, argv=("/nonexistent/vllm", "serve")), Reports())
    assert (caught.value.permanent, caught.value.cause) == (True, "exec-failed")
    assert runner.life("w1") is None
    await runner.spawn(place.launch(1), Reports())


async def test_a_second_spawn_beside_a_live_one_is_refused(runner, place):
    """At most one tree a worker."""
    life = await runner.spawn(place.launch(1), Reports())
    with pytest.raises(SpawnError, match="alive"):
        await runner.spawn(place.launch(2), Reports())
    assert runner.life("w1") == life


async def test_a_life_that_was_not_adopted_keeps_its_scratch(runner, place):
    """A daemon that spawns without having looked gets a refusal, and the live worker loses nothing."""
    await runner.spawn(place.launch(1), Reports())
    (place.tmp / "in-use").write_text("by the first")
    await place.drop(runner)
    with pytest.raises(SpawnError, match="alive"):
        await place.runner().spawn(place.launch(2), Reports())
    assert (place.tmp / "in-use").exists()


async def test_an_incarnation_is_never_spawned_twice(runner, place):
    """A repeated order is refused, also after the death of the first."""
    reports = Reports()
    await runner.spawn(place.launch(4, "--exit", "0"), reports)
    await reports.end_of(4)
    with pytest.raises(SpawnError, match="already spawned"):
        await runner.spawn(place.launch(4), Reports())


async def test_the_log_holds_what_the_worker_said(runner, place):
    """Output is in the file and in the tail."""
    reports = Reports()
    await runner.spawn(place.launch(1, "--say", "one", "--say", "two", "--exit", "0"), reports)
    await reports.end_of(1)
    assert await runner.tail("w1", 1) == ["two"]
    assert runner.log_path("w1").read_text() == "one\ntwo\n"


async def test_scratch_is_empty_at_the_start_and_after_the_end(runner, place):
    """What one life leaves in its folders is not there for the next."""
    place.tmp.mkdir()
    (place.tmp / "old").mkdir()
    (place.tmp / "old" / "file").write_text("of a former life")
    reports = Reports()
    await runner.spawn(place.launch(1, "--shared-memory"), reports)
    await place.pids(1)
    assert not (place.tmp / "old").exists()
    assert list(place.tmp.glob("scratch-*"))
    await runner.kill("w1", 1)
    await reports.end_of(1)
    assert list(place.tmp.iterdir()) == []


async def test_a_worker_is_adopted_by_the_next_daemon(runner, place):
    """What one runner let go, the next one finds alive, and hears of its death."""
    life = await runner.spawn(place.launch(5), Reports())
    await place.drop(runner)
    following, reports = place.runner(), Reports()
    found = await following.adopt("w1", reports)
    assert (found.life, found.shim_alive, found.incarnation) == (life, True, 5)
    os.kill(life.leader.pid, signal.SIGKILL)
    assert (await reports.end_of(5)).record.signal == signal.SIGKILL


async def test_a_death_that_nobody_saw_is_found_by_the_next_daemon(runner, place):
    """The exit record waits for whoever comes."""
    life = await runner.spawn(place.launch(5), Reports())
    await place.drop(runner)
    os.kill(life.leader.pid, signal.SIGKILL)
    await eventually(lambda: not alive(life.leader.pid))
    found = await place.runner().adopt("w1", Reports())
    assert (found.life, found.incarnation) == (None, 5)
    assert found.last_exit.signal == signal.SIGKILL


async def test_release_leaves_no_process(runner, place):
    """Nothing of a released worker runs."""
    reports = Reports()
    await runner.spawn(place.launch(1, "--exit", "0"), reports)
    await reports.wait(Swept, 1)
    await runner.release("w1")
    assert runner.life("w1") is None
