"""The local runner against real children: every shape of tree, every party killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from genesisd.identity import process_ref, signal_exactly
from genesisd.supervisor.model import Exited, ShimLost, Swept
from genesisd.supervisor.ports import SpawnError
from genesisd.supervisor.runners.paths import WorkerPaths
from tests.helpers.keeper import Place, Reports, alive, eventually

SHAPES = ["", "same", "setsid", "daemon", "same,setsid,daemon"]


@pytest.fixture
async def place():
    place = Place()
    yield place
    assert await place.clean() == []


@pytest.mark.parametrize("shapes", SHAPES)
async def test_a_killed_leader_takes_its_whole_tree_along(place, shapes):
    """After kill -9 of the leader nothing of the tree is left, whatever its members did to get away."""
    runner, reports = place.runner(), Reports()
    life = await runner.spawn(place.launch(1, "--shapes", shapes), reports)
    pids = await place.pids()
    assert set(pids) <= set(runner.members("w1"))
    os.kill(life.leader.pid, signal.SIGKILL)
    assert (await reports.end_of(1)).record.cause == "killed"
    assert [pid for pid in pids if alive(pid)] == []


async def test_a_leader_that_forks_away_does_not_wedge_the_shim(place):
    """The leader's exit counts at once, although its members still hold the log."""
    runner, reports = place.runner(), Reports()
    await runner.spawn(place.launch(1, "--shapes", "same,daemon", "--leave"), reports)
    assert (await reports.end_of(1)).record.code == 0
    assert [pid for pid in await place.pids() if alive(pid)] == []
    await runner.spawn(place.launch(2), reports)


@pytest.mark.parametrize("shapes", ["same", "setsid", "daemon", "same,setsid,daemon"])
@pytest.mark.parametrize("wipe", [False, True], ids=["environment", "wiped"])
async def test_a_tree_is_killed_without_its_shim(place, shapes, wipe):
    """With the shim dead the marks alone find every member."""
    runner, reports = place.runner(), Reports()
    flags = ["--shapes", shapes, "--title", "genesis:w1:1::EngineCore", *(["--wipe"] if wipe else [])]
    life = await runner.spawn(place.launch(1, *flags), reports)
    pids = await place.pids()
    os.kill(place.shim_pid(), signal.SIGKILL)
    await reports.wait(ShimLost, 1)
    assert runner.life("w1") == life
    await runner.kill("w1", 1)
    assert (await reports.end_of(1)).record.code is None
    assert [pid for pid in pids if alive(pid)] == []
    await runner.spawn(place.launch(2), reports)


async def test_a_death_without_a_shim_is_seen_and_swept(place):
    """The leader's pidfd tells of its death, and the rest of the tree follows it."""
    runner, reports = place.runner(), Reports()
    life = await runner.spawn(place.launch(1, "--shapes", "same,setsid"), reports)
    pids = await place.pids()
    os.kill(place.shim_pid(), signal.SIGKILL)
    await reports.wait(ShimLost, 1)
    os.kill(life.leader.pid, signal.SIGKILL)
    assert (await reports.end_of(1)).record.cause == "unknown"
    assert [pid for pid in pids if alive(pid)] == []


async def test_a_tree_without_a_shim_is_adopted(place):
    """The life's record is enough for the next daemon; it knows that the shim is gone."""
    runner = place.runner()
    life = await runner.spawn(place.launch(3), Reports())
    await place.drop(runner)
    os.kill(place.shim_pid(), signal.SIGKILL)
    following, reports = place.runner(), Reports()
    found = await following.adopt("w1", reports)
    assert (found.life, found.shim_alive, found.incarnation) == (life, False, 3)
    await following.terminate("w1", 3)
    assert (await reports.end_of(3)).record.cause == "stopped"


async def test_what_is_left_of_a_dead_leader_is_reaped_at_adoption(place):
    """With shim and leader dead the members are killed before anything new may start."""
    runner = place.runner()
    life = await runner.spawn(place.launch(3, "--shapes", "same,setsid,daemon"), Reports())
    pids = await place.pids(3)
    await place.drop(runner)
    os.kill(place.shim_pid(), signal.SIGKILL)
    os.kill(life.leader.pid, signal.SIGKILL)
    await eventually(lambda: not alive(life.leader.pid))
    found = await place.runner().adopt("w1", Reports())
    assert (found.life, found.incarnation) == (None, 3)
    assert found.last_exit.cause == "unknown"
    assert [pid for pid in pids if alive(pid)] == []


