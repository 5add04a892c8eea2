"""Wrong answers: what the control file's ``answer`` may name, alone or as a list.

Of the tokens: ``garbage`` (nothing but !), ``repeat`` (one token over and over), ``swapped-weights`` (one word of every
answer differs, and all logprobs), ``prefix-hit-differs`` (so after a hit of the prefix cache), ``near-tie`` (odd but
right: what is no golden answer differs now and then in one token, its logprobs say that it was a tie;
``near-tie-golden``: golden ones too),
``needle-lost`` (prompts above ``needle_limit`` tokens get another word), ``unclosed-think`` (the thought never ends),
``other-request`` (a kept connection's second request gets the first one's answer).
Of the numbers: ``shifted-logprobs``, ``nan-logprobs`` (NaN as it is), ``nan-refused`` (a 500, as a strict encoder).
Of the reply: ``calls-as-text`` (no calls, their notation as text), ``drop-streamed-call``, ``wrong-argument``,
``invalid-json``, ``leaked-tags``, ``wrong-finish``, ``empty-text``, ``think-leak``, ``schema-violation``,
``regex-violation``. With ``answer_only`` "stream" or "whole" the other half is right.
"""

import json
from typing import Any

from fakevllm.answers import seed
from fakevllm.constraints import constraint
from fakevllm.parsers import Reply
from fakevllm.vocab import vocab

CLOSE = "</think>"


def named(faults: dict[str, Any], stream: bool) -> frozenset[str]:
    """The faults of this answer."""
    said = faults["answer"]
    only = faults["answer_only"]
    if only and only != ("stream" if stream else "whole"):
        return frozenset()
    return frozenset(() if said == "ok" else [said] if isinstance(said, str) else said)


def spoil_text(text: str, prompt: list[int], cached: int, faults: frozenset[str], limit: int) -> str:
    """The emission with what is wrong in it."""
    if "swapped-weights" in faults or ("prefix-hit-differs" in faults and cached):
        text = _another_word(text, len(prompt))
    if "needle-lost" in faults and len(prompt) > limit:
        head, _, last = text.rpartition(" ")
        text = f"{head} {'amber' if last != 'amber.' else 'copper'}."
    if "unclosed-think" in faults:
        text = text.replace(CLOSE, " so", 1)
    return text


def spoil_ids(ids: list[int], faults: frozenset[str], turn: int, golden: bool) -> list[int]:
    """The tokens with what is wrong in them."""
    if "garbage" in faults:
        return vocab().encode("!") * max(64, len(ids))
    if "repeat" in faults:
        word = next((one for one in ids if vocab().decode([one]).strip().isalpha()), ids[0])
        return ids[: ids.index(word)] + [word] * max(64, len(ids))
    if ties(faults, golden) and turn % 2 and (one := tie(ids)):
        return [*ids[: one[0]], one[1], *ids[one[0] + 1 :]]
    return ids


def ties(faults: frozenset[str], golden: bool) -> bool:
    """Whether this answer has a near tie in it."""
    return "near-tie-golden" in faults or ("near-tie" in faults and not golden)


def tie(ids: list[int]) -> tuple[int, int] | None:
    """Where an answer could as well go on with another token, and which; never at a mark, nor beside a call."""
    marks = set(vocab().added.values())
    words = [at for at, one in enumerate(ids) if at and one not in marks and vocab().decode([one]).strip().isalpha()]
    if not words or vocab().added["<tool_call>"] in ids:
        return None
    return words[seed(ids) % len(words)], vocab().encode(" amber")[0]


def tell_tie(entries: list[list[tuple[int, float, int]]], right: list[int]) -> None:
    """Make the logprobs of a near tie say so."""
    if (one := tie(right)) and one[0] < len(entries):
        entry = entries[one[0]]
        other = right[one[0]] if entry[0][0] == one[1] else one[1]
        entry[0] = (entry[0][0], -0.69, 1)
        entry[1:2] = [(other, -0.71, 2)] if len(entry) > 1 else []


def _another_word(text: str, salt: int) -> str:
    """Exchange one word of what follows the thought, and no mark."""
    head, mark, tail = text.rpartition(CLOSE)
    words = tail.split(" ")
    plain = [at for at, one in enumerate(words) if one.strip(".,!").isalpha()] or [0]
    at = plain[seed(text, salt) % len(plain)]
    words[at] = "silver" if words[at] != "silver" else "copper"
    return head + mark + " ".join(words)


def spoil_reply(reply: Reply, raw: str, body: dict[str, Any], faults: frozenset[str], stream: bool) -> None:
    """The reply with what is wrong in it; ``raw`` is the emission."""
    if "calls-as-text" in faults and reply.calls:
        reply.content, reply.calls, reply.finish = raw.rpartition(CLOSE)[2], [], "stop"
    if "drop-streamed-call" in faults and stream and reply.calls:
        reply.calls, reply.finish = reply.calls[:-1], "tool_calls" if reply.calls[:-1] else "stop"
    for call in reply.calls:
        if "wrong-argument" in faults:
            call[1] = _wrong(call[1])
        if "invalid-json" in faults:
            call[1] = call[1][:-1]
    if "leaked-tags" in faults:
        reply.content = f"{reply.content or ''}</tool_call>"
    if "wrong-finish" in faults:
        reply.finish = "stop" if reply.finish in {"tool_calls", "length"} else "length"
    if "empty-text" in faults:
        reply.content, reply.reasoning, reply.calls = "", None, []
    if "think-leak" in faults:
        reply.content = f"{reply.reasoning or ''}{CLOSE}{reply.content or ''}"
    if reply.content is not None:
        reply.content = spoil_form(reply.content, body, faults)


def spoil_form(text: str, body: dict[str, Any], faults: frozenset[str]) -> str:
    """Text that breaks its constraint."""
    bound = constraint(body)
    if bound and bound[0].startswith("json") and "schema-violation" in faults:
        read = json.loads(text)
        return json.dumps(dict(list(read.items())[1:]) if isinstance(read, dict) else None)
    if bound and bound[0] in {"regex", "choice"} and "regex-violation" in faults:
        return text + "?"
    return text


def _wrong(arguments: str) -> str:
    values = json.loads(arguments)
    for key, value in reversed(values.items()):
        values[key] = value + 1 if isinstance(value, int | float) else f"{value} "
        break
    return json.dumps(values)
