"""Whether an answer to any question at all can be right: not empty, not a flood, not one thing over and over. Pure.

Nothing is known of the question here but its words, so only what no question could want is a fault. An answer under a
grammar is not looked at for repetitions: the grammar may leave it no other way, and its own probe judges it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping

from genesisd.probes.answered import Answered
from genesisd.probes.judging.cutting import was_cut
from genesisd.probes.judging.garbage import garbled
from genesisd.probes.judging.repeats import DEFAULT, Limits, degenerate
from genesisd.probes.model import EXCHANGE_LIMIT

_HIDDEN = 8
"""Completion tokens of which nothing need come: an empty block of thoughts and the end of the answer."""
_HELD_BACK = 32
"""And of an answer that was cut, as a parser holds back the opening of a call."""
_GRAMMAR = ("structured_outputs", "guided_json", "guided_regex", "guided_choice", "guided_grammar")


def wrong(said: Answered, limits: Limits = DEFAULT) -> str | None:
    """What no answer may be."""
    return broken(said) or lost(said, limits)


def broken(said: Answered) -> str | None:
    """What no engine gives that is right, whatever it was asked: no text, no numbers, nothing."""
    asked = json.dumps(dict(said.exchange.request), ensure_ascii=False, default=str)
    for what, text in _told(said):
        if fault := garbled(text, asked):
            return f"the {what} cannot be an answer: {fault}"
    return _empty(said) or _logprobs(said)


def lost(said: Answered, limits: Limits = DEFAULT) -> str | None:
    """One thing over and over; a small model comes to that by itself where the question is beyond it."""
    for what, text in _told(said):
        if fault := _repeated(said, text, limits):
            return f"the {what} cannot be an answer: {fault}"
    return None


def _told(said: Answered) -> Iterator[tuple[str, str]]:
    told = [("content", said.content), ("reasoning", said.reasoning)]
    told += [(f"arguments of {name or 'a call'}", text) for name, text in said.calls]
    return ((what, text) for what, text in told if text)


def _repeated(said: Answered, text: str, limits: Limits) -> str | None:
    """An answer of which only the beginning is known counts as cut."""
    if grammar(said.exchange.request):
        return None
    return degenerate(text, cut=said.finish is None or was_cut(said), limits=limits)


def _empty(said: Answered) -> str | None:
    if said.content or said.reasoning or said.calls or partial(said):
        return None
    count = said.completion_tokens
    if count == 0 or said.finish is None:
        return f"200 with an empty answer: no content, no call, {count or 0} tokens"
    if count is not None and count > (_HELD_BACK if was_cut(said) else _HIDDEN):
        return f"{count} tokens were generated, and neither content nor reasoning nor a call came of them"
    return None


def partial(said: Answered) -> bool:
    """Whether only a part of it was kept."""
    return len(said.exchange.text) >= EXCHANGE_LIMIT or (said.finish is None and said.stream)


def _logprobs(said: Answered) -> str | None:
    """The engine itself clamps what is impossible to -9999, so anything that is no number is a fault."""
    bad = next((one for one in said.tokens if not math.isfinite(one.logprob)), None)
    if bad is not None:
        return f"the logprob of {bad.text!r} is {bad.logprob}, no number"
    high = next((one for one in said.tokens if one.logprob > 1e-3), None)
    return f"the logprob of {high.text!r} is {high.logprob:g}, above 0" if high is not None else None


def grammar(request: Mapping[str, object]) -> bool:
    """Whether the answer had to keep to a grammar."""
    form, choice = request.get("response_format"), request.get("tool_choice")
    constrained = isinstance(form, Mapping) and form.get("type", "text") != "text"
    forced = isinstance(choice, Mapping) or choice == "required"
    return constrained or forced or any(request.get(name) for name in _GRAMMAR)