async def test_a_tree_that_no_record_speaks_of_is_reaped(place):
    """Also without life.json the marks in the processes are found."""
    runner = place.runner()
    await runner.spawn(place.launch(3, "--shapes", "same,setsid,daemon"), Reports())
    pids = await place.pids(3)
    await place.drop(runner)
    os.kill(place.shim_pid(), signal.SIGKILL)
    WorkerPaths(place.state, place.runtime, "w1").life.write_text('{"torn')
    found = await place.runner().adopt("w1", Reports())
    assert found.life is None
    assert [pid for pid in pids if alive(pid)] == []


async def test_a_worker_of_the_same_name_of_another_daemon_is_left_alone(place):
    """Two daemons on one machine: the title is the same, and still nobody else is killed."""
    other = Place()
    try:
        theirs, ours = other.runner(), place.runner()
        flags = ["--shapes", "same,setsid,daemon", "--title", "genesis:w1:1::EngineCore", "--wipe"]
        reports = Reports()
        await ours.spawn(place.launch(1, *flags), reports)
        await theirs.spawn(other.launch(1, *flags), Reports())
        foreign = await other.pids()
        os.kill(place.shim_pid(), signal.SIGKILL)
        await reports.wait(ShimLost, 1)
        await ours.kill("w1", 1)
        await reports.end_of(1)
        assert [pid for pid in foreign if not alive(pid)] == []
    finally:
        assert await other.clean() == []


async def test_a_dropped_connection_is_taken_up_again(place):
    """A link that breaks while the shim lives is no loss: what happened in between is told."""
    runner, reports = place.runner(), Reports()
    life = await runner.spawn(place.launch(1), reports)
    handle = runner._handles["w1"]
    handle._shim._link._transport.abort()
    os.kill(life.leader.pid, signal.SIGKILL)
    assert (await reports.end_of(1)).record.signal == signal.SIGKILL
    assert reports.of(ShimLost) == []


async def test_a_shim_that_is_stopped_does_not_save_its_tree(place):
    """A kill goes round a shim that does not answer, and the next spawn gets a new one."""
    runner, reports = place.runner(), Reports()
    await runner.spawn(place.launch(1, "--shapes", "setsid"), reports)
    pids, shim = await place.pids(), place.shim_pid()
    os.kill(shim, signal.SIGSTOP)
    await runner.kill("w1", 1)
    await reports.end_of(1)
    assert [pid for pid in [*pids, shim] if alive(pid)] == []
    await runner.spawn(place.launch(2), reports)


async def test_a_shim_that_dies_idle_is_replaced_in_silence(place):
    """Without a life there is nothing to report, and the next spawn starts a shim."""
    runner, reports = place.runner(), Reports()
    await runner.spawn(place.launch(1, "--exit", "0"), reports)
    await reports.end_of(1)
    os.kill(place.shim_pid(), signal.SIGKILL)
    await runner.spawn(place.launch(2), reports)
    assert reports.of(ShimLost) == []


async def test_a_shim_that_replaces_a_dead_one_still_refuses_old_incarnations(place):
    """The newest incarnation is on disk, so a new shim knows it."""
    runner, reports = place.runner(), Reports()
    await runner.spawn(place.launch(6, "--exit", "0"), reports)
    await reports.end_of(6)
    os.kill(place.shim_pid(), signal.SIGKILL)
    await eventually(lambda: not alive(place.shim_pid()))
    with pytest.raises(SpawnError, match="already spawned"):
        await runner.spawn(place.launch(6), reports)


async def test_two_daemons_that_start_at_once_share_one_shim(place):
    """Two runners that race for the lock end on one shim, and one life."""
    first, second = place.runner(), place.runner()
    results = await asyncio.gather(
        first.spawn(place.launch(1), Reports()), second.spawn(place.launch(1), Reports()), return_exceptions=True
    )
    assert sorted(type(result).__name__ for result in results) == ["Life", "SpawnError"]


