"""A chat reply as a stream's deltas, a token each."""

from typing import Any

from fakevllm.parsers import Reply
from fakevllm.vocab import vocab


def deltas(reply: Reply, new_id: Any) -> list[dict[str, Any]]:
    """Thought, prose, then each call: its name first and its arguments in pieces. ``new_id`` makes a call's id."""
    found: list[dict[str, Any]] = [{"reasoning": one} for one in _cut(reply.reasoning)]
    found += [{"content": one} for one in _cut(reply.content)]
    for index, (name, arguments) in enumerate(reply.calls):
        head = {"id": new_id(), "type": "function", "index": index, "function": {"name": name}}
        found.append({"content": None, "tool_calls": [head]})
        for one in _cut(arguments):
            found.append({"content": None, "tool_calls": [{"index": index, "function": {"arguments": one}}]})
    return found


def spread(parts: list[dict[str, Any]], tokens: int) -> list[list[dict[str, Any]]]:
    """Which deltas go out with which token, in order: marks make tokens and no delta, so there are fewer."""
    return [parts[len(parts) * at // tokens : len(parts) * (at + 1) // tokens] for at in range(tokens)]


def _cut(text: str | None) -> list[str]:
    if not text:
        return []
    return [one for one in vocab().pieces(vocab().encode(text)) if one]
