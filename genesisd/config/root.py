"""The root configuration: one YAML file and its drop-ins, checked as a whole before anything uses it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from genesisd import yamlfile
from genesisd.config.checks import Sources, check
from genesisd.config.layers import Explained, Layer, LayerName, Profile, explain_worker, layered
from genesisd.config.paths import Paths, default_dirs
from genesisd.config.probe_checks import with_casebook
from genesisd.errors import NotFoundError
from genesisd.supervisor.spec import WorkerName, WorkerSpec
from genesisd.units import Duration, HostPort, SpecModel
from genesisd.watch.spec import WatchSpec

NonEmpty = Annotated[str, StringConstraints(min_length=1)]


class PortRange(BaseModel):
    """TCP ports, written ``first-last``, both included."""

    model_config = ConfigDict(frozen=True)
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.first}-{self.last}"


def parse_port_range(value: object) -> object:
    """A PortRange from ``first-last``; raises ValueError on anything else."""
    if isinstance(value, PortRange):
        return value
    first, dash, last = value.partition("-") if isinstance(value, str) else ("", "", "")
    first, last = first.strip(), last.strip()
    if not (dash and first.isascii() and first.isdecimal() and last.isascii() and last.isdecimal()):
        raise ValueError(f"expected ports written first-last, such as 20000-20999, not {value!r}")
    if not 1024 <= int(first) <= int(last) <= 65535:
        raise ValueError("expected ports from 1024 to 65535, the smaller one first")
    return {"first": int(first), "last": int(last)}


class LoggingSpec(SpecModel):
    """The daemon's own log. ``auto``: for people on a terminal, JSON elsewhere."""

    format: Literal["auto", "json", "human"] = "auto"
    level: Literal["debug", "info", "warning", "error"] = "info"


class MetricsSpec(SpecModel):
    """The Prometheus endpoint."""

    listen: HostPort | None = None
    """Null: no endpoint."""
    passthrough: bool = False
    """Add the workers' own metrics, each with a ``worker`` label."""


class ControlSpec(SpecModel):
    """The control socket of genesisctl."""

    socket: Path | None = None
    """Default: control.sock in the runtime folder."""
    group: NonEmpty | None = None
    """Members may use the socket, besides the daemon's user and root."""


class JournalSpec(SpecModel):
    """How much history ``genesisctl events`` keeps."""

    max_rows: int = Field(default=100_000, ge=100)
    max_age: Duration = Field(default=30 * 86400.0, gt=0)


class DaemonSpec(SpecModel):
    """Settings of the daemon itself: most need a daemon restart, which workers survive."""

    state_dir: Path | None = None
    runtime_dir: Path | None = None
    cache_dir: Path | None = None
    log: LoggingSpec = LoggingSpec()
    metrics: MetricsSpec = MetricsSpec()
    control: ControlSpec = ControlSpec()
    journal: JournalSpec = JournalSpec()
    port_range: Annotated[PortRange, BeforeValidator(parse_port_range)] = PortRange(first=20000, last=20999)
    """Where the engines behind fronts listen. Below the kernel's ephemeral range, so nobody gets them by chance."""


class FileSpec(SpecModel):
    """The main file."""

    daemon: DaemonSpec = DaemonSpec()
    pins: Path | None = None
    """The pins file, relative to this one."""
    watch: WatchSpec = WatchSpec()
    models: dict[LayerName, Layer] = Field(default_factory=dict)
    hardware: dict[LayerName, Layer] = Field(default_factory=dict)
    profiles: dict[LayerName, Profile] = Field(default_factory=dict)
    workers: dict[WorkerName, WorkerSpec] = Field(default_factory=dict)


class DropInSpec(SpecModel):
    """A file in conf.d: workers only, so that the daemon's settings have one place."""

    workers: dict[WorkerName, WorkerSpec] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Config:
    """A configuration that passed every check.

    Attributes:
        file: the main file.
        daemon: as written; use ``paths`` for folders.
        paths: absolute folders, defaults filled in.
        pins: the pins file, absolute, or None.
        watch: the upstream watch, its paths absolute.
        workers: by name, in the order of the files, each put together from its layers.
        sources: the document that each worker is written in, for ``explain``.
    """

    file: Path
    daemon: DaemonSpec
    paths: Paths
    pins: Path | None
    workers: Mapping[str, WorkerSpec]
    sources: Mapping[str, yamlfile.Document] = field(default_factory=dict, compare=False, repr=False)
    watch: WatchSpec = field(default_factory=WatchSpec)


