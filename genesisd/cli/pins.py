"""``genesisctl pins``: what engine versions there are, and building their environments."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import click

from genesisd.cli import exits
from genesisd.cli.child import pass_through
from genesisd.cli.commands import LateGroup, Verb
from genesisd.cli.session import Session, usage
from genesisd.cli.text import Cell
from genesisd.errors import GenesisError

SYSTEM_CONFIG = "/etc/genesisd/genesisd.yaml"

pins = LateGroup(
    "pins",
    help="The engine versions of the pins file, and their environments.",
    examples="genesisctl pins list\ngenesisctl pins build cpu-0.32.0",
)


@pins.command("list", cls=Verb, examples="genesisctl pins list")
@click.pass_obj
def list_pins(session: Session) -> int:
    """The pins, and which are built."""
    with session.client() as client:
        found = client.pins()
    if session.json:
        session.answer_json({"pins": found})
    elif found:
        session.table(("ID", "PACKAGE", "VERSION", "SLOTS", "BUILT", "PATH"), [_row(pin) for pin in found])
    else:
        session.note("no pins: the configuration names no pins file")
    return exits.OK


def _row(pin: dict[str, Any]) -> list[Cell]:
    built = Cell("yes", "green") if pin["built"] else Cell("no", "dim")
    slots = ",".join(pin["slots"])
    return [Cell(pin["id"], "bold"), Cell(pin["package"]), Cell(pin["version"]), Cell(slots), built, Cell(pin["path"] or "-")]  # fmt: skip


@pins.command("build", cls=Verb, examples="genesisctl pins build cpu-0.32.0\ngenesisctl pins build ID --config FILE")
@click.argument("pin", metavar="ID")
@click.option("--config", "config_file", metavar="FILE", help="Configuration that names the pins file and the cache. [default: the running daemon's]")  # fmt: skip
@click.option("--pins", "pins_file", metavar="FILE", help="Pins file, instead of the configuration's.")
@click.option("--cache", metavar="DIR", help="Where environments are kept, instead of the configuration's.")
@click.pass_obj
def build(session: Session, pin: str, config_file: str | None, pins_file: str | None, cache: str | None) -> int:
    """Build a pin's environment, or take up a build that broke off.

    Works without the daemon. Exits as the build does: 10 an index did not answer, 11 no such pin or
    version, 12 no space.
    """
    if pins_file is None or cache is None:
        told_pins, told_cache = _configured(session, config_file)
        pins_file, cache = pins_file or told_pins, cache or told_cache
    if pins_file is None:
        raise usage("the configuration names no pins file", "say --pins FILE")
    progress = "json" if session.json else "human"
    argv = [sys.executable, "-P", "-m", "genesisd.pins.build", pins_file, pin, "--cache", cache, "--progress", progress]
    return pass_through(argv)


def _configured(session: Session, config_file: str | None) -> tuple[str | None, str]:
    """Pins file and cache folder by the configuration. Loading it needs pydantic, so it is not a plain import."""
    path = Path(config_file or daemons_config(session))
    config = importlib.import_module("genesisd.config.root").load(path)
    return config.pins and str(config.pins), str(config.paths.cache_dir)


def daemons_config(session: Session) -> str:
    """The configuration of the running daemon, else the system's place for one."""
    try:
        with session.client(2.0) as client:
            path: str = client.status()["daemon"]["config_path"]
    except GenesisError:
        return SYSTEM_CONFIG
    return path
