"""``logprob-drift``: the logprobs of a fixed text are those that were recorded, up to the noise that was measured.

It sees what greedy answers hide: a sum that lost a few bits moves every logprob long before a token changes.
"""

from __future__ import annotations

import math

import aiohttp

from genesisd.probes.asking import Answered, Asking, NoAnswerError
from genesisd.probes.casebooks import label
from genesisd.probes.golden import Drift, distance
from genesisd.probes.model import Outcome, failure, skipped, success
from genesisd.probes.ports import Target
from genesisd.probes.replies import recorded_for
from genesisd.probes.spec import LogprobDriftProbe


def question(text: str) -> dict[str, object]:
    """The body: 0 is the prompt's own tokens and no others."""
    return {"prompt": text, "max_tokens": 1, "prompt_logprobs": 0}


class LogprobDrift:
    """Stateless but for what was asked last."""

    def __init__(self, spec: LogprobDriftProbe, session: aiohttp.ClientSession) -> None:
        self._spec, self._asking = spec, Asking(session, "logprob-drift")

    async def ask(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """One prompt, one token of answer."""
        self._asking.begin()
        golden = target.golden()
        why = recorded_for(golden, label(target.casebook))
        if golden is None or why:
            return skipped(why)
        if golden.drift is None:
            return skipped("the recording has no logprobs: the engine gave none then")
        try:
            answered = await self._asking.complete(target, question(golden.drift.text))
        except NoAnswerError as problem:
            return self._asking.could_not(problem)
        return self._asking.outcome(weigh(golden.drift, answered, self._spec.bound))

    async def late(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """Nothing is known."""
        return self._asking.late(self._spec.timeout)

    async def close(self) -> None:
        """Nothing is kept open."""


def logprobs_of(answered: Answered) -> tuple[float, ...] | None:
    """Those of the prompt without its first token, which has none; None where none came."""
    if answered.prompt_logprobs is None:
        return None
    return tuple(math.nan if one is None else one for one in answered.prompt_logprobs[1:])


def weigh(recorded: Drift, answered: Answered, bound: float | None) -> Outcome:
    """Hold an answer against the recording."""
    limit = recorded.bound if bound is None else bound
    found = logprobs_of(answered)
    if found is None:
        return failure("no prompt_logprobs came, though they did when the golden was recorded")
    apart = distance(recorded.logprobs, found)
    if apart is None:
        return failure(
            f"the text has {len(found) + 1} tokens, expected {len(recorded.logprobs) + 1}: another tokenizer",
            tokens=len(found) + 1,
        )
    worst = max(range(len(found)), key=lambda place: _gap(recorded.logprobs[place], found[place]))
    facts = {
        "nats": apart if math.isfinite(apart) else None, "bound": limit, "token": worst + 2,
        "found": str(found[worst]), "recorded": recorded.logprobs[worst],
    }  # fmt: skip
    if math.isfinite(apart) and apart <= limit:
        return success(f"logprobs lie {apart:.4f} nats from the recorded ones on average, bound {limit:.4f}", **facts)
    where = f"most at token {worst + 2}: {found[worst]:.3f}, expected {recorded.logprobs[worst]:.3f}"
    told = f"{apart:.4f} nats" if math.isfinite(apart) else "without measure"
    return failure(f"logprobs drifted {told} from the recorded ones, bound {limit:.4f}; {where}", **facts)


def _gap(one: float, other: float) -> float:
    gap = abs(one - other)
    return gap if math.isfinite(gap) else math.inf
