"""Whether thoughts and words were told apart. Pure."""

from __future__ import annotations

from genesisd.probes.answered import Answered
from genesisd.probes.judging.leaks import leaked_thoughts


def wrong(said: Answered, *, thinks: bool, asked: str) -> str | None:
    """What is wrong with an answer that was to be thought about, or, not ``thinks``, that was not."""
    content, reasoning = (said.content or "").strip(), (said.reasoning or "").strip()
    if tag := leaked_thoughts(said.content, asked):
        return f"{tag} leaked into the content {_cut(content)}"
    if tag := leaked_thoughts(said.reasoning, asked):
        return f"{tag} stands within the thoughts {_cut(reasoning)}"
    if not content and reasoning:
        return f"the block of thoughts was not closed: all {len(reasoning)} characters came as thoughts"
    if not content:
        return "neither thoughts nor words came"
    if thinks and not reasoning:
        return f"no thoughts came, only {_cut(content)}"
    if not thinks and reasoning:
        return f"thoughts came, though they were turned off: {_cut(reasoning)}"
    if content == reasoning:
        return f"thoughts and words are the same: {_cut(content)}"
    return None


def _cut(text: str, limit: int = 60) -> str:
    return repr(text if len(text) <= limit else f"{text[:limit]}...")
