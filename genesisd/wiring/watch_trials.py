"""Trials that are wanted: recorded and shown. Whoever opens them reads these notes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from genesisd.clock import Clock
from genesisd.supervisor.ports import EventSink
from genesisd.watch.ports import Facts
from genesisd.watch.refs import Ref

KIND = "trial-wanted"


class RecordedTrials:
    """Implements ``watch.ports.Trials`` by keeping the intent."""

    def __init__(self, facts: Facts, sink: EventSink, clock: Clock) -> None:
        self._facts = facts
        self._sink = sink
        self._clock = clock

    async def want(self, ref: Ref, patches: Sequence[str], *, why: str) -> str:
        """Record that a trial is wanted; once for a pull request and its patches."""
        key = key_of(ref, patches)
        if (await self._facts.recall(KIND, [key])).get(key) is not None:
            return f"a trial of {ref} is wanted already"
        wanted = {"ref": str(ref), "patches": list(patches), "why": why, "at": self._clock.wall()}
        await self._facts.note(KIND, {key: wanted})
        self._sink.emit("watch_trial_wanted", ref=str(ref), patches=list(patches), why=why)
        return f"a trial of {ref} is wanted; the intent is recorded"

    async def keep(self, wanted: Collection[str]) -> None:
        """Drop every wish but ``wanted`` (keys): what nobody asks for any more is not to be tried."""
        gone = [key for key in await self._facts.recall(KIND) if key not in wanted]
        if gone:
            await self._facts.note(KIND, dict.fromkeys(gone))


def key_of(ref: Ref, patches: Sequence[str]) -> str:
    """What makes it the same wish again."""
    return f"{ref}:{','.join(patches)}"


def is_of(key: str, ref: Ref) -> bool:
    """Whether the wish of ``key`` is about ``ref``."""
    return key.startswith(f"{ref}:")
