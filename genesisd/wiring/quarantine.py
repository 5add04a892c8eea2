"""What is not used because it was found at fault: patches that make a worker answer wrong, cards that lost a process.

Kept in the store; lifted by a person, or for a card by the end of what held it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from genesisd.clock import Clock
from genesisd.errors import NotFoundError
from genesisd.store.meta import Meta
from genesisd.supervisor.model import Reason
from genesisd.supervisor.ports import EventSink
from genesisd.wiring.notes import Notes

KEY = "quarantine"
PATCH, CARD = "patch", "card"


@dataclass(frozen=True, slots=True)
class Quarantined:
    """One thing.

    Attributes:
        what: ``patch`` or ``card``.
        name: id of the patch, index of the card.
        worker: which worker is started without the patch, or which one the card was lost to.
        pin: the pin on which the patch was found at fault; "" for a card. On another one it may be right.
        text: what was found.
        at: wall time.
        incident: id of the one in which it was found, or None.
    """

    what: str
    name: str
    worker: str
    pin: str
    text: str
    at: float
    incident: int | None = None


class Quarantine:
    """Answers from memory; what changes is written in the background.

    Attributes:
        incident_of: id of the worker's open incident. Set by whoever records incidents, which is made after this.
    """

    def __init__(self, meta: Meta, sink: EventSink, clock: Clock) -> None:
        self._notes = Notes(meta)
        self._sink = sink
        self._clock = clock
        self._held: tuple[Quarantined, ...] = ()
        self.incident_of: Callable[[str], int | None] = lambda _: None

    async def load(self) -> None:
        """Remember what an earlier daemon found. A store that does not answer costs that, and is told of elsewhere."""
        try:
            self._held = tuple(Quarantined(**one) for one in await self._notes.get(KEY, []))
        except TypeError:
            self._held = ()

    def all(self) -> tuple[Quarantined, ...]:
        """Everything, oldest first."""
        return self._held

    def patches(self, worker: str, pin: str | None) -> Mapping[str, str]:
        """Ids that the worker is started without on this pin, with what was found."""
        return {
            one.name: one.text for one in self._held if one.what == PATCH and one.worker == worker and one.pin == pin
        }

    def card(self, index: int) -> Reason | None:
        """Why nothing is started on the card, or None."""
        found = next((one for one in self._held if one.what == CARD and one.name == str(index)), None)
        if found is None:
            return None
        hint = f"genesisctl quarantine release card {index} lets it be used again"
        return Reason("card-quarantined", f"GPU {index} is in quarantine: {found.text}; {hint}")

    def put_patches(self, worker: str, pin: str, names: Sequence[str], text: str) -> None:
        """Start the worker without these on this pin."""
        for name in names:
            self._put(Quarantined(PATCH, name, worker, pin, text, self._clock.wall(), self.incident_of(worker)))
            self._sink.emit("patch_quarantined", worker, patch=name, pin=pin, text=text)

    def put_card(self, worker: str, index: int, text: str) -> None:
        """Start nothing on the card."""
        if self.card(index) is None:
            self._put(Quarantined(CARD, str(index), worker, "", text, self._clock.wall(), self.incident_of(worker)))
            self._sink.emit("card_quarantined", worker, card=index, text=text)

    def free_cards(self, worker: str, text: str) -> None:
        """What the worker lost its cards to is gone."""
        for one in self._held:
            if one.what == CARD and one.worker == worker:
                self._drop((one,))
                self._sink.emit("card_released", worker, card=int(one.name), text=text)

    def release(self, what: str, name: str, worker: str | None) -> None:
        """A person wants it used again. Raises NotFoundError."""
        found = tuple(
            one
            for one in self._held
            if (one.what, one.name) == (what, name) and (worker is None or one.worker == worker)
        )
        if not found:
            known = ", ".join(f"{one.what} {one.name} ({one.worker})" for one in self._held) or "nothing"
            raise NotFoundError(f"no {what} {name} is in quarantine", hint=f"in quarantine: {known}")
        self._drop(found)
        for one in found:
            fields = {"patch": one.name} if what == PATCH else {"card": int(one.name)}
            self._sink.emit(f"{what}_released", one.worker, text="released by an operator", **fields)

    def forget(self, worker: str) -> None:
        """It left the configuration: one that comes back under its name is another worker. Cards stay as they are."""
        self._drop(tuple(one for one in self._held if one.what == PATCH and one.worker == worker))

    def _put(self, new: Quarantined) -> None:
        same = [
            one
            for one in self._held
            if (one.what, one.name, one.worker, one.pin) == (new.what, new.name, new.worker, new.pin)
        ]
        if not same:
            self._held = (*self._held, new)
            self._write()

    def _drop(self, gone: Sequence[Quarantined]) -> None:
        if gone:
            self._held = tuple(one for one in self._held if one not in gone)
            self._write()

    def _write(self) -> None:
        self._notes.put(KEY, [asdict(one) for one in self._held])

    async def settled(self) -> None:
        """Once everything is written."""
        await self._notes.close()

    async def close(self) -> None:
        """Wait for what is being written."""
        await self.settled()
