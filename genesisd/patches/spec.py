"""What an operator declares about the patches of a worker: which policy, and why each patch is switched on."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from genesisd.units import SpecModel

Name = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
OurVariable = Annotated[str, StringConstraints(pattern=r"^(GENESIS|SNDR)_[A-Z0-9_]+$")]
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


class Policy(StrEnum):
    """What is left out of the patches that are switched on."""

    COMPAT = "compat"
    """Nothing: only switches that are off already."""
    SAFE = "safe"
    """Also what is said to do nothing here."""
    MINIMAL = "minimal"
    """Also what is suspected of harm, and what nobody has accounted for."""


class Role(StrEnum):
    """What a patch is for in one configuration."""

    LOAD_BEARING = "load_bearing"
    """Without it something breaks or gets measurably worse; the note says what."""
    DEFENSIVE = "defensive"
    OPTIONAL_PERF = "optional_perf"
    """Faster under a condition; the evidence says by how much."""
    SUSPECTED_REGRESSION = "suspected_regression"
    """A measurement went against it; the note says which. Documented, and kept off."""
    NO_OP = "no_op"
    """Listed so that configurations look alike; it does nothing here."""
    UNKNOWN = "unknown"
    """Nobody has looked yet."""


_NEEDS = {
    Role.LOAD_BEARING: "note",
    Role.SUSPECTED_REGRESSION: "note",
    Role.OPTIONAL_PERF: "bench_evidence",
}
_WHAT = {"note": "what happens with or without it", "bench_evidence": "what was measured, on what"}


class Attribution(SpecModel):
    """Why one patch is switched on, or kept off."""

    role: Role = Role.UNKNOWN
    note: Text | None = None
    bench_evidence: Text | None = None
    candidate_when: dict[str, object] = Field(default_factory=dict)
    """When the patch is worth having: advice, checked by candidate.py, that never excludes."""

    @model_validator(mode="after")
    def _accounts(self) -> Self:
        needed = _NEEDS.get(self.role)
        if needed is not None and getattr(self, needed) is None:
            raise ValueError(f"role {self.role} needs {needed!r}: {_WHAT[needed]}")
        return self


class PatchesSpec(SpecModel):
    """A worker's ``patches``. The switches themselves are in its ``env``."""

    policy: Policy | None = None
    """None: the environment is passed on as it is."""
    attribution: dict[Name, Attribution] = Field(default_factory=dict)
    """By patch id."""
    extra_env: tuple[OurVariable, ...] = ()
    """GENESIS_ and SNDR_ keys that are let through although no patch declares them."""
    allow_retired: tuple[Name, ...] = ()
    """Ids to apply although they are retired or deprecated."""
    waive: tuple[Name, ...] = ()
    """Names of findings (a patch that must not be enabled on the lane, a known-bad flag set) to start in spite of."""
    lane: Name | None = None
    """Which column of the compatibility table the worker belongs to."""
