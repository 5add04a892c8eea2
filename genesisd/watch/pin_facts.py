"""What pins have of pull requests, kept between sweeps for those who ask then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from genesisd.watch.model import AnchorFact, ContentFact, LineageFact, Pin, PinFacts, Pull
from genesisd.watch.ports import Appraisal, Facts
from genesisd.watch.refs import Ref, parse_ref

KIND = "pin-facts"
PINS = "pins"
"""Kind of the note that holds the pins of the newest sweep."""
ANCHORS = "anchors"
"""Kind of the notes that hold how our patches stand, by the identity of a pin."""
_FACTS = TypeAdapter(tuple[PinFacts, ...])
_PINS = TypeAdapter(tuple[Pin, ...])
_ANCHORS = TypeAdapter(tuple[AnchorFact, ...])


def joined(
    ref: Ref,
    pull: Pull | None,
    pins: Sequence[Pin],
    history: Mapping[tuple[Ref, str], LineageFact],
    seen: Appraisal,
) -> tuple[PinFacts, ...]:
    """The facts about ``ref``, a pin each; what was not looked at is unknown."""
    return tuple(
        PinFacts(
            pin=pin.id,
            slots=pin.slots,
            lineage=history.get((ref, pin.id), LineageFact()),
            content=seen.content.get((ref, pin.id), ContentFact()),
            collisions=seen.collisions.get((ref, pin.id)),
            of=pin.identity,
            head=None if pull is None else pull.head,
        )
        for pin in pins
    )


def of_pins(found: Mapping[Ref, tuple[PinFacts, ...]], pins: Sequence[Pin]) -> dict[Ref, tuple[PinFacts, ...]]:
    """Only what is known of ``pins``, with the parts that they play now.

    Of a pin that has another version under its old id nothing is known: what the old one had proves nothing.
    """
    now = {(pin.id, pin.identity): pin.slots for pin in pins}
    return {
        ref: tuple(replace(one, slots=now[one.pin, one.of]) for one in facts if (one.pin, one.of) in now)
        for ref, facts in found.items()
    }


async def keep(facts: Facts, found: Mapping[Ref, tuple[PinFacts, ...]]) -> None:
    """Take them for what is known now."""
    await facts.note(KIND, {str(ref): _FACTS.dump_python(one, mode="json") for ref, one in found.items()})


async def kept(facts: Facts) -> dict[Ref, tuple[PinFacts, ...]]:
    """What the newest sweeps found; what an older version wrote in another form is left out."""
    return {ref: found for text, one in (await facts.recall(KIND)).items() for ref, found in _read(text, one)}


def read(one: Any) -> tuple[PinFacts, ...]:
    """What is kept of one pull request; nothing where it cannot be read."""
    try:
        return _FACTS.validate_python(one or (), strict=False)
    except ValidationError:
        return ()


async def keep_pins(facts: Facts, pins: Sequence[Pin]) -> None:
    """Take them for the pins there are."""
    await facts.note(PINS, {"last": _PINS.dump_python(tuple(pins), mode="json")})


async def last_pins(facts: Facts) -> tuple[Pin, ...]:
    """The pins of the newest sweep that could tell: for a night on which the pins file is broken."""
    try:
        return _PINS.validate_python((await facts.recall(PINS, ("last",))).get("last", ()), strict=False)
    except ValidationError:
        return ()


async def anchors(facts: Facts, pins: Sequence[Pin], seen: Sequence[AnchorFact]) -> tuple[AnchorFact, ...]:
    """``seen``, and of the pins that could not be looked into for once what was seen of the same files before."""
    found = {pin.id: tuple(one for one in seen if one.pin == pin.id) for pin in pins}
    fresh = {pin.identity: _ANCHORS.dump_python(found[pin.id], mode="json") for pin in pins if found[pin.id]}
    if fresh:
        await facts.note(ANCHORS, fresh)
    blind = [pin for pin in pins if not found[pin.id]]
    before = await facts.recall(ANCHORS, [pin.identity for pin in blind])
    for pin in blind:
        found[pin.id] = _recalled(before.get(pin.identity), pin)
    return tuple(one for pin in pins for one in found[pin.id])


def _recalled(kept_: Any, pin: Pin) -> tuple[AnchorFact, ...]:
    try:
        return tuple(replace(one, pin=pin.id) for one in _ANCHORS.validate_python(kept_ or (), strict=False))
    except ValidationError:
        return ()


def _read(text: str, one: Any) -> list[tuple[Ref, tuple[PinFacts, ...]]]:
    try:
        return [(parse_ref(text), _FACTS.validate_python(one, strict=False))]
    except (ValidationError, ValueError):
        return []
