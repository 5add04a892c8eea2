"""What a probe says. A probe that could not ask is not a 'no': that is what ``unknown`` is for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Verdict(StrEnum):
    """The answers. ``unknown``: could not ask. ``skipped``: the worker lacks what the probe asks about."""

    SUCCESS = "success"
    FAILURE = "failure"
    UNKNOWN = "unknown"
    SKIPPED = "skipped"


class Stage(StrEnum):
    """What a probe decides about."""

    STARTUP = "startup"
    READINESS = "readiness"
    LIVENESS = "liveness"
    CORRECTNESS = "correctness"
    """Whether what it answers is right; the judge draws the consequences."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request of a probe and what came back, fit for an incident: the words are the probe's own, never a user's.

    Attributes:
        path: what was asked, such as ``/v1/chat/completions``.
        request: the body, as JSON.
        status: HTTP status, or 0 before a head came.
        text: the answer's body, or the joined events of a stream; cut at ``EXCHANGE_LIMIT`` characters.
        seconds: how long it took.
        prompt_tokens, completion_tokens: by the server's count; 0 where it told none.
    """

    path: str
    request: Mapping[str, object]
    status: int = 0
    text: str = ""
    seconds: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0


EXCHANGE_LIMIT = 16_000
"""Characters of an answer that are kept."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One ask's result.

    Attributes:
        verdict: what it means.
        summary: one sentence for people: what was found, and what was expected.
        evidence: the facts behind it (pids, counters, statuses), fit for JSON.
        seconds: how long the ask took.
        exchanges: what was asked and answered, those that led to the verdict first.
    """

    verdict: Verdict
    summary: str
    evidence: Mapping[str, object] = field(default_factory=dict)
    seconds: float = 0.0
    exchanges: tuple[Exchange, ...] = ()

    @property
    def tokens(self) -> int:
        """What the ask cost: prompt and completion tokens of all its exchanges."""
        return sum(one.prompt_tokens + one.completion_tokens for one in self.exchanges)


def success(summary: str, **evidence: object) -> Outcome:
    """It is as it should be."""
    return Outcome(Verdict.SUCCESS, summary, evidence)


def failure(summary: str, **evidence: object) -> Outcome:
    """It was asked, and it is not as it should be."""
    return Outcome(Verdict.FAILURE, summary, evidence)


def unknown(summary: str, **evidence: object) -> Outcome:
    """It could not be asked, or the answer proves nothing."""
    return Outcome(Verdict.UNKNOWN, summary, evidence)


def skipped(summary: str, **evidence: object) -> Outcome:
    """The worker lacks what is asked about; the summary says what."""
    return Outcome(Verdict.SKIPPED, summary, evidence)
