"""Marks that a parser or the tokenizer should have eaten and that reached the client. Pure.

Models write about tags, and they may: what the question itself names is never a leak, and in prose only a whole call
is one, not a tag that is quoted.
"""

from __future__ import annotations

import re

MARKS = (
    *("<tool_call>", "</tool_call>", "<function=", "</function>", "<parameter=", "</parameter>", "</tool_calls>"),
    *("<tool_calls>", "<arg_key>", "<arg_value>", "<function_calls>", "<invoke name=", "<start_function_call>"),
    *("[TOOL_CALLS]", "[TOOL_REQUEST]", "[END_TOOL_REQUEST]", "<|python_tag|>", "<|tool_call", "<|tool\u2581"),
    *("<\uff5ctool\u2581", "<|channel|>", "<|message|>", "<|tool_calls_section_begin|>", "<minimax:tool_call>"),
)
"""Notations of calls, as the parsers of the engine know them."""
THOUGHTS = ("<think>", "</think>", "[THINK]", "[/THINK]", "<|channel|>analysis", "<seed:think>", "</seed:think>")
SPECIAL = (
    "<|im_start|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|end_of_text|>",
    "<|end|>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
)
"""Tokens that are never text."""

_CALL = re.compile(
    r"<tool_call>\s*(?:\{\s*\"|<function=)|<function=[\w.-]+>\s*<parameter=|\[TOOL_CALLS\]\s*[\[{]"
    r"|<invoke name=\"[\w.-]+\">\s*<parameter|<\|python_tag\|>\s*\{|<start_function_call>\s*call:"
)


def leaked_beside_calls(content: str | None, asked: str) -> str | None:
    """A mark in the content of an answer that makes calls, unless the question has it."""
    return _first((*MARKS, *THOUGHTS, *SPECIAL), content, asked)


def leaked_in_prose(text: str | None) -> str | None:
    """A whole call in text that may quote tags."""
    found = _CALL.search(text or "")
    return found[0] if found else None


def leaked_thoughts(text: str | None, asked: str) -> str | None:
    """A mark of the block of thoughts, or a special token, in text that came as content or as thoughts."""
    return _first((*THOUGHTS, *SPECIAL), text, asked)


def _first(marks: tuple[str, ...], text: str | None, asked: str) -> str | None:
    return next((mark for mark in marks if mark in (text or "") and mark not in asked), None)
