"""Reads requests: what they may say, and what is answered where they say something else."""

from __future__ import annotations

import asyncio
import socket
from typing import TypeVar

from aiohttp import web
from pydantic import BaseModel, ValidationError

from genesisd.control.ports import Peer
from genesisd.control.protocol import MAX_BODY, PROTOCOL_HEADER, PROTOCOL_MAX, PROTOCOL_MIN
from genesisd.errors import GenesisError, UnavailableError

Body = TypeVar("Body", bound=BaseModel)

RANGE = f"{PROTOCOL_MIN}-{PROTOCOL_MAX}"
"""The protocol versions that the daemon speaks, as the header has them."""


PEER = web.RequestKey("peer", Peer)
"""Under which a request keeps who asks."""


class UsageError(GenesisError):
    """A request that makes no sense."""

    code = "usage"


class ProtocolError(GenesisError):
    """The client speaks a protocol version that this daemon does not."""

    code = "protocol"


class TooLargeError(GenesisError):
    """A request body above the limit."""

    code = "too_large"


def connection_of(request: web.Request) -> socket.socket:
    """The socket that the request came through."""
    if request.transport is None:
        raise UnavailableError("the connection is gone")
    found: socket.socket = request.transport.get_extra_info("socket")
    return found


def check_protocol(request: web.Request) -> None:
    """Raises ProtocolError for a client that says it speaks another version."""
    spoken = request.headers.get(PROTOCOL_HEADER)
    if spoken is None:
        return
    if not spoken.isdecimal() or len(spoken) > 4 or not PROTOCOL_MIN <= int(spoken) <= PROTOCOL_MAX:
        raise ProtocolError(
            f"this daemon speaks control protocol {RANGE}, not {spoken[:20]}",
            hint="use the genesisctl that came with the daemon",
            min=PROTOCOL_MIN,
            max=PROTOCOL_MAX,
        )


async def read_body(request: web.Request, model: type[Body], deadline: float) -> Body:
    """The body as a ``model``; raises UsageError, or TimeoutError when it has not come after ``deadline`` seconds."""
    async with asyncio.timeout(deadline):
        text = await request.read()
    try:
        return model.model_validate_json(text or b"{}")
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_context=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise UsageError(f"bad request body: {field or 'body'}: {first['msg']}", field=field) from None


def from_http(problem: web.HTTPException) -> GenesisError:
    """What aiohttp itself refuses, in our words."""
    match problem.status:
        case 404:
            return UsageError("no such address in the control API", hint="see docs/control-api.md")
        case 405:
            return UsageError("this address does not take that method", hint="see docs/control-api.md")
        case 413:
            return TooLargeError(f"the request body is larger than {MAX_BODY} bytes")
        case _:
            return UsageError(problem.reason)


def flag(request: web.Request, name: str) -> bool:
    """A yes or no from the query; absent means no."""
    value = request.query.get(name, "0").lower()
    if value in {"1", "true", "yes", ""}:
        return True
    if value in {"0", "false", "no"}:
        return False
    raise UsageError(f"{name} must be 0 or 1, not {value!r}")


def number(request: web.Request, name: str, default: float, most: float) -> float:
    """A number from the query, between 0 and ``most``."""
    value = request.query.get(name)
    if value is None:
        return default
    try:
        found = float(value)
    except ValueError:
        raise UsageError(f"{name} must be a number, not {value!r}") from None
    if not 0 <= found <= most:
        raise UsageError(f"{name} must be between 0 and {most:g}, not {value}")
    return found
