"""Why an incarnation died: from its exit status, its last words and what the kernel said. Pure.

The exit status says little (vLLM leaves with 0 when its engine dies) and the last line says less ("See root cause
above"), so the rules of ``causes`` look for the root cause in the lines above it.
"""

from __future__ import annotations

import re
import signal as signals
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from genesisd.supervisor.causes import RULES, Rule
from genesisd.supervisor.kernel_lines import OF_THE_PROGRAM, Kernel, KernelLine, is_of, xid_words
from genesisd.supervisor.model import ExitRecord

TEXT_LIMIT = 400
VAGUE = frozenset({"crash", "killed", "unknown", "engine-dead", "cuda-error"})
"""Causes that an Xid of the program's own doing makes plainer; any other cause says more than it."""


@dataclass(frozen=True, slots=True)
class Ending:
    """What is known of a death.

    Attributes:
        code: exit status, or None.
        signal: number of the ending signal, or None.
        tail: last lines of output.
        asked: what was ordered against it (``signal 15``, ``sweep``), or None: nobody asked.
        pid: of the leader, or None.
        title: of its processes, or "" where they have none of their own.
        kernel: what the kernel said around that time.
    """

    code: int | None
    signal: int | None
    tail: Sequence[str] = ()
    asked: str | None = None
    pid: int | None = None
    title: str = ""
    kernel: Sequence[KernelLine] = ()


ROOT_CAUSE = re.compile(r"^(?:\w+\.)*\w+(?:Error|Exception): .+")
"""The last line of a traceback."""
LAST_ERROR = re.compile(r"RuntimeError: Engine core initialization failed")
SERVING = re.compile(r"Application startup complete|\bHTTP/1\.[01]\" \d{3}\b|\bAvg prompt throughput: ")
"""It had begun to serve; also where the beginning of a long life is not among its last lines."""
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_PROCESS = re.compile(r"^\((\w[\w\s.=-]*?) ?pid=(\d+)\)\s?")
_HEADER = re.compile(r"^(DEBUG|INFO|WARNING|ERROR|CRITICAL)\b:?\s*(?:\d\d-\d\d [\d:]+ (?:\[[^\]]+\]|\S+\])\s?)?")
_QUIET = frozenset({"DEBUG", "INFO"})


def classify(ending: Ending) -> ExitRecord:
    """The cause of a death, a sentence about it, and whether trying again is pointless."""
    if ending.asked is not None:
        return _record(ending, "stopped", f"{how(ending)} after it was asked to stop ({ending.asked})")
    tail = [_COLOUR.sub("", line) for line in ending.tail]
    return _with_kernel(ending, _by_words(ending, tail) or _plain(ending, tail), _pids(ending, tail))


def _by_words(ending: Ending, tail: Sequence[str]) -> ExitRecord | None:
    starting = not any(SERVING.search(line) for line in tail)
    words = _words(tail)
    for rule in RULES:
        if rule.code in (None, ending.code) and (starting or not rule.starting):
            for line in words:
                if found := re.search(rule.pattern, line):
                    text = f"{_sentence(rule, found)} ({how(ending)})"
                    return _record(ending, rule.cause, text, permanent=rule.permanent)
    return None


def _sentence(rule: Rule, found: re.Match[str]) -> str:
    return rule.text.format(*(group for group in found.groups() if group is not None))


def _words(tail: Sequence[str]) -> list[str]:
    """The lines that may tell a cause, bare: above the line that only says where to look, without the log's chatter."""
    last = max((number for number, line in enumerate(tail) if LAST_ERROR.search(line)), default=len(tail))
    found = []
    for line in tail[:last]:
        bare = _PROCESS.sub("", line)
        header = _HEADER.match(bare)
        if header is None or header[1] not in _QUIET:
            found.append(bare[header.end() :] if header else bare)
    return found


def _pids(ending: Ending, tail: Sequence[str]) -> Collection[int]:
    """The processes of the tree, as far as they wrote a line."""
    named = {int(found[2]) for line in tail if (found := _PROCESS.match(line))}
    return named if ending.pid is None else named | {ending.pid}


def _with_kernel(ending: Ending, record: ExitRecord, pids: Collection[int]) -> ExitRecord:
    """What the kernel did outranks what the dead one noticed of it."""
    ours = [line for line in ending.kernel if line.pid in pids or is_of(line, ending.title)]
    if kills := [line for line in ours if line.kind is Kernel.OOM]:
        killed = next((line for line in kills if "Killed process" in line.text), kills[0])
        text = f"the kernel killed {killed.name} (pid {killed.pid}) for want of memory: {killed.text}"
        return _record(ending, "host-oom", text)
    faults = [line for line in (*ours, *_of_no_process(ending, record)) if line.kind is Kernel.XID]
    if severe := next((line for line in faults if line.number not in OF_THE_PROGRAM), None):
        return _record(ending, "xid", f"the driver reported {xid_words(severe)}; {record.text}")
    if not faults:
        return record
    told = f"{record.text}; the driver reported {xid_words(faults[0])}"
    return _record(ending, "xid" if record.cause in VAGUE else record.cause, told, permanent=record.permanent)


def _of_no_process(ending: Ending, record: ExitRecord) -> list[KernelLine]:
    """Faults of a whole card: the driver names no process when the card is gone. A clear death is no part of it."""
    if record.cause not in VAGUE:
        return []
    return [line for line in ending.kernel if line.pid is None and line.number not in OF_THE_PROGRAM]


def how(ending: Ending) -> str:
    """The bare facts of an exit in words."""
    if ending.signal is not None:
        return f"killed by {signal_name(ending.signal)}"
    if ending.code is None:
        return "ended; its exit status is not known"
    return f"exit status {ending.code}"


def signal_name(number: int) -> str:
    """SIGKILL for 9."""
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _plain(ending: Ending, tail: Sequence[str]) -> ExitRecord:
    words = _last_words(tail)
    if ending.signal == signals.SIGKILL:
        return _record(ending, "killed", "killed by SIGKILL, which the daemon did not send (the kernel's OOM killer?)")
    if ending.code == 0:
        return _record(ending, "crash", f"ended with exit status 0 without being asked to{words}")
    if ending.code is None and ending.signal is None:
        return _record(ending, "unknown", f"ended while nobody watched; its exit status is not known{words}")
    return _record(ending, "crash", f"{how(ending)}{words}")


def _last_words(tail: Sequence[str]) -> str:
    """The newest root cause, or else the last line."""
    if cause := next((line for line in reversed(_words(tail)) if ROOT_CAUSE.search(line)), None):
        return f": {cause.strip()}"
    lines = [line.strip() for line in tail if line.strip()]
    return f"; its last line: {lines[-1]}" if lines else ""


def _record(ending: Ending, cause: str, text: str, *, permanent: bool = False) -> ExitRecord:
    short = text if len(text) <= TEXT_LIMIT else text[: TEXT_LIMIT - 3] + "..."
    return ExitRecord(code=ending.code, signal=ending.signal, cause=cause, text=short, permanent=permanent)
