# Pathlib would cost each fake start-up time and memory.
# ruff: noqa: PTH108, PTH123
"""The process tree: API server -> {resource_tracker, EngineCore -> Workers}, all forked, none exec'd."""

import argparse
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable

from fakevllm import ledger
from fakevllm.control import Control
from fakevllm.engine import Engine, WorkerLostError
from fakevllm.leaks import VramLeak
from fakevllm.title import set_title


def log(role: str, text: str) -> None:
    """A line as vLLM prints it; one write, so that processes do not mix."""
    stamp = time.strftime("%m-%d %H:%M:%S")
    os.write(1, f"({role} pid={os.getpid()}) INFO {stamp} [fake.py:1] {text}\n".encode())


def fork(main: Callable[[], None]) -> int:
    """Run ``main`` in a child that never returns into the parent's code; its pid."""
    pid = os.fork()
    if pid:
        return pid
    code = 0
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        main()
    except BaseException as error:
        os.write(2, f"(pid={os.getpid()}) {type(error).__name__}: {error}\n".encode())
        code = 1
    os._exit(code)


def prefix() -> str:
    """What vLLM puts before the role in a process title."""
    return os.environ.get("VLLM_PROCESS_NAME_PREFIX", "VLLM")


def start_tracker(args: argparse.Namespace) -> tuple[int, int]:
    """The resource tracker and the pipe whose last writer it waits for: (pid, write end)."""
    read, write = os.pipe()
    names = [f"/dev/shm/{kind}_fake_{os.getpid()}_{i}" for i in range(args.shm) for kind in ("psm", "sem.mp-")]
    for name in names:
        with open(name, "wb") as file:
            file.write(b"\0" * 4096)

    def main() -> None:
        for ignored in (signal.SIGINT, signal.SIGTERM):
            signal.signal(ignored, signal.SIG_IGN)
        os.close(write)
        set_title(sys.executable, "-c", f"from multiprocessing.resource_tracker import main;main({read})")
        while os.read(read, 1):
            pass
        for name in names:
            os.unlink(name)

    pid = fork(main)
    os.close(read)
    return pid, write


def start_engine(args: argparse.Namespace, theirs: socket.socket, inherited: list[int]) -> int:
    """EngineCore and its workers; closes ``inherited`` (the port, the leader's end) in the child. Its pid."""

    def main() -> None:
        for fd in inherited:
            os.close(fd)
        if args.ignore_term:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        set_title(f"{prefix()}::EngineCore")
        workers = start_workers(args, theirs)
        boot(args, "EngineCore")
        engine = Engine(theirs, workers, args.max_num_seqs, speculates=draft_length(args))
        try:
            engine.run()
        except WorkerLostError:
            log("EngineCore", "ERROR RuntimeError: cancelled (a worker died)")
            os._exit(1)

    return fork(main)


def boot(args: argparse.Namespace, role: str) -> None:
    """Load weights, in pretence: wait or burn for ``boot_seconds``, logging now and then."""
    end, last = time.monotonic() + args.boot_seconds, time.monotonic()
    while args.hang_at_boot or time.monotonic() < end:
        if not args.boot_burn:
            time.sleep(0.01)
        if args.boot_log_every and time.monotonic() - last >= args.boot_log_every:
            last = time.monotonic()
            log(role, f"Loading safetensors checkpoint shards, {max(0.0, end - last):.1f} s left")


def draft_length(args: argparse.Namespace) -> int:
    """Tokens of a draft, 0 without speculation."""
    return int(json.loads(args.speculative_config)["num_speculative_tokens"]) if args.speculative_config else 0


def start_workers(args: argparse.Namespace, engine_end: socket.socket) -> list[socket.socket]:
    """Fork the workers of this EngineCore; the pipes to them."""
    pipes: list[socket.socket] = []
    count = args.workers + bool(args.double_fork_worker)
    for index in range(count):
        ours, theirs = socket.socketpair()
        closing = [engine_end, ours, *pipes]
        name = "Worker" if count == 1 else f"Worker_TP{index}"

        def main(theirs=theirs, closing=closing, name=name, index=index) -> None:
            for pipe in closing:
                pipe.close()
            if args.setsid_workers:
                os.setsid()
            if index >= args.workers and os.fork():
                os._exit(0)
            worker(args, theirs, name, index)

        pid = fork(main)
        if index >= args.workers:
            os.waitpid(pid, 0)
        theirs.close()
        ours.recv(1)  # its greeting: the memory is held and the title is set
        pipes.append(ours)
    return pipes


def worker(args: argparse.Namespace, pipe: socket.socket, name: str, index: int) -> None:
    """Hold memory and echo steps until the engine is gone."""
    if args.ignore_term:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    set_title(f"{prefix()}::{name}")
    held: tuple[int, int] | tuple[()] = ()
    if args.vram_ledger and args.gpus:
        card = args.gpus[index % len(args.gpus)]
        held = ledger.hold(args.vram_ledger, card, args.vram_bytes), card
    pipe.send(b"+")
    leak = VramLeak(Control(args.control)) if held and args.control else None
    while True:
        if leak and not select.select([pipe], [], [], 0.2)[0]:
            ledger.grow(*held, args.vram_bytes + leak.grown())
            continue
        if not (data := pipe.recv(64)):
            break
        pipe.sendall(data)
    if args.clinging_workers:
        signal.pause()
