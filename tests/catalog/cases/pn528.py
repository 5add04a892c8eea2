"""Words after a call: whole, and streamed in every cut. An answer that comes out in several ways is a list.

``hermes`` shows nothing after its first call, whole or streamed, by design; it is a control.
"""

import sys
from pathlib import Path

ID = "PN528"
STUBS = "the tokenizer is made in memory, one letter a token, with the four tags as single tokens; all else is real"
VERDICTS = {"0.23.0": "version"} | dict.fromkeys(("0.24.0", "0.30.0", "0.32.0", "0.33.0"), "applied")


def call(city):
    return f"<tool_call>\n<function=get_weather>\n<parameter=city>\n{city}\n</parameter>\n</function>\n</tool_call>"


JSON_CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome"}}\n</tool_call>'
ANSWERS = {
    "after": f"</think>{call('Rome')}\nAsked — é.",
    "around": f"</think>Wait.\n{call('Rome')}\nAsked.",
    "between": f"</think>One:\n{call('Rome')}\nTwo:\n{call('Oslo')}\nDone.",
    "from_thought": f"I ask.{call('Rome')}\nAsked.",
    "nothing_after": f"</think>Wait.\n{call('Rome')}\n",
    "no_call": "</think>Just words.\n",
}


def observe(version):
    sys.path.append(str(Path(__file__).parents[1]))
    import parsing

    tokenizer, asked = parsing.tokenizer(), parsing.request(tools=parsing.TOOLS)
    forbidden = parsing.request(tools=parsing.TOOLS, tool_choice="none")
    kind = parsing.parser_class("qwen3_coder")
    seen = {name: parsing.compared(kind, tokenizer, text, asked) for name, text in ANSWERS.items()}
    seen["forbidden"] = parsing.compared(kind, tokenizer, ANSWERS["around"], forbidden)
    seen["hermes"] = parsing.compared(parsing.parser_class("hermes"), tokenizer, f"</think>{JSON_CALL}\nAsked.", asked)
    return seen


WITH = {
    "after": 'Asked — é. + get_weather({"city": "Rome"})',
    "around": 'Wait.\n\nAsked. + get_weather({"city": "Rome"})',
    "between": 'One:\n\nTwo:\n\nDone. + get_weather({"city": "Rome"}) + get_weather({"city": "Oslo"})',
    "from_thought": '(I ask.) Asked. + get_weather({"city": "Rome"})',
    "nothing_after": 'Wait. + get_weather({"city": "Rome"})',
    "no_call": "Just words.\n",
    "forbidden": "Wait.\n\nAsked.",
    "hermes": ' + get_weather({"city": "Rome"})',
}
WITHOUT = WITH | {
    "after": [' + get_weather({"city": "Rome"})', 'Asked — é. + get_weather({"city": "Rome"})'],
    "around": ['Wait. + get_weather({"city": "Rome"})', 'Wait.\n\nAsked. + get_weather({"city": "Rome"})'],
    "between": [
        'One: + get_weather({"city": "Rome"}) + get_weather({"city": "Oslo"})',
        'One:\n\n\nTwo:\nDone. + get_weather({"city": "Rome"}) + get_weather({"city": "Oslo"})',
    ],
    "from_thought": ['(I ask.)  + get_weather({"city": "Rome"})', '(I ask.) Asked. + get_weather({"city": "Rome"})'],
}
RED = {
    "0.24.0": WITHOUT
    | {
        "forbidden": "Wait.\n<tool_call>\n<function=get_weather>\n<parameter=city>\nRome\n</parameter>\n</function>\n</tool_call>\nAsked."
    },
    "0.30.0": WITHOUT,
    "0.32.0": WITHOUT,
    "0.33.0": WITHOUT,
    "0.23.0": WITHOUT,
}
GREEN = {
    "0.24.0": WITH
    | {
        "forbidden": "Wait.\n<tool_call>\n<function=get_weather>\n<parameter=city>\nRome\n</parameter>\n</function>\n</tool_call>\nAsked."
    },
    "0.30.0": WITH,
    "0.32.0": WITH,
    "0.33.0": WITH,
    "0.23.0": WITH,
}
