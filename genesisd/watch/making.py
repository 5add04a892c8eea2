"""Making a decision out of a case: its severity, its urgency, its key. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from genesisd.watch.case import Case, active
from genesisd.watch.decisions import Decision, DecisionKind
from genesisd.watch.held import CURRENT
from genesisd.watch.model import PinFacts
from genesisd.watch.refs import Ref
from genesisd.watch.severity import Rated, rate, urgency


def rated(case: Case) -> Rated:
    """The severity of the row."""
    return rate(case.row, case.pull, active(case), case.severity)


def make(
    case: Case,
    kind: DecisionKind,
    reason: str,
    evidence: Iterable[str],
    *,
    ref: Ref | None = None,
    patches: tuple[str, ...] = (),
    pins: Iterable[PinFacts] = (),
    told: Iterable[str] = (),
    severity: Rated | None = None,
    key: tuple[object, ...],
) -> Decision:
    """A decision about the row.

    Args:
        case: the row and its facts.
        kind: what is asked.
        reason: one sentence.
        evidence: lines, strongest first; empty ones and repetitions are left out.
        ref: of another pull request than the row's own, such as its fix.
        patches: concerned.
        pins: that are concerned; where one of them serves, the decision is due sooner.
        told: ids of other pins that it speaks of.
        severity: where it is not the row's.
        key: what makes it the same decision again, besides its kind.
    """
    grade = severity or rated(case)
    pins = tuple(pins)
    names = tuple(dict.fromkeys((*(pin.pin for pin in pins), *told)))
    serving = any(CURRENT in pin.slots or not pin.slots for pin in pins)
    return Decision(
        kind=kind,
        row=case.id,
        ref=ref or case.ref,
        patches=patches,
        pins=names,
        urgency=urgency(kind, grade.severity, serving=serving),
        severity=grade.severity,
        derived=grade.derived,
        reason=reason,
        evidence=tuple(dict.fromkeys(line for line in evidence if line)),
        key=key_of(kind, *key),
    )


def note(case: Case, reason: str, evidence: Iterable[str]) -> Decision:
    """That there is nothing to do about the row."""
    return make(case, DecisionKind.NOTE, reason, evidence, key=(case.id,))


def key_of(kind: DecisionKind, *parts: object) -> str:
    """Such as ``retire-candidate|vllm#1|P1``."""
    return "|".join((kind, *(str(part) for part in parts)))
