"""The schema that a forced tool puts on the answer, where the tool declares no parameters."""

ID = "PN385"
STUBS = "none: the real function with the real models of both kinds of request"
VERDICTS = dict.fromkeys(("0.23.0", "0.24.0", "0.30.0"), "applied") | dict.fromkeys(("0.32.0", "0.33.0"), "superseded")
EMPTY = {"type": "object", "properties": {}}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
SAME = {"chat with": SCHEMA, "responses with": SCHEMA, "required": 1, "auto": None, "none": None}
RED = SAME | {"chat without": None, "chat empty": {}, "responses without": None, "responses empty": {}}
GREEN = SAME | dict.fromkeys(("chat without", "chat empty", "responses without", "responses empty"), EMPTY)


def observe(version):
    from openai.types.responses import FunctionTool, ToolChoiceFunction
    from vllm.entrypoints.openai.chat_completion.protocol import (
        ChatCompletionNamedToolChoiceParam,
        ChatCompletionToolsParam,
    )
    from vllm.tool_parsers.utils import get_json_schema_from_tools

    kinds = {"with": {"parameters": SCHEMA}, "without": {}, "empty": {"parameters": {}}}
    seen = {}
    for name, fields in kinds.items():
        function = {"name": "f", **fields}
        chat = ChatCompletionToolsParam(type="function", function=function)
        named = ChatCompletionNamedToolChoiceParam(type="function", function={"name": "f"})
        seen[f"chat {name}"] = get_json_schema_from_tools(named, [chat])
        tool = FunctionTool(type="function", name="f", strict=False, parameters=fields.get("parameters"))
        seen[f"responses {name}"] = get_json_schema_from_tools(ToolChoiceFunction(type="function", name="f"), [tool])
    seen["required"] = get_json_schema_from_tools("required", [chat])["minItems"]
    return seen | {choice: get_json_schema_from_tools(choice, [chat]) for choice in ("auto", "none")}
