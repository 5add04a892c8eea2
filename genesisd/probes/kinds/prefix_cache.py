"""``prefix-cache``: the same prompt gives the same tokens, whether its prefix was cached or not.

The prompt is made new by a salt, or by a word at its head where the engine knows no salts, asked (cold), and asked again
(a hit). A hit leaves the engine less to compute in one go, and near ties may fall the other way: they are left out.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from typing import Any

import aiohttp

from genesisd.probes.asking import Answered, Asking, NoAnswerError, Trouble
from genesisd.probes.casebook import AnswerCase
from genesisd.probes.golden import Difference, Reply, difference
from genesisd.probes.http_client import get
from genesisd.probes.model import Outcome, Verdict, failure, skipped, success, unknown
from genesisd.probes.ports import Target
from genesisd.probes.replies import plain, reply_of, with_margins
from genesisd.probes.spec import PrefixCacheProbe

_HITS = re.compile(rb"^vllm:prefix_cache_hits(?:_total)?(?:\{[^}]*\})? (\S+)", re.MULTILINE)
_REFUSED = frozenset({Trouble.REJECTED, Trouble.LACKING})


class PrefixCache:
    """Remembers whether the engine takes salts."""

    def __init__(self, spec: PrefixCacheProbe, session: aiohttp.ClientSession) -> None:
        self._spec, self._session, self._asking = spec, session, Asking(session, "prefix-cache")
        self._salts = True

    async def ask(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """A pair of asks; two more where they differ."""
        self._asking.begin()
        case = target.casebook.prefix
        if target.abilities.prefix_caching is False:
            return skipped("prefixes are not cached by this worker")
        if case is None:
            return skipped("the casebook has no long question to be asked twice")
        try:
            outcome = await self._compare(target, case)
        except NoAnswerError as problem:
            return self._asking.could_not(problem)
        return self._asking.outcome(outcome)

    async def late(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """Nothing is known."""
        return self._asking.late(self._spec.timeout)

    async def close(self) -> None:
        """Nothing is kept open."""

    async def _compare(self, target: Target, case: AnswerCase) -> Outcome:
        before = await self._hits(target)
        cold, body = await self._cold(target, case)
        warm = await self._asking.ask(target, case.path, body)
        hit = _was_hit(warm, before, await self._hits(target))
        unlike = difference(reply_of(cold), reply_of(warm))
        if unlike is None:
            return _same(target, warm, hit=hit)
        unlike, warm = await self._once_more(target, case)
        if unlike is None:
            return success(f"{case.id} was answered otherwise once, and the same when asked again", hit=hit)
        if unlike.tie:
            return success("a near tie fell otherwise with the prefix cached", hit=hit)
        first = self._asking.outcome(failure(f"{case.id} cached: {unlike.text}"[:300], case=case.id, hit=hit))
        return _leading(first, warm)

    async def _once_more(self, target: Target, case: AnswerCase) -> tuple[Difference | None, Answered]:
        """Another pair under another salt, and if that differs too, a third that tells the margins."""
        cold, body = await self._cold(target, case)
        warm = await self._asking.ask(target, case.path, body)
        unlike = difference(reply_of(cold), reply_of(warm))
        if unlike is None:
            return None, warm
        margins = await self._margins(target, case, reply_of(cold))
        told = reply_of(cold)
        known = Reply(told.content, told.reasoning, told.calls, told.finish, told.ids, margins)
        return difference(known, reply_of(warm)), warm

    async def _margins(self, target: Target, case: AnswerCase, cold: Reply) -> tuple[float, ...]:
        """Of the cold answer; none where the engine tells none, or says something else this time."""
        asked = AnswerCase(case.id, with_margins(case), case.path)
        try:
            again, _ = await self._cold(target, asked)
        except NoAnswerError as problem:
            if problem.trouble in _REFUSED:
                return ()
            raise
        reply = reply_of(again)
        shared = next((n for n, (a, b) in enumerate(zip(reply.ids, cold.ids, strict=False)) if a != b), len(cold.ids))
        return reply.margins[: shared + 1]

    async def _cold(self, target: Target, case: AnswerCase) -> tuple[Answered, dict[str, object]]:
        """An answer that no cache had a part in, and the body that was asked."""
        if self._salts:
            body = {**plain(case), "cache_salt": secrets.token_hex(8)}
            try:
                answered = await self._asking.ask(target, case.path, body)
            except NoAnswerError as problem:
                if problem.trouble not in _REFUSED:
                    raise
                self._salts = False
            else:
                if not answered.cached_tokens:
                    return answered, body
                self._salts = False  # it was taken for an unknown field, and the prefix was found
        body = {**plain(case), **_headed(case, secrets.token_hex(4))}
        return await self._asking.ask(target, case.path, body), body

    async def _hits(self, target: Target) -> float | None:
        try:
            status, text = await get(self._session, f"{target.base_url}/metrics", target.headers, limit=4 << 20)
        except (aiohttp.ClientError, OSError):
            return None
        found = _HITS.findall(text) if status == 200 else []
        try:
            return sum(float(one) for one in found) if found else None
        except ValueError:
            return None


def _was_hit(warm: Answered, before: float | None, after: float | None) -> bool | None:
    """By the answer's own count; else by the counter, of which only standing still is a proof. None: not known."""
    if warm.cached_tokens is not None:
        return warm.cached_tokens > 0
    return None if before is None or after is None or after > before else False


def _same(target: Target, warm: Answered, *, hit: bool | None) -> Outcome:
    facts = {"hit": hit, "cached_tokens": warm.cached_tokens}
    if hit is not False:
        how = "from the cache and without it" if hit else "twice; whether the cache was hit is not told"
        return success(f"the same answer {how}", **facts)
    if target.abilities.prefix_caching:
        return unknown("the second ask was no hit, so nothing is known of cached prefixes", **facts)
    return skipped("nothing was cached between two equal asks: this worker seems not to cache prefixes", **facts)


def _leading(outcome: Outcome, warm: Answered) -> Outcome:
    others = tuple(one for one in outcome.exchanges if one is not warm.exchange)
    return Outcome(Verdict.FAILURE, outcome.summary, outcome.evidence, outcome.seconds, (warm.exchange, *others))


def _headed(case: AnswerCase, word: str) -> Mapping[str, object]:
    """The prompt with a word of its own at its head, so that no block of it is known."""
    if case.path == "/v1/completions":
        return {"prompt": f"[{word}] {case.body['prompt']}"}
    messages: Any = case.body["messages"]
    head = {**messages[0], "content": f"[{word}] {messages[0]['content']}"}
    return {"messages": [head, *messages[1:]]}
