"""From a worker's spec to an argv, an environment and folders of its own.

Everything that vLLM, torch and Triton would scatter over a home folder goes into folders of the worker, which are
emptied for each incarnation: two incarnations never share a half-written cache, and nothing is left behind.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from genesisd.config.paths import TMPDIR_LIMIT, Paths
from genesisd.config.root import PortRange
from genesisd.errors import ConfigError, NotFoundError, UnavailableError
from genesisd.supervisor.ports import Launch, Life
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.gates import engine_address, is_free
from genesisd.wiring.models import DEMO

INHERITED = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "CUDA_HOME", "SSL_CERT_FILE", "HTTPS_PROXY", "NO_PROXY")
"""What a worker takes over from the daemon; everything else is said in its ``env``."""


ATTEST = "attest"
"""The scratch folder in which the processes of a patched engine report."""
_PLUGINS = "VLLM_PLUGINS"
LATE_SECONDS = 2.0
"""What a request gets that came between the end of the drain and SIGTERM."""


@dataclass(frozen=True, slots=True)
class Engine:
    """An environment that is ready to run.

    Attributes:
        executable: its ``vllm`` command.
        drains: whether ``vllm serve`` knows ``--shutdown-timeout`` (0.18 and later).
    """

    executable: Path
    drains: bool


@dataclass(frozen=True, slots=True)
class Patches:
    """What patches change about a launch.

    Attributes:
        environ: the worker's own environment, as its policy leaves it.
        build: folder of the patched build, or None for the plain pin.
    """

    environ: Mapping[str, str]
    build: Path | None


class Engines(Protocol):
    """Where environments come from."""

    def engine(self, pin: str) -> Engine:
        """Raises NotFoundError for an unknown pin, UnavailableError for one that is not built."""
        ...


class SpecLauncher:
    """Implements ``Launcher``."""

    def __init__(
        self,
        specs: Callable[[], Mapping[str, WorkerSpec]],
        paths: Paths,
        ports: Callable[[], PortRange],
        engines: Engines,
        models: Callable[[str], Path | None],
        lives: Callable[[str], Life | None],
        patches: Callable[[str, int], Awaitable[Patches | None]],
    ) -> None:
        self._specs = specs
        self._paths = paths
        self._ports = ports
        self._engines = engines
        self._models = models
        self._lives = lives
        self._patches = patches
        self._taken: dict[str, int] = {}

    async def prepare(self, worker: str, incarnation: int) -> Launch:
        """Everything that one incarnation is started with."""
        spec = self._specs()[worker]
        host, port = engine_address(spec)
        if port is None:
            port = self._choose_port(worker, host)
        folders = self._folders(worker)
        env = self._environment(worker, incarnation, spec, folders)
        patches = await self._patches(worker, incarnation)
        env |= spec.env if patches is None else _patched(patches, folders[ATTEST])
        return Launch(
            worker=worker,
            incarnation=incarnation,
            argv=self._argv(worker, spec, host, port),
            env=env,
            cwd=spec.cwd or self._paths.state_dir / "workers" / worker,
            host=host,
            port=port,
            scratch=tuple(folders.values()),
            log_max_bytes=spec.log.max_bytes,
            log_keep=spec.log.keep,
        )

    def _choose_port(self, worker: str, host: str) -> int:
        """A free one of the range; the last one first, since nobody else was given it."""
        ports = self._ports()
        others = set().union(*(self._ports_of(name) for name in self._specs() if name != worker))
        last: int = self._taken.get(worker, ports.first)
        candidates: list[int] = [last, *range(ports.first, ports.last + 1)]
        for port in candidates:
            if port not in others and ports.first <= port <= ports.last and is_free(host, port):
                self._taken[worker] = port
                return port
        raise UnavailableError(
            f"no port from {ports} is free on {host}", hint="widen daemon.port_range, or end what holds them"
        )

    def _ports_of(self, worker: str) -> set[int]:
        """What it uses or was promised: an adopted worker that still starts does not listen yet."""
        life = self._lives(worker)
        known = (self._taken.get(worker), self._specs()[worker].engine_port, None if life is None else life.port)
        return {port for port in known if port is not None}

    def _folders(self, worker: str) -> dict[str, Path]:
        own = self._paths.state_dir / "workers" / worker / "scratch"
        tmp = self._paths.worker_tmp(worker)
        if len(str(tmp)) > TMPDIR_LIMIT:
            raise ConfigError(
                f"the TMPDIR of worker {worker} would be {tmp}, longer than {TMPDIR_LIMIT} characters",
                hint="set daemon.runtime_dir to a shorter path: vLLM's sockets must fit below it",
            )
        return {"tmp": tmp, **{name: own / name for name in ("cache", "config", "triton", ATTEST)}}

    def _environment(
        self, worker: str, incarnation: int, spec: WorkerSpec, folders: Mapping[str, Path]
    ) -> dict[str, str]:
        cache, config = folders["cache"], folders["config"]
        env = {name: os.environ[name] for name in INHERITED if name in os.environ}
        env |= {
            "HOME": str(config),
            "TMPDIR": str(folders["tmp"]),
            "XDG_CACHE_HOME": str(cache),
            "XDG_CONFIG_HOME": str(config),
            "VLLM_CACHE_ROOT": str(cache / "vllm"),
            "VLLM_CONFIG_ROOT": str(config / "vllm"),
            "TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor"),
            "TRITON_CACHE_DIR": str(folders["triton"]),
            # Weights are worth keeping: they live beside the environments, not in the worker's own cache.
            "HF_HOME": os.environ.get("HF_HOME", str(self._paths.cache_dir / "huggingface")),
            "VLLM_NO_USAGE_STATS": "1",
            "DO_NOT_TRACK": "1",
            "PYTHONUNBUFFERED": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "VLLM_PROCESS_NAME_PREFIX": f"genesis:{worker}:{incarnation}",
        }
        if spec.gpus:
            env["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
            env["CUDA_VISIBLE_DEVICES"] = ",".join(str(index) for index in spec.gpus)
        return env

    def _argv(self, worker: str, spec: WorkerSpec, host: str, port: int) -> tuple[str, ...]:
        if spec.command is not None:
            fields = {"port": str(port), "host": host, "worker": worker}
            return tuple(_fill(part, fields) for part in spec.command)
        assert spec.pin is not None  # noqa: S101 - the spec's validator holds this
        assert spec.model is not None  # noqa: S101
        engine = self._engines.engine(spec.pin)
        model = self._model(spec.model)
        argv = [str(engine.executable), "serve", model, "--host", host, "--port", str(port)]
        argv += ["--served-model-name", spec.served_model_name or worker]
        if not _given(spec.args, "--enable-server-load-tracking"):
            argv.append("--enable-server-load-tracking")
        if engine.drains and spec.stop.drain > 0 and not _given(spec.args, "--shutdown-timeout"):
            # SIGTERM comes after the drain, so this covers only what slipped in beside the front. An idle vLLM uses
            # the whole of it up at its end, so more would make each stop slower and save nothing.
            argv += [
                "--shutdown-timeout",
                str(max(1, round(min(spec.stop.drain, spec.stop.grace * 0.8, LATE_SECONDS)))),
            ]
        return (*argv, *spec.args)

    def _model(self, name: str) -> str:
        if not name.startswith(DEMO):
            return name
        path = self._models(name.removeprefix(DEMO))
        if path is None:
            raise NotFoundError(f"there is no model {name}", hint="the project's own model is demo:tiny")
        return str(path)


def reports_of(paths: Paths, worker: str) -> Path:
    """Where the processes of the worker's newest life report."""
    return paths.state_dir / "workers" / worker / "scratch" / ATTEST


