"""Restart intensity and back-off: a sliding window over times that are passed in. Pure.

The shape is that of OTP's supervisor: more than ``budget`` restarts within ``window`` seconds and the worker is
given up. The first restart of a window is immediate; the n-th waits ``initial * factor**(n-2)``.
"""

from __future__ import annotations

from dataclasses import dataclass

from genesisd.supervisor.model import Policy


@dataclass(frozen=True, slots=True)
class Admission:
    """A restart that the budget allows.

    Attributes:
        restarts: the window with this restart in it.
        delay: seconds to wait before the spawn.
    """

    restarts: tuple[float, ...]
    delay: float


def within(restarts: tuple[float, ...], at: float, policy: Policy) -> tuple[float, ...]:
    """The restarts that still count at ``at``."""
    return tuple(time for time in restarts if time > at - policy.window)


def admit(restarts: tuple[float, ...], at: float, policy: Policy) -> Admission | None:
    """Spend one restart, or None when the budget is spent."""
    recent = within(restarts, at, policy)
    if len(recent) >= policy.budget:
        return None
    return Admission((*recent, at), delay(len(recent) + 1, policy))


def delay(nth: int, policy: Policy) -> float:
    """Seconds before the ``nth`` restart (1-based) of a window."""
    if nth <= 1:
        return 0.0
    wait = min(policy.backoff_initial, policy.backoff_max)
    # Capped at each step: a power would overflow a float long after the cap was reached.
    for _ in range(nth - 2):
        wait = min(wait * policy.backoff_factor, policy.backoff_max)
    return wait
