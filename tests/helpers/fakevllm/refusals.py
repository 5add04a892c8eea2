"""What vLLM 0.32 refuses, in its words."""

import re
from typing import Any

from fakevllm.invalid import RefusedError, check_types, missing

_CHOICES = 'Only named tools, "none", "auto" or "required" are supported.'


def named(message: str, param: str, value: Any = None) -> RefusedError:
    """A refusal that names the field, and its value if there is one."""
    tail = f"(parameter={param})" if value is None else f"(parameter={param}, value={value})"
    return RefusedError(f"{message} {tail}", param)


def check(body: dict[str, Any], args: Any, chat: bool) -> None:
    """Raise for what can be seen before the prompt is made."""
    check_types(body)
    wanted, name = body.get("model"), args.served_model_name
    if wanted is not None and wanted != name:
        raise RefusedError(
            f"The model `{wanted}` does not exist. Valid aliases: {name}.", "model", 404, "NotFoundError"
        )
    if chat and "messages" not in body:
        raise missing(body, "messages")
    if chat and not body["messages"]:
        raise RefusedError("Cannot apply chat template to an empty conversation. Provide at least one message.")
    if not chat and not body.get("prompt"):
        raise named("Either prompt or prompt_embeds must be provided and non-empty.", "prompt")
    if body.get("stream_options") and not body.get("stream"):
        raise named("Stream options can only be defined when `stream=True`.", "stream_options")
    if chat:
        _tools(body, args)
    _sampling(body, args)
    _logprobs(body, chat)
    _constraints(body)


def check_length(count: int, body: dict[str, Any], limit: int, *, exact: bool) -> None:
    """Raise for a prompt that the context cannot hold, or an answer; ``exact``: the prompt came as ids."""
    asked = body.get("max_completion_tokens") or body.get("max_tokens")
    if asked and asked > limit:
        message = (
            f"max_tokens={asked} cannot be greater than max_model_len={limit}. Please request fewer output tokens."
        )
        raise named(message, "max_tokens", asked)
    if count > limit:
        seen = count if exact else limit + 1  # text is read no further than that
        raise named(
            f"This model's maximum context length is {limit} tokens. However, your prompt contains "
            f"{'at least ' if seen == limit + 1 else ''}{seen} input tokens, which exceeds this limit even without any "
            "output tokens. Please reduce the length of the input prompt.",
            "input_tokens",
            seen,
        )


def _tools(body: dict[str, Any], args: Any) -> None:
    choice, tools = body.get("tool_choice"), body.get("tools")
    if choice not in (None, "none") and not tools:
        raise named("When using `tool_choice`, `tools` must be set.", "tool_choice")
    if not tools or choice == "none":
        return
    if isinstance(choice, str) and choice not in {"auto", "required"}:
        raise named(f"Invalid value for `tool_choice`: {choice}! {_CHOICES}", "tool_choice")
    if isinstance(choice, dict):
        name = choice["function"]["name"]
        if name not in {one["function"]["name"] for one in tools}:
            message = "The tool specified in `tool_choice` does not match any of the specified `tools`"
            raise named(message, "tool_choice")
        if not args.tool_call_parser:
            raise RefusedError(f'tool_choice=function "{name}" requires --tool-call-parser to be set')
    elif choice == "required" and not args.tool_call_parser:
        raise RefusedError('tool_choice="required" requires --tool-call-parser to be set')
    elif choice in (None, "auto") and not (args.tool_call_parser and args.enable_auto_tool_choice):
        raise RefusedError('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set')


def _sampling(body: dict[str, Any], args: Any) -> None:
    for field in ("max_completion_tokens", "max_tokens"):
        value = body.get(field)
        if value is not None and value < 1 and not (value == 0 and body.get("echo")):
            raise named(f"max_tokens must be at least 1, got {value}.", "max_tokens", value)
    heat, count = body.get("temperature"), body.get("n", 1)
    if heat is not None and heat < 0:
        raise named(f"temperature must be non-negative, got {float(heat)}.", "temperature", float(heat))
    if count < 1:
        raise RefusedError(f"n must be at least 1, got {count}.")
    if count > 1 and heat == 0:
        raise RefusedError(f"n must be 1 when using greedy sampling, got {count}.")
    if body.get("stop") == "" or "" in list(body.get("stop") or []):
        raise RefusedError("stop cannot contain an empty string.")


def _logprobs(body: dict[str, Any], chat: bool) -> None:
    if chat and body.get("top_logprobs") and not body.get("logprobs"):
        raise named("when using `top_logprobs`, `logprobs` must be set to true.", "top_logprobs")
    if body.get("stream") and body.get("prompt_logprobs"):
        raise named("`prompt_logprobs` are not available when `stream=True`.", "prompt_logprobs")
    sample = (body.get("top_logprobs") if chat else body.get("logprobs")) or 0
    for field, words, value in (
        ("logprobs", "sample", sample),
        ("prompt_logprobs", "prompt", body.get("prompt_logprobs") or 0),
    ):
        if value > 20:
            raise named(f"Requested {words} logprobs of {value}, which is greater than max allowed: 20", field, value)


def _constraints(body: dict[str, Any]) -> None:
    asked = body.get("response_format") or {}
    if asked.get("type") == "json_schema" and not asked.get("json_schema"):
        message = "When response_format type is 'json_schema', the 'json_schema' field must be provided."
        raise named(message, "response_format")
    kinds = {"string", "integer", "number", "boolean", "array", "object", "null"}
    kind = (asked.get("json_schema") or {}).get("schema", {}).get("type", "object")
    if isinstance(kind, str) and kind not in kinds:
        raise RefusedError(f"Grammar error: Invalid type: {kind}")
    forms = {key: value for key, value in (body.get("structured_outputs") or {}).items() if value is not None}
    if len(forms) > 1:
        message = "You can only use one kind of constraints for structured outputs ('json', 'regex' or 'choice')."
        raise RefusedError(message)
    if "regex" in forms:
        try:
            re.compile(forms["regex"])
        except re.error as error:
            raise RefusedError(f'Grammar error: at 1(8): invalid regex "{forms["regex"]}": {error}') from error
