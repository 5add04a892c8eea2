"""A row's answer: what the table wants, put into decisions about the patches that the row names. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from genesisd.watch import proof
from genesisd.watch.case import Case, active, subjects
from genesisd.watch.decisions import Decision, DecisionKind
from genesisd.watch.held import counted, having, lost, served
from genesisd.watch.held import ids as ids_of
from genesisd.watch.making import make, note, rated
from genesisd.watch.model import Content, Lineage, PinFacts
from genesisd.watch.rows import Action, Detection, Severity, SweepRow
from genesisd.watch.severity import Rated, at_least
from genesisd.watch.situation import Situation, situation
from genesisd.watch.table import HELD, MEANING, TABLE, Hold, Want
from genesisd.watch.words import ask, stands

_ONE_EACH = frozenset({DecisionKind.RETIRE_CANDIDATE, DecisionKind.REANCHOR})
"""Decided patch by patch: a dossier is about one, and so is a new anchor."""
_IN_A_PIN = frozenset({Situation.LANDED, Situation.AHEAD, Situation.IN_CURRENT})


def answer(case: Case) -> tuple[Decision, ...]:
    """What the row comes to; one decision at least."""
    where = situation(case)
    want = _by_hand(case, TABLE[case.purpose][where])
    if want is Want.LOST:
        return tuple(_lost(case, pin) for pin in lost(case.pull, case.pins))
    kinds = _kinds(case, want)
    loud = {kind: ids for kind, ids in kinds.items() if kind is not DecisionKind.NOTE}
    if not loud:
        reason = f"{stands(case, where)}: {ask(case, DecisionKind.NOTE, where, want, ())}"
        return (note(case, reason, proof.everything(case)),)
    return tuple(_made(case, kind, where, want, ids) for kind, group in loud.items() for ids in _portions(kind, group))


def hold(case: Case, patch: str) -> Hold:
    """Whether the anchors of an active patch stand the change.

    Where a pin has it, they tell themselves; before that, its diff made on our pins. Edits that a patch can do
    without may be gone unnoticed: for a row that is to be looked at by hand nothing is told to hold.
    """
    having_it = having(case.pins, Content.PRESENT)
    if having_it:
        seen = [fact for fact in case.anchors if fact.patch == patch and fact.pin in ids_of(having_it)]
        broken = any(not fact.lands for fact in seen)
        whole = {fact.pin for fact in seen} == set(ids_of(having_it))
    else:
        looked = [pin.collisions for pin in counted(case.pins) if pin.collisions is not None]
        broken = any(hit.breaks and hit.patch == patch for hits in looked for hit in hits)
        whole = bool(served(case.pins)) and all(pin.collisions is not None for pin in served(case.pins))
    if broken:
        return Hold.BREAKS
    return Hold.HOLDS if whole and not _is_manual(case) else Hold.UNSEEN


def _is_manual(case: Case) -> bool:
    return isinstance(case.row, SweepRow) and case.row.detection is Detection.MANUAL


def _by_hand(case: Case, want: Want) -> Want:
    """Where nothing but a person would notice, the merge itself is told, and not only its arrival in a pin."""
    return Want.REVIEW_MERGE if want is Want.WAIT and _is_manual(case) else want


def _kinds(case: Case, want: Want) -> dict[DecisionKind, tuple[str, ...]]:
    """The kinds of decision that the row comes to, with the patches that each is about."""
    found: dict[DecisionKind, tuple[str, ...]] = {}
    for subject, ids in subjects(case).items():
        kind = MEANING[want][subject]
        if kind is not DecisionKind.REANCHOR:
            found[kind] = (*found.get(kind, ()), *ids)
            continue
        for id_ in ids:
            held = HELD[hold(case, id_)]
            found[held] = (*found.get(held, ()), id_)
    return found


def _portions(kind: DecisionKind, ids: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    return [(id_,) for id_ in ids] if kind in _ONE_EACH else [ids]


def _made(case: Case, kind: DecisionKind, where: Situation, want: Want, ids: tuple[str, ...]) -> Decision:
    return make(
        case,
        kind,
        f"{stands(case, where)}: {ask(case, kind, where, want, ids)}",
        (*_superseded(case, ids), *proof.everything(case)) if kind in _ONE_EACH else _shown(case, kind),
        patches=ids,
        pins=_concerned(case, kind, where),
        told=ids_of(served(case.pins)) if where is Situation.MERGED else (),
        key=_key(case, kind, where, ids),
    )


def _shown(case: Case, kind: DecisionKind) -> tuple[str, ...]:
    if kind is DecisionKind.COOKBOOK:
        return (*(f"page: {page}" for page in proof.pages(case.row)), *proof.upstream(case.known))
    return proof.everything(case)


def _superseded(case: Case, ids: tuple[str, ...]) -> Iterable[str]:
    for fact in case.anchors:
        if fact.patch in ids and fact.superseded:
            yield f"{fact.patch} on {fact.pin}: one of its own markers of upstream's fix is there"


def _concerned(case: Case, kind: DecisionKind, where: Situation) -> tuple[PinFacts, ...]:
    """The pins that have the content, or may have it, and for a backport the one that lacks it."""
    if where in _IN_A_PIN:
        return having(case.pins, Content.PRESENT)
    if where is Situation.UNCLEAR or kind is DecisionKind.BACKPORT_WANTED:
        return served(case.pins)
    return ()


def _key(case: Case, kind: DecisionKind, where: Situation, ids: tuple[str, ...]) -> tuple[object, ...]:
    """What a person would call the same decision again.

    To look at a merge, and to look at the pin that has it, are two: the first can be done before any pin has it.
    """
    if kind in {DecisionKind.STALE, DecisionKind.COOKBOOK}:
        return (case.ref if kind is DecisionKind.STALE else case.id,)
    if kind is DecisionKind.REVIEW:
        return case.ref, "in a pin" if where in _IN_A_PIN else "closed" if where is Situation.ISSUE_CLOSED else "merged"
    return case.ref, ",".join(ids)


def _lost(case: Case, pin: PinFacts) -> Decision:
    told = pin.lineage.lineage is Lineage.REVERTED
    return make(
        case,
        DecisionKind.REGRESSION,
        f"{case.ref} was merged, and {proof.pin_name(pin)} has lost it: {_how(pin)}",
        (*proof.content((pin,), case.ref), *proof.everything(case)),
        patches=tuple(patch.id for patch in active(case)),
        pins=(pin,),
        severity=_grade(case, told=told, running=pin.lineage.lineage in {Lineage.ABSENT, Lineage.UNKNOWN}),
        key=(case.ref, "lost", pin.pin),
    )


def _how(pin: PinFacts) -> str:
    match pin.lineage.lineage:
        case Lineage.REVERTED:
            return "it was undone; give nothing of ours up for it"
        case Lineage.ANCESTOR | Lineage.CHERRY_PICKED:
            return (
                "it is in the history and not in the files, so it was undone silently; give nothing of ours up for it"
            )
        case Lineage.ABSENT | Lineage.UNKNOWN:
            return "the pin before it has it; give nothing of ours up for it"


def _grade(case: Case, *, told: bool, running: bool) -> Rated:
    """A silent loss is the gravest: whoever trusts the history gives our patch up for it."""
    reliant = case.purpose in set(Action) or bool(case.patches) or case.is_planned
    least = Severity.P1 if told or running else Severity.P0
    if not reliant:
        least = Severity.P2 if least is Severity.P1 else Severity.P1
    return at_least(rated(case), least, "a pin has lost what was merged")
