"""A tiny misbehaving process tree, driven by flags: the shapes that vLLM's processes take, without vLLM.

It writes the pids of all its members to ``--report`` (a JSON list, in one step) once the tree stands.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from multiprocessing import Process, get_context, shared_memory
from pathlib import Path


def grandchild(shape: str, argv: list[str]) -> int:
    """Fork one member of the given shape; its pid."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        found = int(os.read(reader, 32))
        os.close(reader)
        if shape == "daemon":
            os.waitpid(pid, 0)
        return found
    if shape in {"setsid", "daemon"}:
        os.setsid()
    if shape == "daemon" and os.fork():
        os._exit(0)
    os.write(writer, str(os.getpid()).encode())
    os.close(reader)
    os.close(writer)
    os.execv(argv[0], argv)
    return 0


def sleeper(title: str, *, wipe: bool) -> list[str]:
    """An argv that sleeps, carries a title, and where wanted has lost its environment."""
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    argv = [sys.executable, "-I", "-S", "-c", code, title]
    return ["/usr/bin/env", "-i", *argv] if wipe else argv


def use_shared_memory() -> list[str]:
    """What vLLM does: shared memory and semaphores that only resource_tracker can clear away after a SIGKILL."""
    block = shared_memory.SharedMemory(create=True, size=1 << 16)
    lock = get_context("spawn").Lock()  # the fork method unlinks its semaphores at once
    Path(os.environ.get("TMPDIR", "/tmp"), f"scratch-{os.getpid()}").write_text("left behind")
    child = Process(target=_hold, args=(lock, block.name))
    child.start()
    use_shared_memory.held = (block, lock, child)
    return [block.name, f"sem.{lock._semlock.name.lstrip('/')}"]


def _hold(lock: object, name: str) -> None:
    block = shared_memory.SharedMemory(name=name)
    time.sleep(600)
    block.close()


def flood(size: int) -> None:
    """Write so many bytes of numbered lines."""
    line, written, n = "", 0, 0
    while written < size:
        lines = "".join(f"line {n + i:09d} {'x' * 80}\n" for i in range(1000))
        n += 1000
        sys.stdout.write(lines)
        written += len(lines)
    sys.stdout.write("end of flood\n")
    sys.stdout.flush()
    del line


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--shapes", default="", help="comma list of same, setsid, daemon")
    parser.add_argument("--wipe", action="store_true", help="members lose their environment, as by setproctitle")
    parser.add_argument("--title", default="")
    parser.add_argument("--ignore-term", action="store_true")
    parser.add_argument("--shared-memory", action="store_true")
    parser.add_argument("--say", action="append", default=[])
    parser.add_argument("--flood", type=int, default=0, help="bytes")
    parser.add_argument("--exit", type=int, default=None)
    parser.add_argument("--die", type=int, default=None, help="signal to oneself")
    parser.add_argument("--leave", action="store_true", help="the leader ends, its members stay")
    parser.add_argument("--report", type=Path, default=None)
    args = parser.parse_args()
    if args.ignore_term:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if args.shared_memory:
        names = use_shared_memory()
        args.report.with_suffix(".shm").write_text(json.dumps(names))
    pids = [os.getpid()]
    pids += [grandchild(shape, sleeper(args.title, wipe=args.wipe)) for shape in args.shapes.split(",") if shape]
    for line in args.say:
        print(line, flush=True)
    if args.report:
        temporary = args.report.with_suffix(".tmp")
        temporary.write_text(json.dumps(pids))
        temporary.replace(args.report)
    if args.flood:
        flood(args.flood)
    if args.die is not None:
        os.kill(os.getpid(), args.die)
    if args.exit is not None or args.leave:
        sys.stdout.flush()
        os._exit(args.exit or 0)
    while True:
        time.sleep(600)


if __name__ == "__main__":
    sys.exit(main())
