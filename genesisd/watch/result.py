"""What one sweep found: all that the report, the metrics and the events say. Pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from genesisd.watch.cost import Asked, Release
from genesisd.watch.decisions import Decision, KeptDecision
from genesisd.watch.kinds import SweepKind
from genesisd.watch.model import AnchorFact, Collision, Known, Pin, PinFacts, Pull, State
from genesisd.watch.ports import Met
from genesisd.watch.refs import Ref
from genesisd.watch.rows import Watchlist


class SweepOutcome(StrEnum):
    """How it ended."""

    DONE = "done"
    PARTIAL = "partial"
    """Something could not be asked or looked at; ``troubles`` says what."""
    FAILED = "failed"
    """Nothing was learned; the window counts as not done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusChange:
    """A status line of the watchlist that was changed; ``line`` as it stood then."""

    row: str
    line: int
    ref: Ref
    before: State
    after: State
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPull:
    """A pull request that no row names, and why it is told.

    Attributes:
        pull: what upstream says of it.
        score: higher is told first; the scale has no unit.
        reasons: what the score is made of, strongest first.
        patches: ids whose files it touches.
        collisions: of its diff with them, on the current pin; None: not looked at.
    """

    pull: Pull
    score: float
    reasons: tuple[str, ...]
    patches: tuple[str, ...] = ()
    collisions: tuple[Collision, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepResult:
    """One sweep.

    Attributes:
        kind, window: which.
        started: wall time.
        seconds: how long it took.
        outcome: how it ended.
        watchlist: as it was read; None where it could not be.
        covers: ids of the rows that were looked at; None: all.
        known: what is known of every ref, asked now or before.
        pins: those that were looked at.
        facts: by ref, a pin each.
        anchors: of our patches, a pin each.
        changes: of the watchlist, written.
        refused: why changes could not be written, or "".
        decisions: as triage made them.
        met: what is new among them.
        kept: every decision that stands, with what people answered.
        new: pull requests that no row names, best first.
        releases: of the package, newest first; None where the index did not answer.
        asked: what it cost.
        troubles: what could not be done, a sentence each.
    """

    kind: SweepKind
    window: str
    started: float
    seconds: float = 0.0
    outcome: SweepOutcome = SweepOutcome.DONE
    watchlist: Watchlist | None = None
    covers: tuple[str, ...] | None = None
    known: Mapping[Ref, Known] = field(default_factory=dict)
    pins: tuple[Pin, ...] = ()
    facts: Mapping[Ref, tuple[PinFacts, ...]] = field(default_factory=dict)
    anchors: tuple[AnchorFact, ...] = ()
    changes: tuple[StatusChange, ...] = ()
    refused: str = ""
    decisions: tuple[Decision, ...] = ()
    met: Met = field(default_factory=Met)
    kept: tuple[KeptDecision, ...] = ()
    new: tuple[NewPull, ...] = ()
    releases: tuple[Release, ...] | None = None
    asked: Asked = field(default_factory=Asked)
    troubles: tuple[str, ...] = ()
