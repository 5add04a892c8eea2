"""Every fault whose detection is measured, by the worker that it is planted in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SCALE = 30
"""What the durations of correctness probes are divided by: a run of all faults would take days at their defaults."""
OFTEN = {"golden": 10, "degeneration": 10}
"""The same of those that are asked each minute, as an ask takes a tenth of a second whatever its period."""
LEAK = 4
"""How many times as fast as the limit memory grows."""
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Fault:
    """One class.

    Attributes:
        name: as the fake worker calls it.
        what: in words.
        planted: for the fake's control file.
        lane: the sort of worker that it is planted in.
    """

    name: str
    what: str
    planted: Mapping[str, Any]
    lane: str = "answers"


def _answer(name: str, what: str, **more: Any) -> Fault:
    return Fault(name, what, {"answer": name, **more})


ANSWERS = (
    _answer("garbage", "nothing but `!`"),
    _answer("repeat", "one token over and over"),
    _answer("swapped-weights", "other weights: a word of each answer and all logprobs differ"),
    _answer("shifted-logprobs", "right words, other logprobs"),
    _answer("nan-logprobs", "NaN among the logprobs"),
    _answer("nan-refused", "NaN, of which a strict encoder makes a 500"),
    _answer("drop-streamed-call", "a call is lost when it is streamed"),
    _answer("calls-as-text", "`tool_calls` is empty, their notation comes as text"),
    _answer("wrong-argument", "a call with another argument"),
    _answer("invalid-json", "arguments that are no JSON"),
    _answer("leaked-tags", "the parser's tags are left in the text"),
    _answer("wrong-finish", "another finish reason"),
    _answer("empty-text", "200 and nothing in it"),
    _answer("think-leak", "`</think>` in the text"),
    _answer("unclosed-think", "the thought never ends"),
    _answer("schema-violation", "JSON that breaks its schema"),
    _answer("regex-violation", "text that breaks its expression"),
    _answer("prefix-hit-differs", "other tokens after a hit of the prefix cache"),
    _answer("other-request", "a kept connection gets the answer of the request before"),
)  # fmt: skip
LEAKS = (
    Fault("rss_leak", f"resident memory grows {LEAK} times as fast as it may",
          {"rss_leak": LEAK * 64 * MIB * SCALE // 3600}, "leak-rss"),
    Fault("vram_leak", f"card memory grows {LEAK} times as fast as it may",
          {"vram_leak": LEAK * 64 * MIB * SCALE // 3600}, "leak-vram"),
    Fault("kv_leak", f"blocks of the KV cache that nobody frees, {LEAK} times as fast as may be",
          {"kv_leak": LEAK * 0.005 * SCALE / 3600}, "leak-kv"),
)  # fmt: skip
NUMBERS = (
    Fault("acceptance", "drafts are accepted at 0.2, not 0.8", {"acceptance": 0.2}, "speculation"),
    Fault("latency", "the first token comes 1.5 s late", {"latency": 1.5}, "users"),
    Fault("token_delay", "0.3 s between tokens", {"token_delay": 0.3}, "users"),
    *LEAKS,
)
NEEDLE = Fault(
    "needle-lost", "a fact in a long text is not found", {"answer": "needle-lost", "needle_limit": 300}, "needle"
)
TOKENIZER = Fault("tokenizer", "a life begins with another tokenizer", {"tokenizer": "shifted"}, "tokenizer")
HANG = Fault("hang", "the engine hangs, `/health` says 200", {"generate": "hang"}, "hang")
PLANTED = (*ANSWERS, NEEDLE, *NUMBERS, TOKENIZER, HANG)
"""All that the fake plants; what is done to processes from outside stands in ``detection``."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One run: who found it, and after how many seconds; nobody within the patience when ``kind`` is None."""

    kind: str | None
    seconds: float


@dataclass(slots=True)
class Row:
    """All runs of one fault.

    Attributes:
        on: ``fake`` or ``real``.
        periods: seconds by kind, as they were in these runs; empty where they are at their defaults and seconds count.
        limit: the target; periods where these are given, else seconds.
    """

    name: str
    what: str
    on: str
    periods: Mapping[str, float] = field(default_factory=dict)
    limit: float | None = None
    samples: list[Sample] = field(default_factory=list)
