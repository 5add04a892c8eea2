"""The pins file: read it, find a pin in it."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from genesisd import yamlfile
from genesisd.errors import NotFoundError
from genesisd.pins.spec import PinsSpec

if TYPE_CHECKING:
    from pathlib import Path

    from genesisd.pins.spec import PinSpec


def load_pins(path: Path) -> PinsSpec:
    """The pins file at ``path``.

    Raises:
        ConfigError: with file, line and field; also for a slot that names a pin which the file lacks.
    """
    document = yamlfile.load(path)
    pins = yamlfile.validate(PinsSpec, document)
    for key, pin in pins.pins.items():
        if pin.id != key:
            raise yamlfile.fault(document, ("pins", key, "id"), f"the pin stands under {key!r}: leave 'id' out")
    for slot, pin_id in pins.slots:
        if pin_id is not None and pin_id not in pins.pins:
            raise yamlfile.fault(document, ("slots", slot), _unknown(pins, pin_id))
    return pins


def find_pin(pins: PinsSpec, pin_id: str) -> PinSpec:
    """The pin called ``pin_id``; raises NotFoundError that names the nearest."""
    try:
        return pins.pins[pin_id]
    except KeyError:
        raise NotFoundError(_unknown(pins, pin_id), pin=pin_id, known=sorted(pins.pins)) from None


def _unknown(pins: PinsSpec, pin_id: str) -> str:
    near = difflib.get_close_matches(pin_id, pins.pins, n=1)
    known = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(sorted(pins.pins)) or 'none'}"
    return f"no pin {pin_id!r}; {known}"
