"""Pairs of pull requests: one breaks a lane, others mend it. And what a candidate brings that the current pin lacks. Pure.

A date proves nothing here: a pin cut after the merge may lack it, and one cut before may have it by another hand. So
gates ask for content alone. What cannot be told is told as such, and blocks nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from genesisd.watch.decisions import Decision, DecisionKind, Urgency
from genesisd.watch.marker_spec import Gate
from genesisd.watch.model import Content, ContentFact, Pin
from genesisd.watch.refs import Ref
from genesisd.watch.revisit import Worker, holds

Contents = Mapping[Ref, ContentFact]
"""What one pin has of each pull request; one that is missing is unknown."""
_NOT_THERE = {Content.ABSENT, Content.NOT_APPLICABLE}


class Barrier(StrEnum):
    """How a gate stands on one pin."""

    OPEN = "open"
    """What breaks is not there, or something that mends it is."""
    SHUT = "shut"
    """What breaks is there, and nothing that mends it."""
    DOUBTFUL = "doubtful"
    """One of the two cannot be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateFact:
    """A gate on a pin.

    Attributes:
        gate, pin: which.
        barrier: how it stands.
        concerned: workers whose lane it is.
        perhaps: workers of whom that cannot be told.
        reason: one sentence.
        evidence: what was seen of each pull request of the pair.
    """

    gate: Gate
    pin: str
    barrier: Barrier
    concerned: tuple[str, ...] = ()
    perhaps: tuple[str, ...] = ()
    reason: str = ""
    evidence: tuple[str, ...] = ()

    @property
    def blocks(self) -> bool:
        """A worker of ours would break on that pin."""
        return self.barrier is Barrier.SHUT and bool(self.concerned)


def stand(gates: Iterable[Gate], pin: str, contents: Contents, workers: Mapping[str, Worker]) -> tuple[GateFact, ...]:
    """How each gate stands on a pin, and whom of ``workers`` (by name) it concerns."""
    return tuple(_stand(gate, pin, contents, workers) for gate in gates)


def _stand(gate: Gate, pin: str, contents: Contents, workers: Mapping[str, Worker]) -> GateFact:
    barrier, reason = _barrier(gate, contents)
    answers = {name: _of_lane(gate, facts) for name, facts in workers.items()}
    return GateFact(
        gate=gate,
        pin=pin,
        barrier=barrier,
        concerned=tuple(name for name, answer in answers.items() if answer),
        perhaps=tuple(name for name, answer in answers.items() if answer is None),
        reason=reason,
        evidence=tuple(_seen(ref, contents) for ref in (gate.blocks, *gate.unless_any_of)),
    )


def _barrier(gate: Gate, contents: Contents) -> tuple[Barrier, str]:
    breaks = _content(gate.blocks, contents)
    mending = [ref for ref in gate.unless_any_of if _content(ref, contents) is Content.PRESENT]
    if mending:
        return Barrier.OPEN, f"it has {mending[0]}, which mends what {gate.blocks} breaks"
    if breaks in _NOT_THERE:
        return Barrier.OPEN, f"it does not have {gate.blocks}"
    unsure = [ref for ref in gate.unless_any_of if _content(ref, contents) not in _NOT_THERE]
    if breaks is not Content.PRESENT:
        return Barrier.DOUBTFUL, f"whether it has {gate.blocks} cannot be told ({breaks})"
    if unsure:
        return Barrier.DOUBTFUL, f"it has {gate.blocks}, and whether it has {_listed(unsure)} cannot be told"
    lacks = f", and none of {_listed(gate.unless_any_of)}" if gate.unless_any_of else ""
    return Barrier.SHUT, f"it has {gate.blocks}{lacks}: {gate.text}"


def _of_lane(gate: Gate, worker: Worker) -> bool | None:
    """One predicate holds, or there is none; None where that cannot be told of one and no other holds."""
    answers = [holds(predicate, worker) for predicate in gate.lanes] or [True]
    if True in answers:
        return True
    return None if None in answers else False


def decisions(facts: Iterable[GateFact], pins: Sequence[Pin]) -> tuple[Decision, ...]:
    """What people are asked about gates that are not open for a worker of ours."""
    slots = {pin.id: pin.slots for pin in pins}
    return tuple(decision for fact in facts for decision in _decided(fact, slots.get(fact.pin, ())))


def _decided(fact: GateFact, slots: tuple[str, ...]) -> Iterator[Decision]:
    whom = fact.concerned or fact.perhaps
    if fact.barrier is Barrier.OPEN or not whom or (fact.barrier is Barrier.DOUBTFUL and not fact.concerned):
        return
    serves = "current" in slots
    urgency = (Urgency.NOW if serves else Urgency.SOON) if fact.blocks else Urgency.LATER
    sure = "" if fact.concerned else ", if that is its lane"
    yield Decision(
        kind=DecisionKind.PAIR_GATE,
        row="",
        ref=fact.gate.blocks,
        pins=(fact.pin,),
        urgency=urgency,
        severity="P0" if fact.blocks and serves else "P1" if fact.blocks else "P2",
        reason=f"pin {fact.pin} for {', '.join(whom)}{sure}: {fact.reason}; {fact.gate.mend}",
        evidence=fact.evidence,
        key=f"gate:{fact.gate.id}:{fact.pin}:{fact.barrier}",
    )


@dataclass(frozen=True, slots=True)
class Crossing:
    """What a candidate has that the current pin has not, and the other way round.

    Attributes:
        merged: not there now, present then: newly merged, whatever its state or its date says.
        lost: present now, absent then.
        unclear: told for one of the two and not for the other.
    """

    merged: tuple[Ref, ...] = ()
    lost: tuple[Ref, ...] = ()
    unclear: tuple[Ref, ...] = ()


def between(current: Contents, candidate: Contents) -> Crossing:
    """Everything that either pin was judged on, in order."""
    refs = sorted({*current, *candidate})
    pairs = {ref: (_content(ref, current), _content(ref, candidate)) for ref in refs}
    return Crossing(
        tuple(ref for ref, (now, then) in pairs.items() if now in _NOT_THERE and then is Content.PRESENT),
        tuple(ref for ref, pair in pairs.items() if pair == (Content.PRESENT, Content.ABSENT)),
        tuple(ref for ref, pair in pairs.items() if _is_unclear(*pair)),
    )


def _is_unclear(now: Content, then: Content) -> bool:
    """One of them is neither yes nor no, and the other is."""
    vague = {Content.CHANGED, Content.UNKNOWN}
    return (now in vague) != (then in vague)


def _content(ref: Ref, contents: Contents) -> Content:
    return contents[ref].content if ref in contents else Content.UNKNOWN


def _seen(ref: Ref, contents: Contents) -> str:
    fact = contents.get(ref, ContentFact())
    return f"{ref}: {fact.content}" + (f", {fact.evidence}" if fact.evidence else "")


def _listed(refs: Sequence[Ref]) -> str:
    return ", ".join(map(str, refs))
