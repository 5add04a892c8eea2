"""A small threaded HTTP/1.1 server: keep-alive, Content-Length bodies, chunked streams."""

import contextlib
import json
import select
import socket
import threading
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

_LIMIT = 8 << 20


class Exchange:
    """One request and the way to answer it."""

    def __init__(self, sock: socket.socket, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        self.sock, self.method, self.path, self.headers, self.body = sock, method, path, headers, body
        self.chunked = False

    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body or b"{}")

    def answer(self, status: int, body: bytes | str = b"", kind: str = "application/json") -> None:
        """A whole answer."""
        raw = body.encode() if isinstance(body, str) else body
        head = f"content-length: {len(raw)}\r\n" + (f"content-type: {kind}\r\n" if raw else "")
        self._head(status, head, raw)

    def answer_json(self, status: int, value: Any) -> None:
        """A whole JSON answer."""
        self.answer(status, json.dumps(value))

    def begin_stream(self) -> None:
        """200 and an open event stream."""
        self.chunked = True
        self._head(200, "content-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n", b"")

    def event(self, value: Any) -> None:
        """One server-sent event; text is sent as it is."""
        text = value if isinstance(value, str) else json.dumps(value)
        raw = f"data: {text}\n\n".encode()
        self.sock.sendall(b"%x\r\n%b\r\n" % (len(raw), raw))

    def end_stream(self) -> None:
        """Close the event stream; the connection stays."""
        self.sock.sendall(b"0\r\n\r\n")

    def gone(self) -> bool:
        """Whether the client has hung up."""
        readable, _, _ = select.select([self.sock], [], [], 0)
        try:
            return bool(readable) and not self.sock.recv(1, socket.MSG_PEEK)
        except OSError:
            return True

    def _head(self, status: int, more: str, body: bytes) -> None:
        head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nserver: uvicorn\r\n{more}\r\n"
        self.sock.sendall(head.encode() + body)


def serve(listener: socket.socket, handle: Callable[[Exchange], None]) -> None:
    """Accept for ever, one thread a connection."""
    threading.stack_size(256 << 10)
    while True:
        try:
            sock, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_connection, args=(sock, handle), daemon=True).start()


def _connection(sock: socket.socket, handle: Callable[[Exchange], None]) -> None:
    with contextlib.suppress(OSError), sock, sock.makefile("rb") as lines:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while exchange := _read(sock, lines):
            handle(exchange)
            if exchange.headers.get("connection", "").lower() == "close":
                return


def _read(sock: socket.socket, lines: Any) -> Exchange | None:
    parts = lines.readline(_LIMIT).decode("latin-1").split()
    if len(parts) != 3:
        return None
    headers: dict[str, str] = {}
    while (line := lines.readline(_LIMIT).decode("latin-1").strip()) != "":
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    body = lines.read(int(headers.get("content-length", 0)))
    return Exchange(sock, parts[0], parts[1].partition("?")[0], headers, body)
