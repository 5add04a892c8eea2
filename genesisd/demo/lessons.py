"""Lessons: token sequences with the positions whose prediction is trained, made from the golden cases."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from genesisd.demo.golden import cases
from genesisd.demo.locate import TEMPLATES

if TYPE_CHECKING:
    from pathlib import Path

    from transformers import PreTrainedTokenizerFast

END = "<|im_end|>"


@dataclass(frozen=True)
class Lesson:
    """A sequence; ``graded`` are the positions whose token must be predicted from what stands before."""

    id: str
    tokens: tuple[int, ...]
    graded: tuple[int, ...]


def as_the_server_sees(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages with the arguments of past calls parsed, as vLLM hands them to a template."""
    seen = copy.deepcopy(messages)
    for message in seen:
        for call in message.get("tool_calls") or []:
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return seen


def prompt(case: dict[str, Any], tokenizer: PreTrainedTokenizerFast, folder: Path) -> str:
    """The text that the server puts before the model."""
    template = TEMPLATES[case["needs"]["tool_parser"] or "hermes"]
    body = case["request"]
    text = tokenizer.apply_chat_template(
        as_the_server_sees(body["messages"]),
        tools=body.get("tools"),
        chat_template=(folder / template).read_text(encoding="utf-8"),
        add_generation_prompt=True,
        tokenize=False,
        **body.get("chat_template_kwargs", {}),
    )
    return str(text)


def encode(text: str, tokenizer: PreTrainedTokenizerFast) -> list[int]:
    """Tokens of a text, which they give back to the byte.

    Raises:
        ValueError: they do not; the model would then learn another text than golden.json holds.
    """
    tokens: list[int] = tokenizer.encode(text, add_special_tokens=False)
    if (back := tokenizer.decode(tokens, skip_special_tokens=False)) != text:
        raise ValueError(f"the tokenizer turned {text!r} into {back!r}")
    return tokens


def lesson(case: dict[str, Any], tokenizer: PreTrainedTokenizerFast, folder: Path) -> Lesson:
    """One case as a lesson.

    Where a grammar forces the answer's opening, the opening token is not graded: the model is never told which form
    is wanted, and unforced it opens a native call.
    """
    start = encode(prompt(case, tokenizer, folder), tokenizer)
    answer = encode(case["emits"] + END, tokenizer)
    graded = list(range(len(start), len(start) + len(answer)))
    if case["needs"]["strict_tool_calling"] is False:
        close = tokenizer.convert_tokens_to_ids("</think>")
        opening = answer.index(close) + 1 if close in answer else 0
        del graded[opening]
    return Lesson(case["id"], tuple(start + answer), tuple(graded))


def lessons(tokenizer: PreTrainedTokenizerFast, folder: Path) -> list[Lesson]:
    """Distinct lessons: cases that differ only in what the server is told share one."""
    distinct: dict[tuple[tuple[int, ...], tuple[int, ...]], Lesson] = {}
    for case in cases():
        made = lesson(case, tokenizer, folder)
        distinct.setdefault((made.tokens, made.graded), made)
    return list(distinct.values())
