# Pathlib would cost each fake start-up time and memory.
# ruff: noqa: PTH103, PTH104, PTH112, PTH118, PTH208
"""A card's memory as a folder: one locked file for each holder.

A holder writes ``<card>-<pid>.json`` and keeps an exclusive lock on it while it lives; the kernel drops the lock
with the process, so no entry can outlive its holder and none vanishes before. Run as a program it is a foreign
owner: ``python ledger.py DIR --card 0 --bytes 1000000``.
"""

import fcntl
import json
import os
import signal
import sys


def hold(folder: str, card: int, size: int) -> int:
    """Take ``size`` bytes of ``card`` until this process ends; returns the locked descriptor.

    Call it after the last fork: a lock belongs to the open file, which children would share.
    """
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{card}-{os.getpid()}.json")
    # Written under another name and locked before it appears: a reader never sees it free or half written.
    fd = os.open(path + ".new", os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    fcntl.flock(fd, fcntl.LOCK_EX)
    os.write(fd, json.dumps({"card": card, "pid": os.getpid(), "bytes": size}).encode())
    os.rename(path + ".new", path)
    return fd


def grow(fd: int, card: int, size: int) -> None:
    """Change what a held entry says; one write, which is no longer than a reader reads at once."""
    text = json.dumps({"card": card, "pid": os.getpid(), "bytes": size}).encode()
    os.pwrite(fd, text.ljust(os.fstat(fd).st_size), 0)


def _entry(path: str) -> dict[str, int] | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return json.loads(os.read(fd, 4096))
    else:
        return None  # nobody holds the lock: its writer is gone
    finally:
        os.close(fd)


def holders(folder: str) -> dict[int, dict[int, int]]:
    """Bytes by card and pid of everyone who still lives."""
    found: dict[int, dict[int, int]] = {}
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    for name in names:
        entry = _entry(os.path.join(folder, name)) if name.endswith(".json") else None
        if entry:
            found.setdefault(entry["card"], {})[entry["pid"]] = entry["bytes"]
    return found


def main(argv: list[str]) -> None:
    """Hold memory as a stranger until a signal comes."""
    import argparse

    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--card", type=int, default=0)
    parser.add_argument("--bytes", type=int, default=1 << 30)
    args = parser.parse_args(argv)
    hold(args.folder, args.card, args.bytes)
    print("holding", flush=True)
    signal.pause()


if __name__ == "__main__":
    main(sys.argv[1:])
