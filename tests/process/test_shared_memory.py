"""Entries of /dev/shm that nobody else will remove."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from multiprocessing import shared_memory as blocks
from pathlib import Path

import pytest

from genesisd.supervisor import shared_memory
from genesisd.supervisor.runners import scratch

HOLDER = """
import multiprocessing, time
from multiprocessing import resource_tracker, shared_memory
block = shared_memory.SharedMemory(create=True, size=4096)
lock = multiprocessing.get_context("spawn").Lock()
print(block.name, resource_tracker._resource_tracker._pid, flush=True)
time.sleep(600)
"""


@pytest.fixture
def stranger():
    """Somebody else's block, which has the same kind of name."""
    block = blocks.SharedMemory(create=True, size=4096)
    yield Path("/dev/shm", block.name)
    block.close()
    block.unlink()


async def test_what_a_life_and_its_tracker_leave_is_removed_with_its_scratch(tmp_path, stranger):
    """Both killed: the block and the semaphore that were noted go; a stranger's block stays."""
    argv = [sys.executable, "-c", HOLDER]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, start_new_session=True) as child:
        name, tracker = child.stdout.readline().split()
        names = shared_memory.mapped([child.pid])
        shared_memory.note(tmp_path, [child.pid])
        os.kill(int(tracker), signal.SIGKILL)
        child.kill()
    assert name in names
    assert {one.partition("-")[0] for one in names - {name}} == {"sem.mp"}
    assert Path("/dev/shm", name).exists()
    assert await scratch.empty([tmp_path]) == []
    assert [one for one in names if Path("/dev/shm", one).exists()] == []
    assert stranger.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_note_cannot_lead_elsewhere(tmp_path):
    """A worker can write what it likes into its TMPDIR: only names of the known kinds below /dev/shm count."""
    other = Path("/dev/shm", f"genesisd-test-{os.getpid()}")
    victim = tmp_path / "psm_victim"
    try:
        for path in (other, victim):
            path.touch()
        (tmp_path / shared_memory.NOTE).write_text(f"{other.name}\npsm_/../..{victim}\n../..{victim}\n\xff\npsm_gone\n")
        shared_memory.release(tmp_path)
        assert (other.exists(), victim.exists()) == (True, True)
    finally:
        other.unlink()


def test_a_folder_without_a_note_or_a_process_without_blocks_is_no_fault(tmp_path):
    """Both are the rule."""
    shared_memory.release(tmp_path)
    shared_memory.note(tmp_path, [os.getpid(), 1 << 30])
    assert (tmp_path / shared_memory.NOTE).read_text() == ""
