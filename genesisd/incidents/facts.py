"""What is known of a worker when somebody asks why it is as it is. Plain data. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """A worker now.

    Attributes:
        name: of the worker.
        phase: as its state machine calls it.
        code, reason: why it is in that phase.
        since: wall time at which it entered the phase.
        wanted: whether it is meant to be up.
        build: the build that it runs or would run, or None for the plain pin.
        instead_of: the build that it was taken back from, or None.
        patches: in quarantine for it.
        cards: of its own, in quarantine.
    """

    name: str
    phase: str
    code: str
    reason: str
    since: float
    wanted: bool = True
    build: str | None = None
    instead_of: str | None = None
    patches: tuple[str, ...] = ()
    cards: tuple[str, ...] = ()
