"""What is told about a row whatever it is for: old answers, broken anchors, regressions, lost races. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from genesisd.watch import proof
from genesisd.watch.case import Case, Subject, active, landings, subjects
from genesisd.watch.decisions import Decision, DecisionKind
from genesisd.watch.evidence import day
from genesisd.watch.held import CANDIDATE, CURRENT, IN_HISTORY, counted, having, lost
from genesisd.watch.making import make, rated
from genesisd.watch.model import AnchorFact, Collision, Content, Known, PatchFact, PinFacts, State
from genesisd.watch.rows import Action, Severity, Trigger
from genesisd.watch.severity import Rated, at_least

_ANCHORED = frozenset({Action.DRIFT_CHECK, Trigger.REANCHOR})
"""Rows that ask for the anchors of their patches on every pin."""
OUT_OF_RANGE = "version"
"""The patch engine's word for a patch that is not for this version: nothing is amiss, and nothing is mended."""


def about(case: Case) -> Iterator[Decision]:
    """Every alarm that the facts raise."""
    yield from _stale(case)
    yield from _gone_anchors(case)
    yield from _collisions(case)
    yield from _broken(case)
    yield from _fix_landed(case)
    yield from _lost_races(case)
    yield from _rivals_in_prose(case)


def _stale(case: Case) -> Iterator[Decision]:
    for known in (case.known, case.fix):
        if known is None:
            continue
        age = known.age(case.now)
        if age is not None and age <= case.max_age:
            continue
        pull = known.pull
        told = "never answered" if pull is None else f"answered last on {day(pull.checked_at)}, too long ago to rely on"
        yield make(
            case,
            DecisionKind.STALE,
            f"{known.ref}: upstream {told}{_why(known)}",
            proof.upstream(known),
            ref=known.ref,
            key=(known.ref,),
        )


def _why(known: Known) -> str:
    return "" if known.unknown is None else f" ({known.unknown.why})"


def _gone_anchors(case: Case) -> Iterator[Decision]:
    """Anchors that do not hold on a pin as it is."""
    if case.purpose not in _ANCHORED:
        return
    patches = {patch.id: patch for patch in active(case)}
    slots = {pin.pin: pin for pin in counted(case.pins)}
    for fact in landings(case, patches.values(), slots.values()):
        if not fact.lands:
            yield _gone(case, patches[fact.patch], fact, slots[fact.pin])


def _gone(case: Case, patch: PatchFact, fact: AnchorFact, pin: PinFacts) -> Decision:
    least = Severity.P1 if patch.required else Severity.P2
    return make(
        case,
        DecisionKind.REANCHOR,
        f"{patch.id} does not land on {proof.pin_name(pin)} ({fact.verdict}): re-anchor it",
        (f"{patch.id} on {pin.pin}: {fact.text or fact.verdict}", *proof.everything(case)),
        patches=(patch.id,),
        pins=(pin,),
        severity=at_least(rated(case), least, f"{patch.id} is in no build of {pin.pin}"),
        key=(patch.id, pin.pin),
    )


def _collisions(case: Case) -> Iterator[Decision]:
    """Anchors that will not hold once the pull request is in: it may still come, and is not in the pin yet."""
    if case.pull is None or case.pull.state is State.CLOSED:
        return
    hits: dict[str, list[tuple[PinFacts, Collision]]] = {}
    for pin in counted(case.pins):
        for hit in () if pin.content.content is Content.PRESENT else pin.collisions or ():
            if hit.breaks and hit.patch in case.register and case.register[hit.patch].active:
                hits.setdefault(hit.patch, []).append((pin, hit))
    for patch, found in hits.items():
        yield _collision(case, patch, found)


def _collision(case: Case, patch: str, found: list[tuple[PinFacts, Collision]]) -> Decision:
    pins = tuple(dict.fromkeys(pin for pin, _ in found))
    required = any(hit.required for _, hit in found)
    merged = case.pull is not None and case.pull.state is State.MERGED
    when = "the next pin that has it" if merged else "its merge"
    lines = [
        f"{hit.patch} {hit.edit} in {hit.path} of {pin.pin}: {hit.place} the anchor, found {hit.before} times before "
        f"and {hit.after} after" + (f" ({hit.text})" if hit.text else "")
        for pin, hit in found
    ]
    return make(
        case,
        DecisionKind.REANCHOR,
        f"{case.ref} breaks {'a required' if required else 'an optional'} anchor of {patch}: re-anchor it before {when}",
        (*lines, *proof.upstream(case.known)),
        patches=(patch,),
        # It threatens the pins to come: none of those on which it was found has the change.
        told=tuple(pin.pin for pin in pins),
        severity=at_least(rated(case), Severity.P1 if required else Severity.P2, f"{patch} would be lost silently"),
        key=(case.ref, patch),
    )


