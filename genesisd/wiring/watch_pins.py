"""The pins as the watch sees them: those that play a part, each with the folder of its untouched files."""

from __future__ import annotations

from pathlib import Path

from genesisd.pins.catalog import load_pins
from genesisd.pins.environment import find_environment
from genesisd.pins.install import site_packages
from genesisd.pins.slots import slots_of
from genesisd.pins.spec import PinSpec
from genesisd.pins.trees import find_tree
from genesisd.watch.model import Pin


def watched_pins(pins_file: Path | None, cache: Path) -> tuple[Pin, ...]:
    """Every pin with a slot, in the order of the file; none where no pins file is configured. Blocks.

    Raises:
        ConfigError: the pins file cannot be used.
    """
    if pins_file is None:
        return ()
    pins = load_pins(pins_file)
    held = {pin.id: slots_of(pins, pin.id) for pin in pins.pins.values()}
    return tuple(_watched(pin, held[pin.id], cache) for pin in pins.pins.values() if held[pin.id])


def _watched(pin: PinSpec, slots: tuple[str, ...], cache: Path) -> Pin:
    """Its files are the environment's own packages, which nobody writes, else the tree that was fetched for looking."""
    environment = find_environment(pin, cache)
    if environment is not None:
        tree, python = str(site_packages(environment.path)), str(environment.python)
    else:
        tree, python = str(find_tree(pin.package, pin.version, cache) or ""), ""
    return Pin(id=pin.id, version=pin.version, commit=pin.commit, slots=slots, tree=tree, python=python)
