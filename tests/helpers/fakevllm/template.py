"""The demo model's chat templates, by hand: the same text as its Jinja files, so that token counts are the real ones."""

import json
from typing import Any


def render(body: dict[str, Any], notation: str, generation: bool = True) -> str:
    """The prompt of a chat request. ``notation``: how calls are written, hermes or qwen3_coder."""
    messages, tools = body.get("messages") or [], body.get("tools")
    system = next((_text(one) for one in reversed(messages) if one.get("role") == "system"), "")
    out = ""
    if system or tools:
        out += f"<|im_start|>system\n{system}"
        if tools:
            named = "".join(f" {one['function']['name']}" for one in tools)
            out += ("\n" if system else "") + f"Tools in {'tags' if notation == 'qwen3_coder' else 'json'}:{named}"
        out += "<|im_end|>\n"
    last_user = max((at for at, one in enumerate(messages) if one.get("role") == "user"), default=-1)
    for at, one in enumerate(messages):
        if one.get("role") != "system":
            out += _turn(one, at > last_user, notation)
    if generation:
        out += "<|im_start|>assistant\n" + ("" if thinks(body) else "<think>\n\n</think>")
    return out


def thinks(body: dict[str, Any]) -> bool:
    """Whether the model is to think: yes unless the request says no."""
    return bool((body.get("chat_template_kwargs") or {}).get("enable_thinking", True))


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return content or ""


def _turn(message: dict[str, Any], fresh: bool, notation: str) -> str:
    out = f"<|im_start|>{message.get('role')}\n"
    thought = message.get("reasoning") or message.get("reasoning_content")
    if message.get("role") == "assistant" and thought and fresh:
        out += f"<think>\n{thought}\n</think>"
    out += _text(message)
    for call in message.get("tool_calls") or []:
        out += _call(call["function"], notation)
    return out + "<|im_end|>\n"


def _call(function: dict[str, Any], notation: str) -> str:
    given = function.get("arguments") or "{}"
    values = json.loads(given) if isinstance(given, str) else given
    if notation != "qwen3_coder":
        return f'<tool_call>\n{{"name": "{function["name"]}", "arguments": {json.dumps(values)}}}\n</tool_call>'
    fields = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in values.items())
    return f"<tool_call>\n<function={function['name']}>\n{fields}</function>\n</tool_call>"
