"""Which builds somebody needs, and who: live workers, starts, those who may have to go back; and the newest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from genesisd.control.client import ControlError
from genesisd.errors import GenesisError, UnavailableError
from genesisd.patchtool.tool import Tool
from genesisd.patchtool.workers import ask
from genesisd.pins.build_manifest import Build
from genesisd.pins.environment import find_environment
from genesisd.pins.layout import build_name
from genesisd.store.meta import StoreReadError, peek
from genesisd.wiring.rollbacks import BACK, PROVEN
from genesisd.wiring.selection import key_of, select
from genesisd.wiring.starts import from_json

if TYPE_CHECKING:
    from genesisd.config.root import Config


def lived(tool: Tool) -> Mapping[str, str]:
    """By name of a build, the worker that runs it, as the daemon says; nothing where no daemon runs.

    Raises:
        ControlError: a daemon runs and does not tell. To guess in its place could take a build that it needs.
    """
    try:
        with tool.client() as client:
            workers = client.status()["workers"]
    except ControlError as problem:
        if problem.code != "not_running":
            raise
        tool.note("no daemon runs: what its workers run is known by their processes alone")
        return {}
    builds = {one["name"]: one["build"] for one in workers if one["build"] is not None}
    return {build["build"]: f"worker {name} runs it" for name, build in builds.items() if build["build"] is not None}


def wanted(tool: Tool, config: Config) -> Mapping[str, str]:
    """By name of a build, the worker that would be started with it now."""
    return {name: f"worker {worker} would start with it" for worker, name in _starts(tool, config)}


def proven(config: Config) -> Mapping[str, str]:
    """By name of a build, the worker that would be taken back to it, or was: what it answered once was right.

    It is read from the store, whether a daemon runs or not. Raises UnavailableError where that cannot be read: nobody
    makes such a build again, since it stands for what was configured then.
    """
    try:
        good, back = peek(config.paths.store, PROVEN), peek(config.paths.store, BACK)
    except (StoreReadError, ValueError) as error:
        text = f"which builds were proven right cannot be read from {config.paths.store}: {error}"
        raise UnavailableError(text, hint="run it as the daemon's user, or mend the store") from error
    found = [(worker, from_json(kept)) for worker, kept in good.items()]
    found += [(worker, from_json(kept.get("start"))) for worker, kept in back.items() if isinstance(kept, dict)]
    return {
        start.build: f"worker {worker} answered right with it"
        for worker, start in found
        if start is not None and start.build is not None and worker in config.workers
    }


def newest(builds: Sequence[Build], keep: int) -> Mapping[str, str]:
    """By name, the ``keep`` newest of each pin's environment: somebody may want to go back."""
    kept: dict[str, str] = {}
    for environment in {one.environment for one in builds}:
        of_it = [one for one in builds if one.environment == environment]
        of_it.sort(key=lambda one: (-one.manifest.built_at, one.name))
        kept |= {one.name: f"one of the newest {keep} of its pin" for one in of_it[:keep]}
    return kept


def _starts(tool: Tool, config: Config) -> Iterator[tuple[str, str]]:
    for worker, spec in config.workers.items():
        if spec.pin is None:
            continue
        try:
            asked = ask(config, worker)
        except GenesisError as problem:
            tool.note(f"what worker {worker} would start with is not known: {problem.message}")
            continue
        environment = find_environment(asked.pin, config.paths.cache_dir)
        if environment is None:
            tool.note(f"worker {worker} would start with no build that is here: its pin {asked.pin.id} is not built")
            continue
        selection = select(asked.spec, asked.pin.version, asked.known, tool.patches)
        key = key_of(selection, tool.patches, environment.identity)
        if key is not None:
            yield worker, build_name(environment.name, key)
