"""What a probe says. A probe that could not ask is not a 'no': that is what ``unknown`` is for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Verdict(StrEnum):
    """The three answers."""

    SUCCESS = "success"
    FAILURE = "failure"
    UNKNOWN = "unknown"


class Stage(StrEnum):
    """What a probe decides about."""

    STARTUP = "startup"
    READINESS = "readiness"
    LIVENESS = "liveness"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One ask's result.

    Attributes:
        verdict: what it means.
        summary: one sentence for people: what was found, and what was expected.
        evidence: the facts behind it (pids, counters, statuses), fit for JSON.
        seconds: how long the ask took.
    """

    verdict: Verdict
    summary: str
    evidence: Mapping[str, object] = field(default_factory=dict)
    seconds: float = 0.0


def success(summary: str, **evidence: object) -> Outcome:
    """It is as it should be."""
    return Outcome(Verdict.SUCCESS, summary, evidence)


def failure(summary: str, **evidence: object) -> Outcome:
    """It was asked, and it is not as it should be."""
    return Outcome(Verdict.FAILURE, summary, evidence)


def unknown(summary: str, **evidence: object) -> Outcome:
    """It could not be asked, or the answer proves nothing."""
    return Outcome(Verdict.UNKNOWN, summary, evidence)
