"""What an operator declares about probes. A new kind adds one class here and one file in ``kinds/``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from genesisd.units import ByteSize, Duration, SpecModel


class ProbeBase(SpecModel):
    """What every probe kind has in common."""

    period: Duration = Field(default=5.0, gt=0)
    """Seconds from the end of one ask to the start of the next (before jitter)."""
    timeout: Duration = Field(default=5.0, gt=0)
    """Deadline of one ask in seconds; passing it is a failure unless the kind says otherwise."""
    failures: int = Field(default=3, ge=1)
    """Consecutive failures before the probe turns bad."""
    successes: int = Field(default=1, ge=1)
    """Consecutive successes before the probe turns good."""
    jitter: float = Field(default=0.1, ge=0, le=1)
    """Share of the period by which each wait is varied."""


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


class Action(StrEnum):
    """What may at most be done about a probe that turned bad, in the order in which the judge goes up."""

    NOTE = "note"
    """Journal and status."""
    ALERT = "alert"
    """And the metric that rules watch."""
    RESTART = "restart"
    ROLLBACK = "rollback"
    """And start the last build that was good."""
    QUARANTINE = "quarantine"
    """And look for the patch that is to blame, and leave it out."""


class CorrectnessProbe(ProbeBase):
    """What the kinds that judge answers have in common.

    They are asked one at a time for each worker, when users leave room or the patience is at its end.
    """

    period: Duration = Field(default=600.0, gt=0)
    timeout: Duration = Field(default=120.0, gt=0)
    """Deadline of a whole ask. Passing it while the engine moves says nothing: users come first."""
    failures: int = Field(default=2, ge=1)
    recheck: Duration = 2.0
    """Seconds from a failure to the next ask, so that hysteresis does not cost whole periods."""
    patience: float = Field(default=0.5, ge=0, le=1)
    """Share of the period for which an ask waits for a moment without user traffic; then it is asked beside it."""
    max_tokens: int = Field(default=2000, ge=1)
    """Prompt and completion tokens that one ask may cost; cases take turns where all would cost more."""
    action: Action = Action.QUARANTINE


class GoldenProbe(CorrectnessProbe):
    """Greedy answers equal the recorded ones."""

    kind: Literal["golden"] = "golden"
    period: Duration = Field(default=60.0, gt=0)
    max_tokens: int = Field(default=200, ge=1)


class LogprobDriftProbe(CorrectnessProbe):
    """``prompt_logprobs`` of a fixed text stay within the bound that was calibrated when the golden was recorded."""

    kind: Literal["logprob-drift"] = "logprob-drift"
    period: Duration = Field(default=300.0, gt=0)
    bound: float | None = Field(default=None, gt=0)
    """Largest mean absolute difference in nats; the calibrated one when absent."""


class ToolCallsProbe(CorrectnessProbe):
    """Calls have the right name, arguments as JSON values and finish reason, streamed and whole; nothing leaks."""

    kind: Literal["tool-calls"] = "tool-calls"
    stream: tuple[bool, ...] = (True, False)
    choices: tuple[Literal["auto", "required", "named"], ...] = ("auto", "required", "named")


class StructuredOutputProbe(CorrectnessProbe):
    """Answers keep to the schema, the expression or the choice that was asked for."""

    kind: Literal["structured-output"] = "structured-output"
    forms: tuple[Literal["json_schema", "regex", "choice"], ...] = ("json_schema", "regex", "choice")


class ReasoningProbe(CorrectnessProbe):
    """The block of thoughts is closed, nothing of it leaks, over several turns."""

    kind: Literal["reasoning"] = "reasoning"


class PrefixCacheProbe(CorrectnessProbe):
    """The same prompt gives the same tokens, whether its prefix was cached or not."""

    kind: Literal["prefix-cache"] = "prefix-cache"


class KeepAliveProbe(CorrectnessProbe):
    """A connection that was kept and a fresh one give the same answer."""

    kind: Literal["keep-alive"] = "keep-alive"
    action: Action = Action.RESTART


class DegenerationProbe(CorrectnessProbe):
    """No answer that any probe saw is empty, not a number, or one thing over and over."""

    kind: Literal["degeneration"] = "degeneration"
    period: Duration = Field(default=60.0, gt=0)
    max_tokens: int = Field(default=200, ge=1)
    repeats: int = Field(default=6, ge=2)
    """How often a thing stands at the end of an answer that was cut before it is too often; ``characters`` of it in
    all, and ``share`` of the answer."""
    characters: int = Field(default=48, ge=1)
    share: float = Field(default=0.4, gt=0, le=1)


class NeedleProbe(CorrectnessProbe):
    """A fact in a long text is found again, step by step up to the context that fits."""

    kind: Literal["needle"] = "needle"
    period: Duration = Field(default=3600.0, gt=0)
    timeout: Duration = Field(default=600.0, gt=0)
    max_tokens: int = Field(default=60_000, ge=1)
    steps: tuple[int, ...] = (1_000, 4_000, 8_000, 16_000, 32_000)
    """Context lengths in tokens; those above ``--max-model-len`` are left out."""
    action: Action = Action.ALERT


class TokenizerProbe(CorrectnessProbe):
    """Token ids of fixed texts are those of the recorded tokenizer; asked at the start of a life, then daily."""

    kind: Literal["tokenizer"] = "tokenizer"
    period: Duration = Field(default=86400.0, gt=0)
    action: Action = Action.ALERT


class AcceptanceProbe(CorrectnessProbe):
    """Speculative tokens are accepted often enough, over a window of counter deltas."""

    kind: Literal["acceptance"] = "acceptance"
    period: Duration = Field(default=60.0, gt=0)
    recheck: Duration = 60.0
    """A window that is two seconds older says the same again."""
    floor: float = Field(default=0.55, ge=0, le=1)
    window: Duration = Field(default=600.0, gt=0)
    min_drafts: int = Field(default=200, ge=1)
    """Drafted tokens within the window below which nothing is said."""
    action: Action = Action.ALERT


class LatencyProbe(CorrectnessProbe):
    """Time to the first token and time per output token keep to their objectives, by the engine's own histograms."""

    kind: Literal["latency"] = "latency"
    period: Duration = Field(default=60.0, gt=0)
    recheck: Duration = 60.0
    """A window that is two seconds older says the same again."""
    window: Duration = Field(default=600.0, gt=0)
    quantile: float = Field(default=0.95, gt=0, lt=1)
    first_token: Duration | None = None
    """Objective in seconds; none when absent."""
    per_token: Duration | None = None
    min_requests: int = Field(default=20, ge=1)
    failures: int = Field(default=3, ge=1)
    action: Action = Action.ALERT


