"""Which correctness probe is asked next, and when. Pure.

One at a time. The most overdue goes first, measured in its own periods: whoever waits gets more overdue without end
and whoever was asked starts at nothing again, so nobody starves and each is asked in proportion to how often it wants
to be. Whoever costs tokens waits for a quiet moment while users are served, up to its patience, and for room in the
budget. Where room is short it is saved for the most overdue: small asks would eat it up before a large one ever fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from genesisd.probes.cost import Mood, Room

FREE = frozenset({"acceptance", "latency", "creep", "engagement", "tokenizer"})
"""Kinds that the engine computes nothing for: they need no quiet moment, no budget and no room in the engine."""
_POLL = (0.02, 5.0)
"""Shortest and longest wait for a quiet moment, in seconds: a twentieth of the patience lies between."""
_BACK_OFF = (1.0, 30.0)
"""First and longest wait of a saturated engine's probes, in seconds; it doubles, up to half an interval at most."""
_SAVING = 5.0
"""Seconds between two looks at a budget that is spent."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One probe that is asked again and again.

    Attributes:
        due: when it wants to be asked.
        interval: seconds from its last ask to ``due``, before jitter: the period, or the recheck after a failure.
        period: seconds.
        patience: share of ``interval`` that it waits for a quiet moment.
        cost: tokens that it is expected to take.
        told: when it was last told that it could not be asked, or its last ask.
    """

    kind: str
    due: float
    interval: float
    period: float
    patience: float
    cost: int
    told: float

    @property
    def free(self) -> bool:
        """Whether it may be asked at any time."""
        return self.kind in FREE

    @property
    def impatient(self) -> float:
        """When it no longer waits for a quiet moment."""
        return self.due + self.patience * self.interval

    def overdue(self, now: float) -> float:
        """In its own intervals."""
        return (now - self.due) / self.interval


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask this one now."""

    kind: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Ask nobody for so many seconds; ``why`` tells what is waited for."""

    seconds: float
    why: str


@dataclass(frozen=True, slots=True)
class Scene:
    """The moment. ``refusals``: how many times in a row the engine was found saturated."""

    mood: Mood
    room: Room
    refusals: int = 0


def paying(turns: Sequence[Turn], now: float) -> bool:
    """Whether anybody is due for whom the scene matters."""
    return any(one.due <= now and not one.free for one in turns)


def decide(turns: Sequence[Turn], now: float, scene: Scene) -> Ask | Wait:
    """Whose turn it is. The same for the same arguments; ties go to whoever stands first."""
    hindered = _hindrances(turns, now, scene)
    for one in _by_need(turns, now):
        if one.kind not in hindered:
            return Ask(one.kind)
    later = [(one.due - now, f"{one.kind} is due next") for one in turns if one.due > now]
    held = [(_pause(one, why, scene), why) for one in turns if (why := hindered.get(one.kind))]
    seconds, why = min(later + held, default=(_BACK_OFF[1], "there is nothing to ask"))
    return Wait(max(seconds, _POLL[0]), why)


def neglected(turns: Sequence[Turn], now: float, scene: Scene) -> dict[str, str]:
    """Who could not be asked although its patience is over, and why: once in a period each."""
    hindered = _hindrances(turns, now, scene)
    return {
        one.kind: hindered[one.kind]
        for one in turns
        if one.kind in hindered and now >= one.impatient and now - one.told >= one.period
    }


def _by_need(turns: Sequence[Turn], now: float) -> list[Turn]:
    return sorted((one for one in turns if one.due <= now), key=lambda one: -one.overdue(now))


def _hindrances(turns: Sequence[Turn], now: float, scene: Scene) -> dict[str, str]:
    """Why each that is due cannot be asked now; those that can are left out."""
    found: dict[str, str] = {}
    saving = ""
    for one in _by_need(turns, now):
        why = "" if one.free else _hindrance(one, now, scene, saving)
        if why:
            found[one.kind] = why
        if not saving and why and one.cost > scene.room.left and _may_fit(one, now, scene):
            saving = one.kind
    return found


def _hindrance(one: Turn, now: float, scene: Scene, saving: str) -> str:
    if scene.mood is Mood.SATURATED:
        return "busy: users' requests wait for room in the engine"
    if scene.mood is Mood.BUSY and now < one.impatient:
        return "users are being served"
    if one.cost > scene.room.left:
        return f"it may cost {one.cost} tokens, and {max(0, int(scene.room.left))} are left of what probes may take"
    if saving:
        return f"what probes may take is saved for {saving}, which waits for longer"
    return ""


def _may_fit(one: Turn, now: float, scene: Scene) -> bool:
    """Whether room is worth being saved for it: it is its turn, and it fits once nothing is spent."""
    return one.cost <= scene.room.most and (scene.mood is not Mood.BUSY or now >= one.impatient)


def _pause(one: Turn, why: str, scene: Scene) -> float:
    if scene.mood is Mood.SATURATED:
        longest = min(max(one.interval / 2, _BACK_OFF[0]), _BACK_OFF[1])
        return min(_BACK_OFF[0] * 2.0 ** min(scene.refusals, 10), longest)
    if scene.mood is Mood.BUSY and why == "users are being served":
        return min(max(one.patience * one.interval / 20, _POLL[0]), _POLL[1])
    return _SAVING
