"""One streamed completion, read as it comes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from genesisd.probes.answered import Reading
from genesisd.probes.http_client import get, read
from genesisd.probes.ports import Target

MODELS = "/v1/models"
_LINE_LIMIT = 1 << 20


@dataclass(slots=True)
class Answer:
    """What has come so far; filled while it is read, so that a deadline finds the part that came.

    Attributes:
        status: HTTP status, or 0 before the head came.
        body: of an answer other than 200.
        last_at: clock time of the last chunk, or None.
        reading: the chunks.
    """

    status: int = 0
    body: bytes = b""
    last_at: float | None = None
    reading: Reading = field(default_factory=Reading)

    def take(self, line: bytes, at: float) -> None:
        """One line of the event stream. Raises ValueError on a chunk that is not JSON."""
        before = self.chunks
        self.reading.take_line(line)
        if self.reading.garbled is not None:
            raise ValueError(self.reading.garbled)
        if self.chunks > before:
            self.last_at = at

    @property
    def chunks(self) -> int:
        """Chunks that carried a choice."""
        return self.reading.chunks

    @property
    def tokens(self) -> int:
        """Completion tokens by the server's count, or the number of chunks without one."""
        return self.reading.usage.get("completion_tokens", self.chunks)

    @property
    def finish(self) -> str | None:
        """The finish reason."""
        return self.reading.finish

    @property
    def error(self) -> str | None:
        """The message of an error object that came in place of a chunk."""
        return self.reading.error

    @property
    def done(self) -> bool:
        """The stream said [DONE]."""
        return self.reading.ended


async def model_name(session: aiohttp.ClientSession, target: Target) -> str | None:
    """The served model: the target's, or the first of /v1/models. Raises aiohttp.ClientError, OSError, ValueError."""
    return target.model or (await first_model(session, target))[1]


async def first_model(session: aiohttp.ClientSession, target: Target) -> tuple[int, str | None]:
    """Status of /v1/models, and the first that it names. Raises aiohttp.ClientError, OSError, ValueError."""
    status, body = await get(session, f"{target.base_url}{MODELS}", target.headers)
    cards = (json.loads(body).get("data") or []) if status == 200 else []
    return status, str(cards[0]["id"]) if cards else None


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
