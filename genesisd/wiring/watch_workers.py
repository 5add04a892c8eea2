"""What predicates of the watch are asked about: each worker as it is configured, its model and its cards."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path

from genesisd.errors import ConfigError
from genesisd.patches.facts import Gpu, Known
from genesisd.patches.serve_flags import Given, read
from genesisd.pins.catalog import load_pins
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.knowledge import Knowledge

Worker = Mapping[str, object]
Active = Callable[[str], frozenset[str] | None]
"""Ids of the patches in a worker's build; None where that is not known."""


class WatchedWorkers:
    """Facts of every worker, gathered when they are asked for.

    Args:
        specs: the workers.
        knowledge: models and cards.
        active: the patches of a running worker.
        pins: the pins file.
    """

    def __init__(
        self,
        specs: Callable[[], Mapping[str, WorkerSpec]],
        knowledge: Knowledge,
        active: Active,
        pins: Callable[[], Path | None],
    ) -> None:
        self._specs = specs
        self._knowledge = knowledge
        self._active = active
        self._pins = pins

    async def facts(self) -> dict[str, Worker]:
        """By name. What cannot be told of a worker is left out of its facts."""
        versions = await asyncio.to_thread(self._versions)
        found: dict[str, Worker] = {}
        for name, spec in self._specs().items():
            facts = _facts(spec, await self._knowledge.of(spec), self._active(name), versions)
            found[name] = {**facts, **_memory(await self._knowledge.gpus(spec))}
        return found

    def _versions(self) -> Mapping[str, str]:
        file = self._pins()
        if file is None:
            return {}
        try:
            return {pin.id: pin.version for pin in load_pins(file).pins.values()}
        except ConfigError:  # told by the sweep, which cannot look into pins then
            return {}


def _facts(spec: WorkerSpec, known: Known, active: frozenset[str] | None, versions: Mapping[str, str]) -> Worker:
    found: dict[str, object] = {str(fact): value for fact, value in known.facts.items()}
    names = [name for name in (spec.model, spec.served_model_name) if name]
    if names:
        found["model"] = tuple(dict.fromkeys((*names, *(name.rstrip("/").rpartition("/")[2] for name in names))))
    if spec.command is None:
        found["flags"] = flags(spec.args)
        found["flags_known"] = known.flags.whole
    if active is not None:
        found["patches"] = active
    if spec.pin is not None and spec.pin in versions:
        found["pin"] = versions[spec.pin]
    return found


def _memory(gpus: tuple[Gpu, ...] | None) -> Worker:
    """GiB of the smallest card: what is said to fit has to fit on each."""
    return {"gpu_memory": min(size for _, size in gpus) / (1 << 30)} if gpus else {}


def flags(args: tuple[str, ...]) -> dict[str, object]:
    """By name; after a dot the keys of JSON. A switch is True, or False by ``--no-``; the last of two counts."""
    found: dict[str, object] = {}
    for one in read(args):
        found |= _said(one)
    return found


def _said(one: Given) -> dict[str, object]:
    name = ".".join((one.name, *one.keys))
    if not one.values:
        return {name: not one.negated}
    value = one.values[0]
    try:
        content = json.loads(value)
    except ValueError:
        content = None
    if isinstance(content, dict):
        return {name: True, **_flat(name, content)}
    return {name: value}


def _flat(name: str, content: dict[str, object]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in content.items():
        found |= _flat(f"{name}.{key}", value) if isinstance(value, dict) else {f"{name}.{key}": value}
    return found
