"""Whether a patch is the project's alone: four clauses that must all hold, and the first that does not. Pure.

A tier is never written down, since one that is written down is soon wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from genesisd.patches.model import Patch

OWN = frozenset({"genesis", "genesis-original", "genesisd", "sander"})
"""Names in a credit that are the project's own."""
_PULL = re.compile(r"#\d+|/pull/\d+|\bPR[- ]?\d+|\bpull request\b", re.IGNORECASE)
_HANDLE = re.compile(r"(?<![\w.])@\w|\bby [A-Z]\w+|\b[A-Z]\w+'s (?:fix|patch|kernel|backport)\b")


class Tier(StrEnum):
    """Whose a patch is."""

    ENGINE = "engine"
    """The project's alone."""
    COMMUNITY = "community"


class Clause(StrEnum):
    """What must hold for the engine tier, in the order in which it is asked."""

    NOT_PUBLIC = "it is not on the public repository"
    NO_CREDIT = "neither title nor credit names an author outside of the project"
    NO_PULL = "neither title nor credit names a pull request"
    NO_UPSTREAM = "it names no upstream change"


@dataclass(frozen=True, slots=True)
class Tiering:
    """A patch's tier and, unless it is the engine's, the first clause that failed."""

    patch: str
    tier: Tier
    failed: Clause | None

    def __str__(self) -> str:
        return f"{self.patch}: {self.tier}" + (f" (fails: {self.failed})" if self.failed else "")


def tier_of(patch: Patch, public: Collection[str]) -> Tiering:
    """The tier of ``patch``; ``public`` are the ids on the public repository."""
    holds: dict[Clause, Callable[[], bool]] = {
        Clause.NOT_PUBLIC: lambda: patch.id not in public,
        Clause.NO_CREDIT: lambda: not _names_others(patch),
        Clause.NO_PULL: lambda: _PULL.search(f"{patch.title}\n{patch.credit}") is None,
        Clause.NO_UPSTREAM: lambda: not patch.upstream and patch.applied_upstream is None,
    }
    failed = next((clause for clause in Clause if not holds[clause]()), None)
    return Tiering(patch.id, Tier.COMMUNITY if failed else Tier.ENGINE, failed)


def audit(patches: Sequence[Patch], public: Collection[str]) -> tuple[Tiering, ...]:
    """Every patch's tier with the clause that failed first, by id."""
    return tuple(tier_of(patch, public) for patch in sorted(patches, key=lambda patch: patch.id))


def _names_others(patch: Patch) -> bool:
    credited = {name.strip().casefold() for name in re.split(r"[,;&+]|\band\b", patch.credit)} - {""}
    return bool(credited - OWN) or _HANDLE.search(patch.title) is not None
