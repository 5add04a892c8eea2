"""One file a patch: what shows that it is needed, and that it works.

A case has ``VERDICTS`` (release to verdict), ``RED`` and ``GREEN`` (what ``observe`` sees without and with the
patch; what stands in both is a control), perhaps ``UPSTREAM`` (what upstream's own fix shows, where that is not
GREEN word for word), ``STUBS`` (what of the engine is not the real thing), and ``observe(version)``, which runs in
the pin's Python with a tree on its path. Nothing of the engine may be imported at the top of a case.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from genesisd.patches.model import Patch


@dataclass(frozen=True)
class Case:
    """What one file says."""

    id: str
    file: Path
    verdicts: Mapping[str, str]
    red: Mapping[str, Any]
    green: Mapping[str, Any]
    upstream: Mapping[str, Any]
    stubs: str

    def red_on(self, version: str) -> Any:
        """What is seen without the patch: RED, where RED has no entry of its own for the release."""
        return self.red.get(version, self.red)

    def green_on(self, version: str) -> Any:
        """What is seen with the patch."""
        return self.green.get(version, self.green)

    def upstream_on(self, version: str) -> Any:
        """What upstream's own fix shows."""
        return self.upstream.get(version, self.upstream)


def needed(patch: Patch, by_id: Mapping[str, Patch]) -> list[str]:
    """The patch's id and those of all that it requires or stands on."""
    found = [patch.id]
    for name in found:
        found += [one for one in (*by_id[name].requires, *by_id[name].bases()) if one not in found]
    return found


def _case(module: ModuleType) -> Case:
    assert module.__file__ is not None
    return Case(
        id=module.ID,
        file=Path(module.__file__),
        verdicts=module.VERDICTS,
        red=module.RED,
        green=module.GREEN,
        upstream=getattr(module, "UPSTREAM", module.GREEN),
        stubs=module.STUBS,
    )


CASES = {
    case.id: case
    for case in (_case(importlib.import_module(f"{__name__}.{found.name}")) for found in pkgutil.iter_modules(__path__))
}
