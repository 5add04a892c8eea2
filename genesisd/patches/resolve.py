"""Which patches are to be applied: the gates, in order, before any file is looked at. Pure.

The first gate that is shut is the verdict. No gate depends on the order in which patches are listed: a conflict
shuts out both sides, since whichever came first would be an accident.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from packaging.version import Version

from genesisd.patches.conditions import Answer, Facts, judge
from genesisd.patches.flags import Reading, Switch
from genesisd.patches.lifecycle import Lifecycle
from genesisd.patches.model import ConflictSet, Patch
from genesisd.patches.order import BrokenChain, broken_chains, levels
from genesisd.patches.switches import read_switch
from genesisd.versions import parse_range


class Gate(StrEnum):
    """What may shut a patch out, in the order in which they are asked."""

    DISABLED = "disabled"
    NOT_ENABLED = "not_enabled"
    QUARANTINED = "quarantined"
    """It was found to make the worker answer wrong."""
    RETIRED = "retired"
    VERSION = "version"
    APPLIES_TO = "applies_to"
    REQUIRES = "requires"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for.

    Attributes:
        version: of the engine.
        environ: the worker's environment.
        program: the version of this program, for names that expire.
        facts: what is known about model, flags and cards.
        allow_retired: ids to apply although they are retired or deprecated; told in the ruling's notes.
        conflicts: sets of patches that evidence forbids together.
        quarantined: ids that were found at fault, each with what was found.
    """

    version: Version
    environ: Mapping[str, str]
    program: str
    facts: Facts = field(default_factory=dict)
    allow_retired: frozenset[str] = frozenset()
    conflicts: tuple[ConflictSet, ...] = ()
    quarantined: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ruling:
    """What became of one patch; ``gate`` is None for one that is to be applied."""

    patch: str
    gate: Gate | None
    reason: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Resolution:
    """A ruling for each patch, the selected ids in order of application, and the chains that broke.

    With a broken chain nothing may be applied: what stands on the base was measured and proven with it.
    """

    rulings: Mapping[str, Ruling]
    selected: tuple[str, ...]
    broken: tuple[BrokenChain, ...] = ()


def resolve(patches: Sequence[Patch], request: Request) -> Resolution:
    """Ask every gate of every patch; ``patches`` is a checked catalog, in any order."""
    rulings = {patch.id: _alone(patch, patches, request) for patch in patches}
    _shut_lacking(patches, rulings)
    for name, reason in _conflicts(patches, _open(patches, rulings), request.conflicts).items():
        rulings[name] = Ruling(name, Gate.CONFLICT, reason, rulings[name].notes)
    _shut_lacking(patches, rulings)
    chosen = [patch for patch in patches if rulings[patch.id].gate is None]
    shut = {name: f"{ruling.gate}: {ruling.reason}" for name, ruling in rulings.items() if ruling.gate}
    selected = tuple(name for level in levels(chosen) for name in level)
    return Resolution(dict(sorted(rulings.items())), selected, broken_chains(chosen, shut))


def _alone(patch: Patch, patches: Sequence[Patch], request: Request) -> Ruling:
    """The gates that ask about the patch itself."""
    reading = read_switch(patch, patches, request.environ, request.program)
    shut = _shut(patch, reading, request)
    if shut is not None:
        return Ruling(patch.id, *shut, reading.notes)
    notes = reading.notes
    if patch.lifecycle in {Lifecycle.RETIRED, Lifecycle.DEPRECATED}:
        notes = (*notes, f"{patch.lifecycle}, and applied because allow_retired names it")
    return Ruling(patch.id, None, f"switched on by {reading.by}" if reading.by else patch.default_on, notes)


def _shut(patch: Patch, reading: Reading, request: Request) -> tuple[Gate, str] | None:
    """The first shut gate and the reason."""
    if reading.switch is Switch.OFF:
        return Gate.DISABLED, f"switched off by {reading.by}"
    if reading.switch is Switch.UNSET and not patch.default_on:
        return Gate.NOT_ENABLED, "nothing switches it on"
    if patch.id in request.quarantined:
        return Gate.QUARANTINED, request.quarantined[patch.id]
    if patch.lifecycle is Lifecycle.TOMBSTONE:
        return Gate.RETIRED, "the id is burned; no override applies it"
    if patch.lifecycle in {Lifecycle.RETIRED, Lifecycle.DEPRECATED} and patch.id not in request.allow_retired:
        return Gate.RETIRED, _why_retired(patch)
    if not parse_range(patch.versions).contains(request.version):
        return Gate.VERSION, f"for {patch.versions}, not for {request.version}"
    judged = judge(patch.applies_to, request.facts)
    if judged.answer is not Answer.YES:
        return Gate.APPLIES_TO, judged.reason if judged.answer is Answer.NO else f"cannot tell: {judged.reason}"
    return None


def _why_retired(patch: Patch) -> str:
    if patch.retirement is None:
        return str(patch.lifecycle)
    instead = f", replaced by {patch.retirement.replaced_by}" if patch.retirement.replaced_by else ""
    return f"{patch.lifecycle}: {patch.retirement.because}{instead}"


def _open(patches: Sequence[Patch], rulings: Mapping[str, Ruling]) -> frozenset[str]:
    return frozenset(patch.id for patch in patches if rulings[patch.id].gate is None)


def _shut_lacking(patches: Sequence[Patch], rulings: dict[str, Ruling]) -> None:
    """Shut out whatever requires what is shut out, until nothing more falls."""
    while True:
        standing = _open(patches, rulings)
        fallen = {p.id: set(p.requires) - standing for p in patches if p.id in standing and set(p.requires) - standing}
        if not fallen:
            return
        for name, lacking in fallen.items():
            reason = "requires " + ", ".join(_lack(wanted, rulings) for wanted in sorted(lacking))
            rulings[name] = Ruling(name, Gate.REQUIRES, reason, rulings[name].notes)


def _lack(name: str, rulings: Mapping[str, Ruling]) -> str:
    return f"{name} ({rulings[name].gate})" if name in rulings else f"{name} (unknown)"


def _conflicts(patches: Sequence[Patch], standing: frozenset[str], sets: Sequence[ConflictSet]) -> dict[str, str]:
    """Ids that may not stay, each with the reason."""
    found: dict[str, str] = {}
    for patch in sorted(patches, key=lambda patch: patch.id):
        for other in sorted(standing.intersection(patch.conflicts)) if patch.id in standing else ():
            found.setdefault(patch.id, f"conflicts with {other}: switch one of them off")
            found.setdefault(other, f"conflicts with {patch.id}: switch one of them off")
    for one in sorted(sets, key=lambda one: one.name):
        if one.members <= standing:
            for name in one.members:
                found.setdefault(name, f"{one.name} ({', '.join(sorted(one.members))}): {one.reason}")
    return found
