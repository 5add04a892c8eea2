"""The recorded answers of the real vLLM, kept small: ``packed`` and ``unpacked`` are each other's inverse for a reader.

A transcript is one JSON line: the knobs of ``record``, the finish reason, the counts, and the pieces as they came, so
that a stream is read again chunk by chunk. Ids and times are left out, and of logprobs the first two dozen are kept.
"""

from __future__ import annotations

import json
import lzma
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genesisd.probes.answered import Answered, Reading
from genesisd.probes.model import Exchange
from tests.transcripts.record import PARSERS, golden_cases, request

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).parents[1] / "data" / "transcripts"
LOGPROBS = 24
Line = dict[str, Any]


@dataclass(frozen=True)
class Transcript:
    """One recorded answer, and what it was an answer to."""

    knobs: dict[str, Any]
    line: Line
    path: str
    body: dict[str, Any]

    def said(self) -> Answered:
        """As a probe would have read it."""
        return read(self.line, self.path, self.body)

    @property
    def greedy(self) -> bool:
        """Whether the model said what it thinks best."""
        return self.knobs["temperature"] == 0

    @property
    def parser(self) -> str | None:
        """The tool parser; None where thoughts are not parsed either."""
        return PARSERS[self.knobs["setting"]]

    @property
    def case(self) -> dict[str, Any] | None:
        """The golden case that was asked."""
        return _cases()[self.knobs["case"]] if self.knobs["kind"] == "case" else None


@cache
def _cases() -> dict[str, dict[str, Any]]:
    return golden_cases()


@cache
def transcripts() -> tuple[Transcript, ...]:
    """All of them."""
    return tuple(one for setting in PARSERS for one in _of(setting))


def _of(setting: str) -> Iterator[Transcript]:
    with lzma.open(FOLDER / f"{setting}.jsonl.xz", "rt", encoding="utf-8") as lines:
        for text in lines:
            knobs, line = json.loads(text)
            knobs["setting"] = setting
            yield Transcript(knobs, line, *request(knobs, _cases()))


def read(line: Line, path: str, body: dict[str, Any]) -> Answered:
    """The answer, through the reader that probes use."""
    reading = Reading()
    if body["stream"]:
        for event in _events(line, path):
            reading.take_line(b"data: " + event.encode())
    else:
        reading.take_whole(json.dumps(_whole(line, path)).encode())
    exchange = Exchange(path, body, 200, reading.kept, 0.0, line["prompt"], line["tokens"])
    return reading.answered(exchange, 200, stream=body["stream"])


def packed(raw: str, path: str, *, stream: bool) -> Line:
    """A recorded body as a line."""
    line: Line = {"finish": None, "prompt": 0, "tokens": 0, "pieces": [], "calls": [], "logprobs": []}
    events = (
        [json.loads(one[6:]) for one in raw.splitlines() if one.startswith("data: {")] if stream else [json.loads(raw)]
    )
    for event in events:
        if usage := event.get("usage"):
            line |= {"prompt": usage["prompt_tokens"], "tokens": usage["completion_tokens"]}
        for choice in event["choices"]:
            _take(line, choice)
    line["logprobs"] = line["logprobs"][:LOGPROBS]
    return {name: value for name, value in line.items() if value or name in {"finish", "prompt", "tokens", "pieces"}}


def _take(line: Line, choice: dict[str, Any]) -> None:
    line["finish"] = choice.get("finish_reason") or line["finish"]
    part = choice.get("delta") or choice.get("message") or {"content": choice.get("text")}
    for letter, name in (("r", "reasoning"), ("c", "content")):
        text = part.get(name)
        if text or (text is not None and "message" in choice):
            _append(line["pieces"], letter, text)
    for place, call in enumerate(part.get("tool_calls") or ()):
        index, function = call.get("index", place), call["function"]
        while len(line["calls"]) <= index:
            line["calls"].append(["", []])
        line["calls"][index][0] += function.get("name") or ""
        line["calls"][index][1] += [function["arguments"]] if function.get("arguments") else []
    logprobs = choice.get("logprobs") or {}
    line["logprobs"] += [[one["token"], round(one["logprob"], 3)] for one in logprobs.get("content") or ()]
    line["logprobs"] += [
        [t, round(v, 3)]
        for t, v in zip(logprobs.get("tokens") or (), logprobs.get("token_logprobs") or (), strict=False)
    ]


def _append(pieces: list[list[Any]], letter: str, text: str) -> None:
    if not pieces or pieces[-1][0] != letter:
        pieces.append([letter, []])
    pieces[-1][1].append(text)


def _logprobs(line: Line, path: str) -> dict[str, Any] | None:
    told = line.get("logprobs")
    if not told:
        return None
    if path == "/v1/completions":
        return {"tokens": [token for token, _ in told], "token_logprobs": [value for _, value in told]}
    return {"content": [{"token": token, "logprob": value} for token, value in told]}


def _whole(line: Line, path: str) -> dict[str, Any]:
    said: dict[str, str | None] = {"r": None, "c": None}
    for letter, texts in line["pieces"]:
        said[letter] = "".join(texts)
    calls = [
        {"id": f"call-{place}", "function": {"name": name, "arguments": "".join(parts)}}
        for place, (name, parts) in enumerate(line.get("calls", ()))
    ]
    message = {"content": said["c"], "reasoning": said["r"], "tool_calls": calls}
    part = {"text": said["c"] or ""} if path == "/v1/completions" else {"message": message}
    choice = {"index": 0, "finish_reason": line["finish"], "logprobs": _logprobs(line, path), **part}
    return {"choices": [choice], "usage": {"prompt_tokens": line["prompt"], "completion_tokens": line["tokens"]}}


def _events(line: Line, path: str) -> Iterator[str]:
    for letter, texts in line["pieces"]:
        for text in texts:
            if path == "/v1/completions":
                yield json.dumps({"choices": [{"index": 0, "text": text}]})
            else:
                yield _event({"content" if letter == "c" else "reasoning": text})
    for place, (name, parts) in enumerate(line.get("calls", ())):
        yield _event({"tool_calls": [{"index": place, "id": f"call-{place}", "function": {"name": name}}]})
        for part in parts:
            yield _event({"tool_calls": [{"index": place, "function": {"arguments": part}}]})
    last = {"index": 0, "delta": {}, "finish_reason": line["finish"], "logprobs": _logprobs(line, path)}
    yield json.dumps({"choices": [last]})
    yield json.dumps({"choices": [], "usage": {"prompt_tokens": line["prompt"], "completion_tokens": line["tokens"]}})
    yield "[DONE]"


def _event(delta: dict[str, Any]) -> str:
    return json.dumps({"choices": [{"index": 0, "delta": delta}]}, ensure_ascii=False)
