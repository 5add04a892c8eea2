"""The release gates: what must hold before a catalog is released, in words. ``clauses`` has the checks. Pure data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Mode(StrEnum):
    """How strict a release is; each includes those before it."""

    STATIC = "require-static"
    BENCH = "require-bench"
    BASELINE = "require-baseline"


@dataclass(frozen=True, slots=True)
class Clause:
    """One thing that a gate checks.

    Attributes:
        name: for programs, and for people to look it up by.
        text: what must hold.
        why: what would go wrong otherwise.
    """

    name: str
    text: str
    why: str


GATES: dict[Mode, tuple[Clause, ...]] = {
    Mode.STATIC: (
        Clause(
            "catalog",
            "The catalog has no problems: ids, flags, ranges, references, order, anchors as they are written; a stable "
            "backport has a study note.",
            "A duplicate key once shadowed a patch, and its gain was lost without a word.",
        ),
        Clause(
            "register",
            "Each implemented patch is registered as implemented under the same family, lifecycle and flag, and "
            "the register calls nothing implemented that the catalog lacks.",
            "What sweeps and configurations are checked against would speak of other patches than those that run.",
        ),
        Clause(
            "cases",
            "Each implemented patch has a behaviour case, or its reason says why the code cannot be reached.",
            "A patch that nothing shows to work is a promise.",
        ),
        Clause(
            "anchors",
            "On each release that the cases know, each patch comes to the verdict that its case tells; no two patches "
            "that may meet want the same place.",
            "Upstream moves text; a patch whose place is gone does nothing, or lands elsewhere.",
        ),
        Clause(
            "attestation",
            "What a stable patch changes can be asked of a running process, and what of any patch cannot is listed in "
            "its case.",
            "A patch that cannot be seen to run was once not running for weeks.",
        ),
        Clause(
            "docs",
            "docs/PATCHES.md and docs/RELEASE_POLICY.md are what `genesisctl patches docs` writes.",
            "A table that is written by hand describes the catalog of some other day.",
        ),
    ),
    Mode.BENCH: (
        Clause(
            "bench-evidence",
            "Each patch that is stable by a bench, and each that a shipped configuration calls optional_perf, has bench "
            "evidence in a shipped configuration.",
            "A gain that was not measured is often a loss.",
        ),
    ),
    Mode.BASELINE: (
        Clause(
            "plans",
            "Each example configuration has a recorded plan under each policy.",
            "What a worker gets would change with a change of the catalog, and nobody would see it.",
        ),
        Clause(
            "lane-baselines",
            "Each lane of a shipped configuration or of the compatibility table has a recorded baseline.",
            "A regression is a difference from something; without a baseline there is none.",
        ),
    ),
}


def required(mode: Mode) -> tuple[Clause, ...]:
    """The clauses of ``mode`` and of those before it."""
    modes = list(GATES)
    return tuple(clause for one in modes[: modes.index(mode) + 1] for clause in GATES[one])
