"""How a served answer is parsed: whole, and cut into deltas in many ways. Runs in the pin's Python, beside a tree."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

MARKS = ("<tool_call>", "</tool_call>", "<think>", "</think>")
END = "<|im_end|>"
Seen = dict[str, Any]


def tokenizer(marks: tuple[str, ...] = MARKS) -> Any:
    """A byte-level tokenizer that merges nothing: ``marks`` are single tokens, all else is spelled."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE({letter: n for n, letter in enumerate(letters)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(text, special=True) for text in ("<|im_start|>", END)])
    made.add_tokens([AddedToken(text, special=False, normalized=False) for text in marks])
    return PreTrainedTokenizerFast(tokenizer_object=made, eos_token=END)


def tool(name: str, **kinds: str) -> dict[str, Any]:
    """A tool as a request declares it."""
    properties = {key: {"type": kind} for key, kind in kinds.items()}
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}}


TOOLS = [tool("get_weather", city="string", days="integer"), tool("note", text="string"), tool("now")]


def request(**fields: Any) -> Any:
    """A chat request."""
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

    return ChatCompletionRequest(messages=[{"role": "user", "content": "x"}], **fields)


def parser_class(tool_parser: str | None, reasoning: str | None = "qwen3") -> Any:
    """The parser that the server makes for these names."""
    from vllm.parser import ParserManager

    return ParserManager.get_parser(
        tool_parser_name=tool_parser, reasoning_parser_name=reasoning, enable_auto_tools=True
    )


def parser(kind: Any, tokenizer: Any, asked: Any) -> Any:
    """A parser for one request."""
    return kind(tokenizer, asked.tools, chat_template_kwargs={})


def whole(parser: Any, text: str, asked: Any) -> Seen:
    """What a client sees that does not stream."""
    reasoning, content, calls = parser.parse(text, asked, enable_auto_tools=True)
    return _seen(reasoning, content, [(call.name, call.arguments) for call in calls or []])


def streamed(parser: Any, deltas: list[tuple[str, list[int]]], asked: Any, prompt: list[int]) -> Seen:
    """What a client puts together from a stream."""
    reasoning, content = "", ""
    calls: dict[int, list[str]] = {}
    for n, (text, ids) in enumerate(deltas):
        delta = parser.parse_delta(text, ids, asked, prompt_token_ids=prompt, finished=n == len(deltas) - 1)
        if delta is None:
            continue
        reasoning += delta.reasoning or ""
        content += delta.content or ""
        for call in delta.tool_calls or []:
            parts = calls.setdefault(call.index, ["", ""])
            if call.function is not None:
                parts[0] += call.function.name or ""
                parts[1] += call.function.arguments or ""
    return _seen(reasoning, content, [(name, arguments) for name, arguments in calls.values()])


def deltas(tokenizer: Any, text: str, sizes: list[int]) -> list[tuple[str, list[int]]]:
    """The answer as the engine hands it on, so many tokens at a time; half a character is held back, as there."""
    ids = tokenizer.encode(text, add_special_tokens=False)
    found, start, sent = [], 0, ""
    for size in sizes:
        end = min(start + size, len(ids))
        shown = tokenizer.decode(ids[:end], skip_special_tokens=False)
        new = shown.rstrip("\N{REPLACEMENT CHARACTER}")[len(sent) :]
        sent += new
        found.append((new, ids[start:end]))
        start = end
    assert sent == text, (sent, text)
    return found


def cuts(count: int, tries: int, *, everywhere: bool) -> Iterator[list[int]]:
    """Sizes of deltas: all at once, one by one, in two (at every place, if wished), and drawn at random."""
    yield [count]
    yield [1] * count
    if everywhere:
        yield from ([first, count - first] for first in range(1, count))
    draw = random.Random(7)
    for _ in range(tries):
        sizes = []
        while sum(sizes) < count:
            sizes.append(min(draw.choice((1, 2, 3, 5, 8, 13, 40)), count - sum(sizes)))
        yield sizes


def compared(kind: Any, tokenizer: Any, text: str, asked: Any, *, everywhere: bool = True) -> str | list[str]:
    """The whole reply as a line; where some way of cutting the stream comes to another, one such beside it."""
    expected, others = _told(whole(parser(kind, tokenizer, asked), text, asked)), set()
    prompt = tokenizer.encode("<|im_start|>", add_special_tokens=False)
    count = len(tokenizer.encode(text, add_special_tokens=False))
    for sizes in cuts(count, 12 if everywhere else 6, everywhere=everywhere):
        got = streamed(parser(kind, tokenizer, asked), deltas(tokenizer, text, sizes), asked, prompt)
        others.add(_told(got))
    others.discard(expected)
    return [expected, min(others)] if others else expected


def _told(seen: Seen) -> str:
    """White space around the content is left out where there are calls: the engine takes it off a whole answer."""
    calls = "".join(f" + {name}({arguments})" for name, arguments in seen.get("calls", []))
    content = seen["content"].strip() if calls else seen["content"]
    thought = f"({seen['reasoning']}) " if "reasoning" in seen else ""
    return thought + content + calls


def _seen(reasoning: str | None, content: str | None, calls: list[tuple[str, str]]) -> Seen:
    seen: Seen = {"content": content or ""}
    if reasoning:
        seen["reasoning"] = reasoning
    if calls:
        seen["calls"] = [list(call) for call in calls]
    return seen
