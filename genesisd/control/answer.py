"""What goes back: JSON text as a response, and refusals."""

from __future__ import annotations

from aiohttp import web

from genesisd.control import wire
from genesisd.control.protocol import HTTP_STATUS
from genesisd.errors import GenesisError


def json_answer(text: str, status: int = 200) -> web.Response:
    """A response with this JSON text."""
    return web.Response(body=text.encode("utf-8", "replace"), status=status, content_type="application/json")


def refusal(problem: GenesisError, status: int | None = None) -> web.Response:
    """An error, with the HTTP status of its code unless another is said."""
    return json_answer(wire.error(problem), status or HTTP_STATUS.get(problem.code, 500))