def _patched(patches: Patches, reports: Path) -> Mapping[str, str]:
    """The worker's own environment; with a build, so that it is found before the pin's own packages."""
    if patches.build is None:
        return patches.environ
    if os.pathsep in str(patches.build):  # Python would look in two places, neither of which is the build
        raise ConfigError(
            f"the build lies in {patches.build}, and PYTHONPATH cannot name a path with {os.pathsep!r} in it",
            hint=f"set daemon.cache_dir to a path without {os.pathsep!r}",
        )
    environ = dict(patches.environ)
    environ["PYTHONPATH"] = os.pathsep.join([str(patches.build), *filter(None, [environ.get("PYTHONPATH")])])
    environ["GENESIS_ATTEST_DIR"] = str(reports)
    if _PLUGINS in environ:  # a list of those that may be loaded, which leaves out all others
        environ[_PLUGINS] = ",".join([*filter(None, environ[_PLUGINS].split(",")), "genesisd_attest"])
    return environ


def _given(args: tuple[str, ...], flag: str) -> bool:
    return any(arg == flag or arg.startswith(flag + "=") for arg in args)


def _fill(part: str, fields: Mapping[str, str]) -> str:
    """``{port}`` and friends; other braces are the command's own (JSON in a flag)."""
    for name, value in fields.items():
        part = part.replace("{" + name + "}", value)
    return part