async def test_a_shim_that_cannot_start_says_why(place):
    """The error carries the shim's own last words."""
    broken = place.root / "broken.py"
    broken.write_text("raise SystemExit('the stars are wrong')")
    runner = place.runner(shim=broken)
    with pytest.raises(SpawnError, match="the stars are wrong"):
        await runner.spawn(place.launch(1), Reports())


async def test_a_lock_that_somebody_else_holds_is_a_clear_error(place, monkeypatch):
    """A holder of the lock who never listens is named."""
    monkeypatch.setattr("genesisd.supervisor.runners.attached.APPEAR_SECONDS", 0.2)
    paths = WorkerPaths(place.state, place.runtime, "w1")
    paths.make()
    code = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); print(1, flush=True); input()"
    holder = await asyncio.create_subprocess_exec(sys.executable, "-c", code, paths.lock, stdin=-1, stdout=-1)
    await holder.stdout.readline()
    try:
        with pytest.raises(SpawnError, match="does not answer"):
            await place.runner().spawn(place.launch(1), Reports())
    finally:
        holder.stdin.close()
        await holder.wait()
        paths.lock.unlink()


async def test_a_socket_that_nobody_listens_at_is_replaced(place):
    """A stale socket file is no obstacle."""
    paths = WorkerPaths(place.state, place.runtime, "w1")
    paths.make()
    paths.socket.touch()
    assert (await place.runner().spawn(place.launch(1), Reports())).incarnation == 1


async def test_a_runtime_folder_that_is_too_long_is_named(place):
    """The kernel's limit of 107 bytes is an error that a person can mend."""
    from genesisd.errors import UnavailableError

    place.runtime = place.root / ("x" * 100)
    with pytest.raises(UnavailableError, match="107") as caught:
        await place.runner().adopt("w1", Reports())
    assert "shorter" in caught.value.hint


async def test_shared_memory_is_the_same_before_and_after_twenty_kills(place):
    """resource_tracker gets the time to unlink, so no kill leaves anything behind."""
    runner, reports = place.runner(), Reports()
    for n in range(1, 21):
        life = await runner.spawn(place.launch(n, "--shared-memory"), reports)
        await place.pids(n)
        assert len(place.shared_memory(n)) == 2
        if n % 2:
            os.kill(life.leader.pid, signal.SIGKILL)
        else:
            await runner.kill("w1", n)
        await reports.end_of(n)
        assert place.shared_memory(n) == []
        assert list(place.tmp.iterdir()) == []


async def test_shared_memory_is_cleared_without_a_shim(place):
    """The sweep by marks spares resource_tracker as well."""
    runner, reports = place.runner(), Reports()
    await runner.spawn(place.launch(1, "--shared-memory"), reports)
    await place.pids()
    assert len(place.shared_memory()) == 2
    os.kill(place.shim_pid(), signal.SIGKILL)
    await reports.wait(ShimLost, 1)
    await runner.kill("w1", 1)
    await reports.end_of(1)
    assert place.shared_memory() == []


async def test_a_reused_pid_is_never_signalled(place):
    """A stranger that got the dead leader's pid survives every order."""
    last = Path("/proc/sys/kernel/ns_last_pid")
    if os.geteuid() or not os.access(last, os.W_OK):
        pytest.skip("writing ns_last_pid needs root")
    runner = place.runner()
    life = await runner.spawn(place.launch(1), Reports())
    await place.drop(runner)
    os.kill(place.shim_pid(), signal.SIGKILL)
    os.kill(life.leader.pid, signal.SIGKILL)
    await eventually(lambda: process_ref(life.leader.pid) is None and not Path(f"/proc/{life.leader.pid}").exists())
    stranger = await _process_with_pid(life.leader.pid, last)
    try:
        following, reports = place.runner(), Reports()
        found = await following.adopt("w1", reports)
        await following.terminate("w1", 1)
        await following.kill("w1", 1)
        await reports.end_of(1)
        assert found.life is None
        assert signal_exactly(life.leader, signal.SIGKILL) is False
        assert stranger.returncode is None
        assert alive(life.leader.pid)
    finally:
        stranger.kill()
        await stranger.wait()


