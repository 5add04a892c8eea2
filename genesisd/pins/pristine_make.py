"""Make the record of a pristine tree: hash what the distribution lists, hold it against that list, mind bytecode."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genesisd.pins import atomic, bytecode, child, lock
from genesisd.pins.disk import no_space
from genesisd.pins.errors import BuildError
from genesisd.pins.install import site_packages
from genesisd.pins.pip import tool_environment
from genesisd.pins.pristine import FORMAT, Pristine, PristineFile, read_pristine, write_pristine
from genesisd.pins.progress import Progress, Step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from genesisd.pins.environment import Environment
    from genesisd.pins.layout import Cache
    from genesisd.pins.manifest import Distribution
    from genesisd.pins.progress import Report

_ANEW = "build the environment anew: remove its folder, then build the pin"


def pristine_of(cache: Cache, environment: Environment, report: Report) -> Pristine:
    """The record of ``environment``, made unless it is there: seconds, once.

    Raises:
        BuildError: the tree is not what the distribution lists, so there is nothing pristine to build from.
        NoSpaceError: the disk is full.
    """
    found = _current(cache, environment)
    if found is not None:
        return found
    with lock.exclusive(cache.lock(f"{environment.name}+pristine"), lambda: None) as fd:
        return _current(cache, environment) or _make(cache, environment, fd, report)


def hash_file(path: Path) -> PristineFile:
    """What the record holds of a file; a link is followed. Raises OSError."""
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return PristineFile(digest, status.st_size, status.st_mtime_ns)


def _current(cache: Cache, environment: Environment) -> Pristine | None:
    record = read_pristine(cache, environment.name)
    built_at = environment.manifest.built_at
    return record if record is not None and record.environment_built_at == built_at else None


def _make(cache: Cache, environment: Environment, fd: int, report: Report) -> Pristine:
    report(Progress(Step.PRISTINE, f"recording the pristine tree of {environment.name}"))
    packages, own = site_packages(environment.path).absolute(), cache.pristine_bytecode(environment.name)
    engine = _distribution(environment, environment.manifest.pin["package"])
    files = {one.path: _hash(packages, one) for one in _listed(environment, engine, packages)}
    answer = _ask(cache, environment, packages, own, [name for name in files if name.endswith(".py")], fd)
    report(Progress(Step.PRISTINE, f"bytecode: {len(answer['sound'])} sound, {len(answer['made'])} made anew"))
    files |= {name: hash_file(packages / name) for name in answer["sound"]}
    files |= {name: hash_file(own / name) for name in answer["made"]}
    if answer["made"]:
        atomic.sync_filesystem(own)
    named = _distribution(environment, "vllm")
    about = {key: answer[key] for key in ("python", "magic", "tag")} | {"version": named.version}
    record = Pristine(
        FORMAT, environment.name, environment.manifest.built_at, packages, own, **about,
        metadata=named.record, files=files, made=frozenset(answer["made"]),
    )  # fmt: skip
    write_pristine(cache, record)
    return record


@dataclass(frozen=True, slots=True)
class _Listed:
    path: str
    sha256: str


def _distribution(environment: Environment, name: str) -> Distribution:
    for one in environment.manifest.distributions:
        if one.name == name:
            return one
    hint = "vLLM looks itself up as 'vllm': give the pin a 'shim' of that name" if name == "vllm" else _ANEW
    raise BuildError(f"environment {environment.name} holds no distribution called {name!r}", hint=hint)


def _listed(environment: Environment, engine: Distribution, packages: Path) -> Iterator[_Listed]:
    record = packages / engine.record / "RECORD"
    if not record.is_file() or atomic.sha256_of(record) != engine.record_sha256:
        raise BuildError(f"{record} is not the list that {environment.name} was built with", hint=_ANEW)
    with record.open(newline="") as file:
        for path, digest, _size in csv.reader(file):
            if digest.startswith("sha256=") and _is_engine(path):
                yield _Listed(path, digest.removeprefix("sha256="))


def _is_engine(path: str) -> bool:
    """The package, and the folder of libraries that its own libraries look for beside it."""
    top, _, rest = path.partition("/")
    return (top == "vllm" or top.endswith(".libs")) and "__pycache__" not in rest


def _hash(packages: Path, one: _Listed) -> PristineFile:
    path = packages / one.path
    try:
        found = hash_file(path)
    except OSError as error:
        leads = f" (a link to {path.readlink()})" if path.is_symlink() else ""
        raise BuildError(f"{path}{leads} is no file: {error.strerror}", hint=_ANEW, path=one.path) from error
    wanted = base64.urlsafe_b64decode(one.sha256 + "=" * (-len(one.sha256) % 4)).hex()
    if found.sha256 != wanted:
        facts = {"path": one.path, "found": found.sha256, "expected": wanted}
        message = f"{path} is not pristine: SHA-256 is {found.sha256}, its distribution lists {wanted}"
        raise BuildError(message, hint=_ANEW, **facts)
    return found


def _ask(cache: Cache, environment: Environment, packages: Path, own: Path, sources: list[str], fd: int) -> Any:
    """Have the environment's Python look at its bytecode; what a killed builder made here goes first."""
    for left in cache.pristines.glob(f".{environment.name}.json.*"):
        left.unlink()
    for left in cache.pristines.glob(f".trash-{own.name}-*"):
        shutil.rmtree(left)
    atomic.discard(own)
    own.mkdir(parents=True)
    job = own / "job.json"
    job.write_text(json.dumps({"packages": str(packages), "own": str(own), "sources": sources}))
    argv = (str(environment.python), "-I", str(Path(bytecode.__file__)), str(job))
    ended = child.run(argv, env=tool_environment(own), keep_fd=fd)
    if any("No space left" in line for line in ended.lines):
        raise no_space(cache.root, f"bytecode for {environment.name}")
    if ended.code != 0 or not ended.lines:
        said = ended.lines[-1] if ended.lines else f"exit status {ended.code}"
        raise BuildError(f"{environment.python} could not look at its bytecode: {said}", hint=_ANEW)
    job.unlink()
    shutil.rmtree(own / "tmp")
    return json.loads(ended.lines[-1])
