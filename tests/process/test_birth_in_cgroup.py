"""A worker is born in its cgroup where the kernel can do that, and forked as ever where it cannot."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from genesisd.supervisor.cgroups import own_group
from genesisd.supervisor.runners.shims import SHIM

pytestmark = pytest.mark.process

CODE = """
import os, runpy, sys
shim = runpy.run_path(sys.argv[1])
read, write = os.pipe()
pid, born_in = shim["fork_into"](sys.argv[2])
if pid == 0:
    os.read(read, 1)
    os._exit(7)
listed = shim["read_bytes"](sys.argv[2] + "/cgroup.procs").split()
os.write(write, b"g")
print(born_in, str(pid).encode() in listed, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


def fork_into(group: Path) -> str:
    made = subprocess.run(
        [sys.executable, "-I", "-S", "-c", CODE, str(SHIM), str(group)],
        check=False,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


def test_a_child_is_a_member_before_it_executes_anything():
    """The list of the group names the child, and the child runs and ends like any other."""
    own = own_group()
    if own is None or not os.access(own, os.W_OK) or os.geteuid():
        pytest.skip("no writable cgroup v2")
    group = own / f"test-birth-{os.getpid()}"
    group.mkdir()
    try:
        assert fork_into(group) == "True True 7"
    finally:
        group.rmdir()


@pytest.mark.parametrize("exists", [True, False])
def test_where_it_cannot_be_born_there_it_is_forked(tmp_path, exists):
    """A folder that is no cgroup, or is not there, costs nothing but the birth in the group."""
    assert fork_into(tmp_path if exists else tmp_path / "absent") == "False False 7"
