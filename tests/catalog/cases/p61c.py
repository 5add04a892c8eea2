"""A tag that is only written about, and every form of a call that must stay one, whole and streamed in every cut.

``-`` in a key is a request without tools. An answer has ``streams`` where some way of cutting it came to another
reply than the whole one; those replies are listed.

patch-targets.md calls ``hermes`` sound: it is without streaming and without tools. A stream with tools loses the rest
of the text as the engine does, in all five releases, and a call after a quoted tag is lost whole and streamed.
On 0.23 the thought is not mended: there the end of reasoning is told from the token alone, outside any parser.
"""

import sys
from pathlib import Path

ID = "P61c"
STUBS = "the tokenizer is made in memory, one letter a token, with the four tags as single tokens; all else is real"
VERDICTS = dict.fromkeys(("0.23.0", "0.24.0", "0.30.0", "0.32.0", "0.33.0"), "applied")

BODY = {
    "qwen3_coder": "<function=get_weather>\n<parameter=city>\nZürich\n</parameter>\n</function>",
    "hermes": '{"name": "get_weather", "arguments": {"city": "Zürich"}}',
}
QUOTED_BODY = {
    "qwen3_coder": "<function=note>\n<parameter=text>\nUse <tool_call> here\n</parameter>\n</function>",
    "hermes": '{"name": "note", "arguments": {"text": "Use <tool_call> here"}}',
}
HALF = {"qwen3_coder": "<function", "hermes": '{"na'}
PROSE = {
    "open": "The tag <tool_call> opens a call — é.",
    "pair": "It sits between <tool_call> and </tool_call> in the text.",
    "empty": "An empty <tool_call></tool_call> pair.",
    "twice": "<tool_call> <tool_call>, twice.",
    "spaced": "a <tool_call>  \n\n  b",
    "at_the_end": "It opens with <tool_call>",
    "partial": "a <tool_ b <tool_call",
    "other_body": "<tool_call>[1, 2]</tool_call> is a list.",
}


def answers(parser, version):
    """Name to the model's answer."""
    call = f"<tool_call>\n{BODY[parser]}\n</tool_call>"
    quoted = f"<tool_call>\n{QUOTED_BODY[parser]}\n</tool_call>"
    prose = {name: f"</think>{text}" for name, text in PROSE.items()}
    thought = {"thought": "I might use <tool_call> now.</think>Yes.", "thought_end": "Not <tool_call></think>Yes."}
    calls = {
        "call": f"So.</think>Sure.\n{call}",
        "two": f"</think>{call}\n{quoted}",
        "after_quote": f"</think>No <tool_call> yet.\n{call}",
        "nested": f"</think><tool_call>{call}",
        "from_thought": f"I must call.\n{call}",
        "from_thought_after_quote": f"I may <tool_call> now.\n{call}",
        "unclosed": f"</think><tool_call>\n{BODY[parser]}",
        "half": f"</think>Sure.\n<tool_call>\n{HALF[parser]}",
    }
    if version == "0.23.0":  # its qwen3_coder gets calls wrong by itself, and the thought is nothing that we mend there
        calls = {name: text for name, text in calls.items() if "thought" not in name}
        return prose | (calls if parser == "hermes" else {})
    return prose | thought | calls


def observe(version):
    sys.path.append(str(Path(__file__).parents[1]))
    import parsing

    tokenizer = parsing.tokenizer()
    seen = {}
    for parser in ("qwen3_coder", "hermes"):
        kind = parsing.parser_class(parser)
        for name, text in answers(parser, version).items():
            with_tools = parsing.compared(kind, tokenizer, text, parsing.request(tools=parsing.TOOLS))
            seen[f"{parser} {name}"] = with_tools
            if name in PROSE or "thought" in name:
                seen[f"{parser} {name}-"] = parsing.compared(kind, tokenizer, text, parsing.request())
    return seen


