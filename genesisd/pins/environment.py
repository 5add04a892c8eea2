"""Build the environment of a pin: resumable, atomic, and safe beside another builder.

Until its manifest is renamed into place an environment does not exist, and whoever finds one without begins it
anew from the downloads that are kept. So a kill at any point costs time, never correctness.
"""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from genesisd.pins import atomic, disk, lock
from genesisd.pins.errors import is_no_space
from genesisd.pins.fetch import fetch, paths
from genesisd.pins.inspect_env import inspect
from genesisd.pins.install import compile_all, install, make_venv, site_packages
from genesisd.pins.layout import Cache, environment_name
from genesisd.pins.manifest import Manifest, read_manifest, write_manifest
from genesisd.pins.pip import Pip
from genesisd.pins.progress import Progress, Report, Step, silent
from genesisd.pins.python import find_python
from genesisd.pins.resolve import resolve
from genesisd.pins.shim import write_shim

if TYPE_CHECKING:
    from pathlib import Path

    from genesisd.pins.fetch import Wheel
    from genesisd.pins.spec import PinSpec


@dataclass(frozen=True)
class Environment:
    """A finished environment."""

    name: str
    path: Path
    python: Path
    vllm: Path
    manifest: Manifest

    @property
    def identity(self) -> str:
        """Its name and when it was built: one that was built anew under its name has other files."""
        return f"{self.name}@{self.manifest.built_at!r}"


def find_environment(pin: PinSpec, cache_dir: Path) -> Environment | None:
    """The finished environment of ``pin``, or None. Starts nothing and waits for nobody."""
    cache, name = Cache(cache_dir.absolute()), environment_name(pin)
    manifest = read_manifest(cache.manifest(name))
    env = cache.env(name)
    if manifest is None:
        return None
    return Environment(name, env, env / "bin" / "python", env / "bin" / "vllm", manifest)


def build(pin: PinSpec, cache_dir: Path, progress: Report = silent) -> Environment:
    """The environment of ``pin``, built unless it is there. Blocks for minutes: never call it in an event loop.

    Raises:
        UnavailableError: an index did not answer; building again goes on from what was fetched.
        NotFoundError: the version, or the Python that the pin wants, does not exist.
        ConflictError: the requirements contradict each other.
        NoSpaceError: the disk is, or would become, full.
        BuildError: pip failed for another reason.
    """
    cache, name = Cache(cache_dir.absolute()), environment_name(pin)
    try:
        with lock.exclusive(cache.lock(name), lambda: _tell_wait(progress, name)) as fd:
            found = find_environment(pin, cache_dir) or _build(pin, cache, name, fd, progress)
    except OSError as error:
        if is_no_space(error):
            raise disk.no_space(cache.root, f"pin {pin.id}") from error
        raise
    progress(Progress(Step.DONE, str(found.path), 1, 1))
    return found


@dataclass(frozen=True)
class _Job:
    """One build under its lock."""

    pin: PinSpec
    cache: Cache
    name: str
    env: Path
    pip: Pip
    report: Report


def _build(pin: PinSpec, cache: Cache, name: str, fd: int, report: Report) -> Environment:
    began = time.monotonic()
    interpreter = find_python(pin.python)
    env, work = cache.env(name), cache.work(name)
    work.mkdir(parents=True, exist_ok=True)
    cache.envs.mkdir(exist_ok=True)
    disk.require(cache.root, max(0, pin.disk - disk.tree_size(work)), f"pin {pin.id}")
    job = _Job(pin, cache, name, env, Pip(env / "bin" / "python", work, fd), report)
    try:
        write_manifest(cache.manifest(name), _manifest(job, _fill(job, interpreter, fd), began))
    except BaseException:
        # Downloads stay for the next try; half an environment is of no use to anyone.
        atomic.discard(env)
        raise
    shutil.rmtree(work)
    built = find_environment(pin, cache.root)
    assert built is not None, "the manifest that was just written reads back"  # noqa: S101
    return built


def _fill(job: _Job, interpreter: Path, fd: int) -> tuple[Wheel, ...]:
    pin, pip, env, report = job.pin, job.pip, job.env, job.report
    report(Progress(Step.VENV, f"new environment of {interpreter}"))
    atomic.discard(env)
    make_venv(interpreter, env, pip.work, fd)
    wheels = fetch(pin, resolve(pin, pip, report), job.cache, pip, report)
    disk.require(job.cache.root, disk.installed_size(paths(wheels)), f"installing pin {pin.id}")
    report(Progress(Step.INSTALL, "installing", 0, len(wheels)))
    install(pin, wheels, pip, env, report)
    if pin.shim is not None:
        write_shim(pin.shim, site_packages(env))
    compile_all(pip.python, env, pip.work, fd, report)
    return wheels


def _manifest(job: _Job, wheels: tuple[Wheel, ...], began: float) -> Manifest:
    job.report(Progress(Step.CHECK, "checking what was installed"))
    python, distributions = inspect(job.pin, job.env, job.pip.work, wheels)
    os.sync()  # else the manifest may outlive the files that it vouches for in a power cut
    return Manifest(
        format=1,
        name=job.name,
        pin=job.pin.model_dump(mode="json"),
        python=python,
        built_at=time.time(),
        seconds=round(time.monotonic() - began, 1),
        bytes=disk.tree_size(job.env),
        distributions=distributions,
    )


def _tell_wait(report: Report, name: str) -> None:
    report(Progress(Step.WAIT, f"another builder is at work on {name}"))
