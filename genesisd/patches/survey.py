"""One edit against the texts of a tree: where it goes, that it is done, or why it cannot be. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from genesisd.patches import match
from genesisd.patches.check import is_python
from genesisd.patches.edits import AnchorEdit, Edit, Marker, NewFile, ReplaceFile
from genesisd.patches.match import Present, Target
from genesisd.patches.newline import ending_of
from genesisd.patches.outcome import AnchorAmbiguous, AnchorMissing, Failed, Fault, TargetMissing
from genesisd.patches.scope import Source, read
from genesisd.patches.splice import Cut

Texts: TypeAlias = Mapping[str, str]
"""Files of a tree, by path: decoded as UTF-8, with line endings and byte order mark as they are."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole file to be put in place, or (``there``) in place already."""

    edit: NewFile | ReplaceFile
    there: bool


Found: TypeAlias = Cut | Present | Whole | TargetMissing | AnchorMissing | AnchorAmbiguous | Failed


def survey(edit: Edit, texts: Texts) -> Found:
    """What there is of ``edit`` in ``texts``."""
    match edit:
        case NewFile():
            return _new_file(edit, texts)
        case ReplaceFile():
            return _replace_file(edit, texts)
        case AnchorEdit():
            if edit.path not in texts:
                return TargetMissing(edit.id, edit.path)
            target = _target(edit, texts[edit.path])
            return target if isinstance(target, Failed) else match.find(edit, target)


def shows(marker: Marker, texts: Texts) -> bool:
    """Whether upstream's marker stands in its file; a file that is not there, or not Python, shows nothing."""
    text = texts.get(marker.path)
    if text is None:
        return False
    source = read(text) if is_python(marker.path) else Source()
    return match.shows(marker, Target(text, source, ending_of(text) or "\n"))


def is_there(found: Found) -> bool:
    """Whether the edit is done in the text already."""
    return isinstance(found, Present) or (isinstance(found, Whole) and found.there)


def is_to_do(found: Found) -> bool:
    """Whether the edit has its place, and is still to be made."""
    return isinstance(found, Cut) or (isinstance(found, Whole) and not found.there)


def digest(text: str) -> str:
    """SHA-256 of a file's bytes, from its text."""
    return hashlib.sha256(text.encode()).hexdigest()


def _target(edit: AnchorEdit, text: str) -> Target | Failed:
    ending = ending_of(text)
    if ending is None:
        detail = "the file mixes kinds of line ending: an edit cannot keep to one"
        return Failed(Fault.MIXED_ENDINGS, edit.path, detail, (edit.id,))
    source = read(text) if is_python(edit.path) else Source()
    if source.fault is not None:
        return Failed(Fault.NOT_PYTHON, edit.path, f"the file is not Python: {source.fault}", (edit.id,))
    return Target(text, source, ending)


def _new_file(edit: NewFile, texts: Texts) -> Whole | Failed:
    there = texts.get(edit.path)
    if there is None or there == edit.text:
        return Whole(edit, there is not None)
    return Failed(Fault.FILE_EXISTS, edit.path, "the tree has another file of that name", (edit.id,))


def _replace_file(edit: ReplaceFile, texts: Texts) -> Whole | TargetMissing | Failed:
    there = texts.get(edit.path)
    if there is None:
        return TargetMissing(edit.id, edit.path)
    if there == edit.text or digest(there) == edit.pristine:
        return Whole(edit, there == edit.text)
    detail = f"written against the content {edit.pristine[:12]}, the tree has {digest(there)[:12]}"
    return Failed(Fault.FILE_CHANGED, edit.path, detail, (edit.id,))
