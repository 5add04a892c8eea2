"""``genesisctl patches verify``: whether builds still are what was built."""

from __future__ import annotations

import difflib
from dataclasses import asdict
from pathlib import Path

import click

from genesisd.cli import exits
from genesisd.cli.commands import Verb
from genesisd.cli.text import Cell
from genesisd.errors import NotFoundError
from genesisd.patches.verdicts import Verdict
from genesisd.patchtool.tool import Tool
from genesisd.patchtool.trees import configuration
from genesisd.pins.build_gc import remove_build
from genesisd.pins.build_manifest import Build, read_build
from genesisd.pins.build_verify import verify_build
from genesisd.pins.gc import Kept, Removed
from genesisd.pins.layout import Cache


@click.command(
    "verify",
    cls=Verb,
    examples="""
    genesisctl patches verify
    genesisctl patches verify 1f0c3b5a7d9e --deep
    genesisctl patches verify --remove
    """,
)
@click.argument("name", metavar="[BUILD]", required=False)
@click.option("--deep", is_flag=True, help="Read every file, not only those that look changed.")
@click.option("--remove", is_flag=True, help="Remove builds that differ, so that the next start makes them anew.")
@click.option("--config", metavar="FILE", help="The configuration. [default: the running daemon's]")
@click.option("--cache", metavar="DIR", help="Where builds are kept, instead of the configuration's.")
@click.pass_obj
def verify(tool: Tool, name: str | None, config: str | None, cache: str | None, *, deep: bool, remove: bool) -> int:
    """Compare builds with what their manifests say; exits with 10 when a file is not as it was built.

    BUILD is a name or its key, the digits after the plus; without it all builds are looked at. With --remove, a build
    that differs is removed; one that is in use stays, and the exit status is 5.
    """
    folder = Path(cache).expanduser() if cache else configuration(tool, config).paths.cache_dir
    builds = _chosen(folder, name)
    found = [(build, verify_build(build, folder, deep=deep)) for build in builds]
    wrong = [build for build, faults in found if faults]
    ended = [remove_build(folder, build.name) for build in wrong] if remove else []
    kept = {one.path.name: one.reason for one in ended if isinstance(one, Kept)}
    status = exits.CONFLICT if kept else exits.FOUND if wrong else exits.OK
    if tool.json:
        told = {build.name: [asdict(fault) for fault in faults] for build, faults in found}
        removed = [one.path.name for one in ended if isinstance(one, Removed)]
        tool.answer_json({"ok": not wrong, "deep": deep, "builds": told, "removed": removed, "kept": kept})
        return status
    if found:
        tool.table(("BUILD", "PATCHES", "VERDICT"), [_row(build, len(faults)) for build, faults in found])
    else:
        tool.note(f"no builds in {folder}")
    for build, faults in found:
        for fault in faults:
            tool.answer(f"{build.key}: {fault}")
    for one in ended:
        tool.answer(_ended(one))
    if wrong and not remove:
        tool.note("hint: genesisctl patches verify --remove removes what differs; the next start makes it anew")
    return status


def known_builds(folder: Path) -> list[Build]:
    """The finished builds in the cache ``folder``, by name."""
    cache = Cache(folder.absolute())
    known = sorted(file.stem for file in cache.builds.glob("*.json"))
    return [build for one in known if (build := read_build(cache, one)) is not None]


def _chosen(folder: Path, name: str | None) -> list[Build]:
    builds = known_builds(folder)
    if name is None:
        return builds
    found = [build for build in builds if name in {build.name, build.key}]
    if not found:
        names = [build.name for build in builds]
        near = difflib.get_close_matches(name, [*names, *(build.key for build in builds)], n=1)
        hint = f"did you mean {near[0]}?" if near else f"builds: {', '.join(names) or 'none'}"
        raise NotFoundError(f"no build {name!r} in {folder}", hint=hint, build=name)
    return found


def _ended(one: Removed | Kept) -> str:
    if isinstance(one, Kept):
        return f"{one.path.name}: not removed: {one.reason}; stop its worker first"
    return f"{one.path.name}: removed; the next start that needs it makes it anew"


def _row(build: Build, faults: int) -> list[Cell]:
    applied = [name for name, one in build.manifest.notes["patches"].items() if one["verdict"] == Verdict.APPLIED]
    verdict = Cell(f"{faults} files differ", "red") if faults else Cell("as built", "green")
    return [Cell(build.name, "bold"), Cell(", ".join(applied)), verdict]
