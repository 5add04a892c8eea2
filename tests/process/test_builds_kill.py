"""Builders of builds that are killed at each write, doubled, or left hanging."""

import os
import shutil
import signal
import subprocess
import time

import pytest

from genesisd.pins import lock
from genesisd.pins.build_gc import collect_builds
from genesisd.pins.build_verify import verify_build
from genesisd.pins.builds import find_build
from genesisd.pins.layout import Cache
from tests.helpers.builder import Writes, builder, make
from tests.helpers.pin_tree import KEY, NAME, contents, make_environment, packages_of

NAMES = {f"{NAME}+{KEY}", f"{NAME}+{KEY}.json"}


@pytest.fixture
def cache(tmp_path):
    make_environment(tmp_path / "cache")
    return tmp_path / "cache"


def forked(cache, die_at):
    """Exit status of a builder that dies at its n-th write; forked, since an interpreter's start would be most of it."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setsid()
            Writes(die_at)
            make(cache)
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def names(folder):
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_builder_killed_at_each_write(tmp_path, part):
    """SIGKILL before each single change of the file system, from the record's first to the manifest's last.

    Each time what counts is whole, the next builder succeeds, nothing is left over, and site-packages are untouched.
    """
    cache = tmp_path / "cache"
    env = make_environment(cache, {"vllm/__init__.py": b"", "vllm/core/sched.py": b"x = 1\n"}, bytecode=False)
    before = contents(packages_of(env.path))
    for nth in range(1 + part, 1000, PARTS):
        shutil.rmtree(Cache(cache).builds, ignore_errors=True)
        shutil.rmtree(Cache(cache).pristines, ignore_errors=True)
        status = forked(cache, nth)
        found = find_build(cache, NAME, KEY)
        assert found is None or verify_build(found, cache, deep=True) == (), nth
        assert verify_build(make(cache), cache, deep=True) == (), nth
        assert names(Cache(cache).builds) == NAMES, nth
        assert names(Cache(cache).pristines) == {NAME, f"{NAME}.json"}, nth
        assert contents(packages_of(env.path)) == before, nth
        if status == 0:
            assert nth > 90
            return
        assert status == -signal.SIGKILL, nth
    pytest.fail("it has no end")


@pytest.mark.parametrize("keep", [True, False], ids=["kept", "not-kept"])
def test_collection_removes_what_a_killed_builder_left(cache, keep):
    """A half-made folder goes, whether or not its build is wanted; the count of writes is the real process's."""
    make(cache)
    collect_builds(cache, keep=())
    done = subprocess.run(builder(cache), capture_output=True, text=True, check=True)
    count = int(done.stdout.split()[-1])
    collect_builds(cache, keep=())
    assert names(Cache(cache).builds) == set()
    killed = subprocess.run(builder(cache, "--die-at", str(count - 12)), stdout=subprocess.DEVNULL, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert any(name.startswith(".new-") for name in names(Cache(cache).builds))
    collect_builds(cache, keep=[f"{NAME}+{KEY}"] if keep else [])
    assert names(Cache(cache).builds) == set()


@pytest.fixture
def gate(tmp_path, monkeypatch):
    """A builder that is started while it is shut stands still in the child that prepares."""
    folder = tmp_path / "gate"
    folder.mkdir()
    monkeypatch.setenv("STAND_IN_GATE", str(folder))
    return folder


def until(holds, seconds=60):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)


def test_second_builder_waits_and_finds(cache, gate):
    """Two builders at once: one builds, the other says that it waits, and both end with the same build."""
    with subprocess.Popen(builder(cache), stdout=subprocess.PIPE, text=True) as first:
        until((gate / "there").exists)
        with subprocess.Popen(builder(cache), stdout=subprocess.PIPE, text=True) as second:
            assert second.stdout.readline() == "wait\n"
            (gate / "go").touch()
            told = second.stdout.read().split()
            assert first.stdout.read().split()[:5] == ["pristine", "pristine", "link", "patch", "check"]
    assert (first.returncode, second.returncode) == (0, 0)
    assert told[0] == "done"
    assert verify_build(find_build(cache, NAME, KEY), cache, deep=True) == ()


def test_builders_of_different_builds_share_one_record(cache):
    """Four at once on a cold cache: all succeed, and all builds are of the same record."""
    keys = [letter * 12 for letter in "abcd"]
    started = [subprocess.Popen(builder(cache, key), stdout=subprocess.DEVNULL) for key in keys]
    assert [one.wait() for one in started] == [0] * 4
    builds = [find_build(cache, NAME, key) for key in keys]
    assert len({build.manifest.pristine for build in builds}) == 1
    assert all(verify_build(build, cache, deep=True) == () for build in builds)


def test_collection_leaves_a_builder_at_work_alone(cache, gate):
    """Its staging folder is nobody's rubbish while it lives, wanted or not."""
    with subprocess.Popen(builder(cache), stdout=subprocess.DEVNULL) as working:
        until((gate / "there").exists)
        with lock.exclusive_now(Cache(cache).lock(NAME)) as fd:
            assert fd is None, "nobody may remove the environment meanwhile"
        for keep in ([], [f"{NAME}+{KEY}"]):
            collect_builds(cache, keep=keep)
        (gate / "go").touch()
    assert working.returncode == 0
    assert verify_build(find_build(cache, NAME, KEY), cache, deep=True) == ()


def test_child_of_a_killed_builder_dies_with_it(cache, gate, monkeypatch):
    """No child goes on writing into a folder that the next builder removes."""
    with subprocess.Popen(builder(cache), stdout=subprocess.DEVNULL) as working:
        until((gate / "there").exists)
        working.kill()
    monkeypatch.delenv("STAND_IN_GATE")
    build = make(cache)
    assert verify_build(build, cache, deep=True) == ()
    assert names(Cache(cache).builds) == NAMES
