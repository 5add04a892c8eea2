"""Answers that end within a call, whole and streamed in every cut; one that comes out in several ways is a list.

patch-targets.md counts 0.23 among the broken. Its parsers are of the old kind, for which upstream keeps the raw text
on purpose to this day; so the patch begins with 0.24. ``quoted`` is what upstream's own form of it cuts.
"""

import sys
from pathlib import Path

ID = "PN525"
STUBS = "the tokenizer is made in memory, one letter a token, with the four tags as single tokens; all else is real"
VERDICTS = {"0.23.0": "version", "0.24.0": "applied"} | dict.fromkeys(("0.30.0", "0.32.0", "0.33.0"), "superseded")
ANSWERS = {
    "half": "Sure.\n<tool_call>\n<function",
    "opener": "Sure.\n<tool_call>",
    "quoted": "The tag <tool_call> opens a call.",
    "prose": "Just words.\n",
    "call": "Sure.\n<tool_call>\n<function=now>\n</function>\n</tool_call>",
}
SAME = {"prose": "Just words.\n", "call": "Sure. + now({})"}
GREEN = SAME | {"half": "Sure.\n", "opener": "Sure.\n", "quoted": ANSWERS["quoted"]}
UPSTREAM = GREEN | {"quoted": "The tag "}
RED = SAME | {name: [ANSWERS[name], UPSTREAM[name]] for name in ("half", "opener", "quoted")}


def observe(version):
    sys.path.append(str(Path(__file__).parents[1]))
    import parsing

    tokenizer, kind = parsing.tokenizer(), parsing.parser_class("qwen3_coder")
    asked = parsing.request(tools=parsing.TOOLS)
    return {name: parsing.compared(kind, tokenizer, f"</think>{text}", asked) for name, text in ANSWERS.items()}
