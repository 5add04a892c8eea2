"""GitHub as the watch's upstream: many refs a request with a token, one a request without, the same answers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import aiohttp

from genesisd.clock import Clock
from genesisd.watch.belief import believe
from genesisd.watch.cost import Asked, Budget
from genesisd.watch.model import Answer, Pull, Unanswered, WhyUnknown
from genesisd.watch.ports import Diff, Facts, Recent
from genesisd.watch.refs import Ref
from genesisd.watch.sources.cache import DiffCache
from genesisd.watch.sources.calls import DEADLINE, PATIENCE, Calls
from genesisd.watch.sources.diffs import Diffs
from genesisd.watch.sources.gate import Gate, Sleep
from genesisd.watch.sources.graphql import Rows
from genesisd.watch.sources.reading import possible
from genesisd.watch.sources.recent import Changes
from genesisd.watch.sources.rest import Singly
from genesisd.watch.sources.token import Token
from genesisd.watch.spec import WatchSpec

WAITING = "waiting"
"""Kind of the note that holds whose turn did not come before the budget was spent, in order."""


class GitHub:
    """Implements ``ports.Upstream``. Make one a sweep: it counts what that sweep asks.

    Args:
        session: whose connections are used; it needs no headers of its own.
        spec: address, budgets, and where the token is.
        clock: for times and waits.
        facts: what upstream told before, and notes (kinds etag, batch, waiting).
        cache: folder for diffs.
        gate: shared by all sweeps of a daemon; None: one of its own.
        tell: gets a sentence for the log now and then (a token that cannot be read); never the token.
        environ: of the daemon, for systemd's credentials.
        sleep: for waits; tests pass another one.
        deadline: seconds for one request.
        patience: seconds that waiting for limits may take in all.
        anew: fetch diffs also where they are kept.
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        spec: WatchSpec,
        clock: Clock,
        facts: Facts,
        cache: Path,
        *,
        gate: Gate | None = None,
        tell: Callable[[str], None] = lambda _: None,
        environ: Mapping[str, str] = os.environ,
        sleep: Sleep = asyncio.sleep,
        deadline: float = DEADLINE,
        patience: float = PATIENCE,
        anew: bool = False,
    ) -> None:
        self._clock = clock
        self._facts = facts
        self._tell = tell
        self._token = Token(spec.token, spec.api, environ)
        gate = gate or Gate(clock, sleep)
        self._calls = Calls(session, spec, clock, gate, self._token, deadline=deadline, patience=patience)
        self._rows = Rows(self._calls, facts, clock)
        self._singly = Singly(self._calls, facts, clock)
        self._changes = Changes(self._calls, facts, clock, spec.new_pulls.pages)
        self._diffs = Diffs(self._calls, DiffCache(cache), anew=anew)
        self._told_of_token = ""

    async def pulls(self, refs: Sequence[Ref]) -> Mapping[Ref, Answer]:
        """One answer for each of ``refs``; first come those whose turn did not come the last time, then the oldest."""
        wanted = list(dict.fromkeys(refs))
        known = await self._facts.known(wanted)
        kept = {ref: one.pull for ref, one in known.items() if one.pull is not None}
        left: list[str] = (await self._facts.recall(WAITING, ["rows"])).get("rows") or []
        turn = {ref: number for number, ref in enumerate(left)}
        asked = sorted(
            filter(possible, wanted),
            key=lambda ref: (turn.get(str(ref), len(left)), kept[ref].checked_at if ref in kept else 0.0),
        )
        found = await (self._rows.ask(asked) if self._has_token() else self._singly.ask(asked, kept))
        answers = {ref: believe(known.get(ref), found.get(ref) or self._impossible(ref)) for ref in wanted}
        await self._queue(left, asked, answers)
        self._tell_of_token()
        return answers

    async def _queue(self, left: list[str], asked: Sequence[Ref], answers: Mapping[Ref, Answer]) -> None:
        """Who waits now. Without it what is never found would come first each night, at the cost of the others."""
        unasked = [str(ref) for ref in asked if _not_asked(answers[ref])]
        waiting = unasked + [ref for ref in left if ref not in set(map(str, asked))]
        if waiting != left:
            await self._facts.note(WAITING, {"rows": waiting or None})

    async def recent(self, repo: str, mark: str | None, *, most: int) -> Recent | None:
        """What changed since ``mark``, within ``new_pulls.pages`` requests."""
        if not possible(Ref(repo, 1)):
            return None
        self._has_token()
        return await self._changes.since(repo, mark, most)

    async def diff(self, pull: Pull) -> Diff | None:
        """Its diff at ``pull.head``."""
        self._has_token()
        return await self._diffs.get(pull)

    def asked(self) -> Asked:
        """Kinds of questions: rows, recent, files, diff."""
        return self._calls.asked()

    def budget(self) -> Budget:
        """As upstream last told."""
        return self._calls.budget

    @property
    def token_problem(self) -> str:
        """What is wrong with the token that was declared, or ""."""
        self._calls.has_token()  # it is read when it is needed, and this is a need
        return self._calls.refused or self._token.problem

    def _has_token(self) -> bool:
        there = self._calls.has_token()
        self._tell_of_token()
        return there

    def _tell_of_token(self) -> None:
        if (problem := self.token_problem) and problem != self._told_of_token:
            self._told_of_token = problem
            self._tell(problem)

    def _impossible(self, ref: Ref) -> Unanswered:
        return Unanswered(ref, WhyUnknown.NOT_FOUND, self._clock.wall(), "no repository can have that name")


def _not_asked(answer: Answer) -> bool:
    return isinstance(answer, Unanswered) and answer.why in {WhyUnknown.NOT_ASKED, WhyUnknown.LIMITED}
