"""The API server's side of the pipe to the engine: submits requests and hands their tokens out."""

import itertools
import json
import queue
import socket
import threading
from collections.abc import Callable
from typing import Any

from fakevllm.metrics import EMPTY

DEAD = "EngineCore encountered an issue. See stack trace (above) for the root cause."


class Link:
    """Thread-safe. ``on_ready`` and ``on_death`` are called from the reading thread."""

    def __init__(self, sock: socket.socket, on_ready: Callable[[], None], on_death: Callable[[], None]) -> None:
        self._sock = sock
        self._on_ready, self._on_death = on_ready, on_death
        self._ids = itertools.count(1)
        self._lock = threading.Lock()
        self._queues: dict[int, queue.SimpleQueue[Any]] = {}
        self.stats: dict[str, Any] = dict(EMPTY)
        self.dead = False
        threading.Thread(target=self._read, daemon=True).start()

    def submit(self, **request: Any) -> tuple[int, "queue.SimpleQueue[Any]"]:
        """Send a request; (word, finish reason) pairs come out of the queue, None if the engine died."""
        number = next(self._ids)
        box: queue.SimpleQueue[Any] = queue.SimpleQueue()
        with self._lock:
            self._queues[number] = box
        if self.dead:
            box.put(None)
        self._send({"op": "generate", "id": number, **request})
        return number, box

    def drop(self, number: int, finished: bool) -> None:
        """Forget a request; one that is not finished is aborted in the engine."""
        with self._lock:
            self._queues.pop(number, None)
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
        self.stats = message["stats"]
        for number, word, finish in message["outputs"]:
            with self._lock:
                box = self._queues.get(number)
            if box:
                box.put((word, finish))