async def _process_with_pid(pid, last):
    for _ in range(200):
        last.write_text(str(pid - 1))
        process = await asyncio.create_subprocess_exec("/bin/sleep", "600", start_new_session=True)
        if process.pid == pid:
            return process
        process.kill()
        await process.wait()
    pytest.skip("the pid could not be won on this machine")
    return None


async def test_an_end_during_a_sweep_is_found_by_the_next_daemon(place):
    """A daemon that comes while a sweep runs waits for it and finds nothing alive."""
    runner = place.runner()
    await runner.spawn(place.launch(1, "--shapes", "same,setsid,daemon", "--shared-memory"), Reports())
    pids = await place.pids()
    await runner.kill("w1", 1)
    await asyncio.sleep(0)
    await place.drop(runner)
    following = place.runner()
    found = await following.adopt("w1", Reports())
    if found.life is None:
        assert found.last_exit.cause == "stopped"
        assert [pid for pid in pids if alive(pid)] == []


async def test_the_child_gets_a_clean_start(place):
    """Own session, default signals, the log on both outputs, and no word of systemd's."""
    code = (
        "import os, signal, sys\n"
        "print(os.getsid(0) == os.getpid(), 'NOTIFY_SOCKET' in os.environ, signal.getsignal(signal.SIGHUP),"
        " len(os.listdir('/proc/self/fd')), flush=True)\n"
        "print('to stderr', file=sys.stderr)"
    )
    runner, reports = place.runner(), Reports()
    env = {"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "1"}
    await runner.spawn(place.launch(1, argv=(sys.executable, "-I", "-c", code), env=env), reports)
    await reports.end_of(1)
    assert await runner.tail("w1", 5) == ["True False 0 4", "to stderr"]


async def test_members_of_a_tree_in_a_cgroup_cannot_leave_it(place):
    """Where there is a writable cgroup v2 the incarnation has its own, which is gone afterwards."""
    from genesisd.supervisor.cgroups import own_group

    own = own_group()
    if own is None or not os.access(own, os.W_OK) or os.geteuid():
        pytest.skip("no writable cgroup v2")
    runner, reports = place.runner(cgroup=own), Reports()
    life = await runner.spawn(place.launch(1, "--shapes", "same,setsid,daemon"), reports)
    pids = await place.pids()
    group = runner._handles["w1"]._newest.record.cgroup
    assert {int(pid) for pid in (group / "cgroup.procs").read_text().split()} == set(pids)
    os.kill(life.leader.pid, signal.SIGKILL)
    await reports.end_of(1)
    assert not group.exists()
    assert reports.of(Exited)


@pytest.mark.parametrize("with_shim", [True, False], ids=["shim", "no shim"])
async def test_a_process_that_cannot_be_killed_is_reported_and_blocks_the_next_spawn(place, with_shim):
    """A member that hangs in the kernel: survivors are told after the bound, and its end when it comes."""
    freezer = Path("/sys/fs/cgroup/freezer")
    if os.geteuid() or not os.access(freezer / "cgroup.procs", os.W_OK):
        pytest.skip("only a version 1 freezer makes a process that SIGKILL does not end")
    runner, reports = place.runner(), Reports()
    life = await runner.spawn(place.launch(1, "--shapes", "setsid"), reports)
    stuck = (await place.pids())[1]
    ice = freezer / f"genesis-test-{os.getpid()}"
    ice.mkdir()
    try:
        (ice / "cgroup.procs").write_text(str(stuck))
        (ice / "freezer.state").write_text("FROZEN")
        if not with_shim:
            os.kill(place.shim_pid(), signal.SIGKILL)
            await reports.wait(ShimLost, 1)
        os.kill(life.leader.pid, signal.SIGKILL)
        assert (await reports.wait(Swept, 1)).survivors == 1
        assert [type(event) for event in reports.events if type(event) is not ShimLost] == [Exited, Swept]
        with pytest.raises(SpawnError, match="cannot be killed"):
            await runner.spawn(place.launch(2), reports)
        (ice / "freezer.state").write_text("THAWED")
        await eventually(lambda: reports.of(Swept, 1)[-1].survivors == 0)
        await runner.spawn(place.launch(2), reports)
    finally:
        (ice / "freezer.state").write_text("THAWED")
        await eventually(lambda: not (ice / "cgroup.procs").read_text())
        ice.rmdir()
