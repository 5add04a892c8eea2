"""What an operator declares about probes. A new kind adds one class here and one file in ``kinds/``.

Those that judge answers are in ``correctness_spec``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from genesisd.probes.correctness_spec import (
    CORRECTNESS,
    AcceptanceProbe,
    CorrectnessSpec,
    CostSpec,
    CreepProbe,
    DegenerationProbe,
    EngagementProbe,
    GoldenProbe,
    JudgeSpec,
    KeepAliveProbe,
    LatencyProbe,
    LogprobDriftProbe,
    NeedleProbe,
    PrefixCacheProbe,
    ReasoningProbe,
    StructuredOutputProbe,
    TokenizerProbe,
    ToolCallsProbe,
)
from genesisd.probes.spec_base import Action, CorrectnessProbe, ProbeBase
from genesisd.units import ByteSize, Duration, SpecModel

__all__ = [
    "CORRECTNESS", "AcceptanceProbe", "Action", "CorrectnessProbe", "CorrectnessSpec", "CostSpec", "CreepProbe",
    "DegenerationProbe", "EngagementProbe", "GoldenProbe", "JudgeSpec", "KeepAliveProbe", "LatencyProbe",
    "LogprobDriftProbe", "NeedleProbe", "PrefixCacheProbe", "ProbeBase", "ProbeSpec", "ProbesSpec", "ReasoningProbe",
    "StructuredOutputProbe", "TokenizerProbe", "ToolCallsProbe",
]  # fmt: skip


class HttpProbe(ProbeBase):
    """GET a path on the engine's own address and compare the status."""

    kind: Literal["http"] = "http"
    path: str = "/health"
    status: int = 200


class ProcessProbe(ProbeBase):
    """The worker's tree is complete and runs: state T, Z or X of a member is a failure at once."""

    kind: Literal["process"] = "process"
    period: Duration = Field(default=1.0, gt=0)
    failures: int = Field(default=1, ge=1)


class PortOwnerProbe(ProbeBase):
    """Every listener of the engine's port belongs to the worker's tree."""

    kind: Literal["port-owner"] = "port-owner"
    failures: int = Field(default=1, ge=1)


class GenerationProbe(ProbeBase):
    """A whole completion: finish reason and token count by the deadline."""

    kind: Literal["generation"] = "generation"
    period: Duration = Field(default=30.0, gt=0)
    timeout: Duration = Field(default=30.0, gt=0)
    prompt: str = "Hello"
    max_tokens: int = Field(default=4, ge=1)
    min_tokens: int = Field(default=1, ge=1)


class ProgressProbe(ProbeBase):
    """Something moves while requests are unanswered: token counters, KV use, running or waiting."""

    kind: Literal["progress"] = "progress"
    period: Duration = Field(default=1.0, gt=0)
    window: Duration = Field(default=10.0, gt=0)
    """Seconds in which nothing moved before the engine counts as hung."""
    slowest_step_factor: float = Field(default=3.0, ge=1)
    """The window never drops below this many times the slowest step seen."""
    warmup: Duration = 120.0
    """The window never drops below this before the first token: first use may compile for a minute."""
    canary_period: Duration = Field(default=2.0, gt=0)
    """Seconds without movement after which one token is asked for, so that an idle engine's hang is found too."""
    jitter: float = Field(default=0.0, ge=0, le=1)
    """None by default: the time to find a hang counts in whole periods."""
    failures: int = Field(default=1, ge=1)
    response_limit: ByteSize = 4 << 20
    """Largest /metrics answer that is read, in bytes."""


class AttestationProbe(ProbeBase):
    """Every process of the engine runs the build: its reports say so. Workers with patches have it unasked."""

    kind: Literal["attestation"] = "attestation"
    period: Duration = Field(default=2.0, gt=0)
    failures: int = Field(default=1, ge=1)
    grace: Duration = 30.0
    """Seconds that a process may live without having reported."""


ProbeSpec = Annotated[
    HttpProbe | ProcessProbe | PortOwnerProbe | GenerationProbe | ProgressProbe | AttestationProbe | CorrectnessSpec,
    Field(discriminator="kind"),
]


class ProbesSpec(SpecModel):
    """The stages. Startup gates the others; readiness gates traffic; liveness orders a restart.

    Correctness is weighed by the judge. None stands for ``CORRECTNESS`` where the worker has a pin, else for nothing.
    """

    startup: tuple[ProbeSpec, ...] = (HttpProbe(period=0.5, timeout=2, failures=1),)
    readiness: tuple[ProbeSpec, ...] = (PortOwnerProbe(), GenerationProbe())
    liveness: tuple[ProbeSpec, ...] = (ProcessProbe(), ProgressProbe())
    correctness: tuple[Annotated[CorrectnessSpec, Field(discriminator="kind")], ...] | None = None
    casebook: Path | None = None
    """File of the questions that the kinds ask; the project's own general one when absent."""
    cost: CostSpec = CostSpec()
    judge: JudgeSpec = JudgeSpec()
