"""The golden set: complete, consistent, and the one in the model folder."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from genesisd.demo.corpus import Call, dialogues
from genesisd.demo.emission import calls_text
from genesisd.demo.golden import cases, golden_text
from genesisd.demo.locate import FOLDER

CASES = cases()
CALLS = (Call("f", {"a": "x", "n": 1}), Call("g", {"b": "y"}))


def test_the_committed_file_is_what_the_corpus_says() -> None:
    """golden.json cannot drift from the code that writes it."""
    assert (FOLDER / "golden.json").read_text() == golden_text()


def test_ids_are_unique() -> None:
    """A case can be named."""
    doubled = [name for name, count in Counter(case["id"] for case in CASES).items() if count > 1]
    assert doubled == []


@pytest.mark.parametrize(
    "kind",
    [
        *("plain", "think", "two_turn", "one_call", "two_calls", "text_after_call", "tool_result", "literal_tool_call"),
        *("literal_function", "json_schema", "json_object", "regex", "choice", "required", "named", "repeat", "needle"),
    ],
)
def test_every_kind_is_there(kind: str) -> None:
    """Each thing that the model must show has at least three cases."""
    assert sum(case["kind"] == kind for case in CASES) >= 3


def test_a_prompt_has_one_answer() -> None:
    """Two dialogues never share a prompt with another answer: the model could not learn both."""
    told: dict[str, tuple[str, tuple[Call, ...]]] = {}
    for dialogue in dialogues():
        prompt = json.dumps([dialogue.messages, dialogue.tools])
        assert told.setdefault(prompt, (dialogue.answer, dialogue.calls)) == (dialogue.answer, dialogue.calls)


def test_nothing_stands_between_the_think_block_and_the_answer() -> None:
    """A grammar starts right there, and would forbid a newline."""
    for case in CASES:
        assert "</think>\n" not in case["emits"]


def test_only_literal_and_trailing_text_differ() -> None:
    """What a released server gets wrong is confined to the kinds that were made to show it."""
    kinds = {case["kind"] for case in CASES if case["differs"]}
    assert kinds == {"literal_tool_call", "literal_function", "text_after_call"}


@pytest.mark.parametrize(
    ("notation", "form", "text"),
    [
        (
            "hermes",
            "native",
            (
                '<tool_call>\n{"name": "f", "arguments": {"a": "x", "n": 1}}\n</tool_call>'
                '<tool_call>\n{"name": "g", "arguments": {"b": "y"}}\n</tool_call>'
            ),
        ),
        (
            "qwen3_coder",
            "native",
            (
                "<tool_call>\n<function=f>\n<parameter=a>\nx\n</parameter>\n<parameter=n>\n1\n</parameter>\n</function>\n"
                "</tool_call><tool_call>\n<function=g>\n<parameter=b>\ny\n</parameter>\n</function>\n</tool_call>"
            ),
        ),
        (
            "hermes",
            "list",
            '[{"name": "f", "parameters": {"a": "x", "n": 1}}, {"name": "g", "parameters": {"b": "y"}}]',
        ),
    ],
)
def test_calls_are_written(notation: str, form: str, text: str) -> None:
    """Two calls in each notation and form."""
    assert calls_text(CALLS, notation, form) == text


def test_a_named_call_is_its_arguments_alone() -> None:
    """The bare form."""
    assert calls_text(CALLS[:1], "hermes", "bare") == '{"a": "x", "n": 1}'
