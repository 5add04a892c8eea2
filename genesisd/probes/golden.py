"""What was recorded of a build that is right: greedy answers, logprobs, the tokenizer. Pure.

Recorded only from a worker that was attested and that every other probe found good, and held against the same pin
without patches: a difference between the two has to be a patch's doing, and the patch is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Reply:
    """One greedy answer. Calls are (name, arguments as text).

    Attributes:
        ids: of the tokens that were generated; empty where the engine does not tell them.
        margins: nats between the best and the next token at each place, as far as they are known.
        streamed: whether the answer is the same as a stream.
    """

    content: str | None
    reasoning: str | None = None
    calls: tuple[tuple[str, str], ...] = ()
    finish: str = "stop"
    ids: tuple[int, ...] = ()
    margins: tuple[float, ...] = ()
    streamed: bool = True


@dataclass(frozen=True, slots=True)
class Drift:
    """Logprobs of a fixed text in nats (the first token has none and is left out), and how far repeats lay apart."""

    text: str
    logprobs: tuple[float, ...]
    bound: float


@dataclass(frozen=True, slots=True)
class Golden:
    """One recording.

    Attributes:
        model: as the configuration names it, with the flags that shape its answers.
        pin: id of the pin.
        build: name of the build, or None for the plain pin.
        casebook: name and digest of what was asked.
        replies: by id of the case.
        drift: None where the engine gave no logprobs.
        tokenizer: digest of the token ids of the casebook's texts, or None.
        differs: cases that the plain pin answers otherwise, with the patch that is named for it.
        reference: name of the recording of the plain pin that it was held against; None for the plain pin itself.
        weights: digest of the model's files by name and size, or None.
        recorded: wall time in seconds.
    """

    model: str
    pin: str
    build: str | None
    casebook: str
    replies: Mapping[str, Reply] = field(default_factory=dict)
    drift: Drift | None = None
    tokenizer: str | None = None
    differs: Mapping[str, str] = field(default_factory=dict)
    reference: str | None = None
    weights: str | None = None
    recorded: float = 0.0


TIE = 0.25
"""Nats between two tokens below which either is right.

Logits are held in bf16 by most engines: 8 bits, so that one of 16 to 32 moves in steps of 0.125. Users' requests in the
same batch change the order of sums and with it the last step or two, and nothing else; a wider margin is not crossed.
"""


@dataclass(frozen=True, slots=True)
class Difference:
    """How an answer is not the recorded one.

    Attributes:
        text: what came and what was expected, short.
        tie: the first token that differs was a near tie when it was recorded: both answers are right.
        sure: chance is ruled out: the margin there was wide, or the very same tokens were put into other words.
    """

    text: str
    tie: bool = False
    sure: bool = False


def difference(recorded: Reply, came: Reply) -> Difference | None:
    """None where both say the same; no words and empty words are the same, as a stream cannot tell them apart."""
    if _words(recorded) == _words(came):
        return None
    text = f"{_told(came, recorded)}, expected {_told(recorded, came)}"
    if not recorded.ids or not came.ids:
        return Difference(text)
    if recorded.ids == came.ids:
        return Difference(f"{text}, from the same tokens", sure=True)
    place = _fork(recorded.ids, came.ids)
    if place >= len(recorded.margins):
        return Difference(f"{text}, from token {place + 1} on")
    margin = recorded.margins[place]
    told = f"{text}, from token {place + 1} on, which led by {margin:.2f} nats"
    return Difference(told, tie=margin <= TIE, sure=margin > TIE)


def differences(recorded: Golden, replies: Mapping[str, Reply]) -> dict[str, Difference]:
    """Those of ``replies`` (by id of the case) that are not the recorded ones; unknown cases are left out."""
    found = {
        case: difference(recorded.replies[case], came) for case, came in replies.items() if case in recorded.replies
    }
    return {case: one for case, one in found.items() if one is not None}


def compare(ours: Golden, plain: Golden) -> dict[str, str]:
    """What a build says otherwise than its plain pin, or refuses: text by case, near ties left out.

    A patch must be named for each.
    An answer that only its stream changes is one too: where the stream is unlike, it is not held against the recording.
    Besides cases there are ``(drift)``, logprobs further apart than either's repeats, and ``(tokenizer)``.
    """
    found = {
        case: "as a stream it is no longer what the whole answer is"
        for case, one in ours.replies.items()
        if case in plain.replies and plain.replies[case].streamed and not one.streamed
    }
    found |= {case: one.text for case, one in differences(plain, ours.replies).items() if not one.tie}
    found |= {case: "it is refused" for case in plain.replies if case not in ours.replies}
    if ours.drift and plain.drift and ours.drift.text == plain.drift.text:
        apart, bound = distance(ours.drift.logprobs, plain.drift.logprobs), max(ours.drift.bound, plain.drift.bound)
        if apart is None or apart > bound:
            told = "of another number of tokens" if apart is None else f"{apart:.4f} nats apart, bound {bound:.4f}"
            found["(drift)"] = f"logprobs are {told}"
    if ours.tokenizer and plain.tokenizer and ours.tokenizer != plain.tokenizer:
        found["(tokenizer)"] = "the token ids of the casebook's texts differ"
    return found


def distance(one: tuple[float, ...], other: tuple[float, ...]) -> float | None:
    """Mean absolute difference in nats; None where the tokens are not the same many. Infinite where one is no number."""
    if len(one) != len(other) or not one:
        return None
    mean = sum(abs(a - b) for a, b in zip(one, other, strict=True)) / len(one)
    return mean if mean == mean else float("inf")  # noqa: PLR0124 - not a number is unlike itself


def _words(reply: Reply) -> tuple[object, ...]:
    return (reply.content or None, reply.reasoning or None, reply.calls, reply.finish)


def _fork(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    pairs = zip(one, other, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _told(reply: Reply, beside: Reply) -> str:
    """The part in which it differs from the one beside it."""
    if (reply.content or "") != (beside.content or ""):
        return _excerpt(reply.content or "", beside.content or "")
    if (reply.reasoning or "") != (beside.reasoning or ""):
        return f"thought {_excerpt(reply.reasoning or '', beside.reasoning or '')}"
    if reply.calls != beside.calls:
        return f"calls {', '.join(f'{name}({arguments})' for name, arguments in reply.calls)[:80] or 'none'}"
    return f"finish reason {reply.finish}"


def _excerpt(text: str, beside: str, limit: int = 60) -> str:
    """From a little before the first character that differs."""
    pairs = zip(text, beside, strict=False)
    fork = next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(text), len(beside)))
    start = max(0, fork - 20)
    cut = text[start : start + limit]
    return f"{'...' if start else ''}{cut!r}{'...' if start + limit < len(text) else ''}"
