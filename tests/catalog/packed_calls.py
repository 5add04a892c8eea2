"""Real calls in streams whose deltas hold several tokens, as speculation packs them; run like a case.

``observe`` gives the answers of which some stream comes to another reply than the whole answer.
"""

import sys
from pathlib import Path

WEATHER = "<tool_call>\n<function=get_weather>\n<parameter=city>\nRome\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>"
NOTE = "<tool_call>\n<function=note>\n<parameter=text>\nbuy milk\n</parameter>\n</function>\n</tool_call>"
ANSWERS = {"one": f"</think>{WEATHER}", "two": f"</think>{WEATHER}\n{NOTE}", "thought": f"I look.</think>{NOTE}"}


def observe(version):
    sys.path.append(str(Path(__file__).parent))
    import parsing

    tokenizer, kind = parsing.tokenizer(), parsing.parser_class("qwen3_coder")
    asked = parsing.request(tools=parsing.TOOLS)
    seen = {name: parsing.compared(kind, tokenizer, text, asked) for name, text in ANSWERS.items()}
    return [name for name, replies in seen.items() if isinstance(replies, list)]
