"""Whether an answer was cut by its bound. Pure."""

from __future__ import annotations

from genesisd.probes.answered import Answered


def was_cut(said: Answered) -> bool:
    """By the finish reason or by the count: an engine that finds a call in what was cut says ``tool_calls`` to it."""
    bound = said.exchange.request.get("max_completion_tokens", said.exchange.request.get("max_tokens"))
    ran_out = isinstance(bound, int) and said.completion_tokens is not None and said.completion_tokens >= bound
    return said.finish == "length" or ran_out
