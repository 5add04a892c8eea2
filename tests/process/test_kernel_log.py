"""The kernel's log, read from a file of its form, and the real one where this machine lets us."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from genesisd.clock import SystemClock
from genesisd.supervisor.kernel_lines import Kernel
from genesisd.wiring.kernel_log import KEPT, KernelLog
from tests.fakes.supervision import FakeClock

pytestmark = pytest.mark.process

RECORDS = """\
6,1,100,-;Linux version 6.18
3,2,900000000,-;Memory cgroup out of memory: Killed process 5592 (python3) total-vm:323776kB, anon-rss:68096kB
 SUBSYSTEM=memory
3,3,990000000,-;NVRM: Xid (PCI:0000:44:00): 79, GPU has fallen off the bus
torn
"""


def test_what_matters_is_kept_with_its_wall_time(tmp_path):
    """Other lines, lines that continue one, and torn ones are passed over."""
    path = tmp_path / "kmsg"
    path.write_text(RECORDS)
    log = KernelLog(FakeClock(1000.0), path)
    found = log.lines()
    assert [(one.kind, one.pid, one.number) for one in found] == [(Kernel.OOM, 5592, 0), (Kernel.XID, None, 79)]
    assert [one.at for one in found] == [1_800_000_900.0, 1_800_000_990.0]
    log.close()
    assert log.lines() == found


def test_news_are_found_by_the_next_look(tmp_path):
    """Of a pipe as of the kernel: nothing there is no error, and nobody waits."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    log = KernelLog(FakeClock(), path)
    with path.open("w") as pipe:
        assert log.lines() == ()
        print(RECORDS, file=pipe, flush=True)
        assert len(log.lines()) == 2
        print(RECORDS * KEPT, file=pipe, flush=True)
        assert len(log.lines()) == KEPT
    log.close()
    assert log.why_not is None


def test_a_log_that_may_not_be_read_says_why(tmp_path):
    """Containers have none, or one that is forbidden."""
    log = KernelLog(FakeClock(), tmp_path / "none")
    assert log.lines() == ()
    assert "cannot be read" in log.why_not
    log.close()


def test_a_real_kill_for_want_of_memory_is_seen():
    """By the kernel of this machine, in a memory cgroup of 60 MiB."""
    root = Path("/sys/fs/cgroup/memory")
    group = root / f"genesisd-test-{os.getpid()}"
    clock = SystemClock()
    log = KernelLog(clock)
    if log.why_not or os.geteuid() or not (root / "memory.limit_in_bytes").exists():
        pytest.skip(f"no kernel log or no memory cgroup of version 1 to try it in: {log.why_not}")
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(60 << 20))
        code = f"open('{group}/cgroup.procs', 'w').write('0'); bytearray(300 << 20)"
        child = subprocess.Popen([sys.executable, "-c", code])
        assert child.wait(60) == -9
        deadline = time.monotonic() + 60
        while not (ours := [one for one in log.lines() if one.pid == child.pid]) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert {one.kind for one in ours} == {Kernel.OOM}
        assert all(abs(one.at - clock.wall()) < 60 for one in ours)
    finally:
        log.close()
        group.rmdir()
