"""Forced calls whose arguments hold what JSON is made of, whole and streamed in every cut.

On 0.30 braces in strings come right, where patch-targets.md sees no change; what still comes apart there is a member
that is called parameters itself, and calls of which one ends and one begins in the same delta.
"""

import json
import os
import sys
from pathlib import Path

ID = "PN386"
STUBS = "the tokenizer is made in memory, one letter a token, with the four tags as single tokens; all else is real"
VERDICTS = dict.fromkeys(("0.23.0", "0.24.0", "0.30.0"), "applied") | dict.fromkeys(("0.32.0", "0.33.0"), "superseded")
WEATHER = ("get_weather", {"city": "Rome", "days": 2})
CALLS = {
    "plain": [WEATHER],
    "brace": [("note", {"text": "a } b", "city": "Rome"})],
    "open_brace": [("note", {"text": "a { [ b"})],
    "quotes": [("note", {"text": 'say "}, {" and \\ and \\"'})],
    "nested": [("note", {"text": {"a": [1, {"b": "}]"}], "parameters": {"name": "x"}}})],
    "unicode": [("note", {"text": "é } ü"})],
    "two": [WEATHER, ("note", {"text": "}, {"})],
    "three": [("now", {}), WEATHER, ("now", {})],
}


def observe(version):
    os.environ["VLLM_ENFORCE_STRICT_TOOL_CALLING"] = "0"  # else a forced call has the notation of the parser
    sys.path.append(str(Path(__file__).parents[1]))
    import parsing

    tokenizer, kind = parsing.tokenizer(), parsing.parser_class("hermes")
    asked = parsing.request(tools=parsing.TOOLS, tool_choice="required")
    seen = {}
    for name, calls in CALLS.items():
        text = json.dumps([{"name": tool, "parameters": values} for tool, values in calls], ensure_ascii=False)
        seen[name] = parsing.compared(kind, tokenizer, f"</think>{text}", asked)
    return seen | {"no name": _in_pieces('[{"name": foo, "parameters": {"x": 1}}]')}


def _in_pieces(text):
    """What comes of an answer that no grammar kept in form: nothing, and the stream goes on."""
    import inspect

    from vllm.tool_parsers.streaming import extract_required_tool_call_streaming

    takes = inspect.signature(extract_required_tool_call_streaming).parameters
    before, named, found = "", False, []
    for end in range(1, len(text) + 1):
        given = {
            "previous_text": before,
            "current_text": text[:end],
            "delta_text": text[end - 1],
            "function_name_returned": named,
            "tool_call_idx": None,
            "tool_call_id_type": "random",
        }
        delta, named, *_ = extract_required_tool_call_streaming(
            **{name: given[name] for name in takes if name in given}
        )
        found += delta.tool_calls if delta else []
        before = text[:end]
    return len(found)


WITH = {
    "plain": ' + get_weather({"city": "Rome", "days": 2})',
    "brace": ' + note({"text": "a } b", "city": "Rome"})',
    "open_brace": ' + note({"text": "a { [ b"})',
    "quotes": ' + note({"text": "say \\"}, {\\" and \\\\ and \\\\\\""})',
    "nested": ' + note({"text": {"a": [1, {"b": "}]"}], "parameters": {"name": "x"}}})',
    "unicode": ' + note({"text": "é } ü"})',
    "two": ' + get_weather({"city": "Rome", "days": 2}) + note({"text": "}, {"})',
    "three": ' + now({}) + get_weather({"city": "Rome", "days": 2}) + now({})',
    "no name": 0,
}
WITHOUT = WITH | {
    "plain": [' + get_weather({"city": "Rome", "days": 2})', ' + get_weather({"city": "Rome", "days": 2)'],
    "brace": [' + note({"text": "a } b", "city": "Rome"})', ' + note({"text": "a  "Rome"}])'],
    "open_brace": [' + note({"text": "a { [ b"})', ' + note({"text": "a { [ b"}])'],
    "quotes": [
        ' + note({"text": "say \\"}, {\\" and \\\\ and \\\\\\""})',
        ' + note({"text": "say \\" \\\\ and \\\\\\""})',
    ],
    "nested": [' + note({"text": {"a": [1, {"b": "}]"}], "parameters": {"name": "x"}}})', ' + note( {"name": "x"}}}])'],
    "unicode": [' + note({"text": "é } ü"})', ' + note({"text": "é  ü"}])'],
    "two": [
        ' + get_weather({"city": "Rome", "days": 2}) + note({"text": "}, {"})',
        ' + get_weather( {"text": "}, {"})',
    ],
    "three": [' + now({}) + get_weather({"city": "Rome", "days": 2}) + now({})', " + get_weather( {})"],
}
RED = {
    "0.24.0": WITHOUT,
    "0.23.0": WITHOUT,
    "0.30.0": WITHOUT
    | {
        "plain": ' + get_weather({"city": "Rome", "days": 2})',
        "brace": ' + note({"text": "a } b", "city": "Rome"})',
        "open_brace": ' + note({"text": "a { [ b"})',
        "quotes": ' + note({"text": "say \\"}, {\\" and \\\\ and \\\\\\""})',
        "nested": [
            ' + note({"text": {"a": [1, {"b": "}]"}], "parameters": {"name": "x"}}})',
            ' + note( {"name": "x"}}})',
        ],
        "unicode": ' + note({"text": "é } ü"})',
    },
    "0.32.0": WITHOUT,
    "0.33.0": WITHOUT,
}
GREEN = {"0.24.0": WITH, "0.23.0": WITH, "0.30.0": WITH, "0.32.0": WITH, "0.33.0": WITH}
