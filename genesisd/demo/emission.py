"""How an answer is written down: think block, tool-call notation, forced forms. Pure.

A server that forces a tool call decides the notation by its grammar, and the model is never told: under strict tool
calling it is the parser's own text (``native``); without, a JSON list for ``required`` (``list``) and the bare arguments
for a named tool (``bare``). The grammar starts right after ``</think>``, so no newline stands there.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from genesisd.demo.corpus import Call, Dialogue

Notation = Literal["hermes", "qwen3_coder"]
Form = Literal["native", "list", "bare"]
NOTATIONS: tuple[Notation, ...] = ("hermes", "qwen3_coder")


def dump(value: object) -> str:
    """JSON as the model writes it, and as the chat templates' ``tojson`` does."""
    return json.dumps(value, ensure_ascii=False)


def hermes_call(call: Call) -> str:
    """A call as JSON between tags."""
    return f'<tool_call>\n{{"name": "{call.name}", "arguments": {dump(call.arguments)}}}\n</tool_call>'


def qwen3_coder_call(call: Call) -> str:
    """A call as nested tags."""
    fields = "\n".join(f"<parameter={key}>\n{value}\n</parameter>" for key, value in call.arguments.items())
    return f"<tool_call>\n<function={call.name}>\n{fields}\n</function>\n</tool_call>"


def calls_text(calls: tuple[Call, ...], notation: Notation, form: Form) -> str:
    """The calls in one form; nothing between two of them, since hermes' grammar allows nothing there."""
    if form == "list":
        return dump([{"name": call.name, "parameters": call.arguments} for call in calls])
    if form == "bare":
        (call,) = calls
        return dump(call.arguments)
    write = hermes_call if notation == "hermes" else qwen3_coder_call
    return "".join(write(call) for call in calls)


def emission(dialogue: Dialogue, *, think: bool, notation: Notation, form: Form) -> str:
    """Everything that the model generates, up to but without its end token."""
    before = f"<think>\n{dialogue.thought}\n</think>" if think else ""
    if not dialogue.calls:
        return before + dialogue.answer
    after = f"\n{dialogue.answer}" if dialogue.answer else ""
    return before + calls_text(dialogue.calls, notation, form) + after
