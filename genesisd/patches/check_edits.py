"""Edits as they are written: anchors that can be found again, texts that change something, paths inside the tree. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

from genesisd.patches.edits import AnchorEdit, Edit, ReplaceFile
from genesisd.patches.model import Patch
from genesisd.patches.problems import Problem, ProblemKind
from genesisd.patches.scope import BOM

_SHA256 = re.compile(r"[0-9a-f]{64}")
_NAME = r"[^\W\d]\w*"
_SCOPE = re.compile(rf"(?:{_NAME}(?:\.(?:<locals>\.)?{_NAME})*)?")


def edit_problems(patch: Patch) -> Iterator[Problem]:
    """Mistakes in the edits and markers of ``patch``."""
    for name, count in Counter(edit.id for edit in patch.edits).items():
        if count > 1:
            yield Problem(ProblemKind.DUPLICATE_EDIT, patch.id, f"{count} edits are called {name}", name)
    for edit in patch.edits:
        for text in _path(edit.path):
            yield Problem(ProblemKind.BAD_PATH, patch.id, text, edit.id)
        for text in _edit(edit):
            yield Problem(ProblemKind.BAD_EDIT, patch.id, text, edit.id)
    for marker in patch.markers:
        if not marker.text.strip():
            yield Problem(ProblemKind.BAD_EDIT, patch.id, f"an empty marker for {marker.path} is in every file")
        for text in _path(marker.path):
            yield Problem(ProblemKind.BAD_PATH, patch.id, f"marker: {text}")
    yield from _excuses(patch)
    if patch.edits and all(isinstance(edit, AnchorEdit) and not edit.required for edit in patch.edits):
        yield Problem(ProblemKind.BAD_EDIT, patch.id, "all edits are optional: nothing says whether it is applied")


def _excuses(patch: Patch) -> Iterator[Problem]:
    paths = {edit.path for edit in patch.edits}
    for edit in patch.anchored():
        if edit.unless is not None and (edit.required or edit.unless.path not in paths):
            text = "unless: expected at an optional edit, and in a file that an edit of the patch names"
            yield Problem(ProblemKind.BAD_EDIT, patch.id, text, edit.id)


def _path(path: str) -> Iterator[str]:
    parts = PurePosixPath(path)
    if not path or parts.is_absolute() or ".." in parts.parts or "\\" in path or str(parts) != path:
        yield f"path {path!r}: expected one inside the tree, such as vllm/v1/core/sched/scheduler.py"


def _edit(edit: Edit) -> Iterator[str]:
    if isinstance(edit, AnchorEdit):
        yield from _anchored(edit)
    elif isinstance(edit, ReplaceFile) and not _SHA256.fullmatch(edit.pristine):
        yield f"pristine is {edit.pristine!r}: expected 64 hexadecimal digits"


def _anchored(edit: AnchorEdit) -> Iterator[str]:
    if not edit.variants:
        yield "no variant: nothing to look for"
    if not _SCOPE.fullmatch(edit.scope):
        yield f"scope {edit.scope!r}: expected a qualified name such as Scheduler.schedule or f.<locals>.g"
    for variant in edit.variants:
        if not variant.anchor.strip():
            yield "an empty anchor stands everywhere"
        if edit.written(variant) == variant.anchor:
            yield "the text changes nothing"
        elif not edit.written(variant).strip():
            yield "nothing would be left by which to see that it was applied: keep a neighbouring line in anchor and text"
        if any(sign in part for part in (variant.anchor, variant.text) for sign in ("\r", BOM)):
            yield "write line ends as \\n and no byte order mark: the engine keeps those of the file"
    for anchor, count in Counter(variant.anchor for variant in edit.variants).items():
        if count > 1:
            yield f"{count} variants look for {anchor!r}: never could exactly one match"
