"""Planning a set of patches on a pristine tree. Pure.

Patches between which no order is declared look at the same text, and what they claim must not touch: the result
cannot depend on their order. A patch sees the output of those it is declared to come after.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from genesisd.patches.check import failure
from genesisd.patches.engine import plan
from genesisd.patches.model import Patch
from genesisd.patches.order import BrokenChain, broken_chains, levels
from genesisd.patches.outcome import AlreadyApplied, Applied, Failed, Fault, NotApplicable, Outcome, Superseded
from genesisd.patches.splice import Cut, collisions, splice
from genesisd.patches.survey import Texts, survey


@dataclass(frozen=True, slots=True)
class StackPlan:
    """What a set of patches comes to.

    Attributes:
        texts: changed and new files, with every applied patch in them; none when a chain is broken.
        outcomes: of each patch; an ``Applied`` holds the spans in the text that this patch saw.
        broken: chains whose base was not applied. With one of them the plan fails as a whole.
    """

    texts: Mapping[str, str]
    outcomes: Mapping[str, Outcome]
    broken: tuple[BrokenChain, ...] = ()


def plan_all(pristine: Texts, patches: Sequence[Patch]) -> StackPlan:
    """What ``patches``, in any order, make of ``pristine``.

    Raises:
        ValueError: the declared order has a cycle, which a checked catalog has not.
    """
    by_id = {patch.id: patch for patch in patches}
    outcomes: dict[str, Outcome] = {}
    changed: dict[str, str] = {}
    for level in levels(patches):
        texts = {**pristine, **changed}
        planned = {name: _planned(by_id[name], texts, pristine, outcomes) for name in level}
        settled, merged = _settled(planned, texts)
        outcomes |= settled
        changed |= merged
    fallen = {name: type(outcome).__name__ for name, outcome in outcomes.items() if not _stands(outcome)}
    broken = broken_chains(patches, fallen)
    return StackPlan({} if broken else changed, dict(sorted(outcomes.items())), broken)


def _planned(patch: Patch, texts: Texts, pristine: Texts, outcomes: Mapping[str, Outcome]) -> Outcome:
    lacking = [name for name in patch.bases() if name not in outcomes or not _stands(outcomes[name])]
    if lacking:
        return Failed(Fault.BASE_MISSING, patch.edits[0].path, f"it stands on {', '.join(lacking)}, not applied")
    unmet = [name for name in patch.requires if not _holds(outcomes.get(name))]
    if unmet:
        return NotApplicable(f"it requires {', '.join(unmet)}, which is not applied")
    outcome = plan(texts, patch, pristine)
    return (_undeclared(patch, outcome, pristine) or outcome) if isinstance(outcome, Applied) else outcome


def _stands(outcome: Outcome) -> bool:
    """Whether the patch's own text is there, for others to stand on."""
    return isinstance(outcome, (Applied, AlreadyApplied))


def _holds(outcome: Outcome | None) -> bool:
    """Whether what the patch is for is there, by it or by upstream."""
    return isinstance(outcome, (Applied, AlreadyApplied, Superseded))


def _undeclared(patch: Patch, applied: Applied, pristine: Texts) -> Failed | None:
    """A failure if an anchor is there by another patch's doing and the edit does not say so."""
    made = {cut.edit for cut in applied.cuts}
    for edit in patch.anchored():
        if edit.id in made and edit.after is None and not isinstance(survey(edit, pristine), Cut):
            detail = f"the anchor of {edit.id} is not in the pristine file: say after which patch it stands"
            return Failed(Fault.UNDECLARED_BASE, edit.path, detail, (edit.id,))
    return None


def _settled(planned: Mapping[str, Outcome], texts: Texts) -> tuple[dict[str, Outcome], dict[str, str]]:
    """The outcomes of a level once its patches are put together, and the files that come out."""
    outcomes = dict(planned)
    while True:
        faults, merged = _together(outcomes, texts)
        if not faults:
            return outcomes, merged
        # All that are part of a clash go: to keep one would be to choose.
        outcomes |= faults


def _together(outcomes: Mapping[str, Outcome], texts: Texts) -> tuple[dict[str, Failed], dict[str, str]]:
    faults: dict[str, Failed] = {}
    merged: dict[str, str] = {}
    applied = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, Applied)}
    for path, names in _touching(applied).items():
        cuts = [cut for name in names for cut in applied[name].cuts if cut.path == path]
        clash = _whole(path, names, applied, texts) or _clashing(path, outcomes)
        if not clash and len(names) > 1 and path in texts:
            merged[path], _ = splice(texts[path], cuts)
            fault = failure(path, texts[path], merged[path], cuts)
            clash = dict.fromkeys(names, fault) if fault else {}
        elif not clash:
            merged[path] = applied[names[0]].texts[path]
        faults |= clash
    return faults, merged


def _whole(path: str, names: Sequence[str], applied: Mapping[str, Applied], texts: Texts) -> dict[str, Failed]:
    if len(names) == 1 or not any(path in applied[name].whole for name in names):
        return {}
    # Two that bring a file of one text, such as the package that holds what each carries, are of one mind.
    if len({applied[name].texts[path] for name in names}) == 1 and path not in texts:
        return {}
    return dict.fromkeys(names, Failed(Fault.OVERLAP, path, f"{', '.join(names)} put a whole file there, or edit it"))


def _clashing(path: str, outcomes: Mapping[str, Outcome]) -> dict[str, Failed]:
    """Every patch that wants text of ``path`` that another one wants, or needs as it is."""
    claims = {name: _claims(outcome, path) for name, outcome in sorted(outcomes.items())}
    found: dict[str, Failed] = {}
    for pair in collisions([cut for cuts in claims.values() for cut in cuts]):
        owners = [name for name, cuts in claims.items() if any(cut in cuts for cut in pair)]
        # Two that find the same text in place, by upstream's hand, are of one mind.
        if any(isinstance(outcomes[name], Applied) for name in owners):
            detail = f"{', '.join(owners)} want the same place, and no order between them is declared"
            found |= dict.fromkeys(owners, Failed(Fault.OVERLAP, path, detail, tuple(cut.edit for cut in pair)))
    return found


def _claims(outcome: Outcome, path: str) -> tuple[Cut, ...]:
    match outcome:
        case Applied():
            return tuple(cut for cut in outcome.cuts if cut.path == path)
        case AlreadyApplied():
            return tuple(cut for cut in outcome.claims if cut.path == path)
        case _:
            return ()


def _touching(applied: Mapping[str, Applied]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = defaultdict(list)
    for name in sorted(applied):
        for path in applied[name].texts:
            names[path].append(name)
    return names
