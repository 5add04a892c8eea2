"""What becomes of a request, given where the front points. Pure: the connections only carry it out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

RETRY_PAUSE = 0.05
"""Seconds between two attempts to reach an engine that refuses connections while the front is open."""


@dataclass(frozen=True, slots=True)
class Open:
    """New requests go to this incarnation."""

    host: str
    port: int
    incarnation: int


@dataclass(frozen=True, slots=True)
class Held:
    """New requests wait: a worker is expected back."""


@dataclass(frozen=True, slots=True)
class Closed:
    """New requests are refused at once: no worker is coming, for the reason in ``text``."""

    text: str


Target = Open | Held | Closed


@dataclass(frozen=True, slots=True)
class Limits:
    """``hold``: seconds a request may wait. ``max_held``: requests that may wait at once."""

    hold: float = 30.0
    max_held: int = 512


@dataclass(frozen=True, slots=True)
class Send:
    """Connect to this target and pass the request."""

    target: Open


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait for a change of the target, at most until this time; then ask again."""

    until: float


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer 503. ``retry_after`` is in whole seconds; None tells clients not to try again by themselves."""

    code: str
    text: str
    retry_after: int | None


Step = Send | Wait | Refuse


def decide(target: Target, *, now: float, since: float | None, unreachable: bool, held: int, limits: Limits) -> Step:
    """The next step for a request of which no byte has been sent.

    Args:
        target: where the front points.
        now: the present time.
        since: when the request began to wait, or None if it has not waited.
        unreachable: whether the connection to ``target`` was just refused. The engine has died a moment ago
            and the daemon has not said so yet; as nothing was sent, waiting is as safe as while held.
        held: other requests that wait.
        limits: how long and how many may wait.
    """
    match target:
        case Closed(text):
            return Refuse("worker_closed", text, None)
        case Open() if not unreachable:
            return Send(target)
        case _:
            step = _wait(now, since, held, limits)
            if unreachable and isinstance(step, Wait):
                return Wait(min(step.until, now + RETRY_PAUSE))
            return step


def _wait(now: float, since: float | None, held: int, limits: Limits) -> Wait | Refuse:
    retry = max(1, min(60, math.ceil(limits.hold)))
    if since is None:
        if held >= limits.max_held:
            return Refuse("too_many_waiting", f"{held} requests already wait for the worker; try again later", retry)
        since = now
    until = since + limits.hold
    if now >= until:
        return Refuse("worker_unavailable", f"no worker became ready within {limits.hold:g} s; try again later", retry)
    return Wait(until)


class Loss(Enum):
    """What the client gets when the engine's connection ends during an exchange."""

    COMPLETE = "complete"
    """The end of the connection was the end of the answer."""
    APOLOGISE = "apologise"
    """Nothing of the answer was passed on: a whole 502 fits."""
    CUT = "cut"
    """A part was passed on: the connection ends short, so that no client takes the part for the whole."""
    RESET = "reset"
    """As CUT, where an orderly end would look complete to the client."""


def loss(*, answering: bool, until_eof: bool, clean: bool) -> Loss:
    """Judge the end of an engine's connection before its answer was known to be complete.

    Args:
        answering: a byte of the final answer was passed to the client.
        until_eof: the answer has neither length nor chunks: only the end of the connection delimits it.
        clean: the connection ended in order, not by a reset.
    """
    if not answering:
        return Loss.APOLOGISE
    if not until_eof:
        return Loss.CUT
    return Loss.COMPLETE if clean else Loss.RESET
