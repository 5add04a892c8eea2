"""A package index on the loopback, with tiny wheels made on the fly, that can be made to misbehave."""

from __future__ import annotations

import base64
import hashlib
import http.server
import threading
import urllib.parse
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


def make_wheel(
    name: str, version: str, *, requires: tuple[str, ...] = (), command: str = "", ballast: int = 0
) -> Wheel:
    """A wheel with one module that holds its version; ``command`` is the name of a script, ``ballast`` random-looking bytes."""
    module = name.replace("-", "_")
    dist_info = f"{module}-{version}.dist-info"
    files = {
        f"{module}/__init__.py": f"VERSION = {version!r}\n\n\ndef main():\n    print(VERSION)\n".encode(),
        f"{dist_info}/METADATA": "\n".join(
            [
                f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}",
                *(f"Requires-Dist: {one}" for one in requires),
                "",
            ]
        ).encode(),
        f"{dist_info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if command:
        files[f"{dist_info}/entry_points.txt"] = f"[console_scripts]\n{command} = {module}:main\n".encode()
    if ballast:
        block = hashlib.sha512(name.encode()).digest() * 16
        files[f"{module}/ballast.bin"] = block * (ballast // len(block))
    rows = [f"{path},sha256={_digest(content)},{len(content)}" for path, content in files.items()]
    files[f"{dist_info}/RECORD"] = "\n".join([*rows, f"{dist_info}/RECORD,,", ""]).encode()
    return Wheel(name, f"{module}-{version}-py3-none-any.whl", _zip(files))


@dataclass(frozen=True)
class Wheel:
    name: str
    filename: str
    content: bytes

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


@dataclass
class Index:
    """``status`` maps a project to an HTTP status, ``served`` a file name to other bytes than were promised."""

    url: str
    wheels: list[Wheel]
    status: dict[str, int] = field(default_factory=dict)
    served: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def projects_asked(self) -> set[str]:
        return {path.split("/")[2] for path in self.asked if path.startswith("/simple/")}

    def downloads(self) -> list[str]:
        return [path.rsplit("/", 1)[1] for path in self.asked if path.startswith("/files/")]


@contextmanager
def serve_index(*wheels: Wheel) -> Iterator[Index]:
    """An index that has ``wheels``."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    index = Index(f"http://127.0.0.1:{server.server_port}/simple", list(wheels))
    server.index = index  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield index
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        index: Index = self.server.index  # type: ignore[attr-defined]
        path = urllib.parse.unquote(self.path)
        index.asked.append(path)
        name = path.strip("/").split("/")[-1]
        if path.startswith("/files/"):
            found = {wheel.filename: wheel.content for wheel in index.wheels} | index.served
            self._answer(200 if name in found else 404, found.get(name, b""), "application/octet-stream")
            return
        links = [
            f'<a href="/files/{urllib.parse.quote(wheel.filename)}#sha256={wheel.sha256}">{wheel.filename}</a>'
            for wheel in index.wheels
            if wheel.name == name
        ]
        self._answer(index.status.get(name, 200 if links else 404), "<br>".join(links).encode(), "text/html")

    def _answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Silence."""


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _zip(files: dict[str, bytes]) -> bytes:
    import io

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, content in files.items():
            archive.writestr(zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0)), content)
    return buffer.getvalue()
