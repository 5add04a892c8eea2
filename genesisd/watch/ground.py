"""What a sweep stands on, and what it gives to triage."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from genesisd.clock import Clock
from genesisd.watch.changing import Written
from genesisd.watch.decisions import Decision
from genesisd.watch.model import Known, PatchFact, Pin, PinFacts
from genesisd.watch.ports import Appraisal, Appraiser, Decisions, Facts, Index, Mirror, Patches, Upstream
from genesisd.watch.refs import Ref
from genesisd.watch.result import StatusChange
from genesisd.watch.rows import Row, Watchlist
from genesisd.watch.scoring import Interests


@dataclass(frozen=True, slots=True, kw_only=True)
class Facing:
    """What triage is given."""

    watchlist: Watchlist
    rows: tuple[Row, ...]
    known: Mapping[Ref, Known]
    facts: Mapping[Ref, tuple[PinFacts, ...]]
    appraisal: Appraisal
    pins: tuple[Pin, ...]
    patches: Mapping[str, PatchFact]
    now: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a sweep stands on.

    Attributes:
        upstream, mirror, index, appraiser, patches, facts, decisions: the ports; no mirror, no lineage.
        pins: those that play a part; raises ConfigError.
        interests: what this box runs.
        more: pull requests that markers and gates speak of.
        triage: decisions from facts.
        write: changes status lines in the file; returns those that were made, and what went wrong or "".
        clock: the time.
    """

    upstream: Upstream
    mirror: Mirror | None
    index: Index
    appraiser: Appraiser
    patches: Patches
    facts: Facts
    decisions: Decisions
    pins: Callable[[], Awaitable[tuple[Pin, ...]]]
    interests: Callable[[], Interests]
    more: Callable[[], Iterable[Ref]]
    triage: Callable[[Facing], tuple[Decision, ...]]
    write: Callable[[Path, Sequence[StatusChange]], Awaitable[Written]]
    clock: Clock
