"""By which marks the members of a tree are told from everybody else."""

from __future__ import annotations

import pytest

from genesisd.process_ref import ProcessRef
from genesisd.supervisor import tree


@pytest.fixture
def world(monkeypatch):
    """A process table in memory: ``add(pid, parent, session, start)`` with a title and an environment."""

    class World(dict):
        def add(self, pid, parent=1, session=None, start=100, title="", token=None, uid=0):
            self[pid] = tree.Process(pid, parent, session or pid, start)
            files[pid, "cmdline"] = title.encode()
            files[pid, "environ"] = f"A=b\0GENESIS_LIFE={token}\0".encode() if token else b"A=b\0"
            owned[pid] = uid == 0

    files, owned, world = {}, {}, World()
    monkeypatch.setattr(tree, "read_proc", lambda pid, name: files.get((pid, name), b""))
    monkeypatch.setattr(tree, "_owned", lambda pid: owned.get(pid, False))
    monkeypatch.setattr(tree, "boot_id", lambda: "boot")
    world.add(1, parent=0, start=1)
    return world


MARKS = tree.Marks(ProcessRef(50, 100, "boot"), "genesis:w1:7", "here:w1:7")


def members(world, marks=MARKS):
    return tree.members(marks, world)


def test_the_session_of_the_leader_is_the_tree(world):
    """Also when the leader is dead."""
    world.add(51, session=50)
    world.add(60)
    assert members(world) == {51}


def test_descendants_of_members_are_members(world):
    """Whatever session they began."""
    world.add(50)
    world.add(51, parent=50)
    world.add(52, parent=51)
    assert members(world) == {50, 51, 52}


def test_what_is_older_than_the_leader_is_not_its_own(world):
    """A session number that was used before."""
    world.add(51, session=50, start=99)
    assert members(world) == set()


def test_a_reused_leader_pid_makes_its_session_a_strangers(world):
    """The kernel does not give a pid out while a session has its number, so the old session is extinct."""
    world.add(50, start=200)
    world.add(51, session=50, start=201)
    assert members(world) == set()
    assert tree.look(MARKS.leader, None, world) == set()


def test_processes_of_another_user_are_not_touched(world):
    """Even with the right title."""
    world.add(51, title="genesis:w1:7::EngineCore", uid=1)
    assert members(world) == set()


def test_another_boot_has_no_members(world):
    """Pids of before the reboot mean nothing."""
    world.add(50)
    assert members(world, tree.Marks(ProcessRef(50, 100, "before"), "genesis:w1:7")) == set()


def test_a_titled_orphan_is_a_member(world):
    """vLLM's renamed processes have nothing but the title when they left the session."""
    world.add(51, title="genesis:w1:7::EngineCore")
    world.add(52, parent=51)
    assert members(world) == {51, 52}


def test_a_token_in_the_environment_is_a_mark(world):
    """Processes that were not renamed keep it, whatever else they do."""
    world.add(51, token="here:w1:7")
    world.add(52, token="here:w1:70")
    world.add(53, token="there:w1:7")
    assert members(world) == {51}


def test_a_titled_process_below_another_daemons_leader_is_left_alone(world):
    """Its leader lives and carries another token."""
    world.add(80, token="there:w1:7")
    world.add(81, parent=80, session=80, title="genesis:w1:7::EngineCore")
    world.add(82, parent=80, title="genesis:w1:7::Worker")
    assert members(world) == set()


def test_a_titled_process_below_another_daemons_shim_is_left_alone(world):
    """It was adopted by the other daemon's shim; ours is dead when we look."""
    world.add(80, title=f"python\0-I\0-S\0{tree.SHIM.decode()}\0w1")
    world.add(81, parent=80, title="genesis:w1:7::EngineCore")
    assert members(world) == set()


@pytest.mark.parametrize(
    ("cmdline", "found"),
    [
        ("genesis:w1:7::EngineCore", True),
        ("genesis:w1:7", True),
        ("python\0genesis:w1:7\0x", True),
        ("genesis:w1:70::EngineCore", False),
        ("genesis:w1:7-x", False),
        ("genesis:w1:", False),
        ("mygenesis:w1:7::EngineCore", False),
        ("genesis:aw1:7", False),
        ("genesis:a:genesis:w1:7", False),
    ],
)
def test_a_title_is_compared_whole(cmdline, found):
    """Incarnation 7 is not incarnation 70, and w1 is not aw1."""
    assert tree.has_title(cmdline.encode(), "genesis:w1:7") is found


def test_a_look_sees_descent_from_the_shim_and_the_session(world):
    """The cheap look opens no further file."""
    world.add(40, start=50)
    world.add(50, parent=40)
    world.add(51, parent=40, session=44, start=120)
    world.add(60)
    assert tree.look(MARKS.leader, 40, world) == {50, 51}
    assert tree.look(MARKS.leader, None, world) == {50}
