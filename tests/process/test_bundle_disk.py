"""Bundles on the disk: the budget, a full disk, the stacks of real processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from genesisd.incidents import disk
from genesisd.incidents.bundle import Gathered, files
from genesisd.incidents.disk import Budget, Kept, measure, surplus, trim, write
from genesisd.incidents.model import Recorded
from genesisd.incidents.redact import Redactor
from genesisd.incidents.stacks import MOST, program, stacks

pytestmark = pytest.mark.process

SLEEPER = """
import sys, threading, time
def stand_still(hidden):
    print("up", flush=True)
    time.sleep(600)
stand_still("canary-of-a-local")
"""


@pytest.fixture
def sleeper():
    child = subprocess.Popen([sys.executable, "-c", SLEEPER, "--api-key", "canary-key"], stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"up\n"
    yield child
    child.kill()
    child.wait()
    child.stdout.close()


def kept(name: str, at: float, size: int) -> Kept:
    return Kept(Path(name), at, size)


def test_the_oldest_go_until_all_fit():
    """By bytes and by number; nothing goes where there is room."""
    bundles = [kept("c", 3, 10), kept("a", 1, 10), kept("b", 2, 10)]
    assert surplus(bundles, Budget(30, 3)) == ()
    assert [one.path.name for one in surplus(bundles, Budget(15, 3))] == ["a", "b"]
    assert [one.path.name for one in surplus(bundles, Budget(30, 2))] == ["a"]


def test_what_somebody_is_about_to_read_stays():
    """Whatever it costs; others go instead."""
    bundles = [kept("a", 1, 100), kept("b", 2, 10), kept("c", 3, 10)]
    assert [one.path.name for one in surplus(bundles, Budget(50, 9), {Path("a")})] == ["b", "c"]


def bundle(root: Path, worker: str, name: str, size: int, at: float) -> Path:
    path = root / worker / disk.FOLDER / name
    assert write(path, {"log.txt": b"x" * size})
    os.utime(path, (at, at))
    return path


def test_the_budget_is_for_all_workers_together(tmp_path):
    """One that fails often pushes out its own and others' oldest."""
    first, second, third = (bundle(tmp_path, worker, "n", 100, n) for n, worker in enumerate("abc"))
    (tmp_path / "a" / "log").write_bytes(b"x" * 5000)
    assert sum(one.size for one in measure(tmp_path)) == 300
    trim(tmp_path, Budget(250, 9))
    assert [path.exists() for path in (first, second, third)] == [False, True, True]
    trim(tmp_path, Budget(0, 0), {third})
    assert [path.exists() for path in (first, second, third)] == [False, False, True]
    trim(tmp_path / "nothing", Budget(0, 0))


@pytest.fixture
def small_disk(tmp_path):
    path = tmp_path / "small"
    path.mkdir()
    if (
        os.geteuid()
        or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", path], check=False).returncode
    ):
        pytest.skip("a disk of its own needs root")
    yield path
    subprocess.run(["umount", path], check=True)


def test_a_full_disk_takes_what_says_most(small_disk):
    """The first files; nothing that is torn stays, and a disk that takes nothing is an error."""
    target = small_disk / "w" / disk.FOLDER / "1"
    assert write(target, {"summary.json": b"{}", "metrics.txt": b"x" * (1 << 20), "more": b"x"}) is False
    assert [path.name for path in target.iterdir()] == ["summary.json"]
    (small_disk / "rest").write_bytes(b"x" * 4096)
    with pytest.raises(OSError, match="No space"):
        write(small_disk / "w" / disk.FOLDER / "2", {"summary.json": b"x" * (1 << 20)})
    assert [path.name for path in target.parent.iterdir()] == ["1"]


def test_a_bundle_is_written_without_secrets():
    """Its files in the order of what they are worth."""
    found = Gathered(
        summary={"worker": "w", "text": "prompt: 'canary'", "incarnation": 3},
        processes=[{"pid": 1, "name": "x", "argv": ["x", "--api-key", "canary", "--port", "1"]}],
        stacks="Process 1: x --api-key canary --port 1\n  main (x.py:3)",
        log=["prompt: 'canary'"],
        metrics="vllm:num_requests_running 1",
        asks=[Recorded("golden", "failure", "gave x", "/v1/completions", {"prompt": "What is 2 + 2?"}, 200, "5")],
        spec={"env": {"HF_TOKEN": "canary"}},
        versions={"pin": "cpu"},
    )
    contents = files(found, Redactor())
    assert list(contents) == ["summary.json", "log.txt", "stacks.txt", "probes.json", "spec.json", "metrics.txt"]
    assert not any(b"canary" in content for content in contents.values())
    assert json.loads(contents["summary.json"])["processes"][0]["command"] == "x --api-key [masked] --port 1"
    assert json.loads(contents["probes.json"])[0]["request"] == {"prompt": "What is 2 + 2?"}


async def test_the_stack_of_a_process_says_where_it_stands(sleeper):
    """Without its locals."""
    text = await stacks([sleeper.pid], seconds=60)
    assert "stand_still" in text
    assert "canary-of-a-local" not in text.replace(SLEEPER, "")
    assert "canary-key" not in "\n".join(Redactor().secrets(line) for line in text.split("\n"))


async def test_a_stopped_process_shows_its_stack_too(sleeper):
    """A hung engine looks like that, and it is not touched: it is as stopped as before."""
    os.kill(sleeper.pid, signal.SIGSTOP)
    deadline = time.monotonic() + 60
    while state(sleeper.pid) != "T" and time.monotonic() < deadline:
        await asyncio.sleep(0.01)
    assert "stand_still" in await stacks([sleeper.pid], seconds=60)
    assert state(sleeper.pid) == "T"


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


async def test_where_stacks_cannot_be_had_the_kernel_is_asked(sleeper, tmp_path):
    """With the reason: no program, one that refuses, one that takes too long."""
    refuses, slow = tmp_path / "refuses", tmp_path / "slow"
    refuses.write_text("#!/bin/sh\necho 'Permission Denied: try as root' >&2\nexit 1\n")
    slow.write_text("#!/bin/sh\nexec sleep 600\n")
    for path in (refuses, slow):
        path.chmod(0o755)
    for spy, seconds, why in (
        (refuses, 60, "Permission Denied"),
        (slow, 0.2, "longer than 0.2 s"),
        (tmp_path / "none", 60, "cannot be run"),
    ):
        text = await stacks([sleeper.pid], str(spy), seconds)
        assert why in text
        assert "State:" in text


async def test_processes_that_are_gone_or_none_or_many_are_told():
    """Whatever is left of a tree."""
    assert "no process" in await stacks([])
    assert "is gone" in await stacks([999_999_999])
    assert "and 2 processes more" in await stacks([999_999_999] * (MOST + 2), "/nonexistent")


def test_the_program_is_installed():
    """It comes with the project."""
    assert Path(program()).exists()
