"""The API server's side of the pipe to the engine: submits requests and hands their tokens out."""

import itertools
import json
import queue
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from fakevllm.metrics import EMPTY, LATENCIES, Histogram

DEAD = "EngineCore encountered an issue. See stack trace (above) for the root cause."


class Link:
    """Thread-safe. ``on_ready`` and ``on_death`` are called from the reading thread."""

    def __init__(self, sock: socket.socket, on_ready: Callable[[], None], on_death: Callable[[], None]) -> None:
        self._sock = sock
        self._on_ready, self._on_death = on_ready, on_death
        self._ids = itertools.count(1)
        self._lock = threading.Lock()
        self._queues: dict[int, queue.SimpleQueue[Any]] = {}
        self._last: dict[int, float] = {}  # when a request last got a token; negative until its first
        self._stats: dict[str, Any] = dict(EMPTY)
        self._times = {name: Histogram(bounds) for name, bounds in LATENCIES.items()}
        self.dead = False
        threading.Thread(target=self._read, daemon=True).start()

    def submit(self, *, born: float, **request: Any) -> tuple[int, "queue.SimpleQueue[Any]"]:
        """Send a request; (word, finish reason) pairs come out of the queue, None if the engine died.

        ``born``: when it arrived, by the monotonic clock.
        """
        number = next(self._ids)
        box: queue.SimpleQueue[Any] = queue.SimpleQueue()
        with self._lock:
            self._queues[number] = box
            self._last[number] = -born
        if self.dead:
            box.put(None)
        self._send({"op": "generate", "id": number, **request})
        return number, box

    def drop(self, number: int, finished: bool) -> None:
        """Forget a request; one that is not finished is aborted in the engine."""
        with self._lock:
            self._queues.pop(number, None)
            self._last.pop(number, None)
        if not finished:
            self._send({"op": "abort", "id": number})

    def fail_all(self) -> None:
        """Tell every open request that the engine is gone."""
        with self._lock:
            for box in self._queues.values():
                box.put(None)

    def _send(self, message: dict[str, Any]) -> None:
        try:
            with self._lock:
                self._sock.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            pass  # the reader sees the end and tells everyone

    def _read(self) -> None:
        try:
            with self._sock.makefile("rb") as lines:
                for line in lines:
                    self._take(json.loads(line))
        except OSError:
            pass
        self.dead = True
        self.fail_all()
        self._on_death()

    def _take(self, message: dict[str, Any]) -> None:
        if "ready" in message:
            self._on_ready()
            return
        self._stats = message["stats"]
        for number, word, finish in message["outputs"]:
            with self._lock:
                box = self._queues.get(number)
                if number in self._last:
                    self._clock(number)
            if box:
                box.put((word, finish))

    def _clock(self, number: int) -> None:
        """Latencies are the API server's to measure, as in vLLM."""
        last, now = self._last[number], time.monotonic()
        self._times["ttft" if last < 0 else "itl"].add(now - abs(last))
        self._last[number] = now

    def snapshot(self) -> dict[str, Any]:
        """The engine's last report, and the latencies."""
        with self._lock:
            return self._stats | {name: one.copy() for name, one in self._times.items()}

    def kill_engine(self) -> None:
        """Have the engine end, as a kernel that cannot run ends it."""
        self._send({"op": "die"})
