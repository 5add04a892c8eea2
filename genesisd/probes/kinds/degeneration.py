"""``degeneration``: no answer that any probe saw is empty, not a number, or one thing over and over.

It looks at what the others were answered, and asks for a longer free text itself when they saw too little. A bad
answer is asked for again next time, before anything else: what is broken stays broken, and chance does not.

Questions of the general casebook may be beyond a model, which then says one thing over and over although nothing is
broken. Such an answer counts only if the model loses its way in the probe's own question too.
"""

from __future__ import annotations

from itertools import islice

import aiohttp

from genesisd.probes.answered import Answered, again
from genesisd.probes.asking import CHAT, COMPLETIONS, Asking, NoAnswerError, Trouble
from genesisd.probes.judging.degeneration import broken, lost
from genesisd.probes.judging.repeats import Limits
from genesisd.probes.model import Exchange, Outcome, failure, success
from genesisd.probes.ports import Target
from genesisd.probes.spec import DegenerationProbe

_ENOUGH = 3
"""Answers since the last ask that make an own question needless."""
_HOT = 0.7
"""Temperature of the own question. A worker that speculates is asked greedily: vLLM 0.32's engine on a CPU ends at the
first hot request beside n-gram drafts, and a probe must not be what ends a worker whose users never ask that."""
_LONGEST = 160
_PROMPT = "Tell a short story about a lighthouse keeper who finds a letter."
_PROMPT_TOKENS = 40
_SET_ANEW = frozenset({"model", "stream", "stream_options"})


class Degeneration:
    """Remembers how much it has looked at, and which request got a bad answer."""

    def __init__(self, spec: DegenerationProbe, session: aiohttp.ClientSession) -> None:
        self._spec = spec
        self._asking = Asking(session, spec.kind)
        self._limits = Limits(times=spec.repeats, characters=spec.characters, share=spec.share)
        self._looked = 0
        self._suspect: Exchange | None = None

    async def ask(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """Look at what is new, and ask where that is little or something was bad."""
        self._asking.begin()
        fresh, beyond = self._fresh(target), ""
        for exchange in fresh:
            if bad := self._bad(again(exchange), target, own=False):
                return bad
            beyond = beyond or self._beyond(again(exchange))
        if self._suspect is None and len(fresh) >= _ENOUGH and not beyond:
            return success(f"{len(fresh)} answers of other probes are sound", looked=len(fresh))
        try:
            said = await self._own(target)
        except NoAnswerError as problem:
            self._looked = target.seen.count
            return self._asking.could_not(problem)
        self._looked = target.seen.count
        if bad := self._bad(said, target, own=True):
            return bad
        self._suspect = None
        text = f"{len(fresh) + 1} answers are sound"
        if beyond:
            text = f"a story is told well; not counted: {beyond} (that question may be beyond the model)"
        return self._asking.outcome(success(text[:220], looked=len(fresh) + 1))

    async def late(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """Nobody knows what would have come."""
        return self._asking.late(self._spec.timeout)

    async def close(self) -> None:
        """Nothing is kept."""

    def _fresh(self, target: Target) -> list[Exchange]:
        """Answers that were not looked at, oldest first; those that went are gone."""
        new = min(target.seen.count - self._looked, len(target.seen.exchanges))
        self._looked = target.seen.count
        kept = islice(target.seen.exchanges, len(target.seen.exchanges) - new, None)
        return [one for one in kept if one.status == 200 and one.path in {CHAT, COMPLETIONS}]

    def _beyond(self, said: Answered) -> str:
        return "" if said.error is not None or said.garbled is not None else lost(said, self._limits) or ""

    def _bad(self, said: Answered, target: Target, *, own: bool) -> Outcome | None:
        """Refusals and broken answers are the matter of the probe that asked."""
        if said.error is not None or said.garbled is not None:
            return None
        fault = broken(said)
        if fault is None and (own or target.casebook.vouched):
            fault = lost(said, self._limits)
        if fault is None:
            return None
        self._suspect = said.exchange
        self._looked = target.seen.count
        way = "streamed" if said.stream else "whole"
        text = f"{said.exchange.path}, {way}: {fault}"[:220]
        return self._asking.outcome(failure(text, finish=said.finish, tokens=said.completion_tokens), said.exchange)

    async def _own(self, target: Target) -> Answered:
        if (suspect := self._suspect) is not None:
            body = {key: value for key, value in suspect.request.items() if key not in _SET_ANEW}
            return await self._asking.ask(target, suspect.path, body, stream=suspect.request.get("stream") is True)
        hot = 0.0 if target.abilities.speculative else _HOT
        more = {"temperature": hot, "max_tokens": max(1, min(_LONGEST, self._spec.max_tokens - _PROMPT_TOKENS))}
        try:
            message = {"role": "user", "content": _PROMPT}
            return await self._asking.chat(target, {"messages": [message], **more}, stream=True)
        except NoAnswerError as problem:
            if problem.trouble is not Trouble.LACKING:
                raise
        return await self._asking.complete(target, {"prompt": _PROMPT, **more}, stream=True)
