"""One worker of a configuration, as a question about patches: what it declares, what is known of it, its pin's tree."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from genesisd.config import Explained
from genesisd.config.root import Config, explain
from genesisd.errors import ConflictError, NotFoundError, UnavailableError
from genesisd.patches.facts import Gpu, Known, gather
from genesisd.patches.model import Patch
from genesisd.patches.outcome import Outcome
from genesisd.patches.reading import read_texts
from genesisd.patches.resolve import Gate
from genesisd.patches.spec import Policy
from genesisd.patches.stack import plan_all
from genesisd.patches.verdicts import sentence, verdict
from genesisd.patchtool.trees import Tree, of_pin
from genesisd.pins.catalog import find_pin, load_pins
from genesisd.pins.spec import PinSpec
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.cards import look
from genesisd.wiring.knowledge import gpus_of
from genesisd.wiring.models import demo_model, model_config
from genesisd.wiring.selection import Selection, lacking, select
from genesisd.wiring.starts import PatchNote

UNKNOWN = "unknown"
"""The verdict on a selected patch whose tree is not here."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The worker in question.

    Attributes:
        name: of the worker.
        spec: what it declares, put together from its layers.
        pin: the version of the engine that it runs.
        tree: the pin's files, or None where they are not on this box.
        known: what can be known before a start.
        written: where each value comes from, by its field.
    """

    name: str
    spec: WorkerSpec
    pin: PinSpec
    tree: Tree | None
    known: Known
    written: Mapping[str, Explained] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Standing:
    """What becomes of one patch: the verdict of the first gate that is shut, or of the plan on the tree."""

    verdict: str
    text: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Planned:
    """What the catalog comes to for one worker."""

    selection: Selection
    standings: Mapping[str, Standing]


def ask(config: Config, name: str, gpus: Callable[[WorkerSpec], tuple[Gpu, ...] | None] | None = None) -> Asked:
    """The worker called ``name``; ``gpus`` tells its cards, by default by looking at this box.

    Raises:
        NotFoundError: no such worker, or no such pin.
        ConflictError: it runs a command of its own, which nobody can patch.
    """
    if name not in config.workers:
        near = difflib.get_close_matches(name, config.workers, n=1)
        hint = f"did you mean {near[0]}?" if near else f"workers: {', '.join(config.workers) or 'none'}"
        raise NotFoundError(f"{config.file} has no worker {name!r}", hint=hint, worker=name)
    spec = config.workers[name]
    if spec.pin is None:
        told = f"worker {name} runs a command of its own: there is no pin to patch"
        raise ConflictError(told, hint="patches are for workers with a 'pin'", worker=name)
    if config.pins is None:
        raise NotFoundError(f"{config.file} names no pins file", hint="set 'pins: FILE'")
    pin, cache = find_pin(load_pins(config.pins), spec.pin), config.paths.cache_dir
    known = gather(model_config(spec, demo_model, cache), spec.args, (gpus or cards_of)(spec))
    return Asked(name, spec, pin, _tree(pin, cache), known, {one.field: one for one in explain(config, name)})


def cards_of(spec: WorkerSpec) -> tuple[Gpu, ...] | None:
    """The worker's cards; None where nobody can tell."""
    try:
        return gpus_of(spec, look() if spec.gpus else {})
    except UnavailableError:
        return None


def with_policy(asked: Asked, policy: Policy | None) -> Asked:
    """The same worker under another policy."""
    patches = asked.spec.patches.model_copy(update={"policy": policy})
    spec = asked.spec.model_copy(update={"patches": patches})
    return Asked(asked.name, spec, asked.pin, asked.tree, asked.known, asked.written)


def planned(asked: Asked, patches: Sequence[Patch]) -> Planned:
    """What becomes of each patch, by its id in the order of ``patches``."""
    selection = select(asked.spec, asked.pin.version, asked.known, patches)
    chosen = [patch for patch in patches if patch.id in selection.patches]
    outcomes = _outcomes(asked.tree, chosen)
    standings = {}
    for patch in patches:
        ruling = selection.resolution.rulings[patch.id]
        if ruling.gate is not None:
            standings[patch.id] = Standing(str(ruling.gate), ruling.reason, ruling.notes)
        elif outcomes is None:
            told = f"{ruling.reason}; the tree of pin {asked.pin.id} is not here to plan on"
            standings[patch.id] = Standing(UNKNOWN, told, ruling.notes)
        else:
            outcome = outcomes[patch.id]
            standings[patch.id] = Standing(str(verdict(outcome)), sentence(outcome) or ruling.reason, ruling.notes)
    if outcomes is not None:
        faults = lacking(asked.spec, asked.pin.version, asked.known, patches, selection, _notes(selection, standings))
        selection = replace(selection, faults=tuple(dict.fromkeys([*selection.faults, *faults])))
    return Planned(selection, standings)


def _notes(selection: Selection, standings: Mapping[str, Standing]) -> dict[str, PatchNote]:
    """As a start takes note of them: what a policy took away was switched off by somebody's word."""
    notes = {}
    for name, one in standings.items():
        taken = one.verdict == Gate.NOT_ENABLED and name in selection.plan.excluded
        told = (str(Gate.DISABLED), selection.plan.excluded[name]) if taken else (one.verdict, one.text)
        notes[name] = PatchNote(*told)
    return notes


def _outcomes(tree: Tree | None, chosen: Sequence[Patch]) -> Mapping[str, Outcome] | None:
    return None if tree is None else plan_all(read_texts(tree.root, chosen), chosen).outcomes


def _tree(pin: PinSpec, cache: Path) -> Tree | None:
    try:
        return of_pin(pin, cache)
    except NotFoundError:
        return None
