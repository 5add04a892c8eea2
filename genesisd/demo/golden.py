"""The golden set: requests, what they need of the server, and the exact reply. Pure.

A case is one dialogue under one switch setting: think on or off, tool notation, tool choice. ``emits`` is the text that
the model generates, ``expect`` the right reply to it, ``differs`` the servers that reply otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from genesisd.demo.corpus import TOOLS, Dialogue, dialogues
from genesisd.demo.differs import differences
from genesisd.demo.emission import NOTATIONS, Form, Notation, dump, emission

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_TOKENS = 400
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Variant:
    """The switches of a case: think block, notation, tool choice, and whether the server calls tools strictly.

    ``strict`` is None where it makes no difference.
    """

    think: bool
    notation: Notation
    choice: str = "auto"
    form: Form = "native"
    strict: bool | None = None


def variants(dialogue: Dialogue) -> Iterator[Variant]:
    """The settings under which a dialogue is asked."""
    for notation in NOTATIONS if dialogue.tools else NOTATIONS[:1]:
        for think in (True, False):
            yield Variant(think, notation)
            if dialogue.kind.startswith("literal") and dialogue.tools:
                yield Variant(think, notation, "none")
            if dialogue.calls and not dialogue.answer:
                yield Variant(think, notation, "required", "native", True)
                yield Variant(think, notation, "required", "list", False)
            if len(dialogue.calls) == 1 and not dialogue.answer:
                yield Variant(think, notation, "named", "native", True)
                yield Variant(think, notation, "named", "bare", False)


def request(dialogue: Dialogue, variant: Variant) -> dict[str, Any]:
    """The body of a chat completion, without the model's name."""
    body: dict[str, Any] = {"messages": list(dialogue.messages), "temperature": 0, "max_tokens": MAX_TOKENS}
    if not variant.think:
        body["chat_template_kwargs"] = {"enable_thinking": False}
    if dialogue.tools:
        named = {"type": "function", "function": {"name": dialogue.calls[0].name if dialogue.calls else ""}}
        body |= {"tools": TOOLS, "tool_choice": named if variant.choice == "named" else variant.choice}
    return body | dialogue.constraint


def expectation(dialogue: Dialogue, variant: Variant) -> dict[str, Any]:
    """The right reply.

    A server's habits are part of it: an automatic call has content None and a forced one '', a named one ends with
    ``stop``, and text after a call is dropped.
    """
    reasoning = f"\n{dialogue.thought}\n" if variant.think else None
    if not dialogue.calls:
        return {"content": dialogue.answer, "reasoning": reasoning, "tool_calls": [], "finish_reason": "stop"}
    calls = [{"name": call.name, "arguments": dump(call.arguments)} for call in dialogue.calls]
    return {
        "content": None if variant.choice == "auto" else "",
        "reasoning": reasoning,
        "tool_calls": calls,
        "finish_reason": "stop" if variant.choice == "named" else "tool_calls",
    }


def case(dialogue: Dialogue, variant: Variant) -> dict[str, Any]:
    """One entry of golden.json."""
    names = [dialogue.id, "think" if variant.think else "plain"]
    if dialogue.tools:
        names += [variant.notation, variant.choice]
    if variant.choice in {"required", "named"}:
        names.append("strict" if variant.strict else "loose")
    kind = dialogue.kind
    if kind == "plain" and variant.think:
        kind = "think"
    if variant.choice in {"required", "named"}:
        kind = variant.choice
    right = expectation(dialogue, variant)
    parsers = (variant.notation,) if dialogue.tools else NOTATIONS
    return {
        "id": "/".join(names),
        "kind": kind,
        "needs": {"tool_parser": variant.notation if dialogue.tools else None, "strict_tool_calling": variant.strict},
        "request": request(dialogue, variant),
        "emits": emission(dialogue, think=variant.think, notation=variant.notation, form=variant.form),
        "expect": right,
        "differs": differences(dialogue, variant.choice, right, parsers),
    }


def cases() -> list[dict[str, Any]]:
    """The whole set, in a fixed order."""
    return [case(dialogue, variant) for dialogue in dialogues() for variant in variants(dialogue)]


def golden_text() -> str:
    """golden.json, one case a line so that a change shows as its own line."""
    lines = ",\n".join(dump(entry) for entry in cases())
    return f'{{"version": {SCHEMA_VERSION}, "cases": [\n{lines}\n]}}\n'
