"""``needle``: a fact is found again in texts that grow longer and longer; the first length at which it is not is told.

A long prefill is no fault, however long: passing the deadline says nothing. Each text is new, as the prefix cache
would otherwise answer for the attention that is asked about.
"""

from __future__ import annotations

import re
import secrets

import aiohttp

from genesisd.probes.answered import Answered
from genesisd.probes.asking import NoAnswerError
from genesisd.probes.casebook import Needle
from genesisd.probes.casework import Casework, Finding
from genesisd.probes.judging.cutting import was_cut
from genesisd.probes.judging.haystack import ANSWER, GUESS, ROOM, Haystack, believable, fitting
from genesisd.probes.model import Outcome, skipped
from genesisd.probes.ports import Target
from genesisd.probes.spec import NeedleProbe


class NeedleLadder:
    """Climbs the ladder; remembers where it found the fact, and which place of each step comes next."""

    def __init__(self, spec: NeedleProbe, session: aiohttp.ClientSession) -> None:
        self._spec = spec
        self._work: Casework[int] = Casework(spec, session, spec.kind, lambda step: f"{step:,} tokens")
        self._work.turns.guess = lambda step: step + ANSWER
        self._found: set[int] = set()
        self._places: dict[int, int] = {}
        self._per_token = 0.0

    async def ask(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """Those steps whose turn it is."""
        needle, longest = target.casebook.needle, target.abilities.max_model_len
        if needle is None:
            return skipped("the casebook has no text to find anything in")
        steps = fitting(self._spec.steps, longest)
        if not steps:
            first = f"{min(self._spec.steps)} and {ROOM} for its frame and the answer"
            return skipped(f"the context of {longest} tokens has no room for the first step, {first}")
        return await self._work.work(steps, lambda step: self._climb(target, needle, step), target.known)

    async def late(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """The text may still be read."""
        return self._work.asking.late(self._spec.timeout)

    async def close(self) -> None:
        """Nothing is kept."""

    async def _climb(self, target: Target, needle: Needle, step: int) -> Finding | None:
        place = needle.places[self._places.get(step, 0) % len(needle.places)]
        haystack = Haystack(needle, step, place, secrets.token_hex(8))
        text = haystack.text(await self._characters(target, needle))
        body = {"messages": [{"role": "user", "content": text}], "max_tokens": ANSWER}
        said = await self._work.chat(target, body)
        self._count(said, text)
        if any(re.search(needle.answer, one or "") for one in (said.content, said.reasoning)):
            self._found.add(step)
            self._places[step] = self._places.get(step, 0) + 1
            return None
        if was_cut(said):
            return Finding(f"was cut after {said.completion_tokens} tokens", said.exchange, sure=False)
        self._found.discard(step)
        return self._lost(step, place, said)

    def _lost(self, step: int, place: float, said: Answered) -> Finding:
        """``place`` and the lengths by the engine's own count where it gave one."""
        ceiling = max((one for one in self._found if one < step), default=0)
        reached = f"found up to {ceiling:,} tokens, not at" if ceiling else "not found at"
        text = f"{reached} {step:,} (place {place:g}): {(said.content or said.reasoning or 'nothing')[:80]!r} came"
        facts: dict[str, object] = {
            "ceiling": ceiling, "length": step, "place": place, "prompt_tokens": said.prompt_tokens,
        }  # fmt: skip
        return Finding(text, said.exchange, evidence=facts)

    async def _characters(self, target: Target, needle: Needle) -> float:
        """Characters a token; asked of the engine once, then by what it counted."""
        if not self._per_token:
            sample = " ".join(needle.filler)
            try:
                ids = await self._work.asking.tokenize(target, sample)
            except NoAnswerError:
                ids = ()
            self._per_token = believable(len(sample) / len(ids)) if ids else GUESS
        return self._per_token

    def _count(self, said: Answered, text: str) -> None:
        """The template's own tokens count as text, so that the next text is rather too short than too long."""
        if said.prompt_tokens:
            self._per_token = believable(len(text) / said.prompt_tokens)
