"""What experience says about patches on lanes: safe, only when asked for, not to be enabled, superseded.

A lane is a kind of deployment: a model in one quantisation with one kind of KV cache. compatibility.yaml is the data;
nothing here follows from code, so every row names its evidence.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from pydantic import Field

from genesisd.errors import NotFoundError
from genesisd.patches.conditions import Answer
from genesisd.patches.facts import Known
from genesisd.patches.model import ConflictSet
from genesisd.patches.tables import Day, Pin, RowName, Text, load_table, refuse, twice
from genesisd.patches.when import When, holds
from genesisd.units import SpecModel
from genesisd.yamlfile import Location

COMPATIBILITY = Path(__file__).with_name("compatibility.yaml")


class Verdict(StrEnum):
    """What a row says."""

    SAFE = "safe"
    OPT_IN_ONLY = "opt_in_only"
    DO_NOT_ENABLE = "do_not_enable"
    DEPRECATED = "deprecated"


class Claim(SpecModel):
    """What experience says about patches that are enabled together, and what it rests on."""

    patches: tuple[str, ...] = Field(min_length=1)
    lane: RowName | None = None
    """None: on every lane."""
    when: When = When()
    evidence: Text
    pin: Pin | None = None
    """None: it was not written down."""
    date: Day


class Row(Claim):
    """One verdict."""

    verdict: Verdict


class Conflict(Claim):
    """Patches that may not all be applied together, found by running them."""

    name: RowName
    patches: tuple[str, ...] = Field(min_length=2)


class Compatibility(SpecModel):
    """The table."""

    lanes: dict[RowName, Text]
    rows: tuple[Row, ...]
    conflicts: tuple[Conflict, ...]

    def lane(self, name: str) -> str:
        """What the lane is, in words; raises NotFoundError that names the nearest."""
        if name not in self.lanes:
            near = difflib.get_close_matches(name, self.lanes, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "known: " + ", ".join(self.lanes)
            raise NotFoundError(f"no lane {name!r} in the compatibility table", hint=hint, lane=name)
        return self.lanes[name]


@cache
def load_compatibility(path: Path = COMPATIBILITY) -> Compatibility:
    """The table at ``path``. Raises ConfigError with file, line and field."""
    spec, document = load_table(path, Compatibility, _ids)
    lanes: list[tuple[Location, str | None]] = [
        ((section, n, "lane"), f"no lane {row.lane!r} under 'lanes'")
        for section in ("rows", "conflicts")
        for n, row in enumerate(getattr(spec, section))
        if row.lane is not None and row.lane not in spec.lanes
    ]
    names: list[tuple[Location, str]] = [(("conflicts", n, "name"), one.name) for n, one in enumerate(spec.conflicts)]
    refuse(document, [*lanes, *twice(names)])
    return spec


def _ids(spec: Compatibility) -> Iterator[tuple[Location, str]]:
    for section in ("rows", "conflicts"):
        claims: tuple[Claim, ...] = getattr(spec, section)
        for n, claim in enumerate(claims):
            for m, name in enumerate(claim.patches):
                yield (section, n, "patches", m), name


@dataclass(frozen=True, slots=True)
class Blocked:
    """Patches that may not be enabled on the worker's lane, and why; ``waive`` is what to name to do it all the same."""

    patches: tuple[str, ...]
    waive: str
    text: str


def blocked(
    lane: str | None,
    patches: Collection[str],
    known: Known,
    waive: Collection[str] = (),
    table: Compatibility | None = None,
) -> tuple[Blocked, ...]:
    """What forbids a plan that applies ``patches``; a row is waived by the name of any of its patches."""
    rows = _speaking(table, lane, patches, known, Verdict.DO_NOT_ENABLE)
    return tuple(
        Blocked(row.patches, row.patches[0], f"{_who(row)} must not be enabled{_where(row)}: {row.evidence}")
        for row in rows
        if not set(row.patches).intersection(waive)
    )


def advice(
    lane: str | None, patches: Collection[str], known: Known, table: Compatibility | None = None
) -> tuple[str, ...]:
    """What a person should know who enables ``patches``."""
    seldom = _speaking(table, lane, patches, known, Verdict.OPT_IN_ONLY)
    old = _speaking(table, lane, patches, known, Verdict.DEPRECATED)
    return (
        *(f"{_who(row)} is for certain workloads only{_where(row)}: {row.evidence}" for row in seldom),
        *(f"{_who(row)} is superseded{_where(row)}: {row.evidence}" for row in old),
    )


def conflict_sets(
    lane: str | None, known: Known, waive: Collection[str] = (), table: Compatibility | None = None
) -> tuple[ConflictSet, ...]:
    """The sets that ``lane`` and the circumstances call for, less those whose name is waived."""
    return tuple(
        ConflictSet(one.name, frozenset(one.patches), one.evidence)
        for one in (table or load_compatibility()).conflicts
        if one.lane in {None, lane} and one.name not in waive and _may_hold(one.when, known)
    )


def _speaking(
    table: Compatibility | None, lane: str | None, patches: Collection[str], known: Known, verdict: Verdict
) -> Iterator[Row]:
    for row in (table or load_compatibility()).rows:
        on = row.lane in {None, lane} and set(row.patches) <= set(patches)
        if on and row.verdict is verdict and _may_hold(row.when, known):
            yield row


def _may_hold(when: When, known: Known, environ: Mapping[str, str] | None = None) -> bool:
    """A warning of experience is not lifted by not knowing."""
    return holds(when, known, environ or {}).answer is not Answer.NO


def _who(row: Row) -> str:
    return " with ".join(row.patches)


def _where(row: Row) -> str:
    return f" on lane {row.lane}" if row.lane else ""
