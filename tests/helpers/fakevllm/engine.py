"""The engine: takes requests from a socket, steps, and sends tokens and statistics back.

All counters live here and reach the API server only with outputs, as in vLLM: stop this process and they freeze
while /health still says 200. Each step waits for an echo from every worker, so a stopped worker stops the steps.
"""

import json
import os
import select
import socket
import time
from dataclasses import dataclass, field
from typing import Any

BLOCKS = 1000
"""Size of the pretended KV cache, in blocks of 128 tokens."""
ACCEPTANCE = 0.8
"""Share of drafted tokens that is accepted while no fault says otherwise."""
PREFILL_STEP = 0.25
"""Seconds between two moves of the KV gauge in a long prefill."""


class WorkerLostError(Exception):
    """A worker's pipe ended."""


@dataclass
class Request:
    """One generation. ``prefill`` is what is left of a long prefill, in seconds."""

    id: int
    prompt: int
    answer: list[str]
    max_tokens: int
    prefill: float
    delay: float
    endless: bool = False
    queried: int = 0
    cached: int = 0
    finish_as: str = "stop"
    acceptance: float | None = None
    emitted: int = 0
    blocks: float = 0.0

    def finish(self) -> str | None:
        """The finish reason once the last token is out."""
        if not self.endless and self.emitted >= len(self.answer):
            return self.finish_as
        return "length" if self.emitted >= self.max_tokens else None


@dataclass
class Engine:
    """Steps until it is told to end. ``max_seqs`` requests run at once, the others wait; ``speculates``: tokens of a draft."""

    sock: socket.socket
    workers: list[socket.socket]
    max_seqs: int = 256
    quit_on_eof: bool = False
    requests: dict[int, Request] = field(default_factory=dict)
    iterations: int = 0
    iteration_tokens: int = 0
    prompt: int = 0
    generation: int = 0
    successes: int = 0
    lengths: int = 0
    queries: int = 0
    hits: int = 0
    drafts: int = 0
    draft_tokens: int = 0
    accepted: float = 0.0
    speculates: int = 0
    _buffer: bytes = b""

    def run(self) -> None:
        """Serve. The death of the API server does not end it: real EngineCores become orphans."""
        self.send({"ready": os.getpid()})
        while self._take(0.0 if self.requests else None):
            if self.requests:
                self._step()
        if not self.quit_on_eof:
            while True:
                time.sleep(3600)

    def send(self, message: dict[str, Any]) -> None:
        """One line to the API server, which may be gone."""
        try:
            self.sock.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            self.requests.clear()

    def _take(self, timeout: float | None) -> bool:
        readable, _, _ = select.select([self.sock, *self.workers], [], [], timeout)
        if any(pipe in readable for pipe in self.workers):
            raise WorkerLostError  # a worker speaks only when spoken to: this is its end
        if self.sock not in readable:
            return True
        data = self.sock.recv(1 << 16)
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            self._command(json.loads(line))
        return bool(data)

    def _command(self, message: dict[str, Any]) -> None:
        if message["op"] == "abort":
            self.requests.pop(message["id"], None)
            self._report([])
        elif message["op"] == "die":
            os.write(2, b"(EngineCore) TypeError: 'function' object is not subscriptable\n")
            os._exit(1)
        else:
            del message["op"]
            self.requests[message["id"]] = Request(**message)

    def _step(self) -> None:
        running = list(self.requests.values())[: self.max_seqs]
        self._ask_workers()
        filling = next((one for one in running if one.prefill > 0), None)
        if filling:
            self._prefill(filling)
        else:
            self._decode(running)

    def _ask_workers(self) -> None:
        try:
            for pipe in self.workers:
                pipe.sendall(b".")
            if not all(pipe.recv(1) for pipe in self.workers):
                raise WorkerLostError
        except OSError as error:
            raise WorkerLostError from error

    def _prefill(self, one: Request) -> None:
        """A chunk of a long prefill: only the KV gauge moves, and everybody else starves."""
        share = min(PREFILL_STEP, one.prefill)
        time.sleep(share)
        one.prefill -= share
        one.blocks += 1
        self._report([])

    def _decode(self, running: list[Request]) -> None:
        time.sleep(max(one.delay for one in running))
        outputs, tokens = [], 0
        for one in running:
            if one.emitted == 0:
                self.prompt += one.prompt
                self.queries += one.queried
                self.hits += one.cached
                tokens += one.prompt - one.cached
                one.blocks = max(one.blocks, one.prompt / 128)
            tokens += 1
            word = one.answer[one.emitted % len(one.answer)]
            one.emitted += 1
            one.blocks += 1 / 128
            self.generation += 1
            self._draft(one)
            finish = one.finish()
            outputs.append([one.id, word, finish])
            if finish:
                self.successes += finish == "stop"
                self.lengths += finish == "length"
                del self.requests[one.id]
        self.iterations += 1
        self.iteration_tokens += tokens
        self._report(outputs)

    def _draft(self, one: Request) -> None:
        """Count a draft for each token; how many tokens a step gives is not pretended."""
        if self.speculates:
            self.drafts += 1
            self.draft_tokens += self.speculates
            self.accepted += self.speculates * (ACCEPTANCE if one.acceptance is None else one.acceptance)

    def _report(self, outputs: list[Any]) -> None:
        running = min(len(self.requests), self.max_seqs)
        blocks = sum(one.blocks for one in self.requests.values())
        stats = {
            "running": running,
            "waiting": len(self.requests) - running,
            "kv": min(1.0, blocks / BLOCKS),
            "iterations": self.iterations,
            "iteration_tokens": self.iteration_tokens,
            "prompt": self.prompt,
            "generation": self.generation,
            "successes": self.successes,
            "lengths": self.lengths,
            "queries": self.queries,
            "hits": self.hits,
        }
        if self.speculates:
            stats |= {"drafts": self.drafts, "draft_tokens": self.draft_tokens, "accepted": int(self.accepted)}
        self.send({"stats": stats, "outputs": outputs})
