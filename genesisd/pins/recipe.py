"""What a build is to hold beside the pristine tree. Pure: whoever plans patches makes one, pins builds it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

from genesisd.pins.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Container

KEY = re.compile(r"[0-9a-f]{12}")


@dataclass(frozen=True)
class Recipe:
    """The patched files of one build, complete."""

    key: str
    """Twelve hexadecimal digits over all that shapes the build, the plugin included: equal keys are one build."""
    files: Mapping[str, str]
    """Whole texts by path relative to site-packages, decoded without translation of line endings."""
    plugin: Path
    """The attestation plugin; it becomes ``genesisd_attest.py`` of the build."""
    whole: Mapping[str, Literal["new", "replaced"]] = field(default_factory=dict)
    """Files that are not edits of the pristine ones."""
    scopes: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    """By patch, the path and qualified name of each scope that it changed; an empty name is the module."""
    proofs: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict)
    """By patch, its signs of life, for the plugin: ``role`` and ``counter`` or ``log``."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """Kept in the manifest as it is."""


def check_recipe(recipe: Recipe, pristine: Container[str]) -> None:
    """Raises BuildError when the recipe does not fit the tree whose file names ``pristine`` holds."""
    if not KEY.fullmatch(recipe.key):
        raise BuildError(f"the key of a build is twelve hexadecimal digits, not {recipe.key!r}")
    for path in recipe.files:
        _check_path(path)
        _check_place(path, pristine, new=recipe.whole.get(path) == "new")
    named = {path for scopes in recipe.scopes.values() for path, _ in scopes}
    for path in sorted((named | set(recipe.whole)) - set(recipe.files)):
        raise BuildError(f"the recipe speaks of {path}, for which it has no text", path=path)


def _check_path(path: str) -> None:
    parts = PurePosixPath(path).parts
    plain = str(PurePosixPath(path)) == path and "\0" not in path and "\\" not in path
    if not plain or len(parts) < 2 or parts[0] != "vllm" or {"..", "__pycache__"} & set(parts):
        raise BuildError(f"a build holds files below vllm/, by plain relative paths, not {path!r}", path=path)


def _check_place(path: str, pristine: Container[str], *, new: bool) -> None:
    if not new and path not in pristine:
        raise BuildError(f"{path} is to be patched, and the pristine tree has no such file", path=path)
    if new and path in pristine:
        raise BuildError(f"{path} is to be a new file, and the pristine tree has one", path=path)
    for parent in PurePosixPath(path).parents:
        if str(parent) in pristine:
            raise BuildError(f"{path} is to lie in a folder {parent}, which is a file in the pristine tree", path=path)
