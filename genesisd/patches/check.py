"""What must hold of a file after its edits: still Python, the same line endings, nothing outside the scopes moved. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from genesisd.patches import newline
from genesisd.patches.outcome import Failed, Fault
from genesisd.patches.scope import Definition, Source, compiler_fault, read
from genesisd.patches.splice import Cut

_NOTHING = re.compile(r"(?:[ \t\f]*(?:#[^\r\n]*)?(?:\r\n|\r|\n|\Z))*")


def is_python(path: str) -> bool:
    """Whether a file of that name is parsed."""
    return path.endswith((".py", ".pyi"))


def failure(path: str, before: str | None, after: str, cuts: Sequence[Cut] = ()) -> Failed | None:
    """Why ``after`` may not take the place of ``before`` (None: a new file), or None when all holds."""
    edits = tuple(cut.edit for cut in cuts)
    if before is not None and newline.changed(before, after):
        return Failed(Fault.LINE_ENDING, path, "the edit changes the line ending of the file", edits)
    if not is_python(path):
        return None
    source = read(after)
    fault = source.fault or compiler_fault(after)
    if fault is not None:
        return Failed(Fault.SYNTAX, path, f"the result is not Python: {fault}", edits)
    if before is None or not cuts:
        return None
    lost = _lost(read(before), source, after, cuts)
    if lost is None:
        return None
    detail = f"the edit reaches out of its scope: {lost.name} would begin or end elsewhere"
    return Failed(Fault.OUT_OF_SCOPE, path, detail, edits)


def _lost(before: Source, after: Source, text: str, cuts: Sequence[Cut]) -> Definition | None:
    """A definition that no edit may have changed from outside, and that is not where it has to be."""
    for known in before.definitions:
        inside = [cut for cut in cuts if _is_inside(cut, known)]
        if any(_touches(cut, known) for cut in cuts if cut not in inside):
            continue
        earlier = sum(cut.growth for cut in cuts if cut not in inside and cut.at.end <= known.head)
        start = known.span.start + earlier
        # An anchor may take along the blank lines after a definition, which belong to none.
        end = max([known.span.end, *(cut.at.end for cut in inside)]) + earlier + sum(cut.growth for cut in inside)
        if not any(found.span.start <= start and _ends(found, end, text) for found in after.named(known.name)):
            return known
    return None


def _is_inside(cut: Cut, known: Definition) -> bool:
    """Whether the edit was declared within ``known``, or changes only its body."""
    if cut.home is not None and known.span.holds(cut.home):
        return True
    return known.head < cut.at.start < known.span.end and cut.at.end <= known.span.end


def _touches(cut: Cut, known: Definition) -> bool:
    """Whether the edit, declared outside, takes away text of ``known``: its author named what it does to it."""
    return cut.at.start < known.span.end and known.head < cut.at.end


def _ends(found: Definition, expected: int, text: str) -> bool:
    """Whether ``found`` ends where it should, but for comments, which belong to no definition."""
    return found.span.end <= expected and _NOTHING.fullmatch(text, found.span.end, expected) is not None
