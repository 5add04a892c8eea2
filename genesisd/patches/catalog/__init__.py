"""The catalog: every implemented patch, one file each, found by looking into the folders of the families."""

from __future__ import annotations

import importlib
import pkgutil
import re
from functools import cache

from genesisd.patches.model import Patch


@cache
def catalog() -> tuple[Patch, ...]:
    """All patches, by id in the order that people count in (P9 before P62, P62 before PN9)."""
    found = (importlib.import_module(name).PATCH for name in _modules())
    return tuple(sorted(found, key=lambda patch: by_number(patch.id)))


def by_number(patch_id: str) -> tuple[str | int, ...]:
    """A key that sorts ids by their series, then by number."""
    parts = re.split(r"(\d+)", patch_id)
    return tuple(int(part) if part.isdigit() else part for part in parts)


def _modules() -> list[str]:
    families = pkgutil.iter_modules(__path__, f"{__name__}.")
    return [
        module.name
        for family in families
        for module in pkgutil.iter_modules([*importlib.import_module(family.name).__path__], f"{family.name}.")
    ]
