"""Where an incarnation's cgroup is, on folders that look like the kernel's."""

from __future__ import annotations

import pytest

from genesisd.supervisor import cgroups


@pytest.fixture
def mount(tmp_path):
    """A version 2 mount with one delegated group."""
    own = tmp_path / "cg" / "system.slice" / "genesisd.service"
    own.mkdir(parents=True)
    for folder in (tmp_path / "cg", own):
        (folder / "cgroup.procs").touch()
        (folder / "cgroup.subtree_control").touch()
    return tmp_path / "cg"


def own(mount, line, tmp_path):
    membership = tmp_path / "self"
    membership.write_text(f"8:pids:/\n{line}\n")
    return cgroups.own_group((tmp_path / "none", mount), membership)


def test_our_group_is_read_from_the_unified_line(mount, tmp_path):
    """The mount may be the second one (hybrid), and our leaf is not the delegated group."""
    expected = mount / "system.slice" / "genesisd.service"
    assert own(mount, "0::/system.slice/genesisd.service", tmp_path) == expected
    assert own(mount, "0::/system.slice/genesisd.service/daemon", tmp_path) == expected


def test_without_version_2_there_is_none(tmp_path):
    """Neither a mount nor a line."""
    assert own(tmp_path / "nothing", "0::/", tmp_path) is None


def test_groups_are_made_and_removed(mount):
    """One a life, named by worker, incarnation and daemon."""
    groups = cgroups.Cgroups(mount, "abcd")
    path = groups.make("w1", 7)
    assert path == mount / "workers" / "w1-7-abcd"
    groups.close()
    assert path.exists()
    groups.remove(path)
    groups.close()
    assert not (mount / "workers").exists()


def test_a_sweep_takes_the_empty_groups_of_this_worker_only(mount):
    """w1 is not w1-2, and another daemon's groups are not ours."""
    groups = cgroups.Cgroups(mount, "abcd")
    ours, neighbour = groups.make("w1", 7), groups.make("w1-2", 7)
    theirs = cgroups.Cgroups(mount, "ffff").make("w1", 7)
    groups.sweep("w1")
    assert (ours.exists(), neighbour.exists(), theirs.exists()) == (False, True, True)


def test_with_controllers_the_daemon_steps_aside(mount):
    """An inner group with controllers must not hold processes."""
    (mount / "cgroup.subtree_control").write_text("memory pids\n")
    assert cgroups.Cgroups(mount, "abcd").enabled
    assert (mount / "daemon" / "cgroup.procs").read_text().isdecimal()


def test_no_group_is_no_fault(tmp_path):
    """Without a delegated group nothing is made."""
    groups = cgroups.Cgroups(None, "abcd")
    assert (groups.enabled, groups.make("w1", 1)) == (False, None)
    groups.remove(None)
    groups.sweep("w1")
    assert cgroups.members(tmp_path / "absent") == set()
