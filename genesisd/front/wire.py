"""The words between a daemon and a front: one JSON object a line, over a Unix socket.

``hello`` and ``quit`` never change, so that any daemon can tell which versions a front speaks and end it.
Everything else may, together with PROTOCOL. A field that is not known is ignored.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any

from genesisd.errors import GenesisError
from genesisd.front.decide import Closed, Held, Open, Target

PROTOCOL = (1, 1)
"""Oldest and newest version that this code speaks."""

LINE_LIMIT = 64 << 10


class WireError(GenesisError):
    """A message that cannot be understood, or a refusal from the other side."""

    code = "wire"


@dataclass(frozen=True, slots=True)
class FrontStats:
    """What the front counted.

    Attributes:
        open: client connections.
        in_flight: requests handed to a worker and not completely answered. Held ones are not among them.
        unanswered: of those, the ones that the worker has in full (or does not go on reading) and of whose answer
            no byte has come. A client that is slow to send its body is no fault of the worker.
        held: requests waiting for a worker.
        answered: requests completed since the front began.
        refused: requests that the front answered with 503.
        oldest_unanswered: seconds that the oldest unanswered request has waited, or 0.0.
    """

    open: int = 0
    in_flight: int = 0
    unanswered: int = 0
    held: int = 0
    answered: int = 0
    refused: int = 0
    oldest_unanswered: float = 0.0


def encode(message: dict[str, Any]) -> bytes:
    """One line."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> dict[str, Any]:
    """The object of one line. Raises WireError."""
    try:
        message = json.loads(line)
    except ValueError:
        raise WireError(f"expected a JSON object on one line, got {line[:80]!r}") from None
    if not isinstance(message, dict):
        raise WireError(f"expected a JSON object on one line, got {line[:80]!r}")
    return message


def agree(ours: tuple[int, int], theirs: tuple[int, int]) -> int | None:
    """The newest version that both speak, or None."""
    newest = min(ours[1], theirs[1])
    return newest if newest >= max(ours[0], theirs[0]) else None


def order(target: Target) -> dict[str, Any]:
    """The message that points a front at ``target``."""
    match target:
        case Open(host, port, incarnation):
            return {"op": "open", "host": host, "port": port, "incarnation": incarnation}
        case Held():
            return {"op": "hold"}
        case Closed(text):
            return {"op": "close", "text": text}


def target_of(message: dict[str, Any]) -> Target | None:
    """The target that an order means; None if it is another kind of message. Raises WireError."""
    try:
        match message.get("op"):
            case "open":
                return Open(str(message["host"]), int(message["port"]), int(message["incarnation"]))
            case "hold":
                return Held()
            case "close":
                return Closed(str(message["text"]))
            case _:
                return None
    except (KeyError, TypeError, ValueError) as error:
        raise WireError(f"order {message.get('op')!r} lacks a usable field: {error}") from None


def stats_message(stats: FrontStats) -> dict[str, Any]:
    """The fields of the answer to ``stats``."""
    return asdict(stats)


def stats_of(message: dict[str, Any]) -> FrontStats:
    """The counts in an answer; fields that an older front lacks keep their defaults."""
    return FrontStats(**{f.name: message[f.name] for f in fields(FrontStats) if f.name in message})
