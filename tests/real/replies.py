"""Golden cases asked over HTTP, and replies brought into the form of golden.json."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from tests.real.serving import Server

Case = dict[str, Any]
Reply = dict[str, Any]


def golden_cases(model: Path) -> list[Case]:
    """The golden set of a model folder."""
    cases: list[Case] = json.loads((model / "golden.json").read_text())["cases"]
    return cases


def fits(case: Case, parser: str, *, strict: bool) -> bool:
    """Whether a server of this kind can answer the case."""
    needs = case["needs"]
    return needs["tool_parser"] in {None, parser} and needs["strict_tool_calling"] in {None, strict}


def expected(case: Case, parser: str, *, stream: bool, patched: bool = False) -> Reply:
    """The reply that the released server gives: the right one, unless golden.json knows better.

    ``patched`` is for one that runs P61c and PN527: it gives the right one where prose names a tag.
    """
    for other in [] if patched and case["kind"].startswith("literal") else case["differs"]:
        if (other["tool_parser"], other["stream"]) == (parser, stream):
            return _streamed(other["reply"]) if stream else other["reply"]
    return _streamed(case["expect"]) if stream else case["expect"]


def ask(server: Server, case: Case, *, stream: bool) -> Reply:
    """The server's reply to a case."""
    raw = server.chat(case["request"], stream=stream)
    return joined(raw) if stream else whole(raw)


def _streamed(reply: Reply) -> Reply:
    """A stream cannot tell no content from empty content."""
    return reply | {"content": reply["content"] or None}


def whole(raw: str) -> Reply:
    """A whole reply."""
    choice = json.loads(raw)["choices"][0]
    message = choice["message"]
    calls = [call["function"] for call in message.get("tool_calls") or []]
    return {
        "content": message["content"],
        "reasoning": message.get("reasoning"),
        "tool_calls": [{"name": call["name"], "arguments": call["arguments"]} for call in calls],
        "finish_reason": choice["finish_reason"],
    }


def joined(raw: str) -> Reply:
    """A stream, put together."""
    said = {"content": "", "reasoning": ""}
    calls: dict[int, dict[str, str]] = {}
    finish = None
    for line in raw.splitlines():
        if not line.startswith("data: {"):
            continue
        for choice in json.loads(line.removeprefix("data: "))["choices"]:
            delta = choice["delta"]
            for key in said:
                said[key] += delta.get(key) or ""
            for part in delta.get("tool_calls") or []:
                call = calls.setdefault(part["index"], {"name": "", "arguments": ""})
                for key in call:
                    call[key] += part["function"].get(key) or ""
            finish = choice["finish_reason"] or finish
    assert raw.rstrip().endswith("data: [DONE]"), f"the stream broke off: {raw[-200:]}"
    return {
        "content": said["content"] or None,
        "reasoning": said["reasoning"] or None,
        "tool_calls": [calls[index] for index in sorted(calls)],
        "finish_reason": finish,
    }
