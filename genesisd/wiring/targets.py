"""One life as its probes see it: where to ask, what it was started with, what it should say."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from genesisd.demo.locate import CASEBOOK
from genesisd.errors import GenesisError, UnavailableError
from genesisd.patches.serve_flags import ServeFlags
from genesisd.probes import casebooks
from genesisd.probes.casebook import Casebook
from genesisd.probes.golden import Golden
from genesisd.probes.ports import Abilities, KnownRight, Seen, Target, Traffic
from genesisd.supervisor.ports import Card, CardLedger, EventSink, Life, Runner
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.attester import Attestations
from genesisd.wiring.fronts import FrontAdapter
from genesisd.wiring.goldens import Goldens, subject_of
from genesisd.wiring.known import KnownCases
from genesisd.wiring.models import DEMO
from genesisd.wiring.patched import Patched

LOOK_AGE = 0.5
"""Seconds that a look at the process table may be old for a probe: workers share looks."""


@dataclass(slots=True)
class Targets:
    """Makes them. A worker without a front, a golden or cards gets a target that says so."""

    runner: Runner
    fronts: FrontAdapter
    attestations: Attestations
    patched: Patched
    goldens: Goldens
    cards: CardLedger
    sink: EventSink
    known: KnownCases
    _books: dict[Path, tuple[int, Casebook]] = field(default_factory=dict)
    _seen: dict[str, tuple[int, Seen]] = field(default_factory=dict)

    def of(self, life: Life, spec: WorkerSpec) -> Target:
        """The target of a life that was started by ``spec``."""
        casebook = self.casebook(life.worker, spec)
        return self._made(life, spec, casebook, self.known.of(life.worker, casebook, serves(spec)))

    def of_twin(self, life: Life, spec: WorkerSpec, worker: str) -> Target:
        """The same for a scratch worker that is a twin of ``worker``: that one's past tells what it should know."""
        casebook = self.casebook(life.worker, spec)
        return self._made(life, spec, casebook, self.known.of_twin(worker, casebook, serves(spec)))

    def _made(self, life: Life, spec: WorkerSpec, casebook: Casebook, known: KnownRight) -> Target:
        worker = life.worker
        key = spec.env.get("VLLM_API_KEY")

        async def traffic() -> Traffic | None:
            stats = await self.fronts.stats(worker)
            if stats is None:
                return None
            return Traffic(stats.in_flight, stats.unanswered, stats.oldest_unanswered, stats.answered)

        return Target(
            worker=worker,
            incarnation=life.incarnation,
            leader=life.leader.pid,
            host=life.host,
            port=life.port,
            members=lambda: self.runner.members(worker, LOOK_AGE),
            model=spec.served_model_name or (worker if spec.pin is not None else None),
            traffic=traffic,
            log_path=self.runner.log_path(worker),
            attester=self.attestations.attester(life),
            headers={} if key is None else {"Authorization": f"Bearer {key}"},
            abilities=abilities(spec),
            casebook=casebook,
            known=known,
            seen=self._seen_of(life),
            golden=lambda: self.golden(life, spec),
            card_memory=self._card_memory(worker, spec),
            engagement=lambda: self.attestations.engagement(life),
        )

    def _seen_of(self, life: Life) -> Seen:
        """One a life, whoever asks it: what a recording asks for first makes the engine stand still for all."""
        incarnation, seen = self._seen.get(life.worker, (-1, Seen()))
        if incarnation != life.incarnation:
            seen = Seen()
            self._seen[life.worker] = life.incarnation, seen
        return seen

    def forget(self, worker: str) -> None:
        """It left."""
        self._seen.pop(worker, None)

    def golden(self, life: Life, spec: WorkerSpec) -> Golden | None:
        """What is expected of what this life runs; None where nothing was recorded, or nothing is known of its start."""
        subject = subject_of(life.worker, spec, self.patched.running(life.worker, life.incarnation))
        return None if subject is None else self.goldens.expected(subject)

    def casebook(self, worker: str, spec: WorkerSpec) -> Casebook:
        """The worker's own, that of the project's own model, or the general one; none of a file that is broken."""
        path = spec.probes.casebook or (CASEBOOK if (spec.model or "").startswith(DEMO) else None)
        if path is None:
            return casebooks.general()
        try:
            changed = path.stat().st_mtime_ns
            if path not in self._books or self._books[path][0] != changed:
                self._books[path] = changed, casebooks.load(path)
        except (GenesisError, OSError) as error:
            self.sink.emit("effect_failed", worker, effect="casebook", text=str(error), hint=None)
            return Casebook()
        return self._books[path][1]

    def _card_memory(self, worker: str, spec: WorkerSpec) -> Callable[[], Awaitable[int | None]]:
        async def held() -> int | None:
            if not spec.gpus:
                return None
            members = set(self.runner.members(worker, LOOK_AGE))
            try:
                cards = await self.cards.cards()
            except UnavailableError:
                return None
            known = [size for index in spec.gpus for pid, size in _holders(cards, index) if pid in members]
            return sum(known) if known else None

        return held


def _holders(cards: Mapping[int, Card], index: int) -> list[tuple[int, int]]:
    return list(cards[index].holders.items()) if index in cards else []


def serves(spec: WorkerSpec) -> str:
    """The model; of a command of one's own, which may serve anything, a digest of its words."""
    return spec.model or hashlib.sha256(json.dumps(spec.command).encode()).hexdigest()[:16]


def abilities(spec: WorkerSpec) -> Abilities:
    """What the command line says. Of a command of one's own, and of flags in a file, nothing is known."""
    if spec.pin is None:
        return Abilities()
    flags = ServeFlags(spec.args)
    if not flags.whole:
        return Abilities()
    speculation = flags.mapping("--speculative-config")
    method = None if speculation is None else str(speculation.get("method") or "draft") if speculation else ""
    return Abilities(
        tool_parser=(flags.value("--tool-call-parser") or "") if flags.is_on("--enable-auto-tool-choice") else "",
        reasoning_parser=flags.value("--reasoning-parser") or "",
        speculative=method,
        prefix_caching=flags.is_on("--enable-prefix-caching"),
        max_model_len=flags.number("--max-model-len"),
    )
