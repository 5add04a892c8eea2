"""What the fake and the real server are both asked, and how two answers are compared."""

from __future__ import annotations

import json
from typing import Any

from genesisd.demo.locate import locate
from tests.real.replies import Case, golden_cases

MODEL = locate()
CASES: dict[str, Case] = {case["id"]: case for case in golden_cases(MODEL.path)}
HELLO = {"messages": [{"role": "user", "content": "Hello!"}], "temperature": 0}
PLAIN = HELLO | {"chat_template_kwargs": {"enable_thinking": False}}
WEATHER = CASES["weather-tokyo/think/hermes/auto"]["request"]
NEEDLE = CASES["needle-amber/plain"]["request"]
CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
USAGE = {"stream": True, "stream_options": {"include_usage": True}}
NUMBERS = {"logprob", "token_logprobs", "top_logprobs", "created", "rank", "text_offset"}

PROBED = (
    "prompt_tokens_total", "generation_tokens_total", "prefix_cache_queries_total", "prefix_cache_hits_total",
    "num_requests_running", "num_requests_waiting", "kv_cache_usage_perc", "iteration_tokens_total",
    "time_to_first_token_seconds", "inter_token_latency_seconds", "request_success_total",
    "spec_decode_num_drafts_total", "spec_decode_num_draft_tokens_total", "spec_decode_num_accepted_tokens_total",
)  # fmt: skip


def schema(kind: str) -> dict[str, Any]:
    """A response format with a schema of one type."""
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": kind}}}}


# All at temperature 0: drafts are checked against random tokens by a kernel that a CPU lacks, and the engine dies of it.
ANSWERED: dict[str, tuple[str, dict[str, Any]]] = {
    "length": (CHAT, HELLO | {"max_tokens": 3}),
    "length-later": (CHAT, HELLO | {"max_completion_tokens": 20}),
    "stop": (CHAT, PLAIN | {"stop": ["tiny"]}),
    "stop-kept": (CHAT, PLAIN | {"stop": "tiny", "include_stop_str_in_output": True}),
    "ids": (CHAT, HELLO | {"return_token_ids": True}),
    "logprobs": (CHAT, PLAIN | {"logprobs": True, "top_logprobs": 2}),
    "logprobs-alone": (CHAT, PLAIN | {"logprobs": True, "max_tokens": 2}),
    "prompt-logprobs": (CHAT, HELLO | {"prompt_logprobs": 1, "max_tokens": 1}),
    "unknown-field": (CHAT, HELLO | {"guided_regex": "[A-Z]", "nosuch": 1, "max_tokens": 4}),
    "seed": (CHAT, PLAIN | {"seed": 7, "n": 1}),
    "text": (TEXT, {"prompt": "Hello", "max_tokens": 4, "temperature": 0}),
    "text-of-ids": (TEXT, {"prompt": [1, 2, 3], "max_tokens": 2, "temperature": 0}),
    "text-of-two": (TEXT, {"prompt": ["Hello", "Who are"], "max_tokens": 2, "temperature": 0}),
    "text-logprobs": (TEXT, {"prompt": "Hello", "max_tokens": 2, "logprobs": 2, "temperature": 0}),
    "text-prompt-logprobs": (TEXT, {"prompt": "Hello, I am", "max_tokens": 1, "prompt_logprobs": 0, "temperature": 0}),
    "text-echo": (TEXT, {"prompt": "Hello, I", "max_tokens": 2, "echo": True, "logprobs": 1, "temperature": 0}),
}  # fmt: skip
STREAMED = ("length", "stop", "ids", "logprobs", "text", "text-logprobs")
REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "model": (CHAT, HELLO | {"model": "other"}),
    "no-messages": (CHAT, {}),
    "empty-messages": (CHAT, {"messages": []}),
    "no-prompt": (TEXT, {}),
    "zero": (TEXT, {"prompt": "Hello", "max_tokens": 0}),
    "too-many": (CHAT, HELLO | {"max_tokens": 5000}),
    "too-long": (CHAT, {"messages": [{"role": "user", "content": "Hello " * 2000}]}),
    "too-many-ids": (TEXT, {"prompt": [5] * 1100}),
    "bad-id": (TEXT, {"prompt": [99999]}),
    "cold": (CHAT, HELLO | {"temperature": -1}),
    "hot-text": (CHAT, HELLO | {"temperature": "hot"}),
    "n": (CHAT, HELLO | {"n": 0}),
    "n-greedy": (CHAT, HELLO | {"n": 2}),
    "stop-empty": (CHAT, HELLO | {"stop": [""]}),
    "top-alone": (CHAT, HELLO | {"top_logprobs": 2}),
    "top-many": (CHAT, HELLO | {"logprobs": True, "top_logprobs": 99}),
    "prompt-logprobs-many": (TEXT, {"prompt": "Hello", "prompt_logprobs": 50}),
    "prompt-logprobs-streamed": (TEXT, {"prompt": "Hello", "prompt_logprobs": 1, "stream": True}),
    "options-alone": (CHAT, HELLO | {"stream_options": {"include_usage": True}}),
    "no-tools": (CHAT, HELLO | {"tool_choice": "required"}),
    "two-forms": (CHAT, HELLO | {"structured_outputs": {"regex": "a", "choice": ["a"]}}),
    "no-schema": (CHAT, HELLO | {"response_format": {"type": "json_schema"}}),
    "bad-schema": (CHAT, HELLO | schema("nosuch")),
}
TOOLS_REFUSED = {
    "auto": WEATHER,
    "required": WEATHER | {"tool_choice": "required"},
    "named": WEATHER | {"tool_choice": {"type": "function", "function": {"name": "get_weather"}}},
    "unnamed": WEATHER | {"tool_choice": {"type": "function", "function": {"name": "nosuch"}}},
    "unheard": WEATHER | {"tool_choice": "sometimes"},
}
TOKENS: dict[str, tuple[str, dict[str, Any]]] = {
    "text": ("/tokenize", {"prompt": "Hello, I am <think> né→x", "return_token_strs": True}),
    "chat": ("/tokenize", {"messages": HELLO["messages"]}),
    "chat-tools": ("/tokenize", {"messages": WEATHER["messages"], "tools": WEATHER["tools"]}),
    "chat-bare": ("/tokenize", {"messages": HELLO["messages"], "add_generation_prompt": False}),
    "back": ("/detokenize", {"tokens": [1, 2, 3, 300, 400, 929]}),
    "nothing": ("/tokenize", {}),
    "no-id": ("/detokenize", {"tokens": ["x"]}),
}


