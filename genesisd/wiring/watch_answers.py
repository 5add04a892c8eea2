"""What people answer to decisions, and what keeps an answer from being taken."""

from __future__ import annotations

from collections.abc import Sequence

from genesisd.clock import Clock
from genesisd.control.ports import Peer
from genesisd.errors import ConfigError, ConflictError
from genesisd.store.store import Store
from genesisd.supervisor.ports import EventSink
from genesisd.watch.decisions import DecisionKind, Dossier, KeptDecision, Standing
from genesisd.watch.model import PinFacts
from genesisd.watch.ports import Patches, Refuse
from genesisd.watch.revisit import PredicateError, refuse
from genesisd.wiring.watch_dossiers import missing
from genesisd.wiring.watch_workers import WatchedWorkers
from genesisd.wiring.watching import Watching


class Answering:
    """Takes them, or refuses.

    Args:
        watching: looks anew at what waits for predicates.
        workers: facts for those.
        store, sink, clock: as everywhere.
    """

    def __init__(
        self, watching: Watching, workers: WatchedWorkers, store: Store, sink: EventSink, clock: Clock
    ) -> None:
        self._watching = watching
        self._workers = workers
        self._store = store
        self._sink = sink
        self._clock = clock

    async def answer(
        self, id_: int, standing: Standing, peer: Peer, *, why: str, until: float | None, revisit_when: Sequence[str]
    ) -> KeptDecision:
        """See ``control.watch_ports.WatchApi.answer``.

        A sweep may land at any moment, so that what lies before a retirement is judged where the answer is kept.
        """
        if until is not None and until <= self._clock.wall():
            raise ConfigError("a snooze ends in time to come", hint="genesisctl watch snooze ID --for 7d")
        await self._refuse_predicates(revisit_when)
        given = await self._store.watch_decisions.answer(
            id_,
            standing,
            by=f"uid {peer.uid}",
            why=why,
            until=until,
            revisit_when=revisit_when,
            refuse=unseen(self._watching.patches) if standing is Standing.ACCEPTED else None,
        )
        told = {"decision": id_, "ref": str(given.decision.ref), "standing": str(standing), "by": str(peer), "why": why}
        self._sink.emit("watch_decision_answered", **told)
        await self._watching.refresh(anew=bool(revisit_when))
        return given

    async def _refuse_predicates(self, predicates: Sequence[str]) -> None:
        if not predicates:
            return
        try:
            refuse(predicates, list((await self._workers.facts()).values()), self._watching.patches.find)
        except PredicateError as error:
            raise ConfigError(f"--revisit-when: {error}", hint="docs/triage.md has the language") from None
        except ValueError as error:
            raise ConflictError(f"--revisit-when: {error}") from None


def unseen(patches: Patches) -> Refuse:
    """Refuses to give up what no dossier lies before."""
    patches.text_of("")  # read here, once: where the answer is judged, the store's thread would wait for the catalog

    def lacking(kept: KeptDecision, dossiers: Sequence[Dossier], facts: Sequence[PinFacts]) -> ConflictError | None:
        if kept.decision.kind is not DecisionKind.RETIRE_CANDIDATE:
            return None
        if not (lacks := missing(kept, dossiers, facts, patches)):
            return None
        return ConflictError(
            f"decision {kept.id} asks to give up {', '.join(lacks)}, and no dossier lies before it",
            hint=f"genesisctl watch diff {kept.decision.ref} makes one",
            decision=kept.id,
        )

    return lacking
