"""A tiny misbehaving stand-in for ``vllm serve``: its process shape, its endpoints, its answers, and faults by flag.

    python tests/helpers/fake_worker.py --port 8000 --workers 2 --control /tmp/faults.json
    python tests/helpers/fake_worker.py --port 8000 --demo --enable-auto-tool-choice --tool-call-parser hermes

API server (leader) -> {resource_tracker, EngineCore -> Workers}; generation really passes through EngineCore and
every Worker. ``--control`` names a JSON file that is read again for each request: see ``fakevllm/control.py``.
With ``--demo`` it answers as the demo model does on the real server; without, every generation says ``--answer``.
``--bare`` is the leader alone (the engine is a thread), ``--no-server`` leaves even the port out.
"""

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from typing import Any

from fakevllm.api import VERSION, Api
from fakevllm.control import Control
from fakevllm.engine import Engine
from fakevllm.flags import parse
from fakevllm.leaks import leak_memory
from fakevllm.link import Link
from fakevllm.server import serve
from fakevllm.tree import boot, draft_length, log, start_engine, start_tracker

WATCHED = {signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, signal.SIGUSR1}


class Leader:
    """The API server's life: boot, serve, drain, end. ``run`` is its exit status."""

    def __init__(self, args: Any) -> None:
        self.args = args
        self.born = time.monotonic()
        self.engine_pid = 0
        self.api: Api | None = None
        self.listener: socket.socket | None = None
        self.engine_died = threading.Event()

    def run(self) -> int:
        """Live until a signal, the engine's death or --die-after."""
        signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
        log("APIServer", f"vLLM API server version {VERSION}")
        if self.args.boot_error is not None:
            return self._boot_error()
        if not self.args.no_server:
            self._start()
        return self._watch()

    def _boot_error(self) -> int:
        boot(self.args, "APIServer")
        os.write(2, b"Traceback (most recent call last):\n" + self.args.boot_error.encode() + b"\n")
        return self.args.exit_code

    def _start(self) -> None:
        args = self.args
        if not args.bare:  # before any socket exists: the tracker must not hold one open
            _, self._tracker_pipe = start_tracker(args)
        self.listener = socket.socket(socket.AF_INET6 if ":" in args.host else socket.AF_INET)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if args.reuse_port:
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self.listener.bind((args.host, args.port))
        ours, theirs = socket.socketpair()
        if args.bare:
            threading.Thread(target=self._thread_engine, args=(theirs,), daemon=True).start()
        else:
            self.engine_pid = start_engine(args, theirs, [self.listener.fileno(), ours.fileno()])
            theirs.close()
        control = Control(args.control, **({"freeze_counters": True} if args.stuck_counters else {}))
        ready = threading.Event()
        link = Link(ours, ready.set, self._on_engine_death)
        if args.control:
            threading.Thread(target=leak_memory, args=(control,), daemon=True).start()
        self.api = Api(args, control, link)
        threading.Thread(target=self._serve, args=(ready,), daemon=True).start()

    def _thread_engine(self, theirs: socket.socket) -> None:
        boot(self.args, "EngineCore")
        Engine(theirs, [], self.args.max_num_seqs, quit_on_eof=True, speculates=draft_length(self.args)).run()

    def _serve(self, ready: threading.Event) -> None:
        assert self.listener
        assert self.api
        ready.wait()
        try:
            self.listener.listen(512)
        except OSError as error:
            os.write(2, f"OSError: {error}\n".encode())
            os._exit(1)
        host, port = self.listener.getsockname()[:2]
        log("APIServer", f"Uvicorn running on http://{host}:{port} (Press CTRL+C to quit)")
        log("APIServer", "Application startup complete.")
        threading.Thread(target=self._flood, daemon=True).start()
        serve(self.listener, self.api.handle)

    def _flood(self) -> None:
        left, line = self.args.log_flood, b"x" * 1023 + b"\n"
        while left > 0:
            left -= os.write(1, line)
        if self.args.log_flood:
            log("APIServer", "end of flood")

    def _on_engine_death(self) -> None:
        self.engine_died.set()
        os.kill(os.getpid(), signal.SIGUSR1)

    def _watch(self) -> int:
        while True:
            left = self._until_death()
            if left is not None and left <= 0:
                return self._die()
            got = signal.sigtimedwait(WATCHED, 3600 if left is None else left)
            if got and got.si_signo in (signal.SIGTERM, signal.SIGINT):
                if not self.args.ignore_term:
                    return self._stop()
                log("APIServer", "SIGTERM ignored")
            elif self.engine_died.is_set() and self.args.on_engine_death == "exit":
                return self._follow_engine()

    def _until_death(self) -> float | None:
        after = self.args.die_after
        return None if after is None else self.born + after - time.monotonic()

    def _die(self) -> int:
        log("APIServer", "ERROR dying as told")
        if self.args.die_signal:
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            signal.signal(self.args.die_signal, signal.SIG_DFL) if self.args.die_signal != signal.SIGKILL else None
            os.kill(os.getpid(), self.args.die_signal)
        return self.args.exit_code

    def _follow_engine(self) -> int:
        """vLLM's own behaviour: the API server ends, and calls it success."""
        log("APIServer", "ERROR MPClient: engine core exited unexpectedly; starting cleanup")
        log("APIServer", "ERROR vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.")
        self._unlisten()
        time.sleep(0.05)  # lets open requests take their 500
        return 0

    def _stop(self) -> int:
        self._unlisten()
        if self.api and self.args.term_delay and self.api.in_flight:
            log("APIServer", f"draining in-flight requests count={self.api.in_flight} timeout={self.args.term_delay}s")
            end = time.monotonic() + self.args.term_delay
            while self.api.in_flight and time.monotonic() < end:
                time.sleep(0.01)
        time.sleep(self.args.linger)
        if self.api and self.api.in_flight:
            self.api.link.fail_all()
            time.sleep(0.05)
        self._end_engine()
        log("APIServer", "Application shutdown complete.")
        return 0

    def _unlisten(self) -> None:
        if self.listener:
            with contextlib.suppress(OSError):  # it may not listen yet
                self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()

    def _end_engine(self) -> None:
        if not self.engine_pid:
            return
        os.kill(self.engine_pid, signal.SIGTERM)
        end = time.monotonic() + 0.3
        while os.waitpid(self.engine_pid, os.WNOHANG)[0] == 0:
            if time.monotonic() > end:
                log("APIServer", "[shutdown] Process manager: force killing remaining process EngineCore")
                os.kill(self.engine_pid, signal.SIGKILL)
                os.waitpid(self.engine_pid, 0)
                return
            time.sleep(0.005)


def main() -> None:
    """Live, then leave at once: daemon threads must not delay the end."""
    leader = Leader(parse(sys.argv[1:], __doc__))
    try:
        code = leader.run()
    except OSError as error:
        os.write(2, f"Traceback (most recent call last):\nOSError: {error}\n".encode())
        leader._end_engine()
        code = 1
    os._exit(code)


if __name__ == "__main__":
    main()
