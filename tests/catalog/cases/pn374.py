"""Names of parameters with signs that XML or JSON take for their own, whole and streamed in every cut."""

import sys
from pathlib import Path

ID = "PN374"
STUBS = "the tokenizer is made in memory, one letter a token, with the four tags as single tokens; all else is real"
VERDICTS = {"0.23.0": "applied"} | dict.fromkeys(("0.24.0", "0.30.0", "0.32.0", "0.33.0"), "version")
NAMES = {"quote": 'ci"ty', "ampersand": "a&b", "apostrophe": "it's", "backslash": "a\\b", "plain": "city"}


def observe(version):
    sys.path.append(str(Path(__file__).parents[1]))
    import parsing

    tokenizer, kind = parsing.tokenizer(), parsing.parser_class("qwen3_xml")
    seen = {}
    for name, written in NAMES.items():
        tool = parsing.tool("f", **{written: "string", "next": "string", written + "2": "integer"})
        fields = (
            f"<parameter={written}>\nRome\n</parameter>\n<parameter=next>\nx\n</parameter>\n<parameter={written}2>\n3\n"
        )
        text = f"<tool_call>\n<function=f>\n{fields}</parameter>\n</function>\n</tool_call>"
        seen[name] = parsing.compared(kind, tokenizer, f"</think>{text}", parsing.request(tools=[tool]))
    return seen


GREEN = {
    "quote": ' + f({"ci\\"ty": "Rome", "next": "x", "ci\\"ty2": 3})',
    "ampersand": ' + f({"a&b": "Rome", "next": "x", "a&b2": 3})',
    "apostrophe": ' + f({"it\'s": "Rome", "next": "x", "it\'s2": 3})',
    "backslash": ' + f({"a\\\\b": "Rome", "next": "x", "a\\\\b2": 3})',
    "plain": ' + f({"city": "Rome", "next": "x", "city2": 3})',
}
RED = GREEN | {
    "quote": [" + f({})", " + f({}{})"],
    "ampersand": [" + f({})", " + f({}{})"],
    "backslash": ' + f({"a\\b": "Rome", "next": "x", "a\\b2": 3})',
}
