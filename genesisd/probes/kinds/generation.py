"""``generation``: a whole completion, with its finish reason and enough tokens, by the deadline.

A first chunk proves nothing: engines stall in mid-stream. Probes yield to users: while they are being answered and
tokens are made, a proof that is already there is not repeated.
"""

from __future__ import annotations

import asyncio
import time

import aiohttp

from genesisd.probes import metrics
from genesisd.probes.completion import Answer, model_name, request, stream
from genesisd.probes.http_client import blame, get, refusal
from genesisd.probes.model import Outcome, Verdict, failure, success, unknown
from genesisd.probes.ports import Target
from genesisd.probes.spec import GenerationProbe

_SKIPS = 3
"""Asks in a row that users' traffic may stand in for: answered requests may all have been errors."""


class Generation:
    """Remembers the last proof of this life and what the counters said then."""

    def __init__(self, spec: GenerationProbe, session: aiohttp.ClientSession) -> None:
        self._spec, self._session = spec, session
        self._answer = Answer()
        self._before: metrics.Values | None = None
        self._midway: metrics.Values | None = None
        self._answered: int | None = None
        self._proven = False
        self._skips = 0

    async def ask(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """Ask for a completion, unless users have just been served."""
        self._answer = Answer()
        if await self._users_were_served(target):
            return success("users were answered since the last ask", skipped=True)
        sampler = asyncio.create_task(self._sample_midway(target))
        try:
            outcome = await self._generate(target)
        finally:
            sampler.cancel()
            await asyncio.wait([sampler])
        self._proven = outcome.verdict is Verdict.SUCCESS
        return outcome

    async def late(self, target: Target, now: float) -> Outcome:
        """A timeout is a failure, unless the request waits its turn in an engine that works."""
        self._proven = False
        answer, seconds = self._answer, self._spec.timeout
        facts = {"status": answer.status, "chunks": answer.chunks, "tokens": answer.tokens}
        if answer.last_at is not None and now - answer.last_at > seconds / 2:
            return failure(f"the answer stalled after {answer.chunks} chunks", **facts)
        midway, after = self._midway, await self._values(target)
        if midway and after and metrics.moved(midway, after):
            return unknown(f"busy: no whole answer within {seconds:g} s, but the engine moves", busy=True, **facts)
        what = f"after {answer.chunks} chunks" if answer.chunks else "and no chunk came"
        return failure(f"no whole answer within {seconds:g} s, {what}", **facts)

    async def close(self) -> None:
        """Nothing is kept."""

    async def _users_were_served(self, target: Target) -> bool:
        traffic, values = await target.traffic(), await self._values(target)
        grew = traffic is not None and self._answered is not None and traffic.answered > self._answered
        made = values is not None and self._before is not None and values.generation > self._before.generation
        self._answered = traffic.answered if traffic else None
        self._before = values
        if not (self._proven and grew and made and self._skips < _SKIPS):
            self._skips = 0
            return False
        self._skips += 1
        return True

    async def _sample_midway(self, target: Target) -> None:
        """By half time this request's own arrival has moved the gauges: what moves later is the engine's work."""
        self._midway = None
        await asyncio.sleep(self._spec.timeout / 2)
        self._midway = await self._values(target)

    async def _values(self, target: Target) -> metrics.Values | None:
        try:
            async with asyncio.timeout(min(5.0, self._spec.timeout / 3)):
                status, body = await get(self._session, f"{target.base_url}/metrics", target.headers, limit=4 << 20)
        except (aiohttp.ClientError, OSError):  # TimeoutError is an OSError
            return None
        return metrics.parse(body) if status == 200 else None

    async def _generate(self, target: Target) -> Outcome:
        spec, answer = self._spec, self._answer
        try:
            model = await model_name(self._session, target)
            if model is None:
                return failure("/v1/models names no model", url=target.base_url)
            body = request(model, spec.prompt, spec.max_tokens, spec.min_tokens)
            await stream(self._session, target, body, answer, time.monotonic)
        except (aiohttp.ClientError, OSError) as error:
            return blame(error, target.base_url)
        except ValueError as error:
            return failure(f"the answer cannot be read: {error}", error=repr(error))
        return _judge(answer, spec, target)


def _judge(answer: Answer, spec: GenerationProbe, target: Target) -> Outcome:
    if answer.status != 200:
        return refusal(answer.status, answer.body, f"{target.base_url}/v1/completions")
    facts = {"tokens": answer.tokens, "chunks": answer.chunks, "finish_reason": answer.finish}
    if answer.error is not None:
        return failure(f"an error came in the stream: {answer.error[:200]}", error=answer.error[:500], **facts)
    if answer.chunks == 0:
        return failure("200 with an empty answer", **facts)
    if answer.finish is None:
        return failure(f"the answer ended after {answer.tokens} tokens without a finish reason", **facts)
    if answer.tokens < spec.min_tokens:
        return failure(f"{answer.tokens} tokens, expected at least {spec.min_tokens}", **facts)
    return success(f"{answer.tokens} tokens, finish reason {answer.finish}", **facts)
