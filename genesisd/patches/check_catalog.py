"""Everything about a set of patches that can be wrong before there is a tree. Pure.

What needs the text, an anchor that is not there or an edit that leaves its scope, is the engine's to find.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from genesisd.patches.check_edits import edit_problems
from genesisd.patches.check_words import word_problems
from genesisd.patches.edits import new_texts
from genesisd.patches.environ import variables_of
from genesisd.patches.model import ConflictSet, Patch
from genesisd.patches.order import cycle
from genesisd.patches.problems import Problem, ProblemKind


def problems(patches: Sequence[Patch], conflicts: Sequence[ConflictSet] = ()) -> tuple[Problem, ...]:
    """All that is wrong with ``patches`` and the conflict sets over them; nothing for a sound catalog."""
    found = [
        *_duplicate_ids(patches),
        *_duplicate_names(patches),
        *_references(patches, conflicts),
        *_cycles(patches),
        *_contradictions(patches),
        *_markers(patches),
    ]
    for patch in patches:
        found += [*word_problems(patch), *edit_problems(patch)]
    return tuple(found)


def _duplicate_ids(patches: Sequence[Patch]) -> Iterator[Problem]:
    titles: dict[str, list[str]] = defaultdict(list)
    for patch in patches:
        titles[patch.id].append(patch.title)
    for name, several in titles.items():
        if len(several) > 1:
            yield Problem(ProblemKind.DUPLICATE_ID, name, "used by " + " and by ".join(several))


def _duplicate_names(patches: Sequence[Patch]) -> Iterator[Problem]:
    owners: dict[str, str] = {}
    for patch in patches:
        for name in variables_of(patch):
            if name in owners:
                text = f"{name} belongs to {owners[name]} already"
                yield Problem(ProblemKind.DUPLICATE_NAME, patch.id, text)
            owners[name] = patch.id


def _references(patches: Sequence[Patch], conflicts: Sequence[ConflictSet]) -> Iterator[Problem]:
    known = {patch.id for patch in patches}
    for patch in patches:
        retired_for = patch.retirement.replaced_by if patch.retirement else None
        named = {
            "requires": patch.requires,
            "conflicts": patch.conflicts,
            "follows": patch.follows,
            "parts": patch.parts,
            "after": patch.bases(),
            "replaced_by": (retired_for,) if retired_for else (),
        }
        for where, names in named.items():
            for name in sorted(set(names) - known):
                yield Problem(ProblemKind.UNKNOWN_REFERENCE, patch.id, f"{where}: there is no patch {name}")
    for one in conflicts:
        for name in sorted(one.members - known):
            yield Problem(ProblemKind.UNKNOWN_REFERENCE, one.name, f"conflict set: there is no patch {name}")


def _cycles(patches: Sequence[Patch]) -> Iterator[Problem]:
    found = cycle(patches)
    if found:
        yield Problem(ProblemKind.CYCLE, found[0], "wait for one another: " + " -> ".join(found))


def _contradictions(patches: Sequence[Patch]) -> Iterator[Problem]:
    for patch in patches:
        both = {*patch.requires, *patch.bases()}.intersection({*patch.conflicts})
        for name in sorted(both):
            yield Problem(ProblemKind.SELF_CONFLICT, patch.id, f"needs {name}, and conflicts with it")
        if patch.id in patch.conflicts:
            yield Problem(ProblemKind.SELF_CONFLICT, patch.id, "conflicts with itself")


def _markers(patches: Sequence[Patch]) -> Iterator[Problem]:
    """A marker that a patch writes itself would one day be read as upstream's."""
    for patch in patches:
        for marker in patch.markers:
            for other in patches:
                for edit in other.edits:
                    if edit.path == marker.path and any(marker.text in text for text in new_texts(edit)):
                        text = f"its marker {marker.text!r} is in what {other.id} writes"
                        yield Problem(ProblemKind.MARKER_IN_PATCH, patch.id, text, edit.id)
