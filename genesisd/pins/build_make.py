"""Make one build under its lock: link, write, have the pin's Python prepare, look once more, rename, vouch."""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import genesisd
from genesisd.pins import atomic, build_dist, disk
from genesisd.pins.build_gc import remove_remains
from genesisd.pins.build_manifest import FORMAT, Build, BuildManifest, OwnKind, write_build
from genesisd.pins.build_own import OwnFiles
from genesisd.pins.build_prepare import bytecode_of, prepare, without_digests
from genesisd.pins.build_tree import link_tree
from genesisd.pins.build_verify import check_tree
from genesisd.pins.errors import BuildError
from genesisd.pins.pristine_make import pristine_of
from genesisd.pins.progress import Progress, Report, Step
from genesisd.pins.recipe import check_recipe

if TYPE_CHECKING:
    from pathlib import Path

    from genesisd.pins.environment import Environment
    from genesisd.pins.layout import Cache
    from genesisd.pins.pristine import Pristine
    from genesisd.pins.recipe import Recipe

_FOLDER = 4096
_SLACK = 8 << 20
_BYTES_A_CHARACTER = 4
"""Of source and bytecode, generously."""


@dataclass(frozen=True)
class Job:
    """One build under its lock, which ``fd`` holds."""

    cache: Cache
    name: str
    environment: Environment
    recipe: Recipe
    fd: int
    report: Report


def make(job: Job) -> Build:
    """The build of ``job``. Raises BuildError, NoSpaceError, OSError; what was begun is removed then."""
    began = time.monotonic()
    cache, name = job.cache, job.name
    cache.builds.mkdir(parents=True, exist_ok=True)
    remove_remains(cache, name)
    pristine = pristine_of(cache, job.environment, job.report)
    check_recipe(job.recipe, pristine.files.keys())
    disk.require(cache.builds, _estimate(pristine, job.recipe), f"build {name}")
    staging = cache.builds / f".new-{name}-{os.getpid()}"
    staging.mkdir()
    try:
        manifest = _fill(job, pristine, staging, began)
        staging.rename(cache.build(name))
        atomic.sync_folder(cache.builds)
        write_build(cache, manifest)
    except BaseException:
        cache.build_manifest(name).unlink(missing_ok=True)
        for remains in (staging, cache.build(name)):
            shutil.rmtree(remains, ignore_errors=True)
        raise
    return Build(name, cache.build(name), job.recipe.key, job.environment.name, manifest)


def _fill(job: Job, pristine: Pristine, staging: Path, began: float) -> BuildManifest:
    recipe = job.recipe
    sources = [name for name in recipe.files if name.endswith(".py")]
    bytecode = [bytecode_of(name, pristine.tag) for name in (*sources, build_dist.PLUGIN_FILE)]
    job.report(Progress(Step.LINK, f"linking {len(pristine.files)} files"))
    links = link_tree(pristine, staging, {*recipe.files, *bytecode})
    job.report(Progress(Step.PATCH, f"writing {len(recipe.files)} patched files"))
    own = OwnFiles(staging)
    _write_sources(own, recipe, pristine)
    answer = prepare(job.environment.python, pristine, staging, recipe, job.fd)
    own.adopt(bytecode)
    version = _write_distributions(own, job, pristine, answer)
    manifest = BuildManifest(
        FORMAT, job.name, recipe.key, job.environment.name,
        {"vllm": version, "pristine": pristine.version, "python": pristine.python, "genesisd": genesisd.__version__},
        recipe.notes, own.listed(), pristine.digest, answer, links, 0.0, 0.0,
    )  # fmt: skip
    job.report(Progress(Step.CHECK, "checking what was built"))
    _check(Build(job.name, staging, recipe.key, job.environment.name, manifest), pristine)
    atomic.sync_filesystem(staging)  # else the manifest may outlive in a power cut what it vouches for
    return replace(manifest, seconds=round(time.monotonic() - began, 2), built_at=time.time())


def _write_sources(own: OwnFiles, recipe: Recipe, pristine: Pristine) -> None:
    for name, text in sorted(recipe.files.items()):
        kind: OwnKind = recipe.whole.get(name, "patched")
        mode = 0o644 if kind == "new" else pristine.path(name).stat().st_mode & 0o777
        own.put(name, text.encode(), kind, mode)
    own.put(build_dist.PLUGIN_FILE, recipe.plugin.read_bytes(), "plugin")


def _write_distributions(own: OwnFiles, job: Job, pristine: Pristine, answer: dict[str, Any]) -> str:
    """The version that the build gives to vLLM."""
    items = {
        "format": answer["format"],
        "build": job.name,
        "items": without_digests(answer["items"]),
        "proofs": job.recipe.proofs,
    }
    version = build_dist.build_version(pristine.version, job.recipe.key)
    engine = build_dist.engine_distribution(pristine.packages / pristine.metadata, version)
    plugin = build_dist.plugin_distribution(genesisd.__version__)
    own.put(build_dist.ITEMS_FILE, json.dumps(items, indent=1, sort_keys=True).encode(), "attest")
    of_engine = {name for name in own.contents if name.startswith("vllm/")}
    of_plugin = own.contents.keys() - of_engine
    for files, others in ((engine, of_engine), (plugin, of_plugin)):
        listed = {name: own.contents[name] for name in others} | files
        folder = next(iter(files)).partition("/")[0]
        path, content = build_dist.record(folder, listed)
        for name, text in {**files, path: content}.items():
            own.put(name, text, "dist-info")
    return version


def _check(build: Build, pristine: Pristine) -> None:
    """Neither the child nor anybody else wrote through a link meanwhile, and nothing is there that was not asked for."""
    faults = check_tree(build, pristine)
    if faults:
        more = f" and {len(faults) - 1} more" if len(faults) > 1 else ""
        raise BuildError(f"build {build.name} did not become what was asked for: {faults[0]}{more}")
    for name in build.manifest.files:
        links = (build.path / name).stat().st_nlink
        if links != 1:
            raise BuildError(f"{name} of build {build.name} has {links} names: a write to another would change it")


def _estimate(pristine: Pristine, recipe: Recipe) -> int:
    folders = len({name.rpartition("/")[0] for name in pristine.files})
    return _SLACK + folders * _FOLDER + _BYTES_A_CHARACTER * sum(map(len, recipe.files.values()))