def explain(config: Config, worker: str) -> list[Explained]:
    """Every value that is written for ``worker``, with the layer that it comes from; raises NotFoundError."""
    if worker not in config.sources:
        raise NotFoundError(f"no worker {worker!r}", worker=worker)
    return explain_worker(config.sources[worker], worker)


def load(path: Path, *, environ: Mapping[str, str] | None = None, root: bool | None = None) -> Config:
    """Read ``path`` and conf.d/*.yaml beside it.

    Args:
        path: the main file.
        environ: where STATE_DIRECTORY, XDG_* and HOME come from; the process's own by default.
        root: whether FHS folders are the default; by default whether this process is root.

    Raises:
        ConfigError: with file, line and field, the first fault first; ``fields["problems"]`` lists all.
    """
    path = path.absolute()
    environ = os.environ if environ is None else environ
    root = os.geteuid() == 0 if root is None else root
    main = yamlfile.load(path)
    whole = layered(main, main)
    spec = yamlfile.validate(FileSpec, whole)
    sources = Sources(main=whole)
    workers: dict[str, WorkerSpec] = {}
    _take(sources, workers, spec.workers, whole)
    for drop_in in _drop_ins(path.parent / "conf.d"):
        document = layered(yamlfile.load(drop_in), main)
        _take(sources, workers, yamlfile.validate(DropInSpec, document).workers, document)
    paths = _paths(spec.daemon, path.parent, default_dirs(environ, root=root))
    pins = None if spec.pins is None else _from(path.parent, spec.pins)
    check(sources, workers, metrics=spec.daemon.metrics.listen, paths=paths, pins=pins)
    return Config(path, spec.daemon, paths, pins, workers, sources.workers, _watch(spec.watch, path.parent))


def _drop_ins(folder: Path) -> list[Path]:
    """In the order of their names; dot files are editors' leftovers."""
    return sorted(file for file in folder.glob("*.yaml") if not file.name.startswith("."))


def _take(
    sources: Sources, workers: dict[str, WorkerSpec], more: Mapping[str, WorkerSpec], document: yamlfile.Document
) -> None:
    for name, spec in more.items():
        if (first := sources.workers.get(name)) is not None:
            line = first.locate(("workers", name))
            raise yamlfile.fault(
                document,
                ("workers", name),
                f"this worker is defined already, in {first.path}:{line}",
                hint="rename one of them, or delete one",
            )
        sources.workers[name] = document
        book = spec.probes.casebook
        workers[name] = spec if book is None else with_casebook(spec, _from(document.path.parent, book))


def _paths(daemon: DaemonSpec, folder: Path, defaults: tuple[Path, Path, Path]) -> Paths:
    given = (daemon.state_dir, daemon.runtime_dir, daemon.cache_dir)
    state, runtime, cache = (
        default if one is None else _from(folder, one) for one, default in zip(given, defaults, strict=True)
    )
    socket = runtime / "control.sock" if daemon.control.socket is None else _from(folder, daemon.control.socket)
    return Paths(state, runtime, cache, socket)


def _watch(spec: WatchSpec, folder: Path) -> WatchSpec:
    """With each path from the file's own folder."""
    given = {name: getattr(spec, name) for name in ("watchlist", "markers", "mirror")}
    found = {name: _from(folder, path) for name, path in given.items() if path is not None}
    if (file := spec.token.file) is not None:
        token = spec.token.model_copy(update={"file": _from(folder, file)})
        return spec.model_copy(update={**found, "token": token})
    return spec.model_copy(update=found)


def _from(folder: Path, path: Path) -> Path:
    """Relative to the file that names it, since a daemon's working folder is nobody's choice."""
    try:
        return Path(os.path.normpath(folder / path.expanduser()))
    except RuntimeError:  # "~nobody-of-that-name": kept as written, and whoever opens it will say so
        return folder / path
