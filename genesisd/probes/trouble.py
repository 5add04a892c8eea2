"""Why there is no answer to judge, and what that means. Pure.

One table for all kinds: what hindered the asking is unknown, what the worker cannot do is skipped, and only what a sane
request must not get is a failure.
"""

from __future__ import annotations

import re
from dataclasses import replace
from enum import StrEnum

from genesisd.errors import GenesisError
from genesisd.probes.answered import Answered
from genesisd.probes.model import Exchange, Outcome, failure, skipped, unknown


class Trouble(StrEnum):
    """What stood between a question and its answer."""

    UNREACHED = "unreached"
    """No connection, a lost one, or no time: whether the engine lives is asked by other probes."""
    BUSY = "busy"
    DENIED = "denied"
    """The engine wants a key."""
    REJECTED = "rejected"
    """The engine would not take this request: the probe's doing, not the engine's."""
    LACKING = "lacking"
    """The engine says that it was started without what is asked about."""
    FAULT = "fault"
    """An error of the engine's own."""
    MALFORMED = "malformed"
    """200, and yet no whole answer."""


_LACKING = re.compile(
    r"tool choice requires|--enable-auto-tool-choice|--tool-call-parser|tool[- ]call parser|reasoning[- ]parser"
    r"|chat template|does not support (the )?(chat|completions|tokeniz|tool|reasoning|logprob|structured)"
    r"|(prompt_)?logprobs (is|are) (not (supported|available)|disabled)|max[_-]logprobs|--enable-tokenizer"
    r"|structured outputs? (is|are) (not (supported|available)|disabled)|cache_salt"
    r"|system role (is )?not supported|roles must alternate",
    re.IGNORECASE,
)
"""In a refusal: the feature that the worker was started without; the last two are chat templates' own words."""
_NO_SUCH_MODEL = re.compile(r"model\b.{0,200}\bdoes not exist", re.IGNORECASE | re.DOTALL)
"""A 404 for a name that is not served: the probe asked for the wrong one, and the worker lacks nothing."""
_OUR_FAULT = range(400, 500)


class NoAnswerError(GenesisError):
    """There is nothing to judge; ``answered`` holds what came, if anything did."""

    code = "no_answer"

    def __init__(self, trouble: Trouble, message: str, exchange: Exchange, answered: Answered | None = None) -> None:
        super().__init__(message, trouble=str(trouble), path=exchange.path, status=exchange.status)
        self.trouble, self.exchange, self.answered = trouble, exchange, answered


def trouble_of(answered: Answered) -> NoAnswerError | None:
    """What is wrong with an answer's form, or None where there is one to judge."""
    path, where = answered.exchange.path, "the stream" if answered.stream else "the answer"
    if answered.status != 200:
        said = answered.error or answered.exchange.text
        return _error(answered, _of_status(answered.status, said), f"{path} answered {answered.status}: {said[:160]}")
    if answered.error is not None:
        kind = _of_status(answered.code or 500, answered.error)
        text = f"an error came in {where} of {path} after {answered.chunks} chunks: {answered.error[:160]}"
        return _error(answered, kind, text)
    if answered.garbled is not None:
        return _error(answered, Trouble.MALFORMED, f"{path}: {answered.garbled}")
    if answered.chunks == 0:
        return _error(answered, Trouble.MALFORMED, f"{path} answered 200 with no choice in {where}")
    if answered.finish is None:
        return _error(answered, Trouble.MALFORMED, f"{where} of {path} ended without a finish reason")
    if not answered.ended:
        return _error(answered, Trouble.MALFORMED, f"the stream of {path} ended without [DONE]")
    return None


def _error(answered: Answered, kind: Trouble, text: str) -> NoAnswerError:
    return NoAnswerError(kind, text, answered.exchange, answered)


def _of_status(status: int, said: str) -> Trouble:
    if status in {401, 403}:
        return Trouble.DENIED
    if status in {408, 429, 503}:
        return Trouble.BUSY
    if status in _OUR_FAULT or status == 501:
        lacks = status in {404, 405, 501} or _LACKING.search(said)
        return Trouble.LACKING if lacks and not _NO_SUCH_MODEL.search(said) else Trouble.REJECTED
    return Trouble.FAULT


def verdict_of(problem: NoAnswerError) -> Outcome:
    """The one place that says what a missing answer means; the exchange stands first."""
    kind, text = problem.trouble, problem.message
    facts = {"trouble": str(kind), "path": problem.exchange.path, "status": problem.exchange.status}
    match kind:
        case Trouble.LACKING:
            outcome = skipped(f"this worker cannot be asked: {text}", **facts)
        case Trouble.DENIED:
            outcome = unknown(f"the probe was refused: give genesisd the API key ({text})", **facts)
        case Trouble.FAULT | Trouble.MALFORMED:
            outcome = failure(text, **facts)
        case _:
            outcome = unknown(f"could not ask: {text}", **facts)
    return replace(outcome, exchanges=(problem.exchange,))
