"""``acceptance``: speculation pays. A drafter that is broken answers right, and makes every answer slow.

Speculation hides its faults from all other probes: what is drafted wrong is thrown away and computed again.
"""

from __future__ import annotations

import math

import aiohttp

from genesisd.probes import metrics
from genesisd.probes.model import Outcome, failure, skipped, success, unknown
from genesisd.probes.page import late, page
from genesisd.probes.ports import Target
from genesisd.probes.spec import AcceptanceProbe
from genesisd.probes.window import Window

_COUNTERS = {
    "tokens": b"vllm:spec_decode_num_draft_tokens_total",
    "accepted": b"vllm:spec_decode_num_accepted_tokens_total",
    "drafts": b"vllm:spec_decode_num_drafts_total",
}
_LOOKED_UP = frozenset({"ngram", "ngram_gpu", "suffix"})
"""Methods without a drafter that could break: the default floor is one for heads that were trained."""
_TOKENS_EACH = 4
"""Tokens of a draft where the engine does not count drafts."""
_SIGMAS = 2.6
"""How far below the floor, in standard errors, a share must lie before chance is ruled out: one in two hundred."""


class Acceptance:
    """Remembers the counters of its window."""

    def __init__(self, spec: AcceptanceProbe, session: aiohttp.ClientSession) -> None:
        self._spec, self._session = spec, session
        self._window = Window(spec.window)

    async def ask(self, target: Target, now: float) -> Outcome:
        """Read the counters, and weigh what came since the window began."""
        if target.abilities.speculative == "":
            return skipped("it does not speculate")
        if target.abilities.speculative in _LOOKED_UP and "floor" not in self._spec.model_fields_set:
            text = f"what {target.abilities.speculative} drafts is copied from the text, whose matter the share is"
            return skipped(f"{text}: set a floor to hold it to one")
        answered = await page(self._session, target)
        if isinstance(answered, Outcome):
            return answered
        found = {key: value for key, name in _COUNTERS.items() if (value := metrics.total(answered, name)) is not None}
        if not {"tokens", "accepted"} <= found.keys():
            return self._uncounted(target)
        self._window.add(now, found)
        grown = self._window.growth
        return self._weigh(grown("tokens"), grown("accepted"), grown("drafts"))

    async def late(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """Nothing is known."""
        return late(self._spec.timeout)

    async def close(self) -> None:
        """Nothing is kept open."""

    def _uncounted(self, target: Target) -> Outcome:
        if target.abilities.speculative:
            return unknown(f"it speculates by {target.abilities.speculative}, and /metrics counts no drafts")
        return skipped("/metrics counts no drafts: it does not speculate")

    def _weigh(self, tokens: float, accepted: float, drafts: float) -> Outcome:
        spec, facts = self._spec, {"drafted": tokens, "accepted": accepted, "seconds": round(self._window.span, 1)}
        if tokens < spec.min_drafts:
            return unknown(f"too few: {tokens:.0f} tokens were drafted, {spec.min_drafts} are needed", **facts)
        share = accepted / tokens
        text = f"{share:.2f} of {tokens:.0f} drafted tokens were accepted in {self._window.span:.0f} s"
        if share >= spec.floor:
            return success(text, **facts)
        text = f"{text}, expected at least {spec.floor:g}"
        if share >= spec.floor - _margin(spec.floor, drafts or tokens / _TOKENS_EACH):
            return unknown(f"{text}; of so few that may be chance", **facts)
        return failure(text, **facts)


def _margin(share: float, drafts: float) -> float:
    """How far chance may move a share. Tokens of one draft stand or fall together, so drafts are what is counted."""
    return _SIGMAS * math.sqrt(share * (1 - share) / max(drafts, 1.0))
