"""The series of one worker that tell of its patches: what the start made of them, and what the life does."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache

from genesisd.patches.catalog import catalog
from genesisd.telemetry import names
from genesisd.telemetry.families import Family, LabelValues, Series
from genesisd.telemetry.names import one_of


@cache
def patch_ids() -> frozenset[str]:
    """Ids of the implemented patches. Asked for when the first patch is told of: the catalog is many files."""
    return frozenset(patch.id for patch in catalog())


def patch_label(patch: str) -> str:
    """Its id, or ``other``: the store may know patches of another version of this program."""
    return one_of(patch, patch_ids())


class PatchMetrics:
    """Sets the families in ``names.PATCH_FAMILIES``. Each call replaces what the one before said."""

    def __init__(self, series: Mapping[Family, Series]) -> None:
        self._series = series
        self._state(names.NOT_ATTESTED)
        series[names.PATCHES_LOST].set(0)

    def started(self, verdicts: Mapping[str, str], lost: Collection[str]) -> None:
        """What the newest start made of each patch, and the ids whose effect it lacks."""
        self._series[names.PATCH_VERDICT].replace(
            {
                (patch_label(patch), one_of(verdict, names.PATCH_VERDICTS, names.UNKNOWN)): 1
                for patch, verdict in verdicts.items()
            }
        )
        self._series[names.PATCHES_LOST].set(len(lost))

    def attested(self, state: str, hits: Mapping[str, int], never: Mapping[str, str]) -> None:
        """What is known of the running code, and of how it is used."""
        # A word that is not in the list proves nothing.
        self._state(one_of(state, names.ATTESTED_STATES, "pending"))
        reached: dict[LabelValues, float] = {}
        for patch, count in hits.items():
            labels = (patch_label(patch),)
            reached[labels] = reached.get(labels, 0) + count
        self._series[names.PATCH_HITS].replace(reached)
        self._series[names.PATCH_NEVER].replace(
            {(patch_label(patch), one_of(role, names.PATCH_ROLES, names.UNKNOWN)): 1 for patch, role in never.items()}
        )

    def _state(self, state: str) -> None:
        for one in names.ATTESTED_STATES:
            self._series[names.ATTESTED].set(int(one == state), one)
