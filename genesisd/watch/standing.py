"""What becomes of decisions that were made before, now that they are made again or not. Pure: the store keeps it.

Opened: a new one. Again: asked still, and answered or not as before. Passed: the facts no longer ask for it. Reopened:
it had passed, a snooze is over, or what it was to be revisited for came true.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from genesisd.watch.decisions import QUIET, Decision, KeptDecision, Standing

ANSWERED = frozenset({Standing.ACCEPTED, Standing.DECLINED, Standing.SNOOZED})
True_ = Callable[[str], bool]
"""Whether a predicate is known to be true now."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """What a set of decisions changes. Of the kept ones each stands in one list, as it is to be kept from now on."""

    opened: tuple[Decision, ...] = ()
    again: tuple[KeptDecision, ...] = ()
    passed: tuple[KeptDecision, ...] = ()
    reopened: tuple[KeptDecision, ...] = ()


def meet(
    kept: Iterable[KeptDecision],
    made: Iterable[Decision],
    now: float,
    *,
    covers: Collection[str] | None,
    is_true: True_ = lambda _: False,
) -> Meeting:
    """What the decisions of one sweep do to those that were made before.

    Args:
        kept: all of them, whatever became of them.
        made: in this sweep; of two with one key the first counts.
        now: wall time.
        covers: ids of the rows that were looked at; None: all, and what no row stands for besides.
        is_true: whether a predicate of ``revisit_when`` is known to be true.
    """
    asked: dict[str, Decision] = {}
    for one in made:
        asked.setdefault(one.key, one)
    again: list[KeptDecision] = []
    passed: list[KeptDecision] = []
    reopened: list[KeptDecision] = []
    met = set()
    for old in kept:
        met.add(old.decision.key)
        new = asked.get(old.decision.key)
        if new is None:
            if _passes(old, covers, now):
                passed.append(_end(old))
            continue
        seen = replace(old, decision=new, seen=now)
        opens = _opens(old, now, is_true)
        seen = _open(seen, now) if opens else seen
        # A note that comes back is no news.
        (reopened if opens and new.kind not in QUIET else again).append(seen)
    opened = tuple(one for key, one in asked.items() if key not in met)
    return Meeting(opened, tuple(again), tuple(passed), tuple(reopened))


def revisit(kept: Iterable[KeptDecision], now: float, is_true: True_) -> tuple[KeptDecision, ...]:
    """The answered decisions that open again at once, without a sweep: our configuration or hardware changed."""
    return tuple(_open(old, now) for old in kept if old.standing in ANSWERED and _opens(old, now, is_true))


def predicates(kept: Iterable[KeptDecision]) -> tuple[str, ...]:
    """Every predicate that somebody waits for, each once."""
    return tuple(dict.fromkeys(text for old in kept if _waits(old) for text in old.revisit_when))


def answered(
    old: KeptDecision,
    standing: Standing,
    *,
    by: str,
    why: str,
    until: float | None = None,
    revisit_when: Sequence[str] = (),
) -> KeptDecision:
    """The decision with a person's answer; an earlier answer of it no longer counts.

    Raises:
        ValueError: an answer that is none, a snooze without an end, or a decision that has passed.
    """
    if standing not in ANSWERED:
        raise ValueError(f"an answer is one of {', '.join(sorted(ANSWERED))}, not {standing}")
    if old.standing is Standing.PASSED:
        raise ValueError(f"decision {old.id} has passed: the facts no longer ask for it")
    if (standing is Standing.SNOOZED) is (until is None):
        raise ValueError("a snooze has an end, and nothing else has")
    when = tuple(revisit_when) if standing is not Standing.ACCEPTED else ()
    return replace(old, standing=standing, by=by, why=why, until=until, revisit_when=when)


def _waits(old: KeptDecision) -> bool:
    return old.standing in {Standing.DECLINED, Standing.SNOOZED}


def _opens(old: KeptDecision, now: float, is_true: True_) -> bool:
    if old.standing is Standing.PASSED or _is_over(old, now):
        return True
    return _waits(old) and any(is_true(text) for text in old.revisit_when)


def _is_over(old: KeptDecision, now: float) -> bool:
    return old.standing is Standing.SNOOZED and old.until is not None and old.until <= now


def _passes(old: KeptDecision, covers: Collection[str] | None, now: float) -> bool:
    """A no outlives the facts: should they come back, the person need not give it again.

    A yes has been carried out by then. What comes back is another one of its kind, such as an anchor that was mended and
    that a later push breaks once more.
    """
    if covers is not None and old.decision.row not in covers:
        return False
    return old.standing in {Standing.OPEN, Standing.ACCEPTED} or _is_over(old, now)


def _end(old: KeptDecision) -> KeptDecision:
    return replace(old, standing=Standing.PASSED, until=None)


def _open(old: KeptDecision, now: float) -> KeptDecision:
    """Who answered before, and why, stays to be read; what it waited for has come, and is waited for no more."""
    return replace(old, standing=Standing.OPEN, opened=now, until=None, revisit_when=())
