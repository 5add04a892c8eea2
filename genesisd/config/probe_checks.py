"""What is said about correctness probes: their casebook can be read, and no kind stands twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from genesisd.errors import ConfigError
from genesisd.probes import casebooks
from genesisd.supervisor.spec import WorkerSpec
from genesisd.yamlfile import Location


def probe_problems(spec: WorkerSpec) -> Iterator[tuple[Location, str]]:
    """Each fault with its place in the worker's part. Reads the casebook; blocks."""
    seen: set[str] = set()
    for n, probe in enumerate(spec.probes.correctness or ()):
        if probe.kind in seen:
            yield ("probes", "correctness", n), f"{probe.kind} stands twice; put what you want of both into one"
        seen.add(probe.kind)
    if (path := spec.probes.casebook) is not None and (fault := _casebook_fault(path)) is not None:
        yield ("probes", "casebook"), fault


def _casebook_fault(path: Path) -> str | None:
    try:
        casebooks.load(path)
    except ConfigError as error:
        return f"the casebook cannot be used: {error.message}"
    return None


def with_casebook(spec: WorkerSpec, path: Path) -> WorkerSpec:
    """The same with this casebook, which was written relative to a file."""
    return spec.model_copy(update={"probes": spec.probes.model_copy(update={"casebook": path})})
