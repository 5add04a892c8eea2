"""An engine in a few lines that answers right; a test changes one thing of it and sees who notices."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from tests.helpers.raw_engine import RawEngine, Request

WIDE = 5.0
"""Nats by which a token leads that is beyond doubt."""
SEQUENCE = ("perhaps ", "maybe ")
"""Near ties: the first is what the engine says by itself."""
Json = dict[str, Any]


def crc(text: str) -> int:
    return zlib.crc32(text.encode()) % 50_000


@dataclass
class Say:
    """What is said to one question, before it is put into words of the protocol."""

    tokens: list[str]
    thought: str | None = None
    finish: str = "stop"
    ids: list[int] | None = None
    text: str | None = None
    """In place of the tokens' own text."""

    def content(self) -> str:
        return "".join(self.tokens) if self.text is None else self.text


@dataclass
class Asked:
    path: str
    body: Json
    prompt: str
    hit: bool
    """Whether the prompt was known under its salt."""
    turn: int
    """How many generations there were before."""
    on_connection: int = 0

    @property
    def stream(self) -> bool:
        return self.body.get("stream") is True


@dataclass
class Honest:
    """Hooks, each the right way by default; ``refuse`` returns (status, message) in place of an answer."""

    say: Callable[[Asked, Say], Say] = lambda asked, say: say
    refuse: Callable[[Asked], tuple[int, str] | None] = lambda asked: None
    whole: Callable[[Asked, Json], Any] = lambda asked, document: document
    events: Callable[[Asked, list[Any]], list[Any]] = lambda asked, events: events
    logprob: Callable[[int, str], float] = lambda place, word: -1.0 - (crc(word) % 700) / 100
    tokenize: Callable[[str], Any] = lambda text: [crc(part) for part in text.split(" ")]
    send: Callable[[Asked, bytes, bool], list[bytes]] | None = None
    """The bytes of one answer from its body and whether it is a stream; None: as a server does."""
    ids: bool = True
    logprobs: bool = True
    tells_cached: bool = True
    caches: bool = True
    salts: bool = True
    hits: int = 0
    turns: int = 0
    known: set[str] = field(default_factory=set)
    counts: WeakKeyDictionary[Any, int] = field(default_factory=WeakKeyDictionary)

    def engine(self) -> RawEngine:
        return RawEngine(self.serve)

    async def serve(
        self, engine: RawEngine, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        path = request.path.decode()
        if path == "/metrics":
            text = f'vllm:prefix_cache_hits_total{{engine="0"}} {float(self.hits)}\n'.encode()
            writer.write(framed(text) if self.tells_cached else framed(b""))
            return
        body = json.loads(request.body) if request.body else {}
        count = self.counts[writer] = self.counts.get(writer, 0) + 1
        for part in self.answer(path, body, count):
            writer.write(part)
            await writer.drain()
            if part == b"":
                writer.close()
                return

    def answer(self, path: str, body: Json, count: int) -> list[bytes]:
        prompt = body["prompt"] if "prompt" in body else json.dumps(body["messages"])
        asked = Asked(path, body, prompt, self._look(path, body, prompt), self.turns, count)
        self.turns += path != "/tokenize"
        if (refused := self.refuse(asked)) is not None:
            status, message = refused
            said = json.dumps({"error": {"message": message, "code": status}}).encode()
            return [framed(said, b"%d No" % status)]
        if path == "/tokenize":
            ids = self.tokenize(prompt)
            return self._send(asked, as_bytes(self.whole(asked, {"tokens": ids, "count": 1})), False)
        say = self.say(asked, speak(asked))
        if asked.stream:
            return self._send(asked, b"".join(line(one) for one in self.events(asked, self._events(asked, say))), True)
        return self._send(asked, as_bytes(self.whole(asked, self._whole(asked, say))), False)

    def _send(self, asked: Asked, body: bytes, stream: bool) -> list[bytes]:
        if self.send is not None:
            return self.send(asked, body, stream)
        return [chunked(body)] if stream else [framed(body)]

    def _look(self, path: str, body: Json, prompt: str) -> bool:
        if path == "/tokenize" or not self.caches or body.get("prompt_logprobs") is not None:
            return False
        key = f"{body.get('cache_salt', '') if self.salts else ''}|{prompt}"
        hit = key in self.known
        self.known.add(key)
        self.hits += 100 * hit
        return hit

    def _usage(self, asked: Asked, say: Say) -> Json:
        usage: Json = {"prompt_tokens": len(asked.prompt.split()), "completion_tokens": len(say.tokens)}
        return usage | ({"prompt_tokens_details": {"cached_tokens": 100 * asked.hit}} if self.tells_cached else {})

    def _extras(self, asked: Asked, say: Say, tokens: list[str]) -> Json:
        ids = say.ids or [crc(token) for token in tokens]
        extras: Json = {"token_ids": ids if self.ids and asked.body.get("return_token_ids") else None}
        if asked.body.get("logprobs") and self.logprobs:
            extras["logprobs"] = {"content": [alternatives(token) for token in tokens]}
        return extras

    def _whole(self, asked: Asked, say: Say) -> Json:
        message = {"role": "assistant", "content": say.content(), "reasoning": say.thought, "tool_calls": []}
        choice: Json = {"index": 0, "finish_reason": say.finish, **self._extras(asked, say, say.tokens)}
        if asked.path.endswith("/chat/completions"):
            choice["message"] = message
        else:
            choice["text"] = say.content()
        if asked.body.get("prompt_logprobs") is not None and self.logprobs:
            words = asked.prompt.split()
            values = [{str(crc(word)): {"logprob": self.logprob(at, word)}} for at, word in enumerate(words)]
            choice["prompt_logprobs"] = [None, *values[1:]]
        return {"id": "x", "model": "m", "choices": [choice], "usage": self._usage(asked, say)}

    def _events(self, asked: Asked, say: Say) -> list[Any]:
        parts = say.tokens if say.text is None else [say.text]
        events: list[Any] = [choice({"role": "assistant", "content": ""})]
        events += [choice({"reasoning": say.thought})] if say.thought else []
        events += [choice({"content": part}) for part in parts]
        events[-1]["choices"][0] |= {"finish_reason": say.finish, **self._extras(asked, say, say.tokens)}
        return [*events, {"choices": [], "usage": self._usage(asked, say)}, "[DONE]"]


def speak(asked: Asked) -> Say:
    """The right answer: it follows from the prompt's last words alone."""
    last = asked.body["messages"][-1]["content"] if "messages" in asked.body else asked.prompt
    tokens = ["You ", "said ", *(f"{word} " for word in last.split()[-4:]), SEQUENCE[0], f"{crc(last)}", "."]
    return Say(tokens, thought="They say something." if "think" in last else None)


def alternatives(token: str) -> Json:
    tie = token in SEQUENCE
    other = SEQUENCE[token == SEQUENCE[0]] if tie else "zzz"
    top = [{"token": token, "logprob": -0.7 if tie else -0.01}]
    top.append({"token": other, "logprob": top[0]["logprob"] - (0.05 if tie else WIDE)})
    return {"token": token, "logprob": top[0]["logprob"], "top_logprobs": top}


def choice(delta: Json, finish: str | None = None) -> Json:
    return {
        "id": "x",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def line(event: Any) -> bytes:
    if isinstance(event, bytes):
        return event
    return f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode()


def as_bytes(document: Any) -> bytes:
    return document if isinstance(document, bytes) else json.dumps(document).encode()


def framed(body: bytes, status: bytes = b"200 OK", *extra: bytes) -> bytes:
    lines = [b"HTTP/1.1 " + status, b"Content-Type: application/json", b"Content-Length: %d" % len(body), *extra]
    return b"\r\n".join([*lines, b"", body])


def chunked(body: bytes, size: int = 1 << 16) -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    coded = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + coded + b"0\r\n\r\n"
