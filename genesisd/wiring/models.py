"""The model of a worker as far as it lies on this box: its folder and its config.json; and the project's own one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from genesisd.demo.locate import locate
from genesisd.supervisor.spec import WorkerSpec

DEMO = "demo:"
_LIMIT = 16 << 20
"""Bytes of the largest config.json that is read; those of models with all their layers listed have a hundredth."""


def demo_model(name: str) -> Path | None:
    """The folder of the project's own model, verified; None for any other name."""
    return locate().path if name == "tiny" else None


def model_folder(name: str, demo: Callable[[str], Path | None], hub: Path) -> Path | None:
    """Where the model's files are; None where that is for the engine to find out.

    Args:
        name: a path, a repository, or ``demo:NAME``.
        demo: finds the project's own models.
        hub: HF_HOME, where downloaded repositories are kept.

    Raises:
        OSError, ValueError: the name is no path that could be looked up, or may not be looked up.
    """
    if name.startswith(DEMO):
        return demo(name.removeprefix(DEMO))
    if Path(name).is_dir():
        return Path(name)
    snapshots = hub / "hub" / f"models--{name.replace('/', '--')}" / "snapshots"
    main = snapshots.parent / "refs" / "main"
    try:
        return snapshots / main.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None


def model_config(spec: WorkerSpec, demo: Callable[[str], Path | None], cache: Path) -> Mapping[str, Any] | None:
    """The model's config.json, or None if it cannot be had: what depends on it then says that it cannot tell."""
    if spec.model is None:
        return None
    hub = Path(spec.env.get("HF_HOME") or os.environ.get("HF_HOME") or cache / "huggingface")
    try:
        folder = model_folder(spec.model, demo, hub)
        content = json.loads(_text(folder / "config.json")) if folder is not None else None
    except (OSError, ValueError, RecursionError):  # the last for brackets in brackets in brackets
        return None
    return content if isinstance(content, dict) else None


def _text(path: Path) -> bytes:
    """Raises ValueError for one so large that it is no configuration."""
    with path.open("rb") as file:
        found = file.read(_LIMIT + 1)
    if len(found) > _LIMIT:
        raise ValueError(f"{path} is larger than {_LIMIT} bytes")
    return found
