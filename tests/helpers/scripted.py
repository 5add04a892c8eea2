"""An engine double that answers what a script says, whole or streamed as it was asked."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from genesisd.probes.ports import Abilities, Target


@dataclass(frozen=True)
class Said:
    """An answer. ``cuts`` is how many characters a piece of a stream has; ``raw`` replaces the whole body."""

    content: str | None = None
    reasoning: str | None = None
    calls: tuple[tuple[str, str], ...] = ()
    finish: str | None = "stop"
    ids: tuple[str | None, ...] | None = None
    tokens: int = 20
    prompt_tokens: int = 30
    cuts: int = 3
    status: int = 200
    raw: str | None = None
    logprobs: tuple[tuple[str, Any], ...] = ()
    key: str = "reasoning"
    done: bool = True

    def named(self) -> list[dict[str, Any]]:
        ids = self.ids if self.ids is not None else tuple(f"call-{place}" for place in range(len(self.calls)))
        return [
            {"id": name_, "type": "function", "function": {"name": name, "arguments": text}}
            for name_, (name, text) in zip(ids, self.calls, strict=True)
        ]


HANG = Said(status=0)
Script = Callable[[dict[str, Any]], Said]


def whole(said: Said, chat: bool = True) -> str:
    """The body of an answer."""
    if said.raw is not None:
        return said.raw
    message = {"role": "assistant", "content": said.content, said.key: said.reasoning, "tool_calls": said.named()}
    choice: dict[str, Any] = {"index": 0, "finish_reason": said.finish, "logprobs": _logprobs(said)}
    choice |= {"message": message} if chat else {"text": said.content or ""}
    usage = {"prompt_tokens": said.prompt_tokens, "completion_tokens": said.tokens}
    return json.dumps({"id": "1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage})


def events(said: Said, chat: bool = True) -> Iterator[str]:
    """The events of a stream."""
    if said.raw is not None:
        yield from said.raw.splitlines()
        return
    yield _event({"role": "assistant", "content": ""}) if chat else ""
    for piece in _pieces(said.reasoning, said.cuts):
        yield _event({said.key: piece})
    for piece in _pieces(said.content, said.cuts):
        yield _event({"content": piece}) if chat else _text(piece)
    for place, call in enumerate(said.named()):
        function = call["function"]
        yield _event({"tool_calls": [{**call, "index": place, "function": {**function, "arguments": ""}}]})
        for piece in _pieces(function["arguments"], said.cuts):
            yield _event({"tool_calls": [{"index": place, "function": {"arguments": piece}}]})
    yield _event({}, finish=said.finish, logprobs=_logprobs(said)) if chat else _text("", said.finish)
    usage = {"prompt_tokens": said.prompt_tokens, "completion_tokens": said.tokens}
    yield json.dumps({"object": "chat.completion.chunk", "choices": [], "usage": usage})
    if said.done:
        yield "[DONE]"


def _pieces(text: str | None, size: int) -> Iterator[str]:
    for start in range(0, len(text or ""), size):
        yield (text or "")[start : start + size]


def _event(delta: dict[str, Any], finish: str | None = None, logprobs: Any = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": logprobs}
    return json.dumps({"object": "chat.completion.chunk", "choices": [choice]})


def _text(piece: str, finish: str | None = None) -> str:
    return json.dumps({"choices": [{"index": 0, "text": piece, "finish_reason": finish}]})


def _logprobs(said: Said) -> Any:
    content = [{"token": token, "logprob": value, "top_logprobs": []} for token, value in said.logprobs]
    return {"content": content} if content else None


@dataclass
class Engine:
    """What was asked of it, and how many requests are open."""

    script: Script
    port: int = 0
    asked: list[dict[str, Any]] = field(default_factory=list)
    open: int = 0
    tokenize: Callable[[str], list[int]] | None = lambda text: list(range(len(text) // 4))

    def target(self, **more: Any) -> Target:
        abilities = more.pop("abilities", Abilities("hermes", "qwen3", "", True, 64_000))
        known = {"worker": "w", "incarnation": 1, "leader": 1, "host": "127.0.0.1", "port": self.port, "model": "m"}
        return Target(**(known | {"members": lambda: (), "abilities": abilities} | more))

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if request.path == "/tokenize":
            if self.tokenize is None:
                return web.json_response({"detail": "Not Found"}, status=404)
            return web.json_response({"tokens": self.tokenize(body["prompt"])})
        self.asked.append(body)
        said, chat = self.script(body), request.path.endswith("/chat/completions")
        self.open += 1
        try:
            if said is HANG:
                await asyncio.Event().wait()
            if not body.get("stream") or said.status != 200:
                return web.Response(text=whole(said, chat), status=said.status, content_type="application/json")
            answer = web.StreamResponse(headers={"content-type": "text/event-stream"})
            await answer.prepare(request)
            for event in events(said, chat):
                await answer.write(f"data: {event}\n\n".encode() if event else b"\n")
            return answer
        finally:
            self.open -= 1


@contextlib.asynccontextmanager
async def engine(script: Script, **more: Any) -> AsyncIterator[Engine]:
    """A server on loopback that follows a script."""
    one = Engine(script, **more)
    app = web.Application(client_max_size=1 << 26)
    app.router.add_post("/{path:.*}", one.handle)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    one.port = runner.addresses[0][1]
    try:
        yield one
    finally:
        await runner.cleanup()
