"""One bisection as the store keeps it: what is searched, what runs have shown, and what came of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from genesisd.bisect.model import Result
from genesisd.judge.model import Bisected


@dataclass(frozen=True, slots=True)
class Case:
    """One bisection.

    Attributes:
        kinds: probes that failed.
        pin: id of the pin that the worker ran.
        patches: those in its build, in order of application.
        known: what runs have shown, by their sets.
        text: why it was begun.
        absent: those that it had not, whatever is configured: no run has them.
        ended: what came of it, until the next one begins: a judge that died before it heard of it is told again.
    """

    kinds: tuple[str, ...]
    pin: str
    patches: tuple[str, ...]
    known: Mapping[frozenset[str], Result] = field(default_factory=dict)
    text: str = ""
    absent: tuple[str, ...] = ()
    ended: Bisected | None = None

    def to_json(self) -> dict[str, Any]:
        """For the store."""
        known = [[sorted(names), str(result)] for names, result in self.known.items()]
        ended = None if self.ended is None else asdict(self.ended)
        return {
            "kinds": self.kinds, "pin": self.pin, "patches": self.patches, "known": known, "text": self.text,
            "absent": self.absent, "ended": ended,
        }  # fmt: skip


def case_of(kept: Any) -> Case | None:
    """What the store kept, or None for anything else."""
    try:
        known = {frozenset(names): Result(result) for names, result in kept["known"]}
        over = kept.get("ended")
        ended = None if over is None else Bisected(**{**over, "guilty": tuple(over["guilty"])})
        absent = tuple(kept.get("absent", ()))
        return Case(tuple(kept["kinds"]), kept["pin"], tuple(kept["patches"]), known, kept["text"], absent, ended)
    except (KeyError, TypeError, ValueError):
        return None
