"""The few answers that the front gives itself, in the shape that OpenAI clients show to people."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http import HTTPStatus

from genesisd.front.decide import Refuse


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of the front's own.

    Attributes:
        status: HTTP status.
        type: stable word for programs, ``error.type`` of the body.
        text: one sentence for people.
        headers: extra header lines, without line ends.
    """

    status: int
    type: str
    text: str
    headers: tuple[str, ...] = ()

    def encode(self, *, close: bool, head: bool = False) -> bytes:
        """The bytes on the wire; ``head``: the request was a HEAD, so the body stays away."""
        error = {"message": self.text, "type": self.type, "param": None, "code": self.status}
        body = json.dumps({"error": error}).encode()
        lines = [
            f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            *self.headers,
            *(["Connection: close"] if close else []),
        ]
        return "\r\n".join([*lines, "", ""]).encode() + (b"" if head else body)


def refusal(step: Refuse) -> Answer:
    """503 for a request that no worker will get. OpenAI clients obey ``x-should-retry``."""
    again = "x-should-retry: false" if step.retry_after is None else f"Retry-After: {step.retry_after}"
    return Answer(503, step.code, step.text, (again,))


def lost(incarnation: int) -> Answer:
    """502 for a request that was sent and will not be answered."""
    return Answer(
        502,
        "worker_lost",
        f"the worker (incarnation {incarnation}) ended the connection before it answered; the request may or may "
        "not have been carried out, so the front does not repeat it",
    )


def garbled(incarnation: int) -> Answer:
    """502 for an answer that is not HTTP."""
    return Answer(
        502, "worker_garbled", f"the worker (incarnation {incarnation}) answered with something else than HTTP/1.1"
    )


def malformed(text: str) -> Answer:
    """400 for bytes that are not an HTTP/1.1 request."""
    return Answer(400, "malformed_request", f"not a valid HTTP/1.1 request: {text}")


HEAD_TOO_LARGE = Answer(431, "header_too_large", "the request line and headers exceed 64 KiB")
HEAD_TOO_SLOW = Answer(408, "header_timeout", "the request's headers did not arrive in time")
TOO_MANY = Answer(503, "too_many_connections", "the front has no connection left; try again later", ("Retry-After: 1",))
