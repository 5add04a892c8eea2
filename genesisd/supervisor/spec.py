"""What an operator declares about a worker. Edges only: the state machine sees ``model.Policy``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from genesisd.patches.spec import PatchesSpec
from genesisd.probes.spec import CORRECTNESS, ProbesSpec
from genesisd.units import ByteSize, Duration, HostPort, SpecModel

WorkerName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$")]
SCRATCH = "scratch-"
"""Begins the names of workers that experiments start; no other worker may be called so."""


def _no_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("holds a NUL byte, which no argument and no variable can")
    return text


def _variable(name: str) -> str:
    if not name or "=" in name:
        raise ValueError("is no name of a variable: expected one without '=', such as VLLM_LOGGING_LEVEL")
    return name


Argument = Annotated[str, AfterValidator(_no_nul)]
Variable = Annotated[str, AfterValidator(_no_nul), AfterValidator(_variable)]


class BackoffSpec(SpecModel):
    """Delay before restart n: nothing for the first, then ``initial * factor**(n-2)``, at most ``max``."""

    initial: Duration = 1.0
    factor: float = Field(default=2.0, ge=1, allow_inf_nan=False)
    max: Duration = 60.0


class RestartSpec(SpecModel):
    """Restart intensity: more than ``budget`` unrequested restarts within ``window`` seconds is a failure."""

    budget: int = Field(default=5, ge=0)
    window: Duration = Field(default=600.0, gt=0)
    backoff: BackoffSpec = BackoffSpec()


class StartSpec(SpecModel):
    """A start may take ``deadline`` seconds without progress and ``cap`` in all."""

    deadline: Duration = Field(default=300.0, gt=0)
    cap: Duration = Field(default=3600.0, gt=0)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.cap < self.deadline:
            raise ValueError("start.cap must not be below start.deadline")
        return self


class StopSpec(SpecModel):
    """Drain for at most ``drain`` seconds, then SIGTERM, then SIGKILL after ``grace`` seconds."""

    drain: Duration = 30.0
    grace: Duration = Field(default=10.0, gt=0)


class FrontSpec(SpecModel):
    """The stable address in front of the worker."""

    enabled: bool = True
    hold: Duration = 30.0
    """Seconds a new request may wait for a worker before it gets 503 with Retry-After."""
    max_held: int = Field(default=512, ge=0)
    """Requests held at once; more are refused with 503."""


class LogSpec(SpecModel):
    """Rotation of the worker's output, done by its shim."""

    max_bytes: ByteSize = Field(default=16 << 20, ge=4096)
    keep: int = Field(default=4, ge=0)


class WorkerFields(SpecModel):
    """What may be said of a worker, by itself or by the layers that it is built on."""

    pin: str | None = None
    """Id of a pin in the pins file. Exactly one of ``pin`` and ``command`` is set."""
    command: tuple[Argument, ...] | None = Field(default=None, min_length=1)
    """An argv of one's own; {port}, {host} and {worker} are filled in."""
    runner: Literal["local"] = "local"
    model: str | None = None
    """Path or repository of the model; ``demo:tiny`` is the model that comes with the project."""
    served_model_name: str | None = None
    args: tuple[Argument, ...] = ()
    """Further ``vllm serve`` flags, passed through as they are."""
    env: dict[Variable, Argument] = Field(default_factory=dict)
    listen: HostPort | None = None
    """The public address. With the front off it is the engine's own."""
    engine_port: int | None = Field(default=None, gt=0, lt=65536)
    """The engine's own port behind the front; chosen freely when absent."""
    front: FrontSpec = FrontSpec()
    gpus: tuple[int, ...] = ()
    """Indices of the cards that the worker owns while it lives; reserved, one worker a card."""
    share_gpus: bool = False
    """Allow other workers with ``share_gpus`` on the same cards."""
    vram_free: float = Field(default=0.9, ge=0, le=1)
    """Share of each card's memory that must be free before a spawn."""
    after: tuple[WorkerName, ...] = ()
    """Start only once these are ready, if they are wanted; stop before them."""
    requires: tuple[WorkerName, ...] = ()
    """As ``after``, and stop when one of them stops for good."""
    autostart: bool = True
    start: StartSpec = StartSpec()
    stop: StopSpec = StopSpec()
    restart: RestartSpec = RestartSpec()
    probes: ProbesSpec = ProbesSpec()
    log: LogSpec = LogSpec()
    cwd: Path | None = None
    patches: PatchesSpec = PatchesSpec()
    """What is to be made of the patches that ``env`` switches on."""


class WorkerSpec(WorkerFields):
    """One supervised vLLM server."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.pin is None) == (self.command is None):
            raise ValueError("set exactly one of 'pin' and 'command'")
        if self.command is not None and not self.command[0]:
            raise ValueError("the first part of 'command' is empty: it names the program")
        if self.pin is not None and self.model is None:
            raise ValueError("a worker with a 'pin' needs a 'model'")
        return self


def probes_of(spec: WorkerFields) -> ProbesSpec:
    """The probes of a worker, with the kinds of its correctness stage written out.

    What a command of one's own answers is nobody's to guess, so it is asked only what it lists.
    """
    if spec.probes.correctness is not None:
        return spec.probes
    return spec.probes.model_copy(update={"correctness": () if spec.pin is None else CORRECTNESS})
