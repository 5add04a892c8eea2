"""The words of the judge: what it is told, what it remembers, what it orders. Plain frozen data. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Step(StrEnum):
    """The ladder, from below. A step that does not cure leads to the next one, never to itself again."""

    NOTE = "note"
    ALERT = "alert"
    RESTART = "restart"
    ROLLBACK = "rollback"
    """Start the last build that was good."""
    BISECT = "quarantine"
    """Look for the patch that is to blame, and leave it out."""
    HOLD = "hold"
    """Out of rotation until a person says otherwise."""


@dataclass(frozen=True, slots=True)
class JudgePolicy:
    """The numbers of ``JudgeSpec``, in seconds."""

    settle: float = 60.0
    good_for: float = 600.0
    budget: int = 4
    window: float = 3600.0


@dataclass(frozen=True, slots=True)
class Means:
    """What could be done for the worker now.

    Attributes:
        rollback: another build than the running one was good.
        bisect: the worker runs patches, and a scratch worker can be had.
    """

    rollback: bool = False
    bisect: bool = False


@dataclass(frozen=True, slots=True)
class Complaint:
    """A probe that is bad. One of an earlier life is kept until its kind is good again: it only stands against a cure."""

    kind: str
    at: float
    limit: Step
    text: str
    incarnation: int = 0


@dataclass(frozen=True, slots=True)
class JudgeState:
    """All that a decision depends on; kept in the store, so that a new daemon goes on where the old one was.

    Attributes:
        incarnation: the newest life that is known.
        ready_at: when that life became ready; None before, and once it was ordered to end.
        complaints: bad probes, by kind.
        step: the highest step of the present episode; None while there is none.
        taken: times and names of the steps that cost something (restart and above) within the window.
        cured_at: since when nothing that counts was bad, or became good; None while something is, or no episode.
        bisecting: a bisection is under way; nothing else is done meanwhile.
        blamed: what was found at fault in the present episode (patch ids), for the words to people.
        capped: the limit at which it was told that nothing more may be done; not told again below it.
    """

    incarnation: int = 0
    ready_at: float | None = None
    complaints: Mapping[str, Complaint] = field(default_factory=dict)
    step: Step | None = None
    taken: tuple[tuple[float, str], ...] = ()
    cured_at: float | None = None
    bisecting: bool = False
    blamed: tuple[str, ...] = ()
    capped: Step | None = None


# --- events ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BecameReady:
    """A life proved itself and takes traffic."""

    at: float
    incarnation: int


@dataclass(frozen=True, slots=True)
class TurnedBad:
    """A probe's standing became bad, or is bad still after another ask."""

    at: float
    incarnation: int
    kind: str
    limit: Step
    text: str


@dataclass(frozen=True, slots=True)
class TurnedGood:
    """A probe's standing became good, or is good still."""

    at: float
    incarnation: int
    kind: str


@dataclass(frozen=True, slots=True)
class Bisected:
    """A bisection ended.

    Attributes:
        guilty: patches that were quarantined; empty where none could be blamed.
        pin_fails: the plain pin fails as well, so that no patch is to blame.
    """

    at: float
    guilty: tuple[str, ...]
    pin_fails: bool
    text: str


@dataclass(frozen=True, slots=True)
class Forgiven:
    """An operator started or reset the worker: begin again from the lowest step, with the whole budget."""

    at: float


@dataclass(frozen=True, slots=True)
class Ticked:
    """Time passed."""

    at: float


Event = BecameReady | TurnedBad | TurnedGood | Bisected | Forgiven | Ticked

# --- orders ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tell:
    """Journal (note), and the metric that rules watch (alert and above)."""

    step: Step
    kinds: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Restart:
    """End this life with evidence and start another, at a cost to the restart budget."""

    incarnation: int
    text: str


@dataclass(frozen=True, slots=True)
class RollBack:
    """The same, and the next life runs the last good build."""

    incarnation: int
    text: str


@dataclass(frozen=True, slots=True)
class Bisect:
    """The same, and the next life waits until a scratch worker has shown which patch is to blame for these kinds."""

    incarnation: int
    kinds: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Hold:
    """End this life with evidence and do not start another: a person is needed."""

    incarnation: int
    text: str


@dataclass(frozen=True, slots=True)
class Cured:
    """The episode is over: everything was good for long enough."""

    step: Step
    text: str


Order = Tell | Restart | RollBack | Bisect | Hold | Cured
