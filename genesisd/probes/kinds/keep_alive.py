"""``keep-alive``: a connection that was kept and a fresh one give the same answers.

Clients keep their connections. A server that leaves bytes behind, mixes answers up or closes what it promised to keep is
wrong for all of them, and right for whoever asks once, as probes and people do.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import aiohttp

from genesisd.probes.answered import Answered, Reading
from genesisd.probes.asking import Asking, NoAnswerError, Trouble, whole
from genesisd.probes.casebook import AnswerCase
from genesisd.probes.golden import Reply, difference
from genesisd.probes.held_up import HeldUp
from genesisd.probes.kept import ClosedError, KeptConnection, KeptError, Received
from genesisd.probes.model import Exchange, Outcome, failure, skipped, success, unknown
from genesisd.probes.ports import Target
from genesisd.probes.replies import plain, reply_of
from genesisd.probes.spec import KeepAliveProbe

_PATIENCE = 10.0
"""A kept connection may take so many times what a fresh one took, and at least so many seconds."""
_ROUND = ((0, False), (1, False), (0, True), (1, False), (0, False))
"""Which question, and whether it is streamed: no two alike in a row, so that an answer to the one before shows."""
_HELD = 1.0
"""Seconds that this side may stand still: servers close what was idle for a few, and may."""
_ANSWERS = 8
"""Different answers to one question that are remembered."""
_HINDERED = frozenset({Trouble.BUSY, Trouble.DENIED})


@dataclass(frozen=True, slots=True)
class _Fault:
    text: str
    exchange: Exchange
    waited: float = 0.0
    """Seconds in which no answer came; 0.0 where one did."""
    silent: bool = False
    """Nothing came: the connection had been closed, or the time was over."""


class KeepAlive:
    """Remembers what fresh connections answered: where tokens tie, that is more than one answer, and each is right."""

    def __init__(self, spec: KeepAliveProbe, session: aiohttp.ClientSession) -> None:
        self._spec, self._asking = spec, Asking(session, "keep-alive")
        self._fresh: dict[tuple[str, bool], list[Reply]] = {}
        self._slowest = 0.0

    async def ask(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """Each question once afresh, then a round on one connection; a fault has to come again on another."""
        self._asking.begin()
        cases = target.casebook.golden[:2]
        if not cases:
            return skipped("the casebook has no short questions (golden) to ask")
        try:
            async with HeldUp() as held:
                outcome = await self._compare(target, cases)
        except NoAnswerError as problem:
            return self._asking.could_not(problem)
        if outcome.evidence.get("silent") and held.longest > _HELD:
            text = f"genesisd itself stood still for {held.longest:.1f} s, which proves nothing: {outcome.summary}"
            outcome = unknown(text[:300])
        return self._asking.outcome(outcome)

    async def late(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """Nothing is known."""
        return self._asking.late(self._spec.timeout)

    async def close(self) -> None:
        """Nothing is kept open between asks."""

    async def _compare(self, target: Target, cases: Sequence[AnswerCase]) -> Outcome:
        await self._ask_afresh(target, cases)
        fault, kept = await self._round(target, cases)
        if fault is None:
            if not kept:
                return skipped("this server closes each connection after its answer, and says so")
            return success(f"{len(_ROUND)} answers on one connection are those of fresh ones")
        again, _ = await self._round(target, cases)
        if again is None:
            return success(f"once, and not again: {fault.text}"[:300])
        if await self._ask_afresh(target, cases):
            return unknown("fresh connections are not answered the same each time: nothing to compare with")
        if again.waited and again.waited < _PATIENCE * self._slowest:
            return unknown(f"fresh connections wait {self._slowest:.1f} s as well: the server is busy")
        outcome = failure(f"on a kept connection, twice: {again.text}"[:300], silent=again.silent)
        return self._asking.outcome(outcome, again.exchange)

    async def _ask_afresh(self, target: Target, cases: Sequence[AnswerCase]) -> bool:
        """Ask on fresh connections; whether an answer came that no fresh one had given before."""
        new = False
        for which, stream in sorted({(which % len(cases), stream) for which, stream in _ROUND}):
            case = cases[which]
            answered = await self._asking.ask(target, case.path, plain(case), stream=stream)
            self._slowest = max(self._slowest, answered.exchange.seconds)
            known = self._fresh.setdefault((case.id, stream), [])
            if not _among(known, reply_of(answered)):
                known[:] = [reply_of(answered), *known[: _ANSWERS - 1]]
                new = True
        return new

    async def _round(self, target: Target, cases: Sequence[AnswerCase]) -> tuple[_Fault | None, bool]:
        """The first fault on a connection of its own, and whether the connection was kept at all."""
        address = urlsplit(target.base_url)
        connection = KeptConnection(address.hostname or "", address.port or 80, dict(target.headers))
        try:
            async with connection:
                for which, stream in _ROUND:
                    case = cases[which % len(cases)]
                    sent = await self._asking.request(target, plain(case), stream=stream)
                    fault, kept = await self._one(target, connection, case, sent)
                    if fault is not None or not kept:
                        return fault, kept
        except OSError as error:
            exchange = Exchange(cases[0].path, {})
            raise NoAnswerError(Trouble.UNREACHED, f"no connection: {error}", exchange) from error
        return None, True

    async def _one(
        self, target: Target, connection: KeptConnection, case: AnswerCase, sent: dict[str, object]
    ) -> tuple[_Fault | None, bool]:
        received, problem, waited, silent, begun = Received(), "", 0.0, False, time.monotonic()
        reading = Reading()
        try:
            async with asyncio.timeout(max(_PATIENCE, _PATIENCE * self._slowest)):
                received = await connection.post(case.path, sent)
            _read(received, reading, stream=sent.get("stream") is True)
        except KeptError as error:
            problem, silent = str(error), isinstance(error, ClosedError)
        except TimeoutError:
            waited, silent = time.monotonic() - begun, True
            problem = f"no answer within {waited:.0f} s; a fresh one took {self._slowest:.1f} s"
        finally:
            exchange = Exchange(
                case.path, sent, received.status, reading.kept, time.monotonic() - begun,
                reading.usage.get("prompt_tokens", 0), reading.usage.get("completion_tokens", 0),
            )  # fmt: skip
            self._asking.keep(target, exchange)
        if problem:
            return _Fault(f"{case.id} as request {connection.asked}: {problem}", exchange, waited, silent), True
        answered = reading.answered(exchange, received.status, stream=sent.get("stream") is True)
        text = self._unlike(target, case, answered)
        return (_Fault(f"{case.id} as request {connection.asked}: {text}", exchange) if text else None), received.kept

    def _unlike(self, target: Target, case: AnswerCase, answered: Answered) -> str:
        """How an answer is not the fresh one, or ''. What hinders any asking is raised, as for fresh ones."""
        try:
            came = reply_of(whole(answered))
        except NoAnswerError as problem:
            if problem.trouble in _HINDERED:
                raise
            return problem.message
        known = self._fresh[case.id, answered.stream]
        unlike = difference(_with_margins(known[0], target, case), came)
        if unlike is None or unlike.tie or _among(known, came):
            return ""
        for (other, _), replies in self._fresh.items():
            if other != case.id and _among(replies, came):
                return f"it got the answer to {other}: {unlike.text}"
        return unlike.text


def _with_margins(reply: Reply, target: Target, case: AnswerCase) -> Reply:
    """With what a recording of the same tokens knows of them: asking for margins is left to recordings."""
    golden = target.golden()
    recorded = golden.replies.get(case.id) if golden else None
    return replace(reply, margins=recorded.margins) if recorded and recorded.ids == reply.ids else reply


def _among(known: Sequence[Reply], came: Reply) -> bool:
    return any(difference(one, came) is None for one in known)


def _read(received: Received, reading: Reading, *, stream: bool) -> None:
    if stream and received.status == 200:
        for line in received.body.split(b"\n"):
            reading.take_line(line.rstrip(b"\r"))
    else:
        reading.take_whole(received.body)
