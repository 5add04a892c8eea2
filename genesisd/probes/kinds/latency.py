"""``latency``: time to the first token and time per output token keep to the operator's objectives.

By the engine's own histograms, so that every request counts and none is sent. A histogram knows counts up to its edges
only: where an objective lies between two, both bounds are weighed, and what they leave open is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import aiohttp

from genesisd.probes import metrics
from genesisd.probes.model import Outcome, Verdict, failure, skipped, success, unknown
from genesisd.probes.page import late, page
from genesisd.probes.ports import Target
from genesisd.probes.spec import LatencyProbe
from genesisd.probes.window import Window

FIRST = (b"vllm:time_to_first_token_seconds",)
EACH = (
    b"vllm:request_time_per_output_token_seconds",
    b"vllm:time_per_output_token_seconds",
    b"vllm:inter_token_latency_seconds",
)
"""The first that is there. A request's own mean comes first: the others count a step of speculation as one token."""


class Objective:
    """One objective and the window of its histogram."""

    def __init__(self, what: str, names: tuple[bytes, ...], seconds: float, spec: LatencyProbe) -> None:
        self._what, self._names, self._seconds, self._spec = what, names, seconds, spec
        self._window = Window(spec.window)
        self._edges: set[float] = set()

    def weigh(self, text: bytes, now: float) -> Outcome:
        """Take the histogram as it is now."""
        found = next((one for name in self._names if (one := metrics.buckets(text, name))), None)
        if found is None:
            return skipped(f"/metrics has no histogram of {self._what}")
        self._edges |= found.keys()
        self._window.add(now, {str(edge): count for edge, count in found.items()})
        return self._judge({edge: self._window.growth(str(edge)) for edge in sorted(self._edges)})

    def _judge(self, counts: Mapping[float, float]) -> Outcome:
        spec, total = self._spec, max(counts.values())
        facts: dict[str, object] = {"counts": {str(edge): count for edge, count in counts.items()}}
        if total < spec.min_requests:
            return unknown(f"too few: {total:.0f} values of {self._what}, {spec.min_requests} are needed", **facts)
        least = max((count for edge, count in counts.items() if edge <= self._seconds), default=0.0)
        above = min((edge for edge in counts if edge >= self._seconds), default=math.inf)
        most = counts.get(above, total)
        within = f"within {self._seconds:g} s, expected {spec.quantile:.0%} of {total:.0f}"
        if least >= spec.quantile * total:
            return success(f"{self._what}: {least / total:.1%} {within}", **facts)
        if most < spec.quantile * total:
            return failure(f"{self._what}: at most {most / total:.1%} {within}", **facts)
        edges = [f"{edge:g}" for edge in counts if edge in {above, _below(counts, self._seconds)}]
        text = f"{self._what}: between {least / total:.1%} and {most / total:.1%} {within}"
        return unknown(f"{text}; an objective of {' or '.join(edges)} s can be told exactly", **facts)


class Latency:
    """The objectives that the spec sets."""

    def __init__(self, spec: LatencyProbe, session: aiohttp.ClientSession) -> None:
        self._spec, self._session = spec, session
        wanted = (("time to the first token", FIRST, spec.first_token), ("time per token", EACH, spec.per_token))
        self._objectives = [Objective(what, names, limit, spec) for what, names, limit in wanted if limit is not None]

    async def ask(self, target: Target, now: float) -> Outcome:
        """Weigh each objective; the worst is what is said."""
        if not self._objectives:
            return skipped("no objective is set")
        text = await page(self._session, target)
        if isinstance(text, Outcome):
            return text
        return _worst([one.weigh(text, now) for one in self._objectives])

    async def late(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """Nothing is known."""
        return late(self._spec.timeout)

    async def close(self) -> None:
        """Nothing is kept open."""


def _worst(outcomes: list[Outcome]) -> Outcome:
    """A failure, else what could not be told, else what is right, else what is lacked; several are said together."""
    order = (Verdict.FAILURE, Verdict.UNKNOWN, Verdict.SUCCESS, Verdict.SKIPPED)
    verdict = min((one.verdict for one in outcomes), key=order.index)
    alike = [one for one in outcomes if one.verdict is verdict]
    return Outcome(verdict, "; ".join(one.summary for one in alike), alike[0].evidence)


def _below(counts: Mapping[float, float], seconds: float) -> float:
    return max((edge for edge in counts if edge <= seconds), default=-1.0)
