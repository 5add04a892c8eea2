"""Releases whose trees are unpacked in the cache."""

from __future__ import annotations

from pathlib import Path

from packaging.version import Version


def newest_tree(cache: Path, file: str) -> Path | None:
    """That of the newest release which has a file: by its version, whichever package it came from. None: there is none."""
    depth = len(Path(file).parts)
    trees = [path.parents[depth - 1] for path in cache.glob(f"trees/vllm-*/{file}")]
    return max(trees, key=_age, default=None)


def _age(tree: Path) -> tuple[Version, str]:
    """Two packages of one version hold the same Python files."""
    package, _, version = tree.name.rpartition("-")
    return Version(version), package
