"""Three calls in one answer, and a request that says null, true or false about parallel calls."""

ID = "PN373"
STUBS = "none: the real choice, message, call and request models"
VERDICTS = {
    "0.23.0": "applied",
    "0.24.0": "superseded",
    "0.30.0": "superseded",
    "0.32.0": "superseded",
    "0.33.0": "superseded",
}
RED = {"null": 1, "true": 3, "false": 1}
GREEN = {"null": 3, "true": 3, "false": 1}


def observe(version):
    from vllm.entrypoints.openai.chat_completion.protocol import (
        ChatCompletionRequest,
        ChatCompletionResponseChoice,
        ChatMessage,
    )
    from vllm.entrypoints.serve.utils import tool_calls_utils

    seen = {}
    for name, value in {"null": None, "true": True, "false": False}.items():
        request = ChatCompletionRequest(messages=[{"role": "user", "content": "x"}], parallel_tool_calls=value)
        calls = [
            {"id": f"c{n}", "type": "function", "function": {"name": f"f{n}", "arguments": "{}"}} for n in range(3)
        ]
        message = ChatMessage(role="assistant", tool_calls=calls)
        if version == "0.33.0":  # the filter takes the calls themselves
            seen[name] = len(tool_calls_utils.maybe_filter_parallel_tool_calls(message.tool_calls, request))
            continue
        choice = ChatCompletionResponseChoice(index=0, message=message, finish_reason="tool_calls")
        seen[name] = len(tool_calls_utils.maybe_filter_parallel_tool_calls(choice, request).message.tool_calls)
    return seen
