"""What ``genesisctl pins`` shows."""

from __future__ import annotations

from pathlib import Path

from genesisd.control.views import PinView
from genesisd.pins.catalog import load_pins
from genesisd.pins.environment import find_environment
from genesisd.pins.slots import slots_of
from genesisd.pins.spec import PinSpec


def pin_views(pins_file: Path | None, cache_dir: Path) -> tuple[PinView, ...]:
    """All pins of the file with what is built of them; none without a file. Raises ConfigError."""
    if pins_file is None:
        return ()
    pins = load_pins(pins_file)
    return tuple(_view(pin, slots_of(pins, name), cache_dir) for name, pin in pins.pins.items())


def _view(pin: PinSpec, slots: tuple[str, ...], cache_dir: Path) -> PinView:
    built = find_environment(pin, cache_dir)
    return PinView(
        id=pin.id,
        package=pin.package,
        version=pin.version,
        commit=pin.commit,
        slots=slots,
        built=built is not None,
        path=None if built is None else str(built.path),
        built_at=None if built is None else built.manifest.built_at,
    )
