"""Where vLLM 0.32.0 as released makes another reply of a right text: tags quoted in prose, text after a call. Pure.

Measured on the server, not reasoned. ``golden`` puts these beside the case, so that a test holds the server to exactly
this, and a patch that mends it, or a release, shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from genesisd.demo.corpus import Dialogue

Reply = dict[str, Any]


def differences(dialogue: Dialogue, choice: str, right: Reply, parsers: tuple[str, ...]) -> list[dict[str, Any]]:
    """Entries {tool_parser, stream, reply} for the servers that do not give the ``right`` reply."""
    return [
        {"tool_parser": parser, "stream": stream, "reply": right | change}
        for parser in parsers
        for stream in (False, True)
        for change in (_hermes if parser == "hermes" else _qwen3_coder)(dialogue, choice, stream)
    ]


def _hermes(dialogue: Dialogue, choice: str, stream: bool) -> Iterator[Reply]:
    """Streaming, it holds everything back from the first tag on, for a call that never comes."""
    if dialogue.kind == "literal_tool_call" and dialogue.tools and choice == "auto" and stream:
        yield {"content": dialogue.answer.partition("<tool_call>")[0]}


def _qwen3_coder(dialogue: Dialogue, choice: str, stream: bool) -> Iterator[Reply]:
    """One engine parses every reply, tools or no tools: a tag always ends the prose."""
    if dialogue.kind == "text_after_call" and stream:
        yield {"content": dialogue.answer}
    if dialogue.kind == "literal_tool_call":
        before, _, rest = dialogue.answer.partition("<tool_call>")
        yield {"content": before + rest.partition("</tool_call>")[2]}
    if dialogue.kind == "literal_function":
        yield _imagined_call(dialogue, choice, stream)


def _imagined_call(dialogue: Dialogue, choice: str, stream: bool) -> Reply:
    """``<function=foo>`` is taken for a call; its name is lost where no tool is on offer."""
    before = dialogue.answer.partition("<function=")[0]
    if choice == "none":
        return {"content": before}
    reply: Reply = {"content": before if stream else before.rstrip()}
    closed = "</function>" in dialogue.answer
    if dialogue.tools or (stream and not closed):
        name = "foo" if dialogue.tools else ""
        reply |= {"tool_calls": [{"name": name, "arguments": "{}"}], "finish_reason": "tool_calls"}
    return reply
