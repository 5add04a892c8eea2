"""The pins with the parts they play and what the cache holds of them, as people are shown them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from genesisd.pins.environment import find_environment
from genesisd.pins.layout import Cache, environment_name

if TYPE_CHECKING:
    from pathlib import Path

    from genesisd.pins.spec import PinSpec, PinsSpec, SlotName


@dataclass(frozen=True, slots=True)
class PinView:
    """One row of ``genesisctl pins``."""

    id: str
    package: str
    version: str
    commit: str | None
    slots: tuple[SlotName, ...]
    built: bool
    bytes: int | None
    """On the disk, as of the end of the build; None until then."""
    path: Path
    """Where the environment is or would be."""


def slots_of(pins: PinsSpec, pin_id: str) -> tuple[SlotName, ...]:
    """The parts that the pin plays, in the order of the words: current, rollback, candidate, stable."""
    slots = pins.slots
    held: dict[SlotName, str | None] = {
        "current": slots.current,
        "rollback": slots.rollback,
        "candidate": slots.candidate,
        "stable": slots.stable,
    }
    return tuple(slot for slot, held_id in held.items() if held_id == pin_id)


def pin_in(pins: PinsSpec, slot: SlotName) -> PinSpec | None:
    """The pin that plays ``slot``, or None where none does."""
    pin_id: str | None = getattr(pins.slots, slot)
    return None if pin_id is None else pins.pins[pin_id]


def describe(pins: PinsSpec, cache_dir: Path) -> tuple[PinView, ...]:
    """All pins in the order of the file. Reads one small file a pin."""
    return tuple(_view(pins, pin, cache_dir) for pin in pins.pins.values())


def _view(pins: PinsSpec, pin: PinSpec, cache_dir: Path) -> PinView:
    found = find_environment(pin, cache_dir)
    return PinView(
        id=pin.id,
        package=pin.package,
        version=pin.version,
        commit=pin.commit,
        slots=slots_of(pins, pin.id),
        built=found is not None,
        bytes=found.manifest.bytes if found else None,
        path=Cache(cache_dir.absolute()).env(environment_name(pin)),
    )
