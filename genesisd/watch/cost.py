"""What a sweep asked and what is left to ask, and the releases that an index tells of. Pure data."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A release of the engine's package in the index; ``uploaded_at`` is None where the index does not tell."""

    package: str
    version: str
    uploaded_at: float | None = None
    yanked: bool = False
    has_wheel: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What is left of what upstream lets us ask."""

    limit: int | None = None
    remaining: int | None = None
    resets_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a sweep cost: requests by kind of question, and of those the ones answered by 304."""

    requests: dict[str, int] = field(default_factory=dict)
    unchanged: int = 0
    budget: Budget = Budget()
