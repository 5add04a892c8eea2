# Pathlib would cost each fake start-up time and memory.
# ruff: noqa: PTH118, PTH123
"""What the model says: by heart what the demo model knows by heart, else something that follows from the prompt."""

import hashlib
import json
import os
import re
from functools import cache
from typing import Any

from fakevllm.constraints import constraint, fits, satisfy
from fakevllm.template import render, thinks
from fakevllm.vocab import FOLDER

_NEEDLE = re.compile(r"\b(key word|code|password|secret|number|word)\b[^.?!\n]{0,40}? is (\w[\w-]*)\.")
_TOPICS = ("lamp", "drum", "wall", "mill", "harbour", "market", "bridge", "baker", "miner", "sailor", "farmer", "smith")
_WORDS = (
    "amber",
    "silver",
    "copper",
    "ivory",
    "cedar",
    "pearl",
    "bread",
    "coal",
    "rope",
    "rice",
    "nails",
    "wool",
    "jars",
)


def form_of(body: dict[str, Any], strict: bool) -> str:
    """How a forced call is written: native, or with laxer grammars a list or bare arguments."""
    choice = body.get("tool_choice")
    if strict or not body.get("tools"):
        return "native"
    return "list" if choice == "required" else "bare" if isinstance(choice, dict) else "native"


@cache
def known(notation: str) -> dict[tuple[str, str], dict[str, Any]]:
    """The golden cases by prompt and form."""
    with open(os.path.join(FOLDER, "golden.json"), encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    found = {}
    for case in cases:
        needs, body = case["needs"], case["request"]
        if needs["tool_parser"] in (None, notation):
            form = form_of(body, needs["strict_tool_calling"] is not False)
            form = "none" if body.get("tool_choice") == "none" else form
            found[render(body, notation), form] = case
    return found


def seed(*parts: Any) -> int:
    """A number that follows from the parts and from nothing else."""
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=8).digest(), "big")


def emission(prompt: str, body: dict[str, Any], *, chat: bool, notation: str, form: str, reasons: bool) -> str:
    """Everything that the model generates for a prompt, up to but without its end token."""
    case = known(notation).get((prompt, form))
    bound = constraint(body)
    think = chat and thinks(body)
    if bound and not reasons:
        think = False  # the grammar holds from the first token on
    if case and (not bound or fits(_after(case["emits"]), bound)):
        return case["emits"] if reasons or not bound else _after(case["emits"])
    if bound and not chat and reasons:
        return _sentence(prompt)  # without a thought that ends, the grammar never begins
    thought = f"<think>\nThis is about the {_pick(_TOPICS, prompt)}.\n</think>"
    if case and bound:
        thought = case["emits"].removesuffix(_after(case["emits"]))
    before = thought if think else ""
    return before + (satisfy(bound, prompt) if bound else _free(prompt, body, notation, form))


def _after(text: str) -> str:
    return text.rpartition("</think>")[2]


def _free(prompt: str, body: dict[str, Any], notation: str, form: str) -> str:
    choice = body.get("tool_choice")
    if body.get("tools") and (choice == "required" or isinstance(choice, dict)):
        return _forced(prompt, body, notation, form)
    if "messages" not in body:
        return " ".join(_sentence(f"{prompt}{at}") for at in range(4))
    hidden = _NEEDLE.search(prompt)
    return f"The {hidden[1]} is {hidden[2]}." if hidden else _sentence(prompt)


def _sentence(prompt: str) -> str:
    words = " ".join(_pick(_WORDS, prompt, at) for at in range(6))
    return f"The {_pick(_TOPICS, prompt, 'of')} has {words}."


def _pick(options: list[str], *parts: Any) -> str:
    return options[seed(*parts) % len(options)]


def _forced(prompt: str, body: dict[str, Any], notation: str, form: str) -> str:
    choice = body["tool_choice"]
    named = choice["function"]["name"] if isinstance(choice, dict) else body["tools"][0]["function"]["name"]
    tool = next(one["function"] for one in body["tools"] if one["function"]["name"] == named)
    values = json.loads(satisfy(("json", tool.get("parameters") or {}), prompt))
    if form == "bare":
        return json.dumps(values)
    if form == "list":
        return json.dumps([{"name": named, "parameters": values}])
    if notation == "qwen3_coder":
        fields = "\n".join(f"<parameter={key}>\n{value}\n</parameter>" for key, value in values.items())
        return f"<tool_call>\n<function={named}>\n{fields}\n</function>\n</tool_call>"
    return f'<tool_call>\n{{"name": "{named}", "arguments": {json.dumps(values)}}}\n</tool_call>'
