"""The processes of one incarnation, found by marks that they cannot shake off, and their end without a shim.

vLLM renames its processes, which wipes their environment from /proc. What is left of a tree are the session that
the leader began, the cgroup, the descent, the title that vLLM gives them from VLLM_PROCESS_NAME_PREFIX, and, in
those that were not renamed, the life's token in the environment.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from genesisd.identity import boot_id, is_corpse, read_proc, signal_exactly, stat_fields
from genesisd.process_ref import ProcessRef
from genesisd.supervisor import cgroups

TOKEN_VARIABLE = "GENESIS_LIFE"  # noqa: S105 - a name, not a secret
TRACKER = b"multiprocessing.resource_tracker"
SHIM = str(Path(__file__).with_name("shim.py")).encode()


@dataclass(frozen=True, slots=True)
class Marks:
    """By what the members of an incarnation's tree are known.

    Attributes:
        leader: the leader; its pid is the id of the session.
        title: ``genesis:<worker>:<incarnation>``.
        token: value of GENESIS_LIFE; unlike the title it also tells two daemons on one machine apart.
        cgroup: folder of the incarnation's own cgroup, where there is one.
    """

    leader: ProcessRef
    title: str
    token: str = ""
    cgroup: Path | None = None


@dataclass(frozen=True, slots=True)
class Process:
    """One line of the process table."""

    pid: int
    parent: int
    session: int
    start_ticks: int

    @property
    def ref(self) -> ProcessRef:
        """Its identity."""
        return ProcessRef(self.pid, self.start_ticks, boot_id())


Table = Mapping[int, Process]


def process_table() -> dict[int, Process]:
    """Every living process of the machine; corpses are left out."""
    table = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - this runs once a second a worker; a Path an entry costs double
        if name.isdigit() and (fields := stat_fields(int(name))) and not is_corpse(fields):
            table[int(name)] = Process(int(name), int(fields[1]), int(fields[3]), int(fields[19]))
    return table


def below(roots: Iterable[int], table: Table) -> set[int]:
    """The roots that exist and everything that descends from them."""
    children: dict[int, list[int]] = {}
    for process in table.values():
        children.setdefault(process.parent, []).append(process.pid)
    found: set[int] = set()
    queue = [pid for pid in roots if pid in table]
    while queue:
        pid = queue.pop()
        if pid not in found:
            found.add(pid)
            queue += children.get(pid, [])
    return found


def members(marks: Marks, table: Table | None = None) -> set[int]:
    """Pids of the tree by all marks."""
    if marks.leader.boot_id != boot_id():
        return set()
    table = process_table() if table is None else table
    mine = {pid: process for pid, process in table.items() if _candidate(process, marks)}
    roots = {pid for pid, process in mine.items() if _in_session(process, marks.leader, table)}
    roots |= {pid for pid in cgroups.members(marks.cgroup) if pid in table}
    roots |= {pid for pid in mine if marks.token and token_of(pid) == marks.token}
    found = below(roots, table)
    titled = {pid for pid in mine.keys() - found if has_title(read_proc(pid, "cmdline"), marks.title)}
    found |= below({pid for pid in titled if not _belongs_elsewhere(pid, marks, table, found)}, table)
    return found - {os.getpid()}


def look(leader: ProcessRef, shim: int | None, table: Table | None = None) -> set[int]:
    """Pids of a live tree in one pass without reading further files: descent and session only.

    Args:
        leader: the leader of the tree.
        shim: pid of the living shim, below which everything is the tree's; None if it is dead.
        table: the process table, read anew when absent.
    """
    table = process_table() if table is None else table
    session = {process.pid for process in table.values() if _in_session(process, leader, table)}
    found = below(session | ({shim} if shim else set()), table)
    return found - {shim, os.getpid()}


def token_of(pid: int) -> str | None:
    """The life's token in the environment of a process that has not been renamed."""
    _, found, rest = (b"\0" + read_proc(pid, "environ")).partition(b"\0" + TOKEN_VARIABLE.encode() + b"=")
    return rest.partition(b"\0")[0].decode(errors="replace") if found else None


def has_title(cmdline: bytes, title: str) -> bool:
    """Whether a command line carries exactly this title: ``genesis:w1:7`` is not ``genesis:w1:70``."""
    return re.search(rb"(?<![\w:-])" + re.escape(title.encode()) + rb"(?![\w-])", cmdline) is not None


def kill_pass(marks: Marks, *, spare_tracker: bool) -> int:
    """SIGKILL every member whose identity still holds; how many were alive.

    resource_tracker is spared while the caller says so: it removes psm_* and sem.mp-* from /dev/shm when it sees
    that everybody else is gone, and a killed one leaves them there for ever.
    """
    table = process_table()
    alive = 0
    for pid in members(marks, table):
        if spare_tracker and TRACKER in read_proc(pid, "cmdline"):
            alive += 1
        else:
            alive += signal_exactly(table[pid].ref, signal.SIGKILL)
    return alive


def lives_by_token(prefix: str) -> dict[str, Process]:
    """Oldest process of each life whose token begins so: what is left of lives that no file speaks of."""
    found: dict[str, Process] = {}
    for process in sorted(process_table().values(), key=lambda p: p.start_ticks):
        token = token_of(process.pid) if _owned(process.pid) else None
        if token and token.startswith(prefix):
            found.setdefault(token, process)
    return found


def _in_session(process: Process, leader: ProcessRef, table: Table) -> bool:
    """Whether it is in the session that the leader began.

    The kernel gives a pid out again only when no session has that number any more. So when another process has the
    dead leader's pid, the leader's session is extinct, and a session of that number is the stranger's.
    """
    holder = table.get(leader.pid)
    stranger = holder is not None and holder.start_ticks != leader.start_ticks
    return process.session == leader.pid and process.start_ticks >= leader.start_ticks and not stranger


def _candidate(process: Process, marks: Marks) -> bool:
    """Nothing older than the leader, and nothing of another user, can be the leader's."""
    return process.start_ticks >= marks.leader.start_ticks and _owned(process.pid)


def _owned(pid: int) -> bool:
    try:
        return os.stat(f"/proc/{pid}").st_uid == os.geteuid()  # noqa: PTH116 - for every process of the machine
    except OSError:
        return False


def _belongs_elsewhere(pid: int, marks: Marks, table: Table, found: set[int]) -> bool:
    """A titled process of another daemon that has a worker of the same name: its shim or its leader lives above it.

    Our own shim is dead when this is asked, so no shim above a process is ours.
    """
    while (process := table.get(pid)) is not None and pid not in found:
        session_lives = process.session != pid and process.session in table and process.session not in found
        if session_lives and token_of(process.session) not in (None, marks.token):
            return True
        if SHIM in read_proc(pid, "cmdline").split(b"\0") or token_of(pid) not in (None, marks.token):
            return True
        pid = process.parent
    return False
