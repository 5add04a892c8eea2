"""Whether patches do anything: being there is not being used. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from genesisd.attest.report import Report


class Use(StrEnum):
    """What is known of a patch's use in one life."""

    ENGAGED = "engaged"
    SKIPPED = "skipped"
    """It was reached, and stood aside each time."""
    NEVER = "never"
    """Requests were served, and it was not reached."""
    UNASKED = "unasked"
    """No request has been served yet."""
    NO_PROOF = "no_proof"
    """It declares no proof of life: nothing can be said."""


@dataclass(frozen=True, slots=True)
class Engagement:
    """One patch.

    Attributes:
        hits: how often its proof of life was seen, over all processes that live.
        skips: how often it stood aside, by reason.
        requests: how many were served meanwhile.
    """

    patch: str
    use: Use
    hits: int
    skips: Mapping[str, int]
    requests: int

    @property
    def summary(self) -> str:
        """One clause for people."""
        match self.use:
            case Use.ENGAGED:
                return f"engaged {self.hits} times"
            case Use.SKIPPED:
                told = ", ".join(f"{reason} ({count})" for reason, count in sorted(self.skips.items()))
                return f"stood aside: {told}"
            case Use.NEVER:
                return f"never engaged in {self.requests} requests"
            case Use.UNASKED:
                return "no request yet"
            case Use.NO_PROOF:
                return "declares no proof of life"


def engagements(
    patches: Iterable[str], proven: Collection[str], reports: Sequence[Report], requests: int
) -> tuple[Engagement, ...]:
    """One for each patch, sorted by id.

    Args:
        patches: those of the build.
        proven: those that declare a proof of life.
        reports: of the life's living processes.
        requests: served in this life.
    """
    return tuple(_engagement(patch, patch in proven, reports, requests) for patch in sorted(patches))


def _engagement(patch: str, proven: bool, reports: Sequence[Report], requests: int) -> Engagement:
    hits = sum(one.hits.get(patch, 0) for one in reports)
    skips: dict[str, int] = {}
    for one in reports:
        for reason, count in one.skips.get(patch, {}).items():
            skips[reason] = skips.get(reason, 0) + count
    skips = {reason: count for reason, count in skips.items() if count}
    return Engagement(patch, _use(hits, skips, requests, proven), hits, skips, requests)


def _use(hits: int, skips: Mapping[str, int], requests: int, proven: bool) -> Use:
    if hits:
        return Use.ENGAGED
    if skips:
        return Use.SKIPPED
    if not proven:
        return Use.NO_PROOF
    return Use.NEVER if requests else Use.UNASKED
