"""From what the model said to the reply: reasoning, prose and calls, as vLLM's parsers take them apart."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

_HERMES = re.compile(r"<tool_call>(.*?)(?:</tool_call>|$)", re.DOTALL)
_FUNCTION = re.compile(r"<function=([^>\n]*)>(.*?)(?:</function>|$)", re.DOTALL)
_VALUE = re.compile(r"<parameter=([^>\n]*)>\n?(.*?)\n?(?:</parameter>|$)", re.DOTALL)


@dataclass
class Reply:
    """One choice of a reply. Calls are [name, arguments as text]."""

    content: str | None
    reasoning: str | None = None
    calls: list[list[str]] = field(default_factory=list)
    finish: str = "stop"


def reply_of(
    text: str, body: dict[str, Any], *, tool_parser: str | None, reasons: bool, thinks: bool, form: str = "native"
) -> Reply:
    """Take a chat's text apart. ``reasons``: a reasoning parser is set; ``form``: how a forced call was written."""
    content, reasoning = _thought(text, thinks) if reasons else (text, None)
    reply = Reply(content, reasoning)
    choice = body.get("tool_choice") or ("auto" if body.get("tools") else "none")
    if content is not None and form != "native":
        _forced(reply, body, form)
    elif content is not None and tool_parser == "qwen3_coder":
        _coder(reply, body, choice)
    elif content is not None and tool_parser == "hermes" and choice != "none":
        _hermes(reply)
    if reply.calls:
        named = isinstance(choice, dict)
        reply.finish = "stop" if named else "tool_calls"
        if choice == "required" or named:
            reply.content = reply.content or ""
    return reply


def _thought(text: str, thinks: bool) -> tuple[str | None, str | None]:
    if not thinks:
        return text, None
    before, closed, after = text.partition("</think>")
    thought = before.removeprefix("<think>")
    return (after or None) if closed else None, thought or None


def _forced(reply: Reply, body: dict[str, Any], form: str) -> None:
    """A list of calls for 'required', bare arguments for a named tool: how grammars write it without strictness."""
    text = reply.content or ""
    try:
        if form == "bare":
            json.loads(text)
            reply.calls = [[body["tool_choice"]["function"]["name"], text]]
        else:
            reply.calls = [[one["name"], json.dumps(one["parameters"], ensure_ascii=False)] for one in json.loads(text)]
    except (ValueError, KeyError, TypeError):
        return
    reply.content = ""


def _hermes(reply: Reply) -> None:
    text = reply.content or ""
    try:
        found = [json.loads(one) for one in _HERMES.findall(text)]
        calls = [[one["name"], json.dumps(one["arguments"], ensure_ascii=False)] for one in found]
    except (ValueError, KeyError, TypeError):
        return  # what is no call is prose
    if calls:
        reply.calls, reply.content = calls, text.partition("<tool_call>")[0] or None


def _coder(reply: Reply, body: dict[str, Any], choice: Any) -> None:
    """Tags end the prose whether or not a tool is on offer."""
    text = reply.content or ""
    at = min((spot for spot in (text.find("<tool_call>"), text.find("<function=")) if spot >= 0), default=-1)
    if at < 0:
        return
    types = {one["function"]["name"]: _types(one) for one in body.get("tools") or []}
    reply.content = text[:at] or None
    if choice != "none":
        reply.calls = [[name, _arguments(inner, types.get(name, {}))] for name, inner in _FUNCTION.findall(text)]


def _types(tool: dict[str, Any]) -> dict[str, str]:
    properties = tool["function"].get("parameters", {}).get("properties", {})
    return {key: str(value.get("type")) for key, value in properties.items()}


def _arguments(inner: str, types: dict[str, str]) -> str:
    found: dict[str, Any] = {}
    for key, text in _VALUE.findall(inner):
        try:
            found[key] = text if types.get(key) == "string" else json.loads(text)
        except ValueError:
            found[key] = text
    return json.dumps(found, ensure_ascii=False)