WITH = {
    "qwen3_coder open": "The tag <tool_call> opens a call — é.",
    "qwen3_coder open-": "The tag <tool_call> opens a call — é.",
    "qwen3_coder pair": "It sits between <tool_call> and </tool_call> in the text.",
    "qwen3_coder pair-": "It sits between <tool_call> and </tool_call> in the text.",
    "qwen3_coder empty": "An empty <tool_call></tool_call> pair.",
    "qwen3_coder empty-": "An empty <tool_call></tool_call> pair.",
    "qwen3_coder twice": "<tool_call> <tool_call>, twice.",
    "qwen3_coder twice-": "<tool_call> <tool_call>, twice.",
    "qwen3_coder spaced": "a <tool_call>  \n\n  b",
    "qwen3_coder spaced-": "a <tool_call>  \n\n  b",
    "qwen3_coder at_the_end": "It opens with <tool_call>",
    "qwen3_coder at_the_end-": "It opens with <tool_call>",
    "qwen3_coder partial": "a <tool_ b <tool_call",
    "qwen3_coder partial-": "a <tool_ b <tool_call",
    "qwen3_coder other_body": "<tool_call>[1, 2]</tool_call> is a list.",
    "qwen3_coder other_body-": "<tool_call>[1, 2]</tool_call> is a list.",
    "qwen3_coder thought": "(I might use <tool_call> now.) Yes.",
    "qwen3_coder thought-": "(I might use <tool_call> now.) Yes.",
    "qwen3_coder thought_end": "(Not <tool_call>) Yes.",
    "qwen3_coder thought_end-": "(Not <tool_call>) Yes.",
    "qwen3_coder call": '(So.) Sure. + get_weather({"city": "Zürich"})',
    "qwen3_coder two": ' + get_weather({"city": "Zürich"}) + note({"text": "Use <tool_call> here"})',
    "qwen3_coder after_quote": 'No <tool_call> yet. + get_weather({"city": "Zürich"})',
    "qwen3_coder nested": '<tool_call> + get_weather({"city": "Zürich"})',
    "qwen3_coder from_thought": '(I must call.\n)  + get_weather({"city": "Zürich"})',
    "qwen3_coder from_thought-": "(I must call.\n) ",
    "qwen3_coder from_thought_after_quote": '(I may <tool_call> now.\n)  + get_weather({"city": "Zürich"})',
    "qwen3_coder from_thought_after_quote-": "(I may <tool_call> now.\n) ",
    "qwen3_coder unclosed": ' + get_weather({"city": "Zürich"})',
    "qwen3_coder half": "Sure.\n",
    "hermes open": "The tag <tool_call> opens a call — é.",
    "hermes open-": "The tag <tool_call> opens a call — é.",
    "hermes pair": "It sits between <tool_call> and </tool_call> in the text.",
    "hermes pair-": "It sits between <tool_call> and </tool_call> in the text.",
    "hermes empty": "An empty <tool_call></tool_call> pair.",
    "hermes empty-": "An empty <tool_call></tool_call> pair.",
    "hermes twice": "<tool_call> <tool_call>, twice.",
    "hermes twice-": "<tool_call> <tool_call>, twice.",
    "hermes spaced": "a <tool_call>  \n\n  b",
    "hermes spaced-": "a <tool_call>  \n\n  b",
    "hermes at_the_end": "It opens with <tool_call>",
    "hermes at_the_end-": "It opens with <tool_call>",
    "hermes partial": "a <tool_ b <tool_call",
    "hermes partial-": "a <tool_ b <tool_call",
    "hermes other_body": "<tool_call>[1, 2]</tool_call> is a list.",
    "hermes other_body-": "<tool_call>[1, 2]</tool_call> is a list.",
    "hermes thought": "(I might use <tool_call> now.) Yes.",
    "hermes thought-": "(I might use <tool_call> now.) Yes.",
    "hermes thought_end": "(Not <tool_call>) Yes.",
    "hermes thought_end-": "(Not <tool_call>) Yes.",
    "hermes call": '(So.) Sure. + get_weather({"city": "Zürich"})',
    "hermes two": ' + get_weather({"city": "Zürich"}) + note({"text": "Use <tool_call> here"})',
    "hermes after_quote": 'No <tool_call> yet. + get_weather({"city": "Zürich"})',
    "hermes nested": '<tool_call> + get_weather({"city": "Zürich"})',
    "hermes from_thought": '(I must call.\n)  + get_weather({"city": "Zürich"})',
    "hermes from_thought-": '(I must call.\n) <tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich"}}\n</tool_call>',
    "hermes from_thought_after_quote": '(I may <tool_call> now.\n)  + get_weather({"city": "Zürich"})',
    "hermes from_thought_after_quote-": '(I may <tool_call> now.\n) <tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich"}}\n</tool_call>',
    "hermes unclosed": ' + get_weather({"city": "Zürich"})',
    "hermes half": 'Sure.\n<tool_call>\n{"na',
}
WITHOUT = WITH | {
    "qwen3_coder open": "The tag ",
    "qwen3_coder open-": "The tag ",
    "qwen3_coder pair": "It sits between  in the text.",
    "qwen3_coder pair-": "It sits between  in the text.",
    "qwen3_coder empty": "An empty  pair.",
    "qwen3_coder empty-": "An empty  pair.",
    "qwen3_coder twice": "",
    "qwen3_coder twice-": "",
    "qwen3_coder spaced": "a ",
    "qwen3_coder spaced-": "a ",
    "qwen3_coder at_the_end": "It opens with ",
    "qwen3_coder at_the_end-": "It opens with ",
    "qwen3_coder other_body": [" is a list.", "is a list."],
    "qwen3_coder other_body-": [" is a list.", "is a list."],
    "qwen3_coder thought": ["(I might use ) ", "(I might use ) <tool_call> now.Yes."],
    "qwen3_coder thought-": ["(I might use ) ", "(I might use ) <tool_call> now.Yes."],
    "qwen3_coder thought_end": ["(Not ) ", "(Not ) <tool_call>Yes."],
    "qwen3_coder thought_end-": ["(Not ) ", "(Not ) <tool_call>Yes."],
    "qwen3_coder after_quote": 'No + get_weather({"city": "Zürich"})',
    "qwen3_coder nested": ' + get_weather({"city": "Zürich"})',
    "qwen3_coder from_thought_after_quote": '(I may )  + get_weather({"city": "Zürich"})',
    "qwen3_coder from_thought_after_quote-": "(I may ) ",
    "hermes open": ["The tag <tool_call> opens a call — é.", "The tag "],
    "hermes pair": ["It sits between <tool_call> and </tool_call> in the text.", "It sits between "],
    "hermes empty": ["An empty <tool_call></tool_call> pair.", "An empty "],
    "hermes twice": ["<tool_call> <tool_call>, twice.", ""],
    "hermes spaced": ["a <tool_call>  \n\n  b", "a "],
    "hermes at_the_end": ["It opens with <tool_call>", "It opens with "],
    "hermes partial": ["a <tool_ b <tool_call", "a <tool_ b "],
    "hermes other_body": ["<tool_call>[1, 2]</tool_call> is a list.", ""],
    "hermes thought": ["(I might use ) <tool_call> now.Yes.", "(I might use ) "],
    "hermes thought-": ["(I might use ) <tool_call> now.Yes.", "(I might use ) <tool_call> now.</think>Yes."],
    "hermes thought_end": ["(Not ) <tool_call>Yes.", "(Not ) "],
    "hermes thought_end-": ["(Not ) <tool_call>Yes.", "(Not ) <tool_call></think>Yes."],
    "hermes after_quote": [
        'No <tool_call> yet.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich"}}\n</tool_call>',
        'No + get_weather({"city": "Zürich"})',
    ],
    "hermes nested": [
        '<tool_call><tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich"}}\n</tool_call>',
        ' + get_weather({"city": "Zürich"})',
    ],
    "hermes from_thought_after_quote": [
        '(I may ) <tool_call> now.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich"}}\n</tool_call>',
        '(I may )  + get_weather({"city": "Zürich"})',
    ],
    "hermes from_thought_after_quote-": '(I may ) <tool_call> now.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich"}}\n</tool_call>',
    "hermes half": ['Sure.\n<tool_call>\n{"na', "Sure.\n"],
}
ON_023 = {
    key for key in WITH if "thought" not in key and (key.startswith("hermes") or key.split()[1].rstrip("-") in PROSE)
}
RED = {
    "0.23.0": {key: WITH[key] for key in ON_023}
    | {
        "qwen3_coder open": ["The tag <tool_call> opens a call — é.", "The tag "],
        "qwen3_coder pair": ["It sits between <tool_call> and </tool_call> in the text.", "It sits between "],
        "qwen3_coder empty": ["An empty <tool_call></tool_call> pair.", "An empty "],
        "qwen3_coder twice": ["<tool_call> <tool_call>, twice.", ""],
        "qwen3_coder spaced": ["a <tool_call>  \n\n  b", "a "],
        "qwen3_coder at_the_end": ["It opens with <tool_call>", "It opens with "],
        "qwen3_coder other_body": ["<tool_call>[1, 2]</tool_call> is a list.", ""],
        "hermes open": ["The tag <tool_call> opens a call — é.", "The tag "],
        "hermes pair": ["It sits between <tool_call> and </tool_call> in the text.", "It sits between "],
        "hermes empty": ["An empty <tool_call></tool_call> pair.", "An empty "],
        "hermes twice": ["<tool_call> <tool_call>, twice.", ""],
        "hermes spaced": ["a <tool_call>  \n\n  b", "a "],
        "hermes at_the_end": ["It opens with <tool_call>", "It opens with "],
        "hermes partial": ["a <tool_ b <tool_call", "a <tool_ b "],
        "hermes other_body": ["<tool_call>[1, 2]</tool_call> is a list.", ""],
        "hermes after_quote": [
            'No <tool_call> yet.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich"}}\n</tool_call>',
            'No + get_weather({"city": "Zürich"})',
        ],
        "hermes nested": [
            '<tool_call><tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich"}}\n</tool_call>',
            ' + get_weather({"city": "Zürich"})',
        ],
        "hermes half": ['Sure.\n<tool_call>\n{"na', "Sure.\n"],
    },
    "0.24.0": WITHOUT
    | {
        "qwen3_coder open": ["The tag <tool_call> opens a call — é.", "The tag "],
        "qwen3_coder open-": ["The tag <tool_call> opens a call — é.", "The tag "],
        "qwen3_coder pair": [
            "It sits between <tool_call> and </tool_call> in the text.",
            " It sits between in the text.",
        ],
        "qwen3_coder pair-": [
            "It sits between <tool_call> and </tool_call> in the text.",
            " It sits between in the text.",
        ],
        "qwen3_coder empty": ["An empty <tool_call></tool_call> pair.", " An empty pair."],
        "qwen3_coder empty-": ["An empty <tool_call></tool_call> pair.", " An empty pair."],
        "qwen3_coder twice": ["<tool_call> <tool_call>, twice.", ""],
        "qwen3_coder twice-": ["<tool_call> <tool_call>, twice.", ""],
        "qwen3_coder spaced": ["a <tool_call>  \n\n  b", "a "],
        "qwen3_coder spaced-": ["a <tool_call>  \n\n  b", "a "],
        "qwen3_coder at_the_end": ["It opens with <tool_call>", "It opens with "],
        "qwen3_coder at_the_end-": ["It opens with <tool_call>", "It opens with "],
        "qwen3_coder other_body": ["<tool_call>[1, 2]</tool_call> is a list.", " is a list."],
        "qwen3_coder other_body-": ["<tool_call>[1, 2]</tool_call> is a list.", " is a list."],
        "qwen3_coder thought": ["(I might use ) <tool_call> now.Yes.", "(I might use ) "],
        "qwen3_coder thought-": ["(I might use ) <tool_call> now.Yes.", "(I might use ) "],
        "qwen3_coder thought_end": ["(Not ) <tool_call>Yes.", "(Not ) "],
        "qwen3_coder thought_end-": ["(Not ) <tool_call>Yes.", "(Not ) "],
        "qwen3_coder from_thought-": [
            "(I must call.\n) <tool_call>\n<function=get_weather>\n<parameter=city>\nZürich\n</parameter>\n</function>\n</tool_call>",
            "(I must call.\n) ",
        ],
        "qwen3_coder from_thought_after_quote-": [
            "(I may ) <tool_call> now.\n<tool_call>\n<function=get_weather>\n<parameter=city>\nZürich\n</parameter>\n</function>\n</tool_call>",
            "(I may ) ",
        ],
        "qwen3_coder half": ["Sure.\n<tool_call>\n<function", "Sure.\n"],
        "hermes partial": ["a <tool_ b <tool_call", "a  b "],
        "hermes partial-": ["a <tool_ b <tool_call", "a  b <tool_call"],
    },
    **dict.fromkeys(("0.30.0", "0.32.0", "0.33.0"), WITHOUT),
}
GREEN = {
    "0.23.0": {key: WITH[key] for key in ON_023},
    "0.24.0": WITH
    | {
        "qwen3_coder from_thought-": [
            "(I must call.\n) <tool_call>\n<function=get_weather>\n<parameter=city>\nZürich\n</parameter>\n</function>\n</tool_call>",
            "(I must call.\n) ",
        ],
        "qwen3_coder from_thought_after_quote-": [
            "(I may <tool_call> now.\n) <tool_call>\n<function=get_weather>\n<parameter=city>\nZürich\n</parameter>\n</function>\n</tool_call>",
            "(I may <tool_call> now.\n) ",
        ],
        "qwen3_coder half": ["Sure.\n<tool_call>\n<function", "Sure.\n"],
        "hermes partial": ["a <tool_ b <tool_call", "a  b <tool_call"],
        "hermes partial-": ["a <tool_ b <tool_call", "a  b <tool_call"],
    },
    **dict.fromkeys(("0.30.0", "0.32.0", "0.33.0"), WITH),
}
