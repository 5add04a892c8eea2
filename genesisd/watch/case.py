"""One row with all that is known about it: what triage looks at. Pure.

Facts are asked for by name here, so that the tables of ``triage`` speak of situations and not of fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from genesisd.watch.clusters import Race
from genesisd.watch.model import AnchorFact, Known, PatchFact, PinFacts, Pull
from genesisd.watch.refs import Ref
from genesisd.watch.rows import Action, Row, Severity, SweepRow, Trigger, WatchRow, row_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A row and its facts.

    Attributes:
        row: of the watchlist.
        known: what upstream said of ``row.upstream``.
        pins: what each pin has of it.
        fix: what upstream said of ``fix_upstream``; None for a row without one.
        fix_pins: what each pin has of the fix.
        patches: of the ids that the row names, those that the register has.
        strangers: the other ids that it names.
        register: by proper id, for patches that only a collision names.
        anchors: of all patches on all pins.
        races: the clusters that the row runs in.
        severity: written for the pull request, in this row or in its twin of the other section; None: nowhere.
        proposed: pull requests that its prose names as rivals, which no row binds to its patch.
        now: wall time.
        max_age: seconds after which upstream's answer is too old.
    """

    row: Row
    known: Known
    pins: tuple[PinFacts, ...] = ()
    fix: Known | None = None
    fix_pins: tuple[PinFacts, ...] = ()
    patches: tuple[PatchFact, ...] = ()
    strangers: tuple[str, ...] = ()
    register: Mapping[str, PatchFact] = field(default_factory=lambda: MappingProxyType({}))
    anchors: tuple[AnchorFact, ...] = ()
    races: tuple[Race, ...] = ()
    severity: Severity | None = None
    proposed: tuple[Ref, ...] = ()
    now: float
    max_age: float

    @property
    def ref(self) -> Ref:
        """The pull request of the row."""
        return self.row.upstream

    @property
    def id(self) -> str:
        """Of the row."""
        return row_id(self.row)

    @property
    def pull(self) -> Pull | None:
        """The newest answer, however old."""
        return self.known.pull

    @property
    def purpose(self) -> Action | Trigger:
        """What the row is for."""
        return self.row.action if isinstance(self.row, WatchRow) else self.row.trigger

    @property
    def is_planned(self) -> bool:
        """The row stands for work that it says was not done yet."""
        return isinstance(self.row, SweepRow) and self.row.planned is not None


class Subject(StrEnum):
    """How a patch that a row names stands to the pull request."""

    CARRIER = "carrier"
    """Active, and the register says that it carries this pull request (or undoes it, or gives way to it)."""
    BOUND = "bound"
    """Active, and only the row binds it to the pull request."""
    UNBUILT = "unbuilt"
    """Not implemented here."""
    PLANNED = "planned"
    """A row of the form ``planned: X`` whose work was not done."""
    ENDED = "ended"
    """Retired, or another took its place."""
    NOBODY = "nobody"
    """The row names no patch that the register has."""


def subjects(case: Case) -> dict[Subject, tuple[str, ...]]:
    """The row's patches by how they stand to it; ``PLANNED`` and ``NOBODY`` may stand without any id.

    An id in the text of a planned row counts as done only where that patch carries this pull request: such names
    were given to other work since.
    """
    found: dict[Subject, list[str]] = {}
    for patch in case.patches:
        subject = _subject(case, patch)
        if subject is not None:
            found.setdefault(subject, []).append(patch.id)
    if case.is_planned and not set(found) & {Subject.CARRIER, Subject.ENDED}:
        found.setdefault(Subject.PLANNED, [])
    if not found:
        found[Subject.NOBODY] = []
    return {subject: tuple(found[subject]) for subject in Subject if subject in found}


def _subject(case: Case, patch: PatchFact) -> Subject | None:
    carries = case.ref in patch.upstream
    if case.is_planned and not carries:
        return None if patch.implemented or patch.retired else Subject.PLANNED
    if patch.retired or patch.superseded_by is not None:
        return Subject.ENDED
    if patch.active:
        return Subject.CARRIER if carries else Subject.BOUND
    return Subject.PLANNED if case.is_planned else Subject.UNBUILT


def active(case: Case) -> tuple[PatchFact, ...]:
    """The row's patches that may be in a build; for a planned row those alone that carry the pull request."""
    return tuple(patch for patch in case.patches if _subject(case, patch) in {Subject.CARRIER, Subject.BOUND})


def landings(case: Case, patches: Iterable[PatchFact], pins: Iterable[PinFacts]) -> Iterator[AnchorFact]:
    """How ``patches`` stand on ``pins``, as far as that was looked at."""
    ids, where = {patch.id for patch in patches}, {pin.pin for pin in pins}
    return (fact for fact in case.anchors if fact.patch in ids and fact.pin in where)
