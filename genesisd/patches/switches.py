"""What an environment switches on: a patch's own flag, those of its coordinators, and defaults. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from genesisd.patches.flags import Reading, Switch, read_flag
from genesisd.patches.model import Patch


def owners(patch: Patch, patches: Sequence[Patch]) -> Iterator[Patch]:
    """The patches whose flags switch ``patch``: itself, then its coordinators."""
    yield patch
    yield from (other for other in patches if patch.id in other.parts)


def read_switch(patch: Patch, patches: Sequence[Patch], environ: Mapping[str, str], program: str) -> Reading:
    """What the patch's own flag and those of its coordinators say; off beats on."""
    flags = [owner.flag for owner in owners(patch, patches) if owner.flag is not None]
    readings = [read_flag(flag, environ, program) for flag in flags]
    notes = tuple(note for reading in readings for note in reading.notes)
    for wanted in (Switch.OFF, Switch.ON):
        for reading in readings:
            if reading.switch is wanted:
                return Reading(wanted, reading.by, notes)
    return Reading(Switch.UNSET, notes=notes)


def switched_on(patches: Sequence[Patch], environ: Mapping[str, str], program: str) -> tuple[str, ...]:
    """Ids of all that would be applied if every later gate were open, sorted."""
    readings = ((patch, read_switch(patch, patches, environ, program)) for patch in patches)
    return tuple(sorted(patch.id for patch, reading in readings if is_on(patch, reading)))


def is_on(patch: Patch, reading: Reading) -> bool:
    """Whether a reading, with the patch's default, means on."""
    return reading.switch is Switch.ON or (reading.switch is Switch.UNSET and bool(patch.default_on))
