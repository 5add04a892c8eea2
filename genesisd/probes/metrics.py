"""The few series of vLLM's /metrics that show movement. Pure."""

from __future__ import annotations

import re
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
_LINE = re.compile(
    rb"^(" + b"|".join(re.escape(name) for name in _FIELDS) + rb")(?:\{[^\n]*\})? ([0-9.eE+-]+|NaN|[+-]Inf)\b",
    re.MULTILINE,
)


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
    for name, number in _LINE.findall(text):
        value = float(number)
        if value == value:  # noqa: PLR0124 - a NaN differs from itself and would read as movement for ever
            found[_FIELDS[name]] = found.get(_FIELDS[name], 0.0) + value
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