def _broken(case: Case) -> Iterator[Decision]:
    """The row's pull request does harm, and names what mends it: a pin may have the one and not the other."""
    if case.fix is None:
        return
    fixes = {pin.pin: pin for pin in case.fix_pins}
    pins = [pin for pin in counted(case.pins) if _does_harm(case, pin) and _unmended(case, fixes.get(pin.pin))]
    if not case.pins and case.pull is not None and case.pull.is_issue:
        pins = [pin for pin in counted(case.fix_pins) if _does_harm(case, pin) and _unmended(case, pin)]
    open_to_it = tuple(pin for pin in pins if not _mended_by_us(case, pin))
    if not open_to_it:
        return
    named = proof.listed(open_to_it)
    merged = case.fix.pull is not None and case.fix.pull.state is State.MERGED
    mend = "take it over, or move to a pin that has it" if merged else "keep out of its way until it is merged"
    serving = any(CURRENT in pin.slots or not pin.slots for pin in open_to_it)
    yield make(
        case,
        DecisionKind.REGRESSION,
        f"{named} {proof.has(open_to_it)} what {case.ref} breaks, and not the fix {case.fix.ref}: {mend}",
        proof.everything(case),
        patches=tuple(patch.id for patch in active(case)),
        pins=open_to_it,
        severity=at_least(rated(case), Severity.P1 if serving else Severity.P2, "a pin has what breaks, unmended"),
        key=(case.ref, case.fix.ref),
    )


def _does_harm(case: Case, pin: PinFacts) -> bool:
    """An open issue is a claim about the pins we run; a pull request does harm where its change is."""
    if case.pull is not None and case.pull.is_issue:
        return case.pull.state is State.OPEN and bool({CURRENT, CANDIDATE} & set(pin.slots) or not pin.slots)
    if pin.content.content is Content.ABSENT:
        return False
    return pin.content.content is Content.PRESENT or pin.lineage.lineage in IN_HISTORY


def _unmended(case: Case, fix: PinFacts | None) -> bool:
    """The fix is seen to be absent; or nobody looked, and it was never merged.

    An issue is but a claim about our pins: beside it only what was seen counts.
    """
    content = Content.UNKNOWN if fix is None else fix.content.content
    if content is Content.ABSENT:
        return True
    pull = None if case.fix is None else case.fix.pull
    if case.pull is not None and case.pull.is_issue:
        return False
    return content is Content.UNKNOWN and pull is not None and pull.state is not State.MERGED


def _mended_by_us(case: Case, pin: PinFacts) -> bool:
    carriers = [patch for patch in case.patches if patch.active and _carries_fix(case, patch)]
    return any(fact.lands and fact.verdict != OUT_OF_RANGE for fact in landings(case, carriers, (pin,)))


def _carries_fix(case: Case, patch: PatchFact) -> bool:
    return case.fix is not None and case.fix.ref in patch.upstream


def _fix_landed(case: Case) -> Iterator[Decision]:
    """A patch of ours carries the fix, and a pin has the fix itself."""
    if case.fix is None or lost(case.fix.pull, case.fix_pins):
        return
    present = having(case.fix_pins, Content.PRESENT)
    for patch in case.patches:
        if present and patch.active and _carries_fix(case, patch):
            yield make(
                case,
                DecisionKind.RETIRE_CANDIDATE,
                f"{proof.listed(present)} {proof.has(present)} the fix {case.fix.ref}, which {patch.id} carries: it may be given up there; look at the "
                "dossier first",
                proof.everything(case),
                ref=case.fix.ref,
                patches=(patch.id,),
                pins=present,
                key=(case.fix.ref, patch.id),
            )


def _lost_races(case: Case) -> Iterator[Decision]:
    """Another of the cluster is in a pin: this one is judged again, once for each that decides."""
    found = subjects(case)
    if set(found) == {Subject.ENDED} or having(case.pins, Content.PRESENT):
        return
    for race in case.races:
        if race.winner is None or race.winner == case.ref:
            continue
        ids = tuple(patch.id for patch in case.patches if patch.id == race.cluster.name)
        yield make(
            case,
            DecisionKind.CLUSTER_DECIDED,
            f"{race.winner} of the cluster for {race.cluster.name} is in {' and '.join(race.pins)}: judge {case.ref} "
            "once more, and take its row out if it is of no use",
            (*proof.upstream(case.known), *proof.content(case.pins, case.ref), *proof.names(case)),
            patches=ids,
            told=race.pins,
            key=(race.cluster.name, race.winner, case.ref),
        )


def _rivals_in_prose(case: Case) -> Iterator[Decision]:
    if not case.proposed:
        return
    refs = ", ".join(map(str, case.proposed))
    names = ", ".join(patch.id for patch in case.patches) or ", ".join(case.strangers)
    yield make(
        case,
        DecisionKind.REVIEW,
        f"the prose of the row names {refs} beside {case.ref} for {names}: add rows (or duplicate_of) for those that "
        "compete",
        (f"named in line {case.row.line} and below: {refs}", *proof.upstream(case.known)),
        patches=tuple(patch.id for patch in case.patches),
        severity=Rated(Severity.P3, derived=True, why="prose alone"),
        key=(case.ref, "rivals", refs),
    )
