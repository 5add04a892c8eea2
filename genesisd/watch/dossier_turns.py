"""Which dossiers are made after a sweep, in what order, and when it has made enough of them. Pure.

A behaviour case may take minutes, and a first night, or a bump, may ask for dozens: the report waits for no more than
``BUDGET``. What came to nothing goes behind what was not tried as often, so that none keeps the others from their turn.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from genesisd.watch.decisions import DecisionKind, KeptDecision, Standing, Urgency
from genesisd.watch.refs import Ref

Wish = tuple[str, Ref, str]
"""A patch, a pull request and a pin."""
BUDGET = 900.0
"""Seconds of one sweep in which dossiers are begun; the one that goes on then is finished."""
_NAMED = 5


def in_turn(kept: Iterable[KeptDecision], made: Collection[Wish], vain: Mapping[Wish, int]) -> tuple[Wish, ...]:
    """What open retire candidates ask for and is not made, what serves first; ``vain`` tells how often each failed."""
    asking = [one for one in kept if one.standing is Standing.OPEN]
    asking = [one for one in asking if one.decision.kind is DecisionKind.RETIRE_CANDIDATE]
    asking.sort(key=lambda one: list(Urgency).index(one.decision.urgency))
    wishes = dict.fromkeys(
        (patch, one.decision.ref, pin) for one in asking for patch in one.decision.patches for pin in one.decision.pins
    )
    return tuple(sorted((one for one in wishes if one not in made), key=lambda one: vain.get(one, 0)))


def may_begin(spent: float) -> bool:
    """Whether a sweep that spent so many seconds on dossiers begins another."""
    return spent < BUDGET


def left_over(wishes: Sequence[Wish]) -> str:
    """One sentence about those that are left, and how to have one sooner."""
    named = ", ".join(f"{patch} against {ref} on {pin}" for patch, ref, pin in wishes[:_NAMED])
    more = f" and {len(wishes) - _NAMED} more" if len(wishes) > _NAMED else ""
    count = f"{len(wishes)} dossiers are" if len(wishes) > 1 else "1 dossier is"
    return (
        f"{count} left for the next sweeps, after {BUDGET / 60:.0f} min with others: {named}{more} "
        "(genesisctl watch diff PR makes one at once)"
    )
