"""Answers put together at random from prose, quoted markup and calls, under all patches of the Qwen3 parser at once.

It is run like a case: ``observe`` gives the answers that came out otherwise than they were put together.
"""

import random
import sys
from pathlib import Path

WORDS = (
    "the tag <tool_call> is",
    "é — ü 日本",
    " </tool_call> ",
    "`<function=foo>`",
    "<function=get_weather> it",
    "<parameter=x>",
    "</function>",
    "<tool_call></tool_call>",
    "a < b",
    "<tool_",
    "<tool_call> <tool_call>x",
    "\n\nok\n",
    "<tool_call><function=bar>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
)
THOUGHTS = ("I think ", "<tool_call> so ", " é ", "<function=foo> ")
CALLS = (
    (
        "get_weather",
        '{"city": "Zürich", "days": 2}',
        "<parameter=city>\nZürich\n</parameter>\n<parameter=days>\n2\n</parameter>\n",
    ),
    ("now", "{}", ""),
    ("note", '{"text": "a <tool_call> b"}', "<parameter=text>\na <tool_call> b\n</parameter>\n"),
)
ANSWERS = 150


def put_together(draw):
    """An answer of the model, and the line that tells what a client must see of it."""
    thought = "".join(draw.choice(THOUGHTS) for _ in range(draw.randint(0, 3)))
    answer, content, calls = "", "", ""
    for _ in range(draw.randint(1, 6)):
        if draw.random() < 0.4:
            name, arguments, body = draw.choice(CALLS)
            answer += f"<tool_call>\n<function={name}>\n{body}</function>\n</tool_call>"
            calls += f" + {name}({arguments})"
        else:
            words = draw.choice(WORDS)
            answer, content = answer + words, content + words
    shown = f"({thought}) " if thought else ""
    return f"{thought}</think>{answer}", shown + (content.strip() if calls else content) + calls


def observe(version):
    sys.path.append(str(Path(__file__).parent))
    import parsing

    tokenizer, kind = parsing.tokenizer(), parsing.parser_class("qwen3_coder")
    asked, draw = parsing.request(tools=parsing.TOOLS), random.Random(11)
    wrong = []
    for _ in range(ANSWERS):
        text, expected = put_together(draw)
        found = parsing.compared(kind, tokenizer, text, asked, everywhere=False)
        if found != expected:
            wrong.append({"answer": text, "expected": expected, "found": found})
    return wrong
