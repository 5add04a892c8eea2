"""Windows that this daemon holds while it sweeps: claimed together, held on to, and closed with what came of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from genesisd.clock import Clock
from genesisd.watch.ports import Ledger
from genesisd.watch.windows import Due

LEASE = 180.0
"""Seconds that a window stays ours without a word: how long a killed sweep keeps the next from beginning."""
FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Swept:
    """What came of a sweep.

    Attributes:
        outcome: ``done``, ``partial`` or ``failed``; a failed one leaves its window open.
        summary: small JSON values, kept in the ledger.
    """

    outcome: str
    summary: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Claim:
    """A window that is ours; ``sweep`` is its id in the ledger."""

    due: Due
    sweep: int


class Claims:
    """Talks to the ledger.

    Args:
        ledger: what is done and held, also over a restart.
        owner: who holds; another one for each life of a daemon, so that two can never hold one window.
        clock: wall times go into the ledger.
        trouble: told what could not be kept.
    """

    def __init__(self, ledger: Ledger, owner: str, clock: Clock, trouble: Callable[[str], None]) -> None:
        self._ledger = ledger
        self._owner = owner
        self._clock = clock
        self._trouble = trouble
        self._done: dict[str, str] = {}
        """The newest window of a kind that is known to be done: it is not asked for again."""
        self._unsaved: list[tuple[int, float, Swept]] = []

    def is_done(self, due: Due) -> bool:
        """Known without asking the ledger."""
        return self._done.get(due.kind) == due.window

    async def take(self, dues: Sequence[Due]) -> tuple[Claim, ...]:
        """Those of ``dues`` that nobody has done or holds."""
        found = []
        for one in dues:
            now = self._clock.wall()
            sweep = await self._ledger.begin(one.kind.value, one.window, self._owner, now, lease=LEASE)
            if sweep is not None:
                found.append(Claim(one, sweep))
            elif ((last := await self._ledger.last(one.kind.value)) is not None) and last[0] == one.window:
                self._done[one.kind] = one.window
        return tuple(found)

    async def hold(self, claims: Sequence[Claim]) -> bool:
        """Hold on to all; False where the first was lost. A ledger that does not answer has not taken it away."""
        held = True
        for n, one in enumerate(claims):
            try:
                kept = await self._ledger.renew(one.sweep, self._clock.wall(), lease=LEASE)
            except Exception as error:  # noqa: BLE001 - a full disk must not end a sweep that goes well
                self._trouble(f"the hold on the {one.due.kind} sweep of {one.due.window} could not be kept: {error}")
                kept = True
            held = held and (kept or n > 0)
        return held

    async def close(self, claims: Sequence[Claim], swept: Swept) -> None:
        """The first was swept; it did all that the others ask for, so they are done by it, or as open as it is."""
        first, *others = claims
        late = {"late": round(first.due.late)} if first.due.is_late else {}
        covered = [f"{one.due.kind} {one.due.window}" for one in others]
        also = {"covers": covered} if covered else {}
        by = Swept(swept.outcome, {"covered_by": first.sweep})
        await self._finish(first, Swept(swept.outcome, {**swept.summary, **late, **also}))
        for one in others:
            await self._finish(one, by)

    async def save(self) -> None:
        """Write what could not be written before; what cannot be written yet stays."""
        waiting, self._unsaved = self._unsaved, []
        for sweep, at, swept in waiting:
            await self._write(sweep, at, swept)

    async def _finish(self, claim: Claim, swept: Swept) -> None:
        if swept.outcome != FAILED:
            self._done[claim.due.kind] = claim.due.window
        await self._write(claim.sweep, self._clock.wall(), swept)

    async def _write(self, sweep: int, at: float, swept: Swept) -> None:
        try:
            await self._ledger.finish(sweep, at, outcome=swept.outcome, summary=swept.summary)
        except Exception as error:  # noqa: BLE001 - whatever the disk says, the sweep was made: tell it later
            self._trouble(f"what came of sweep {sweep} could not be written and will be again: {error}")
            self._unsaved.append((sweep, at, swept))
