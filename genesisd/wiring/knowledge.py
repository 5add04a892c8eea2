"""What is known of a worker before it starts: its model's config.json, its flags, its cards. Conditions go by that."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from genesisd.errors import UnavailableError
from genesisd.patches.facts import Gpu, Known, gather
from genesisd.supervisor.ports import Card, CardLedger
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.models import model_config


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Where to look.

    Attributes:
        demo: finds the project's own models.
        cache: where downloaded models are.
        cards: what is known of the cards.
    """

    demo: Callable[[str], Path | None]
    cache: Path
    cards: CardLedger

    async def of(self, spec: WorkerSpec) -> Known:
        """All that can be told now; what cannot is said to be unknown."""
        config = await asyncio.to_thread(model_config, spec, self.demo, self.cache)
        return gather(config, spec.args, await self.gpus(spec))

    async def gpus(self, spec: WorkerSpec) -> tuple[Gpu, ...] | None:
        """The worker's cards, or None where nobody can tell."""
        try:
            return gpus_of(spec, await self.cards.cards() if spec.gpus else {})
        except UnavailableError:
            return None


def gpus_of(spec: WorkerSpec, cards: Mapping[int, Card]) -> tuple[Gpu, ...] | None:
    """Those of ``cards`` that the worker owns; None where that cannot be told."""
    if not spec.gpus:
        return None if spec.share_gpus or "CUDA_VISIBLE_DEVICES" in spec.env else ()
    found = [cards[index] for index in spec.gpus if index in cards and cards[index].sm is not None]
    return tuple((card.sm or 0, card.total) for card in found) if len(found) == len(spec.gpus) else None
