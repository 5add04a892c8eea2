"""Hung or busy? Decided from what was seen, without any input or output.

Hung: for a whole window nothing moved while something was owed, a fresh canary included. The canary is the last
word because every other sign of an owed request can lie: a client that does not read its answer keeps a request
in flight on an idle engine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from genesisd.probes.metrics import Values, moved
from genesisd.probes.model import Verdict


class Canary(StrEnum):
    """How the newest canary stands."""

    NONE = "none"
    WAITING = "waiting"
    ANSWERED = "answered"
    REFUSED = "refused"
    """The API server answered, but not with a completion: it proves nothing about the engine."""
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the engine.

    Attributes:
        values: /metrics, or None if it could not be read.
        unanswered: requests that the front or /load says are owed an answer.
        certain: the front says so; /load also counts answers that a client does not read.
        owed_for: seconds that the oldest of them is known to wait.
        answered: the front's count of completed requests, or None.
        canary: the newest canary's standing; ``canary_age`` is the seconds since it was sent.
        own: a canary began or was withdrawn since /metrics was last read, which moves gauges by itself.
    """

    at: float
    values: Values | None = None
    unanswered: int = 0
    certain: bool = False
    owed_for: float = 0.0
    answered: int | None = None
    canary: Canary = Canary.NONE
    canary_age: float = 0.0
    own: bool = False

    @property
    def owed(self) -> bool:
        """Whether anything waits for the engine."""
        return self.unanswered > 0 or self.canary in (Canary.WAITING, Canary.UNREACHABLE)

    @property
    def waits(self) -> float:
        """Seconds that it is known to wait."""
        return max(self.owed_for, self.canary_age if self.canary in (Canary.WAITING, Canary.UNREACHABLE) else 0.0)


@dataclass(frozen=True, slots=True)
class History:
    """What all looks of one life add up to.

    Attributes:
        last: the newest look.
        values: the newest /metrics that could be read.
        moved_at: when something last moved; the first look counts.
        still: seconds that nothing moved while something was owed.
        slowest: the longest such stillness that ended in movement: a step of this engine on this machine.
        proven: tokens were made in this life, so that first-use compilation is behind it.
        doubtful: the window last began again by gauges that the canary itself may have moved.
    """

    last: Look | None = None
    values: Values | None = None
    answered: int | None = None
    moved_at: float = 0.0
    still: float = 0.0
    slowest: float = 0.0
    proven: bool = False
    doubtful: bool = False

    def seen(self, look: Look, cap: float) -> History:
        """With one more look. A gap of more than ``cap`` seconds since the last one counts for nothing.

        The daemon or the whole machine stood still in between: time in which nobody looked is no proof.
        """
        last = self.last
        if last is None:
            return self._noted(look, moved_at=look.at)
        gap = look.at - last.at
        gap = gap if gap <= cap else 0.0
        stillness = self.still + gap if last.owed else min(look.waits, gap)
        if self._moved(last, look):
            slowest = max(self.slowest, stillness) if last.owed else self.slowest
            return self._noted(look, moved_at=look.at, still=0.0, slowest=slowest, doubtful=False)
        if self._may_have_moved(look):
            return self._noted(look, still=0.0, doubtful=True)
        return self._noted(look, still=stillness if look.owed else 0.0)

    def _moved(self, last: Look, look: Look) -> bool:
        if look.canary is Canary.ANSWERED and last.canary is not Canary.ANSWERED:
            return True
        if look.answered is not None and self.answered is not None and look.answered != self.answered:
            return True
        if look.values is None or self.values is None:
            return False
        return moved(self.values, look.values, tokens_only=look.own)

    def _may_have_moved(self, look: Look) -> bool:
        """Gauges moved as a canary came or went: good for one more window, not for one after each canary."""
        if not look.own or self.doubtful or look.values is None or self.values is None:
            return False
        return moved(self.values, look.values)

    def _noted(self, look: Look, **changes: Any) -> History:
        values = look.values if look.values is not None else self.values
        made = look.canary is Canary.ANSWERED or (values is not None and values.generation > 0)
        return replace(
            self,
            last=look,
            values=values,
            answered=look.answered if look.answered is not None else self.answered,
            proven=self.proven or made,
            **changes,
        )


@dataclass(frozen=True, slots=True)
class Window:
    """How long stillness may last, in seconds.

    Attributes:
        base: at the least.
        factor: and never less than this many times the slowest step seen.
        warmup: and never less than this before the life made its first token.
    """

    base: float
    factor: float = 3.0
    warmup: float = 120.0

    def seconds(self, history: History) -> float:
        """The window for this engine as it is known by now."""
        length = max(self.base, self.factor * history.slowest)
        return length if history.proven else max(length, self.warmup)


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict and its one sentence."""

    verdict: Verdict
    summary: str


def decide(history: History, now: float, window: Window) -> Decision:
    """Whether the engine hangs, as far as the looks up to ``now`` can tell."""
    last, length = history.last, window.seconds(history)
    if last is None:
        return Decision(Verdict.UNKNOWN, "not looked yet")
    if history.still >= length:
        charge = _charge(history, last, length)
        if _convicts(history, last, length):
            return Decision(Verdict.FAILURE, charge)
        return Decision(Verdict.UNKNOWN, f"{charge}; no fresh canary has confirmed it")
    if last.values is None:
        return Decision(Verdict.UNKNOWN, "/metrics could not be read")
    if history.still > 0:
        return Decision(
            Verdict.SUCCESS, f"nothing moved for {history.still:.1f} s of the {length:.1f} s that it may take"
        )
    return Decision(Verdict.SUCCESS, f"moved {now - history.moved_at:.1f} s ago")


def wants_canary(history: History, now: float, period: float, window: Window) -> bool:
    """Whether a canary should be sent (in place of an older one, if that still waits)."""
    last = history.last
    if last is None:
        return False
    if last.canary is Canary.WAITING:
        # It waited while others moved, so it may be lost rather than starving: a fresh one decides.
        return not _fresh(history, last) and history.still >= window.seconds(history) / 2
    rested = now - history.moved_at >= period
    return rested and (last.canary is Canary.NONE or last.canary_age >= period)


def _fresh(history: History, last: Look) -> bool:
    return last.at - last.canary_age >= history.moved_at - 1e-6


def _convicts(history: History, last: Look, length: float) -> bool:
    if last.canary is Canary.WAITING:
        return _fresh(history, last) and last.canary_age >= length / 2
    # Where nothing is owed the stillness is 0: a refused canary that is to convict has users beside it.
    return last.canary is Canary.UNREACHABLE or (last.canary is Canary.REFUSED and last.certain)


def _charge(history: History, last: Look, length: float) -> str:
    whom = f"{last.unanswered} requests" if last.unanswered else "a canary"
    blind = "; /metrics does not answer either" if last.values is None else ""
    return f"nothing moved for {history.still:.1f} s (limit {length:.1f} s) while {whom} waited{blind}"
