"""Planning one patch: texts in, an outcome out. Pure, it writes nothing.

All edits look at the same text, so that their order means nothing. A patch is known to be applied by content
alone: its edits are taken back, made again, and the text must be the one that was given. No marker line is
written, since a marker says that something was applied, and not what.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from genesisd.patches.check import failure
from genesisd.patches.edits import AnchorEdit, Edit, NewFile, ReplaceFile
from genesisd.patches.match import Present
from genesisd.patches.model import Patch
from genesisd.patches.outcome import (
    AlreadyApplied,
    AnchorMissing,
    Applied,
    Failed,
    Fault,
    NotApplicable,
    Outcome,
    Superseded,
    TargetMissing,
)
from genesisd.patches.splice import Cut, collisions, splice
from genesisd.patches.survey import Found, Texts, Whole, is_there, is_to_do, shows, survey


def plan(texts: Texts, patch: Patch, pristine: Texts | None = None) -> Outcome:
    """What ``patch`` makes of ``texts``.

    Args:
        texts: the files that the patch names, as far as the tree has them.
        patch: what to apply.
        pristine: upstream's own files, where ``texts`` holds the output of other patches: upstream's markers are
            looked for there alone, since a patch may bring text that looks like one.
    """
    if not patch.edits:
        return NotApplicable(patch.reason or f"it has no edits ({patch.implementation})")
    for marker in patch.markers:
        if shows(marker, texts if pristine is None else pristine):
            return Superseded(marker)
    found = [survey(edit, texts) for edit in patch.edits]
    if _is_applied(patch.edits, found, texts):
        return AlreadyApplied(tuple(seen.undo for seen in found if isinstance(seen, Present)))
    return _refusal(patch.edits, found, texts) or _apply(patch.edits, found, texts)


def merge(text: str, cuts: Sequence[Cut]) -> tuple[str, tuple[Cut, ...]] | Failed:
    """One file with ``cuts`` made, or why they may not be."""
    for one, other in collisions(cuts):
        detail = f"{one.edit} and {other.edit} want the same place"
        return Failed(Fault.OVERLAP, one.path, detail, (one.edit, other.edit))
    after, landed = splice(text, cuts)
    return failure(cuts[0].path, text, after, cuts) or (after, landed)


def _is_applied(edits: Sequence[Edit], found: Sequence[Found], texts: Texts) -> bool:
    """Whether there is a text that the edits turn into exactly this one."""
    settled = (is_there(seen) or _may_lack(edit, seen, texts) for edit, seen in zip(edits, found, strict=True))
    if not all(settled) or not any(map(is_there, found)):
        return False
    undone = _undone(found, texts)
    if undone is None:
        return False
    again = [survey(edit, undone) for edit, seen in zip(edits, found, strict=True) if isinstance(seen, Present)]
    cuts = [seen for seen in again if isinstance(seen, Cut)]
    return len(cuts) == len(again) and _made(cuts, undone) == {cut.path: texts[cut.path] for cut in cuts}


def _undone(found: Sequence[Found], texts: Texts) -> Texts | None:
    """The texts with the edits that are there taken back, or None where that is not clear."""
    present = [seen for seen in found if isinstance(seen, Present)]
    if any(seen.count != 1 for seen in present):
        return None
    undone = _made([seen.undo for seen in present], texts)
    return None if undone is None else {**texts, **undone}


def _made(cuts: Sequence[Cut], texts: Texts) -> dict[str, str] | None:
    by_path = _by_path(cuts)
    if any(next(collisions(cuts), None) for cuts in by_path.values()):
        return None
    return {path: splice(texts[path], cuts)[0] for path, cuts in by_path.items()}


def _refusal(edits: Sequence[Edit], found: Sequence[Found], texts: Texts) -> Outcome | None:
    """Why nothing may be done, or None. An optional edit may lack its place for its reason; it may not have two."""
    there = [edit for edit, seen in zip(edits, found, strict=True) if is_there(seen) and _is_required(edit)]
    if there:
        return _half(there, edits, found)
    for edit, seen in zip(edits, found, strict=True):
        if not isinstance(seen, (Cut, Present, Whole)) and not _may_lack(edit, seen, texts):
            return seen
    if not any(map(is_to_do, found)):
        return next((seen for seen in found if not isinstance(seen, (Cut, Present, Whole))), _half(edits, edits, found))
    return None


def _half(there: Sequence[Edit], edits: Sequence[Edit], found: Sequence[Found]) -> Failed:
    names = tuple(edit.id for edit in there)
    others = [edit.id for edit, seen in zip(edits, found, strict=True) if not is_there(seen)]
    path = there[0].path
    if others:
        detail = f"{', '.join(names)} is there already, {', '.join(others)} is not"
        return Failed(Fault.HALF_APPLIED, path, detail, names)
    return Failed(Fault.UNRECOGNISABLE, path, f"what {', '.join(names)} writes is there, and not by this patch", names)


def _apply(edits: Sequence[Edit], found: Sequence[Found], texts: Texts) -> Outcome:
    changed: dict[str, str] = {}
    landed: list[Cut] = []
    for path, cuts in _by_path(seen for seen in found if isinstance(seen, Cut)).items():
        merged = merge(texts[path], cuts)
        if isinstance(merged, Failed):
            return merged
        changed[path], made = merged
        landed += made
    whole = [seen.edit for seen in found if isinstance(seen, Whole) and not seen.there]
    for edit in whole:
        refused = _whole_failure(edit, texts, changed)
        if refused is not None:
            return refused
        changed[edit.path] = edit.text
    skipped = tuple(edit.id for edit, seen in zip(edits, found, strict=True) if not is_to_do(seen))
    return _recognised(edits, texts, Applied(changed, tuple(landed), tuple(edit.path for edit in whole), skipped))


def _whole_failure(edit: NewFile | ReplaceFile, texts: Texts, changed: Texts) -> Failed | None:
    if edit.path in changed:
        return Failed(Fault.OVERLAP, edit.path, f"{edit.id} puts in place a file that another edit changes", (edit.id,))
    return failure(edit.path, texts.get(edit.path), edit.text)


def _recognised(edits: Sequence[Edit], texts: Texts, applied: Applied) -> Outcome:
    """``applied``, unless a second plan could not tell that it was."""
    result = {**texts, **applied.texts}
    if _is_applied(edits, [survey(edit, result) for edit in edits], result):
        return applied
    names = tuple(cut.edit for cut in applied.cuts)
    detail = f"the result of {', '.join(names)} cannot be told from other text of the scope: make the anchor wider"
    return Failed(Fault.UNRECOGNISABLE, edits[0].path, detail, names)


def _may_lack(edit: Edit, seen: Found, texts: Texts) -> bool:
    if not isinstance(edit, AnchorEdit) or edit.required or not isinstance(seen, (AnchorMissing, TargetMissing)):
        return False
    return edit.unless is None or shows(edit.unless, texts)


def _is_required(edit: Edit) -> bool:
    return edit.required if isinstance(edit, AnchorEdit) else True


def _by_path(cuts: Iterable[Cut]) -> dict[str, list[Cut]]:
    grouped: dict[str, list[Cut]] = defaultdict(list)
    for cut in cuts:
        grouped[cut.path].append(cut)
    return grouped
