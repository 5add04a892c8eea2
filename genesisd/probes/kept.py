"""One connection that is kept from question to question, read byte by byte.

A client library hides what this is for: it drops a connection on which more came than an answer, and opens another
where one was closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import httptools

_LIMIT = 1 << 20
_CHUNK = 1 << 16


class KeptError(Exception):
    """The connection failed; the text says how."""


class ClosedError(KeptError):
    """The server closed it before an answer, though it had promised to keep it."""


class StaleError(KeptError):
    """Bytes came that belong to no answer."""


@dataclass(slots=True)
class Received:
    """One answer. ``kept`` is what the server promised of the connection."""

    status: int = 0
    body: bytes = b""
    kept: bool = True
    whole: bool = False


@dataclass(slots=True)
class KeptConnection:
    """Use as an async context manager. Raises OSError where there is no connection."""

    host: str
    port: int
    headers: Mapping[str, str] = field(default_factory=dict)
    asked: int = 0
    _reader: asyncio.StreamReader | None = None
    _writer: asyncio.StreamWriter | None = None

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection(self.host, self.port, limit=_CHUNK)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()
            with contextlib.suppress(OSError):
                await self._writer.wait_closed()

    async def post(self, path: str, body: Mapping[str, object]) -> Received:
        """Ask and read one answer. Raises KeptError."""
        if self._writer is None or self._reader is None:
            raise KeptError("the connection is not open")
        try:
            self._writer.write(self._request(path, json.dumps(body).encode()))
            await self._writer.drain()
            return await self._answer(self._reader)
        except OSError as error:
            raise self._closed() from error
        finally:
            self.asked += 1

    def _request(self, path: str, body: bytes) -> bytes:
        host = f"[{self.host}]" if ":" in self.host else self.host
        lines = [
            f"POST {path} HTTP/1.1", f"Host: {host}:{self.port}", "Content-Type: application/json",
            f"Content-Length: {len(body)}", *(f"{name}: {value}" for name, value in self.headers.items()),
        ]  # fmt: skip
        return "\r\n".join([*lines, "", ""]).encode() + body

    async def _answer(self, reader: asyncio.StreamReader) -> Received:
        one = _Answer()
        parser = one.parser
        size = 0
        while not one.received.whole:
            part = await reader.read(_CHUNK)
            if not part:
                return self._at_end(one, size)
            size += len(part)
            if size > _LIMIT:
                raise KeptError(f"an answer of more than {_LIMIT >> 10} KiB")
            _feed(parser, part, one)
            one.received.status = parser.get_status_code()
        return one.received

    def _at_end(self, one: _Answer, size: int) -> Received:
        """An answer without a length ends with its connection; any other has been cut."""
        if not size:
            raise self._closed()
        if not one.headed or one.framed:
            raise KeptError("the connection was closed in the middle of an answer")
        one.on_message_complete()
        one.received.kept = False
        return one.received

    def _closed(self) -> KeptError:
        if self.asked == 0:
            return KeptError("the connection was closed before the first answer")
        return ClosedError(f"the connection was closed after {self.asked} answers, and it had been promised to be kept")


def _feed(parser: Any, part: bytes, one: _Answer) -> None:
    try:
        parser.feed_data(part)
    except httptools.HttpParserError as error:
        if one.received.whole:
            raise StaleError(f"bytes came after the answer: {part[-60:]!r}") from error
        raise StaleError(f"no answer but other bytes: {part[:60]!r}") from error
    if one.answers > 1:
        raise StaleError("more than one answer came to one question")


class _Answer:
    """What the parser calls."""

    def __init__(self) -> None:
        self.received = Received()
        self.parser: Any = httptools.HttpResponseParser(self)
        self.answers = 0
        self.closes = False
        self.headed = False
        self.framed = False
        self._parts: list[bytes] = []

    def on_message_begin(self) -> None:
        self.answers += 1

    def on_header(self, name: bytes, value: bytes) -> None:
        known = name.lower()
        if known == b"connection" and b"close" in value.lower():
            self.closes = True
        self.framed = self.framed or known in {b"content-length", b"transfer-encoding"}

    def on_headers_complete(self) -> None:
        self.headed = True
        # Asked later, when the answer is complete, the parser has forgotten it.
        self.received.kept = self.parser.should_keep_alive() and not self.closes

    def on_body(self, part: bytes) -> None:
        self._parts.append(part)

    def on_message_complete(self) -> None:
        self.received.whole = True
        self.received.body = b"".join(self._parts)
