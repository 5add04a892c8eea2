"""An id as the lists show it, whether the catalog implements it or the register alone knows it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from genesisd.patches.catalog import by_number
from genesisd.patches.flags import ENABLE
from genesisd.patches.model import Patch
from genesisd.patches.register_spec import PatchRecord

KNOWN = "known"
"""In the place of the implementation, for what there is nothing of here."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of one id; where the catalog has the patch, it says so in its own words."""

    id: str
    title: str
    family: str
    lifecycle: str
    implementation: str
    flag: str
    patch: Patch | None
    record: PatchRecord | None

    @property
    def implemented(self) -> bool:
        """Whether the catalog has it."""
        return self.patch is not None


def entries(by_id: Mapping[str, Patch], records: Mapping[str, PatchRecord]) -> list[Entry]:
    """All ids, in the order of people."""
    return [entry(name, by_id.get(name), records.get(name)) for name in sorted({*by_id, *records}, key=by_number)]


def entry(name: str, patch: Patch | None, record: PatchRecord | None) -> Entry:
    """One id, of which one of the two is known at least."""
    if patch is not None:
        words = patch.title, patch.family, str(patch.lifecycle), str(patch.implementation)
        return Entry(name, *words, variable(patch), patch, record)
    told = record or PatchRecord()
    lifecycle = str(told.lifecycle) if told.lifecycle else "planned" if told.planned else ""
    return Entry(name, told.title or "", told.family or "", lifecycle, KNOWN, told.flag or "", None, record)


def variable(patch: Patch) -> str:
    """The variable to write in a worker's environment, or nothing where there is none."""
    return ENABLE[0] + patch.flag.name if patch.flag else ""
