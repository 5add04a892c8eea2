"""Patched builds: an immutable tree for each set of patches, beside which site-packages stay as they are.

``<cache>/builds/<env>+<key>/`` is made under another name and renamed; its manifest comes last, and until then the
build does not exist. Whoever finds remains without a manifest begins anew, so a kill at any point costs time only.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from genesisd.pins import disk, lock
from genesisd.pins.build_make import Job, make
from genesisd.pins.build_manifest import Build, read_build
from genesisd.pins.errors import is_no_space
from genesisd.pins.layout import Cache, build_name
from genesisd.pins.progress import Progress, Report, Step, silent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from genesisd.pins.environment import Environment
    from genesisd.pins.recipe import Recipe


def find_build(cache_dir: Path, env_name: str, key: str) -> Build | None:
    """The finished build, or None. Reads one file, starts nothing and waits for nobody."""
    return read_build(Cache(cache_dir.absolute()), build_name(env_name, key))


@contextmanager
def hold_build(cache_dir: Path, name: str) -> Iterator[bool]:
    """Whether the finished build is there; then nobody removes it until the end of the block.

    A process that runs from the build keeps it too, once it does: hold it from finding it to that point. Waits for
    nobody, and reads nothing: a build that is just being made or removed is not there.
    """
    cache = Cache(cache_dir.absolute())
    with lock.shared_now(cache.lock(name)) as fd:
        # Its manifest is the first to go, and only under the lock: what is there now stays.
        yield fd is not None and cache.build_manifest(name).exists()


def make_build(cache_dir: Path, environment: Environment, recipe: Recipe, report: Report = silent) -> Build:
    """The build of ``recipe``, made unless it is there. Blocks for a second or two; minutes where bytecode lacks.

    The calling process must have no other threads.

    Raises:
        BuildError: the recipe does not fit the tree, the tree is not pristine, or the plugin failed.
        NoSpaceError: the disk is, or would become, full.
    """
    cache, name = Cache(cache_dir.absolute()), build_name(environment.name, recipe.key)
    # Before any lock: those who run a build hold its lock for as long as they do.
    found = read_build(cache, name)
    if found is None:
        try:
            found = _locked(cache, name, environment, recipe, report)
        except OSError as error:
            if is_no_space(error):
                raise disk.no_space(cache.root, f"build {name}") from error
            raise
    report(Progress(Step.DONE, str(found.path), 1, 1))
    return found


def _locked(cache: Cache, name: str, environment: Environment, recipe: Recipe, report: Report) -> Build:
    def waiting() -> None:
        report(Progress(Step.WAIT, f"another builder is at work on {name}"))

    with lock.shared(cache.lock(environment.name)), lock.exclusive(cache.lock(name), waiting) as fd:
        return read_build(cache, name) or make(Job(cache, name, environment, recipe, fd, report))
