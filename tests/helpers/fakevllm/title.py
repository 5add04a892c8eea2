# Pathlib would cost each fake start-up time and memory.
# ruff: noqa: PTH123
"""Rename the calling process the way setproctitle does, through /proc alone (ctypes would cost memory and time).

The title takes the place of the argument area and the environment area behind it is zeroed, so that
/proc/PID/environ loses every variable, as it does in vLLM's EngineCore and Workers.
"""

import os

_ARG_START, _ENV_END = 48, 51
"""Fields of /proc/PID/stat, counted from 1 as in proc(5)."""


def set_title(*argv: str) -> None:
    """Show ``argv`` in /proc/PID/cmdline and its last path part in /proc/PID/comm; wipe the environment."""
    with open("/proc/self/stat", "rb") as stat:
        fields = stat.read().rpartition(b")")[2].split()
    start, end = int(fields[_ARG_START - 3]), int(fields[_ENV_END - 3])  # the split begins at field 3
    text = b"\0".join(os.fsencode(part) for part in argv)[: end - start - 1]
    with open("/proc/self/mem", "r+b", buffering=0) as memory:
        memory.seek(start)
        memory.write(text.ljust(end - start, b"\0"))
    with open("/proc/self/comm", "wb", buffering=0) as comm:
        comm.write(os.fsencode(argv[0].rpartition("/")[2][:15]))
