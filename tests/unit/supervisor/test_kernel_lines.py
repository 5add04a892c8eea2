"""The kernel's words about memory and cards, in the forms that kernels and drivers really write."""

from __future__ import annotations

import pytest

from genesisd.supervisor.kernel_lines import OF_THE_PROGRAM, XIDS, Kernel, parse, xid_words

OOM = [
    (
        "Memory cgroup out of memory: Killed process 5592 (python3) total-vm:323776kB, anon-rss:68096kB, UID:0",
        5592,
        "Linux 6.18, a cgroup of version 1 with memory.limit_in_bytes",
    ),
    (
        (
            "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/x,task_memcg=/x,"
            "task=python3,pid=5592,uid=0"
        ),
        5592,
        "Linux 6.18, the same",
    ),
    (
        "[Sun Mar 30 08:24:00 2025] x",
        None,
        "a line of dmesg -T that says nothing",
    ),
    (
        "[44178.537749] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),global_oom,task=stress-ng,pid=1811,uid=1000",
        1811,
        "https://github.com/ColinIanKing/stress-ng/issues/177",
    ),
    (
        "[44178.540183] oom_reaper: reaped process 1811 (stress-ng), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB",
        1811,
        "https://github.com/ColinIanKing/stress-ng/issues/177",
    ),
    (
        "kernel: [  518.061172] Out of memory: Killed process 15925 ((resolved)) total-vm:168424kB, anon-rss:4064kB",
        15925,
        "https://github.com/docker/for-linux/issues/1001",
    ),
    ("Out of memory: Kill process 123 (VLLM::EngineCor) score 900 or sacrifice child", 123, "Linux 4"),
    ("Killed process 123 (VLLM::EngineCor) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB", 123, "Linux 4"),
    ("Killed process 123 (a (b) c), UID 1000, total-vm:1kB, anon-rss:1kB", 123, "Linux 5.0"),
    ("oom_reaper: unable to reap pid:77 (python3)", 77, "Linux 5"),
]
XID = [
    ("NVRM: Xid (PCI:0000:44:00): 79, GPU has fallen off the bus", 79, None, "0000:44:00"),
    ("NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", 79, None, "0000:41:00"),
    (
        "[14328.198504] NVRM: Xid (PCI:0000:0a:00): 31, pid=13332, name=cuda_plot_k32_v, Ch 00000010, intr 00000000. MMU Fault",
        31,
        13332,
        "0000:0a:00",
    ),
    (
        "kernel: NVRM: Xid (PCI:0000:dc:00): 45, pid=1818990, name=python3, Ch 00000001 caused by previous Xid 149",
        45,
        1818990,
        "0000:dc:00",
    ),
    ("NVRM: Xid (PCI:0000:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot)", 154, None, "0000:01:00"),
    ("NVRM: Xid (PCI:0000:0a:00): 62, pid='<unknown>', name=<unknown>, 2023b230 20238a3a", 62, None, "0000:0a:00"),
    ("NVRM: GPU 0000:b3:00.0: GPU has fallen off the bus.", 79, None, "0000:b3:00.0"),
    ("               NVRM: fallen off the bus and is not responding to commands.", 79, None, ""),
]  # fmt: skip


@pytest.mark.parametrize(("line", "pid"), [(line, pid) for line, pid, _ in OOM])
def test_a_kill_for_want_of_memory_names_its_process(line, pid):
    """In all forms of the last ten years."""
    found = parse(line, 5.0)
    assert (found.kind, found.pid, found.at) == (Kernel.OOM, pid, 5.0) if pid else found is None


@pytest.mark.parametrize(("line", "number", "pid", "device"), XID)
def test_a_fault_of_a_card_has_its_number(line, number, pid, device):
    """The process too, where the driver knows it."""
    found = parse(line, 5.0)
    assert (found.kind, found.number, found.pid, found.device) == (Kernel.XID, number, pid, device)
    assert f"Xid {number}" in xid_words(found)


@pytest.mark.parametrize(
    ("number", "name"),
    [(0, "python3"), (1, "python3"), (3, "stress-ng"), (5, "(resolved)"), (6, "VLLM::EngineCor"), (8, "a (b) c")],
)
def test_a_kill_has_the_name_of_its_process(number, name):
    """As the kernel keeps it, with whatever is in it."""
    assert parse(OOM[number][0], 1.0).name == name


@pytest.mark.parametrize(
    "line",
    [
        "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.158.01",
        "python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=872",
        "Tasks state (memory values in pages):",
        "[   5592]     0  5592    80944    18718    17024 python3",
        "vllm: Out of memory: Killed process 5 (x)",
        "",
    ],
)
def test_other_lines_say_nothing(line):
    """Neither do those that come with a kill and name nobody."""
    assert parse(line, 1.0) is None


def test_the_meanings_are_in_words():
    """And an unknown number says where to look."""
    assert set(XIDS) > OF_THE_PROGRAM
    assert "NVIDIA" in xid_words(parse("NVRM: Xid (PCI:0000:44:00): 999, x", 1.0))