def shape(value: Any, key: str = "") -> Any:
    """Names and types; values that an answer must share stay, numbers and ids that it need not do not."""
    if isinstance(value, dict):
        if key == "top_logprobs" or (value and all(one.isdecimal() for one in value)):
            return ["by token"]
        return {name: shape(one, name) for name, one in value.items()}
    if isinstance(value, list):
        return [shape(one, key) for one in value[:1]]
    if key in {"finish_reason", "stop_reason", "role", "object", "model", "type", "code", "param"}:
        return value
    return type(value).__name__


def story(text: str) -> list[Any]:
    """A stream as the kinds of its chunks, in order and without repeats.

    A busy server puts several tokens, or a thought's end and the first words, into one chunk: those are taken apart.
    """
    told: list[Any] = []
    for line in filter(None, text.splitlines()):
        chunk = json.loads(line.removeprefix("data: ")) if line.startswith("data: {") else line
        for one in _events(chunk) if isinstance(chunk, dict) else [line]:
            if one not in told[-1:]:
                told.append(one)
    return told


def _events(chunk: dict[str, Any]) -> list[Any]:
    found: list[Any] = []
    for choice in chunk["choices"] or [{}]:
        said = choice.get("delta", {"text": choice.get("text")})
        rest = {
            key: value for key, value in choice.items() if key not in {"delta", "text", "finish_reason", "stop_reason"}
        }
        frame = sorted([*chunk, *rest, *(["stop_reason"] if "text" in choice else [])])
        frame = [one for one in frame if one != "system_fingerprint"]
        for key in ("role", "reasoning", "content", "text"):
            if said.get(key):
                found.append([key, frame])
        for call in said.get("tool_calls") or []:
            found.append(["call", sorted(call), sorted(call["function"]), call["index"]])
        if choice.get("finish_reason"):
            found.append(["end", choice["finish_reason"], choice.get("stop_reason")])
    return found if chunk["choices"] else [["usage", shape(chunk)]]


def said(text: str, stream: bool) -> Any:
    """Content, thought, calls, end and counts."""
    chunks = (
        [json.loads(one[6:]) for one in text.splitlines() if one.startswith("data: {")]
        if stream
        else [json.loads(text)]
    )
    found: dict[str, str] = {"content": "", "reasoning": "", "calls": "", "end": ""}
    for choice in (one["choices"][0] for one in chunks if one["choices"]):
        part = choice["delta"] if stream else choice["message"]
        for key in ("content", "reasoning"):
            found[key] += part.get(key) or ""
        for call in part.get("tool_calls") or []:
            found["calls"] += call["function"].get("name", "") + call["function"].get("arguments", "")
        found["end"] += choice["finish_reason"] or ""
    usage = chunks[-1]["usage"]
    return found, usage["prompt_tokens"], usage["completion_tokens"], usage.get("completion_tokens_details")


def series(text: str) -> dict[str, float]:
    """Sums by name, of the families that probes read."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        name = line.partition("{")[0].removeprefix("vllm:")
        if "_bucket" not in name and any(name in {one, f"{one}_sum", f"{one}_count"} for one in PROBED):
            found[name] = found.get(name, 0.0) + float(line.split()[-1])
    return found