class CreepProbe(CorrectnessProbe):
    """Resident memory, card memory and KV use do not grow for hours, with a confidence bound on the slope."""

    kind: Literal["creep"] = "creep"
    period: Duration = Field(default=15.0, gt=0)
    recheck: Duration = 15.0
    """A window that is two seconds older says the same again."""
    window: Duration = Field(default=4 * 3600.0, gt=0)
    memory: ByteSize = 64 << 20
    """Bytes an hour of resident or card memory above which growth is told."""
    kv: float = Field(default=0.005, gt=0)
    """Share of the KV cache an hour."""
    confidence: float = Field(default=0.99, gt=0.5, lt=1)
    min_samples: int = Field(default=10, ge=3)
    min_span: Duration = Field(default=600.0, gt=0)
    action: Action = Action.ALERT


class EngagementProbe(CorrectnessProbe):
    """Patches that carry load and tell of their use were reached by users' requests."""

    kind: Literal["engagement"] = "engagement"
    period: Duration = Field(default=60.0, gt=0)
    action: Action = Action.ALERT


CorrectnessSpec = (
    GoldenProbe
    | LogprobDriftProbe
    | ToolCallsProbe
    | StructuredOutputProbe
    | ReasoningProbe
    | PrefixCacheProbe
    | KeepAliveProbe
    | DegenerationProbe
    | NeedleProbe
    | TokenizerProbe
    | AcceptanceProbe
    | LatencyProbe
    | CreepProbe
    | EngagementProbe
)

ProbeSpec = Annotated[
    HttpProbe | ProcessProbe | PortOwnerProbe | GenerationProbe | ProgressProbe | AttestationProbe | CorrectnessSpec,
    Field(discriminator="kind"),
]

CORRECTNESS: tuple[CorrectnessSpec, ...] = (
    TokenizerProbe(),
    GoldenProbe(),
    LogprobDriftProbe(),
    ToolCallsProbe(),
    StructuredOutputProbe(),
    ReasoningProbe(),
    PrefixCacheProbe(),
    KeepAliveProbe(),
    DegenerationProbe(),
    NeedleProbe(),
    AcceptanceProbe(),
    LatencyProbe(),
    CreepProbe(),
    EngagementProbe(),
)
"""What a worker with a pin is asked unless it says otherwise. One with a command of its own is asked what it lists."""


class CostSpec(SpecModel):
    """How much the correctness probes of a worker may take."""

    share: float = Field(default=0.01, gt=0, le=1)
    """Of the tokens that users were served, within ``window``."""
    window: Duration = Field(default=3600.0, gt=0)
    floor: int = Field(default=20_000, ge=0)
    """Tokens within ``window`` that probes may take in any case, so that an idle worker is asked too."""


class JudgeSpec(SpecModel):
    """What follows from probes that turned bad."""

    enabled: bool = True
    settle: Duration = 60.0
    """Seconds after a worker became ready before a bad probe may count against the step that was just taken."""
    good_for: Duration = 600.0
    """Seconds that every probe has to be good before the judge starts again from the lowest step."""
    budget: int = Field(default=4, ge=1)
    """Restarts, rollbacks and bisections within ``window``; after that the worker is taken out for a person."""
    window: Duration = Field(default=3600.0, gt=0)
    bisect_runs: int = Field(default=40, ge=1)
    """Starts of a scratch worker that one bisection may take."""


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
