"""``genesisctl patches build``: make a patched build now, and not when a worker starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from genesisd.cli import exits
from genesisd.cli.commands import Verb
from genesisd.cli.session import usage
from genesisd.cli.text import Cell
from genesisd.errors import ConflictError, UnavailableError
from genesisd.patches.build_key import build_key
from genesisd.patches.model import Patch
from genesisd.patchtool.checking import COLOURS
from genesisd.patchtool.tool import Tool
from genesisd.patchtool.trees import Where, configuration, pin_of, pins_file
from genesisd.patchtool.workers import ask, planned
from genesisd.pins.build_manifest import Build
from genesisd.pins.environment import Environment, find_environment
from genesisd.pins.progress import Progress, Report
from genesisd.pins.spec import PinSpec
from genesisd.wiring.assemble import Job, assemble
from genesisd.wiring.selection import plugin_hash


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be built: on which pin, where, and which patches."""

    pin: PinSpec
    pins: Path
    cache: Path
    patches: tuple[Patch, ...]


@click.command(
    "build",
    cls=Verb,
    examples="""
    genesisctl patches build --worker main
    genesisctl patches build --pin cpu-0.32.0 --enable P61c --enable PN376
    """,
)
@click.option("--worker", "-w", metavar="NAME", help="What this worker would start with.")
@click.option("--pin", metavar="ID", help="The pin to build on.")
@click.option("--enable", metavar="ID", multiple=True, help="A patch, with all that it requires; as often as needed.")
@click.option("--config", metavar="FILE", help="The configuration. [default: the running daemon's]")
@click.option("--pins", metavar="FILE", help="Pins file, instead of the configuration's.")
@click.option("--cache", metavar="DIR", help="Where builds are kept, instead of the configuration's.")
@click.pass_obj
def build(
    tool: Tool,
    worker: str | None,
    pin: str | None,
    enable: tuple[str, ...],
    config: str | None,
    pins: str | None,
    cache: str | None,
) -> int:
    """Make a build, or find that it is there.

    The daemon makes what is missing when it starts a worker; this is for doing it ahead, and for looking at it.
    With --enable, versions and conditions of the patches are not asked.
    """
    if (worker is None) == (pin is None) or bool(enable) != (pin is not None):
        raise usage("what is to be built? Say --worker NAME, or --pin ID with --enable ID", "genesisctl patches list")
    where = Where(pin=pin, config=config, pins=pins, cache=cache)
    wanted = _of_worker(tool, worker, config) if worker is not None else _of_pin(tool, where, enable)
    if not wanted.patches:
        tool.note(f"worker {worker} runs the plain pin {wanted.pin.id}: nothing to build")
        if tool.json:
            tool.answer_json({"build": None, "pin": wanted.pin.id})
        return exits.OK
    environment = _environment(wanted)
    key = build_key(environment.identity, wanted.patches, plugin_hash())
    ids = tuple(patch.id for patch in wanted.patches)
    _tell(tool, assemble(Job(str(wanted.pins), wanted.pin.id, str(wanted.cache), key, ids), _reporter(tool)))
    return exits.OK


def _of_worker(tool: Tool, worker: str, file: str | None) -> Wanted:
    config = configuration(tool, file)
    asked = ask(config, worker)
    selection = planned(asked, tool.patches).selection
    if selection.faults:
        hint = f"genesisctl patches plan --worker {worker}"
        raise ConflictError(f"worker {worker} would not be started: {'; '.join(selection.faults)}", hint=hint)
    chosen = tuple(tool.by_id[name] for name in selection.patches)
    return Wanted(asked.pin, pins_file(config), config.paths.cache_dir, chosen)


def _of_pin(tool: Tool, where: Where, enable: Sequence[str]) -> Wanted:
    found: dict[str, Patch] = {}
    for name in enable:
        found |= {patch.id: patch for patch in tool.needed(tool.patch(name))}
    pin, cache = pin_of(tool, where)
    pins = Path(where.pins) if where.pins else pins_file(configuration(tool, where.config))
    return Wanted(pin, pins, cache, tuple(found.values()))


def _environment(wanted: Wanted) -> Environment:
    found = find_environment(wanted.pin, wanted.cache)
    if found is None:
        told = f"the pin {wanted.pin.id} is not built in {wanted.cache}"
        raise UnavailableError(told, hint=f"genesisctl pins build {wanted.pin.id}", pin=wanted.pin.id)
    return found


def _reporter(tool: Tool) -> Report:
    """A line a step: a build takes a second or two."""
    said: set[str] = set()

    def report(progress: Progress) -> None:
        if progress.step.value not in said:
            said.add(progress.step.value)
            tool.note(f"{progress.step.value}: {progress.message}")

    return report


def _tell(tool: Tool, made: Build) -> None:
    verdicts = made.manifest.notes["patches"]
    blind = made.attest["unattestable"]
    if tool.json:
        tool.answer_json(
            {
                "build": made.name,
                "path": str(made.path),
                "pin": made.environment,
                "version": made.version,
                "patches": verdicts,
                "attested": len(made.attest["items"]),
                "unattestable": blind,
            }
        )
        return
    rows = [
        [Cell(name, "bold"), Cell(one["verdict"], COLOURS.get(one["verdict"], "yellow")), Cell(one["text"])]
        for name, one in verdicts.items()
    ]
    tool.table(("ID", "VERDICT", "FOUND"), rows)
    for one in blind:
        tool.answer(f"cannot be attested: {one['path']} {one['name']}: {one['why']} ({', '.join(one['patches'])})")
    tool.answer(str(made.path))
