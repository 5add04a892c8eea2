"""How a question whose answer is compared is put, and what is compared of the answer. Pure."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping

from genesisd.probes.answered import Answered, Token
from genesisd.probes.casebook import AnswerCase
from genesisd.probes.golden import Golden, Reply

WITH_IDS: Mapping[str, object] = {"return_token_ids": True}
"""Engines that do not know it leave it; then words are compared, and near ties cannot be told."""


def with_margins(case: AnswerCase) -> dict[str, object]:
    """The body that also asks how narrowly each token was chosen."""
    asked: dict[str, object] = (
        {"logprobs": 2} if case.path == "/v1/completions" else {"logprobs": True, "top_logprobs": 2}
    )
    return {**case.body, **WITH_IDS, **asked}


def plain(case: AnswerCase) -> dict[str, object]:
    """The body as users send it, which takes another way through the engine than one with logprobs."""
    return {**case.body, **WITH_IDS}


def reply_of(answered: Answered) -> Reply:
    """What is compared."""
    return Reply(
        content=answered.content,
        reasoning=answered.reasoning,
        calls=answered.calls,
        finish=answered.finish or "",
        ids=answered.token_ids or (),
        margins=tuple(margin(token) for token in answered.tokens),
    )


def margin(token: Token) -> float:
    """Nats by which the token led; one that led nobody counts as far ahead, one that is no number as a tie."""
    others = [value for text, value in token.top if text != token.text]
    lead = token.logprob - others[0] if others else 99.0
    return round(min(lead, 99.0), 4) if math.isfinite(lead) else (99.0 if lead > 0 else 0.0)


def fingerprint(ids: Iterable[tuple[int, ...]]) -> str:
    """Eight digits for each text, so that a difference can be told for the text that has it."""
    return "-".join(hashlib.sha256(repr(tuple(one)).encode()).hexdigest()[:8] for one in ids)


def recorded_for(golden: Golden | None, label: str) -> str:
    """Why nothing can be held against the recording, or '' where it can."""
    if golden is None:
        return "nothing is recorded of its build yet: genesisctl probes record-golden does"
    if golden.casebook != label:
        return f"the recording is of casebook {golden.casebook}, and it is now asked {label}: record it anew"
    return ""
