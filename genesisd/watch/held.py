"""What pins have of a pull request, over all pins that count. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from packaging.version import Version

from genesisd.versions import parse_version
from genesisd.watch.model import Content, Lineage, PinFacts, Pull, Rung, State

IN_HISTORY = frozenset({Lineage.ANCESTOR, Lineage.CHERRY_PICKED, Lineage.REVERTED})
CURRENT = "current"
CANDIDATE = "candidate"
ROLLBACK = "rollback"


def counted(pins: Iterable[PinFacts]) -> tuple[PinFacts, ...]:
    """The pins that play a part; all of them where none does."""
    pins = tuple(pins)
    return tuple(pin for pin in pins if pin.slots) or pins


def having(pins: Iterable[PinFacts], content: Content) -> tuple[PinFacts, ...]:
    """The pins, of those that count, where the verdict on content is ``content``."""
    return tuple(pin for pin in counted(pins) if pin.content.content is content)


def served(pins: Iterable[PinFacts]) -> tuple[PinFacts, ...]:
    """The current pin, or where nobody says which that is, all that count."""
    pins = counted(pins)
    return tuple(pin for pin in pins if CURRENT in pin.slots) or pins


def lost(pull: Pull | None, pins: Iterable[PinFacts]) -> tuple[PinFacts, ...]:
    """The pins that had the pull request's content and have it no more.

    Either its merge is in the pin's history and its content not in the files, or the pin before it has the content:
    the rollback pin's next is the current one, and the current one's the candidate. Where somebody went back, the pin
    of that part is the newer one, and nothing fell out.
    """
    if pull is None or pull.state is not State.MERGED:
        return ()
    pins = counted(pins)
    had = having(pins, Content.PRESENT)
    return tuple(pin for pin in having(pins, Content.ABSENT) if _fell_out(pin, had))


def remembered(
    pull: Pull | None, now: Iterable[PinFacts], before: Iterable[PinFacts], *, unmarked: Collection[str] = ()
) -> tuple[PinFacts, ...]:
    """The facts of ``now``, and where nothing could be seen for once, what was seen ``before`` of the same pin.

    Neither a pin's files nor a merged diff change any more, so that the older verdict holds; without it, a night on
    which the diffs cannot be had would close what is asked of people and ask for something else. What is not merged
    has the same diff as long as its head is the same; with another it is unknown. ``unmarked`` are pins that were looked
    into without markers of it: what only markers told, and people took out of their file, is not told any more.
    """
    if pull is None:
        return tuple(now)
    old = {pin.pin: pin for pin in before if pull.state is State.MERGED or pin.head == pull.head is not None}
    return tuple(_recalled(pin, old[pin.pin], unmarked) if pin.pin in old else pin for pin in now)


def _recalled(now: PinFacts, before: PinFacts, unmarked: Collection[str]) -> PinFacts:
    taken_out = before.content.rung is Rung.MARKERS and now.pin in unmarked
    unseen = now.content.content is Content.UNKNOWN and not taken_out
    # A pin that has it is not collided with, which tells nothing of one that by other signs has it not.
    apart = Content.PRESENT not in {before.content.content, now.content.content}
    return replace(
        now,
        content=before.content if unseen else now.content,
        lineage=before.lineage if now.lineage.lineage is Lineage.UNKNOWN else now.lineage,
        collisions=before.collisions if now.collisions is None and (unseen or apart) else now.collisions,
    )


def ids(pins: Iterable[PinFacts]) -> tuple[str, ...]:
    """Their names."""
    return tuple(pin.pin for pin in pins)


def ahead(pins: Iterable[PinFacts]) -> tuple[PinFacts, ...]:
    """Those that are not behind the current pin: what the rollback pin alone has, no pin to come need have."""
    return tuple(pin for pin in pins if set(pin.slots) != {ROLLBACK})


def _fell_out(pin: PinFacts, had: Iterable[PinFacts]) -> bool:
    return pin.lineage.lineage in IN_HISTORY or any(_comes_before(one, pin) for one in had)


def _comes_before(one: PinFacts, pin: PinFacts) -> bool:
    following = {ROLLBACK: CURRENT, CURRENT: CANDIDATE}
    if not any(following.get(slot) in pin.slots for slot in one.slots):
        return False
    older, newer = _version(one), _version(pin)
    return older is None or newer is None or older <= newer


def _version(pin: PinFacts) -> Version | None:
    try:
        return parse_version(pin.of.partition(" ")[0])
    except ValueError:
        return None
