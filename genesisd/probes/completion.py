"""One streamed completion, read as it comes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import aiohttp

from genesisd.probes.http_client import get, read
from genesisd.probes.ports import Target

_LINE_LIMIT = 1 << 20


@dataclass(slots=True)
class Answer:
    """What has come so far; filled while it is read, so that a deadline finds the part that came.

    Attributes:
        status: HTTP status, or 0 before the head came.
        chunks: chunks that carried a choice.
        tokens: completion tokens by the server's count, or the number of chunks without one.
        finish: the finish reason.
        error: the message of an error object that came in place of a chunk.
        done: the stream said [DONE].
        last_at: clock time of the last chunk, or None.
    """

    status: int = 0
    body: bytes = b""
    chunks: int = 0
    tokens: int = 0
    finish: str | None = None
    error: str | None = None
    done: bool = False
    last_at: float | None = None

    def take(self, line: bytes, at: float) -> None:
        """One line of the event stream. Raises ValueError on a chunk that is not JSON."""
        if not line.startswith(b"data:"):
            return
        text = line[5:].strip()
        if text == b"[DONE]":
            self.done = True
            return
        event = json.loads(text)
        if not isinstance(event, dict):
            raise ValueError(f"a chunk is no object: {text[:80]!r}")
        self._event(event, at)

    def _event(self, event: dict[str, Any], at: float) -> None:
        if (fault := event.get("error")) or event.get("object") == "error":
            self.error = str(fault.get("message", fault) if isinstance(fault, dict) else fault or event.get("message"))
            return
        for choice in event.get("choices") or ():
            self.chunks += 1
            self.last_at = at
            self.finish = choice.get("finish_reason") or self.finish
        if usage := event.get("usage"):
            self.tokens = int(usage.get("completion_tokens") or 0)
        else:
            self.tokens = max(self.tokens, self.chunks)


async def model_name(session: aiohttp.ClientSession, target: Target) -> str | None:
    """The served model: the target's, or the first of /v1/models. Raises aiohttp.ClientError, OSError, ValueError."""
    if target.model:
        return target.model
    status, body = await get(session, f"{target.base_url}/v1/models", target.headers)
    if status != 200:
        return None
    cards = json.loads(body).get("data") or []
    return str(cards[0]["id"]) if cards else None


def request(model: str, prompt: str, max_tokens: int, min_tokens: int = 0) -> dict[str, Any]:
    """The body of a small greedy completion."""
    body = {"model": model, "prompt": prompt, "max_tokens": max_tokens, "temperature": 0, "stream": True}
    body["stream_options"] = {"include_usage": True}
    return body | ({"min_tokens": min_tokens} if min_tokens > 1 else {})


async def stream(
    session: aiohttp.ClientSession, target: Target, body: dict[str, Any], answer: Answer, clock: Any
) -> None:
    """Read a completion into ``answer``. Raises aiohttp.ClientError, OSError, ValueError."""
    url = f"{target.base_url}/v1/completions"
    async with session.post(url, json=body, headers=target.headers, read_bufsize=_LINE_LIMIT) as response:
        answer.status = response.status
        if response.status != 200:
            answer.body = await read(response, 4096)
            return
        async for line in response.content:
            answer.take(line, clock())
            if answer.done or answer.error:
                return
