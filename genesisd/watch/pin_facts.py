"""What pins have of pull requests, kept between sweeps for those who ask then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from genesisd.watch.model import ContentFact, LineageFact, Pin, PinFacts
from genesisd.watch.ports import Appraisal, Facts
from genesisd.watch.refs import Ref, parse_ref

KIND = "pin-facts"
_FACTS = TypeAdapter(tuple[PinFacts, ...])


def joined(
    ref: Ref, pins: Sequence[Pin], history: Mapping[tuple[Ref, str], LineageFact], seen: Appraisal
) -> tuple[PinFacts, ...]:
    """The facts about ``ref``, a pin each; what was not looked at is unknown."""
    return tuple(
        PinFacts(
            pin=pin.id,
            slots=pin.slots,
            lineage=history.get((ref, pin.id), LineageFact()),
            content=seen.content.get((ref, pin.id), ContentFact()),
            collisions=seen.collisions.get((ref, pin.id)),
        )
        for pin in pins
    )


def of_pins(found: Mapping[Ref, tuple[PinFacts, ...]], pins: Sequence[Pin]) -> dict[Ref, tuple[PinFacts, ...]]:
    """Only what is known of ``pins``, with the parts that they play now."""
    parts = {pin.id: pin.slots for pin in pins}
    return {
        ref: tuple(replace(one, slots=parts[one.pin]) for one in facts if one.pin in parts)
        for ref, facts in found.items()
    }


async def keep(facts: Facts, found: Mapping[Ref, tuple[PinFacts, ...]]) -> None:
    """Take them for what is known now."""
    await facts.note(KIND, {str(ref): _FACTS.dump_python(one, mode="json") for ref, one in found.items()})


async def kept(facts: Facts) -> dict[Ref, tuple[PinFacts, ...]]:
    """What the newest sweeps found; what an older version wrote in another form is left out."""
    return {ref: found for text, one in (await facts.recall(KIND)).items() for ref, found in _read(text, one)}


def _read(text: str, one: Any) -> list[tuple[Ref, tuple[PinFacts, ...]]]:
    try:
        return [(parse_ref(text), _FACTS.validate_python(one, strict=False))]
    except (ValidationError, ValueError):
        return []
