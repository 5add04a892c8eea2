"""Headers in prose, undeclared names, and every form of a call that must stay one, whole and streamed in every cut.

``-`` in a key is a request without tools. An answer that comes out in several ways is a list.

patch-targets.md has 0.24 without streaming among the broken: there the text survives where no tool is declared,
since the parser is not asked then; with tools, and in any stream, it is broken as said.
"""

import sys
from pathlib import Path

ID = "PN527"
STUBS = "the tokenizer is made in memory, one letter a token, with the four tags as single tokens; all else is real"
VERDICTS = {"0.23.0": "version"} | dict.fromkeys(("0.24.0", "0.30.0", "0.32.0", "0.33.0"), "applied")


def header(name, **values):
    fields = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in values.items())
    return f"<function={name}>\n{fields}</function>"


def call(name, **values):
    return f"<tool_call>\n{header(name, **values)}\n</tool_call>"


PROSE = {
    "quoted": "Write <function=foo> before the values — é.",
    "closed": "After <function=foo> comes </function> at the end.",
    "declared": "Write <function=get_weather> before the values.",
    "undeclared": call("foo", a="1") + "\nis how.",
    "undeclared_bare": header("foo", a="1") + "\nis how.",
    "enveloped": "It is <tool_call><function=get_weather> and so on.",
    "at_the_end": "Use `<function=get_weather>`",
    "unfinished": "Use <function=",
}
CALLS = {
    "call": "Sure.\n" + call("get_weather", city="Zürich", days="2"),
    "bare": "Sure.\n" + header("get_weather", city="Rome"),
    "bare_in_line": "Sure. " + header("get_weather", city="Rome"),
    "no_arguments": call("now"),
    "unclosed": "<tool_call>\n<function=now>\n</tool_call>",
    "no_bracket": "<tool_call>\n<function=now</function>\n</tool_call>",
    "second_without_tag": "<tool_call>\n" + header("now") + "\n" + header("get_weather", city="Rome"),
    "header_in_argument": call("note", text="Use <function=foo> here"),
    "tags_in_argument": call("note", text="a <tool_call> b <function=now> c"),
    "half_a_name": "Sure.\n<tool_call>\n<function=get_wea",
    "half": "Sure.\n<tool_call>\n<function=get_weather>\n<parameter=city>\nRo",
}


def observe(version):
    sys.path.append(str(Path(__file__).parents[1]))
    import parsing

    tokenizer, kind = parsing.tokenizer(), parsing.parser_class("qwen3_coder")
    asked, plain = parsing.request(tools=parsing.TOOLS), parsing.request()
    seen = {}
    for name, text in (PROSE | CALLS).items():
        seen[name] = parsing.compared(kind, tokenizer, f"</think>{text}", asked)
    for name, text in PROSE.items():
        seen[f"{name}-"] = parsing.compared(kind, tokenizer, f"</think>{text}", plain)
    seen["thought"] = parsing.compared(
        kind, tokenizer, "<function=foo>, <tool_call><function=foo> no</think>Yes.", asked
    )
    return seen


WITH = {
    "quoted": "Write <function=foo> before the values — é.",
    "closed": "After <function=foo> comes </function> at the end.",
    "declared": "Write <function=get_weather> before the values.",
    "undeclared": "<tool_call>\n<function=foo>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>\nis how.",
    "undeclared_bare": "<function=foo>\n<parameter=a>\n1\n</parameter>\n</function>\nis how.",
    "enveloped": "It is <tool_call><function=get_weather> and so on.",
    "at_the_end": "Use `<function=get_weather>`",
    "unfinished": "Use <function=",
    "call": 'Sure. + get_weather({"city": "Zürich", "days": 2})',
    "bare": 'Sure. + get_weather({"city": "Rome"})',
    "bare_in_line": 'Sure. + get_weather({"city": "Rome"})',
    "no_arguments": " + now({})",
    "unclosed": " + now({})",
    "no_bracket": " + now({})",
    "second_without_tag": ' + now({}) + get_weather({"city": "Rome"})',
    "header_in_argument": ' + note({"text": "Use <function=foo> here"})',
    "tags_in_argument": ' + note({"text": "a <tool_call> b <function=now> c"})',
    "half_a_name": "Sure.\n",
    "half": ["Sure. + get_weather({})", 'Sure. + get_weather({"city": "Ro)'],
    "quoted-": "Write <function=foo> before the values — é.",
    "closed-": "After <function=foo> comes </function> at the end.",
    "declared-": "Write <function=get_weather> before the values.",
    "undeclared-": "<tool_call>\n<function=foo>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>\nis how.",
    "undeclared_bare-": "<function=foo>\n<parameter=a>\n1\n</parameter>\n</function>\nis how.",
    "enveloped-": "It is <tool_call><function=get_weather> and so on.",
    "at_the_end-": "Use `<function=get_weather>`",
    "unfinished-": "Use <function=",
    "thought": "(<function=foo>, <tool_call><function=foo> no) Yes.",
}
WITHOUT = WITH | {
    "quoted": "Write + foo({})",
    "closed": "After + foo({})",
    "declared": "Write + get_weather({})",
    "undeclared": [' + foo({"a": "1"})', 'is how. + foo({"a": "1"})'],
    "undeclared_bare": ' + foo({"a": "1"})',
    "enveloped": "It is + get_weather({})",
    "at_the_end": "Use ` + get_weather({})",
    "unfinished": "Use ",
    "half_a_name": "Sure. + get_wea({})",
    "quoted-": ["Write", "Write + ({})"],
    "closed-": ["After", "After "],
    "declared-": ["Write", "Write + ({})"],
    "undeclared-": ["", "\nis how."],
    "undeclared_bare-": "",
    "enveloped-": ["It is", "It is + ({})"],
    "at_the_end-": ["Use `", "Use ` + ({})"],
    "unfinished-": "Use ",
    "thought": ["(<function=foo>, )  + foo({})", "(<function=foo>, ) <tool_call> + foo({})"],
}
RED = {
    "0.24.0": WITHOUT
    | {
        "unfinished": ["Use <function=", "Use "],
        "quoted-": ["Write <function=foo> before the values — é.", "Write + ({})"],
        "closed-": ["After <function=foo> comes </function> at the end.", "After "],
        "declared-": ["Write <function=get_weather> before the values.", "Write + ({})"],
        "undeclared-": [
            "<tool_call>\n<function=foo>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>\nis how.",
            "\nis how.",
        ],
        "undeclared_bare-": ["<function=foo>\n<parameter=a>\n1\n</parameter>\n</function>\nis how.", ""],
        "enveloped-": ["It is <tool_call><function=get_weather> and so on.", "It is + ({})"],
        "at_the_end-": ["Use `<function=get_weather>`", "Use ` + ({})"],
        "unfinished-": ["Use <function=", "Use "],
    },
    "0.30.0": WITHOUT,
    "0.32.0": WITHOUT,
    "0.33.0": WITHOUT
    | {
        "header_in_argument": [" + note({}) + foo({})", ' + note({"text": "Use ) + foo({})'],
        "tags_in_argument": [" + note({}) + now({})", ' + note({"text": "a <tool_call> b ) + now({})'],
    },
    "0.23.0": WITHOUT,
}
GREEN = {
    "0.24.0": WITH | {"half_a_name": ["Sure.\n<tool_call>\n<function=get_wea", "Sure.\n"]},
    "0.30.0": WITH,
    "0.32.0": WITH,
    "0.33.0": WITH,
    "0.23.0": WITH,
}
