"""What the kernel says about memory that ran out and about faults of cards, read from its log. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class Kernel(StrEnum):
    """What a line tells of."""

    OOM = "oom"
    XID = "xid"


@dataclass(frozen=True, slots=True)
class KernelLine:
    """One line that matters.

    Attributes:
        at: wall time in seconds.
        kind: what it tells of.
        text: the line, without its prefix.
        pid: process that it names, or None.
        name: of that process, as far as the kernel keeps names (15 characters); "" where it tells none.
        number: of an Xid; 0 for memory.
        device: PCI address of the card; "" for memory.
    """

    at: float
    kind: Kernel
    text: str
    pid: int | None = None
    name: str = ""
    number: int = 0
    device: str = ""


XIDS = {
    13: "graphics engine exception, mostly a fault of the program",
    31: "memory page fault, mostly a fault of the program",
    43: "a channel was reset, mostly because its program was at fault",
    45: "channels were cleaned up after an earlier fault or a kill",
    48: "double-bit ECC error: memory of the card is damaged",
    61: "the card's microcontroller stopped",
    62: "the card's microcontroller stopped",
    63: "a bad page of the card's memory was retired or remapped",
    64: "a bad page of the card's memory could not be retired or remapped: reset the card",
    74: "NVLink error",
    79: "the card has fallen off the bus: power, heat or PCIe; the box needs a reboot",
    92: "many single-bit ECC errors",
    94: "an ECC error, contained to the programs that met it",
    95: "an ECC error that was not contained: reset the card",
    119: "the card's system processor (GSP) does not answer: reset the card",
    120: "the card's system processor (GSP) failed: reset the card",
    140: "unrecovered ECC error",
    145: "NVLink error",
    149: "NVLink error",
    154: "the driver says what recovers the card (reset, drain or reboot)",
}
"""Meanings of the common ones, in few words, after NVIDIA's own list of Xid errors."""
OF_THE_PROGRAM = frozenset({13, 31, 43, 45})
"""Xids that a program's own fault, or its end, brings about: they say less than its last words."""

_PREFIX = re.compile(r"^(?:\[\s*\d+\.\d+\]\s*)?(?:kernel:\s*)?(?:\[\s*\d+\.\d+\]\s*)?")
_OOM = (
    re.compile(r"^(?:Memory cgroup out|Out) of memory(?: \(oom_kill_allocating_task\))?: Kill(?:ed)? process (\d+)\b"),
    re.compile(r"^Killed process (\d+) \(.*\)?,? (?:UID \d+, )?total-vm:"),
    re.compile(r"^oom-kill:.*\btask=.*,pid=(\d+),uid=\d+"),
    re.compile(r"^oom_reaper: (?:reaped|unable to reap)(?: process)? (?:pid:)?(\d+)\b"),
)
_XID = re.compile(r"^NVRM: (?:GPU at )?Xid \(([^)]*)\): (\d+)(?:, (.*))?")
_XID_PID = re.compile(r"\bpid='?(\d+)")
_OFF_BUS = re.compile(r"^NVRM: (?:GPU ([0-9a-fA-F:.]+): )?(?:GPU has )?fallen off the bus")
_NAMED = re.compile(r"process \d+ \((.*)\)(?=,? (?:total-vm|UID|score|now)|$)|\btask=(.*),pid=|\bname=([^,]*)")
FALLEN = 79
NAME = 15
"""Characters of a process's name that the kernel keeps."""


def parse(line: str, at: float) -> KernelLine | None:
    """The line's meaning, or None where it does not matter."""
    text = _PREFIX.sub("", line).strip()
    for pattern in _OOM:
        if found := pattern.search(text):
            return KernelLine(at, Kernel.OOM, text, int(found[1]), _name(text))
    if found := _XID.search(text):
        device, number, rest = found.groups()
        named = _XID_PID.search(rest or "")
        pid = int(named[1]) if named else None
        name = _name(text) if pid else ""
        return KernelLine(at, Kernel.XID, text, pid, name, int(number), device.removeprefix("PCI:"))
    if found := _OFF_BUS.search(text):
        return KernelLine(at, Kernel.XID, text, None, "", FALLEN, found[1] or "")
    return None


def is_of(line: KernelLine, title: str) -> bool:
    """Whether the process has this title (``genesis:<worker>:<incarnation>``), as far as the kernel keeps it."""
    if not title:
        return False
    if len(title) >= NAME:
        return line.name == title[:NAME]
    return line.name == title or line.name.startswith(f"{title}:")


def _name(text: str) -> str:
    found = _NAMED.search(text)
    return "" if found is None else next(one for one in found.groups() if one is not None)


def xid_words(line: KernelLine) -> str:
    """An Xid in one clause."""
    meaning = XIDS.get(line.number, "see NVIDIA's list of Xids")
    where = f" on {line.device}" if line.device else ""
    return f"Xid {line.number}{where} ({meaning})"
