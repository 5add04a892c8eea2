"""``genesisctl patches gc``: remove the builds that nobody needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from genesisd.cli import exits
from genesisd.cli.commands import Verb
from genesisd.cli.text import Cell
from genesisd.patchtool.needs import lived, newest, proven, wanted
from genesisd.patchtool.tool import Tool
from genesisd.patchtool.trees import configuration
from genesisd.patchtool.verifying import known_builds
from genesisd.pins.build_gc import collect_builds, own_size
from genesisd.pins.gc import Collected
from genesisd.pins.layout import Cache

if TYPE_CHECKING:
    from genesisd.config.root import Config

KEEP = 3


@dataclass(frozen=True, slots=True)
class Gone:
    """What was removed: a build, or something else that lay there."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Stays:
    """A build that was kept, who needs it, and what its own files take."""

    name: str
    why: str
    bytes: int


@click.command(
    "gc",
    cls=Verb,
    examples="""
    genesisctl patches gc --dry-run
    genesisctl patches gc --keep 1
    """,
)
@click.option("--dry-run", is_flag=True, help="Remove nothing, and say what would be removed.")
@click.option(
    "--keep",
    metavar="N",
    type=click.IntRange(min=0),
    default=KEEP,
    show_default=True,
    help="Builds of each pin that stay, the newest first.",
)
@click.option("--config", metavar="FILE", help="The configuration. [default: the running daemon's]")
@click.option("--cache", metavar="DIR", help="Where builds are kept, instead of the configuration's.")
@click.pass_obj
def collect(tool: Tool, keep: int, config: str | None, cache: str | None, *, dry_run: bool) -> int:
    """Remove the builds that nobody needs, and records of pins that are gone.

    A build stays while a process runs from it, while the daemon says that a worker runs it, when a worker of the
    configuration would be started with it now, or was proven right with it and may be taken back to it, and as one of
    the newest of its pin. With --cache alone no configuration is read. What a later start lacks is made again, in a
    second or two.
    """
    found = None if cache is not None and config is None else configuration(tool, config)
    folder = _folder(cache, found)
    place = Cache(folder.absolute())
    starts = wanted(tool, found) if found is not None else {}
    good = proven(found) if found is not None else {}
    needed = {**newest(known_builds(folder), keep), **good, **starts, **lived(tool)}
    collected = collect_builds(folder, keep=needed, dry_run=dry_run)
    gone, remains = _gone(place, collected)
    _tell(tool, gone, remains, _stays(place, needed, collected), dry_run=dry_run)
    return exits.OK


def _folder(cache: str | None, config: Config | None) -> Path:
    if cache is not None:
        return Path(cache).expanduser()
    assert config is not None  # noqa: S101 - without --cache it was read
    return config.paths.cache_dir


def _gone(place: Cache, collected: Collected) -> tuple[list[Gone], list[Gone]]:
    """Builds, with what lay about of them added up; and all else, by its path."""
    builds: dict[str, int] = {}
    remains = []
    for one in collected.removed:
        if one.path.parent == place.builds and not one.path.name.startswith("."):
            name = one.path.name.removesuffix(".json")
            builds[name] = builds.get(name, 0) + one.bytes
        else:
            remains.append(Gone(str(one.path), one.bytes))
    return [Gone(*one) for one in sorted(builds.items())], remains


def _stays(place: Cache, needed: Mapping[str, str], collected: Collected) -> list[Stays]:
    why = {name: text for name, text in needed.items() if place.build(name).is_dir()}
    why |= {one.path.name: one.reason for one in collected.kept}
    paths = {name: place.build(name) for name in why}
    return [Stays(name, why[name], own_size(path) if path.is_dir() else 0) for name, path in sorted(paths.items())]


def _tell(tool: Tool, gone: list[Gone], remains: list[Gone], stays: list[Stays], *, dry_run: bool) -> None:
    total = sum(one.bytes for one in (*gone, *remains))
    if tool.json:
        went = {"removed": list(map(asdict, gone)), "remains": list(map(asdict, remains))}
        tool.answer_json({"dry_run": dry_run, **went, "kept": list(map(asdict, stays)), "bytes": total})
        return
    verdict = "would be removed" if dry_run else "removed"
    rows = [_row(one.name, Cell(verdict, "yellow"), "nobody needs it", one.bytes) for one in gone]
    rows += [_row(one.name, Cell(verdict, "yellow"), "left over, or its pin is gone", one.bytes) for one in remains]
    rows += [_row(one.name, Cell("kept", "green"), one.why, one.bytes) for one in stays]
    if rows:
        tool.table(("BUILD", "VERDICT", "WHY", "BYTES"), rows)
    tool.note(f"{'to be freed' if dry_run else 'freed'}: {total / 2**20:.1f} MiB")


def _row(name: str, verdict: Cell, why: str, size: int) -> list[Cell]:
    return [Cell(name, "bold"), verdict, Cell(why), Cell(str(size))]
