"""The few series of vLLM's /metrics that probes look at. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FIELDS = {
    b"vllm:iteration_tokens_total_count": "iterations",
    b"vllm:prompt_tokens_total": "prompt",
    b"vllm:generation_tokens_total": "generation",
    b"vllm:kv_cache_usage_perc": "kv",
    b"vllm:gpu_cache_usage_perc": "kv",  # its name before 0.10
    b"vllm:num_requests_running": "running",
    b"vllm:num_requests_waiting": "waiting",
}
_SAMPLE = re.compile(rb"(?:\{([^\n]*)\})? ([0-9.eE+-]+|NaN|[+-]Inf)\b")
_BOUND = re.compile(rb'(?:^|,)le="([^"]+)"')


@dataclass(frozen=True, slots=True)
class Values:
    """Sums over the engines of one server. Counters first, then gauges."""

    iterations: float = 0.0
    prompt: float = 0.0
    generation: float = 0.0
    kv: float = 0.0
    running: float = 0.0
    waiting: float = 0.0

    @property
    def tokens(self) -> tuple[float, float, float]:
        """What only work on tokens can move."""
        return self.iterations, self.prompt, self.generation

    def as_evidence(self) -> dict[str, float]:
        """For an outcome's evidence."""
        return {name: getattr(self, name) for name in self.__slots__}


def parse(text: bytes) -> Values | None:
    """The values, or None if the text holds none of the series (another kind of server)."""
    found: dict[str, float] = {}
    for name, key in _FIELDS.items():
        for _, value in samples(text, name):
            found[key] = found.get(key, 0.0) + value
    return Values(**found) if found else None


def moved(before: Values, after: Values, *, tokens_only: bool = False) -> bool:
    """Whether the engine did something in between.

    A change of a gauge is proof, whatever its value. Only a rise of ``waiting`` is not: requests arrive at a hung
    engine as well.
    """
    if before.tokens != after.tokens:
        return True
    if tokens_only:
        return False
    return (before.kv, before.running) != (after.kv, after.running) or after.waiting < before.waiting


def samples(text: bytes, name: bytes) -> Iterator[tuple[bytes, float]]:
    """Labels (without braces) and value of each sample that is named exactly so.

    NaN is left out: it differs from itself and would read as movement for ever. Only lines that begin with the name
    are looked at, since splitting a page of several MiB takes long.
    """
    start = 0 if text.startswith(name) else _next(text, name, 0)
    while start >= 0:
        found = _SAMPLE.match(text, start + len(name))
        if found and found[2] != b"NaN":
            yield found[1] or b"", float(found[2])
        start = _next(text, name, start)


def _next(text: bytes, name: bytes, start: int) -> int:
    return text.find(b"\n" + name, start) + 1 or -1


def total(text: bytes, name: bytes) -> float | None:
    """Sum over all engines of one counter or gauge, or None where the page has none of it."""
    values = [value for _, value in samples(text, name)]
    return sum(values) if values else None


def buckets(text: bytes, name: bytes) -> dict[float, float]:
    """Cumulative counts of a histogram by upper bound, summed over all engines; empty where the page has none."""
    found: dict[float, float] = {}
    for labels, value in samples(text, name + b"_bucket"):
        if bound := _BOUND.search(labels):
            edge = float(bound[1])
            found[edge] = found.get(edge, 0.0) + value
    return found
