"""What an operator declares about the kinds that judge answers, what they may cost, and what follows from them. Pure."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from genesisd.probes.spec_base import Action, CorrectnessProbe
from genesisd.units import ByteSize, Duration, SpecModel


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
    max_tokens: int = Field(default=40_000, ge=1)
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
    floor: int = Field(default=50_000, ge=0)
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
