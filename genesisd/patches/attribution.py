"""Whether attribution accounts for what is switched on: findings, coverage, and a floor that may only rise. Pure."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from genesisd.patches.model import Patch
from genesisd.patches.policy import role_of
from genesisd.patches.spec import Attribution, PatchesSpec, Role
from genesisd.patches.switches import is_on, read_switch

Location = tuple[str | int, ...]


class Severity(StrEnum):
    """Whether a finding is wrong, or unwise."""

    ERROR = "error"
    WARN = "warn"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing about a worker: where in it, and what to do."""

    severity: Severity
    at: Location
    text: str


def lint(spec: PatchesSpec, environ: Mapping[str, str], patches: Sequence[Patch], program: str) -> tuple[Finding, ...]:
    """Whether roles agree with what is switched on; ids are ``unknown_ids``' affair."""
    found: list[Finding] = []
    on = on_with_roles(spec.attribution, environ, patches, program)
    for name, (role, by) in on.items():
        found += _of_one_on(name, role, by)
    known = {patch.id for patch in patches}
    for name, entry in spec.attribution.items():
        if name in known and name not in on and entry.role is Role.LOAD_BEARING:
            text = f"{name} is load_bearing, and not switched on: switch it on, or give it another role"
            found.append(Finding(Severity.ERROR, _role(name), text))
    return tuple(found)


def _of_one_on(name: str, role: Role, by: str) -> Iterator[Finding]:
    if role is Role.UNKNOWN:
        at: Location = ("env", by) if by else ("patches", "attribution")
        yield Finding(Severity.WARN, at, f"{name} is switched on and nobody says why: give it a role in attribution")
    elif role is Role.SUSPECTED_REGRESSION:
        text = f"{name} is suspected of a regression, and switched on: switch it off, or give it another role"
        yield Finding(Severity.ERROR, _role(name), text)


def _role(name: str) -> Location:
    return ("patches", "attribution", name, "role")


def unknown_ids(spec: PatchesSpec, find: Callable[[str], str | None], ids: Collection[str]) -> Iterator[Finding]:
    """Ids that mean nothing, or are not written as registered.

    Args:
        spec: the worker's ``patches``.
        find: the id that a spelling means, as the register's ``find``.
        ids: all that there are, to name the nearest.
    """
    for at, name in _ids(spec):
        meant = find(name)
        if meant is None:
            near = difflib.get_close_matches(name, sorted(ids), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            yield Finding(Severity.ERROR, at, f"no patch {name!r} in the register{hint}")
        elif meant != name:
            yield Finding(Severity.ERROR, at, f"{name!r} is written {meant!r} here")


def _ids(spec: PatchesSpec) -> Iterator[tuple[Location, str]]:
    for name in spec.attribution:
        yield ("patches", "attribution", name), name
    for n, name in enumerate(spec.allow_retired):
        yield ("patches", "allow_retired", n), name


def on_with_roles(
    attribution: Mapping[str, Attribution], environ: Mapping[str, str], patches: Sequence[Patch], program: str
) -> dict[str, tuple[Role, str]]:
    """Every patch that is on, by id, with the role that is declared for it and the key that switches it on."""
    found = {}
    for patch in sorted(patches, key=lambda patch: patch.id):
        reading = read_switch(patch, patches, environ, program)
        if is_on(patch, reading):
            found[patch.id] = (role_of(patch, patches, attribution, reading.by), reading.by)
    return found


def coverage(roles: Collection[Role]) -> float:
    """Share of the patches that are on whose role is known; 1 where none is on."""
    return sum(role is not Role.UNKNOWN for role in roles) / len(roles) if roles else 1.0


def below_floor(measured: Mapping[str, float], floor: Mapping[str, float]) -> tuple[str, ...]:
    """What is wrong between coverage and its floor, both by configuration; two digits count.

    A floor that is lower than what was reached is wrong as well: it has to be raised, so that it cannot sink back.
    """
    texts = []
    for name in sorted({*measured, *floor}):
        if name not in floor:
            texts.append(f"{name}: has no floor; add {_two(measured[name])}")
        elif name not in measured:
            texts.append(f"{name}: has a floor, and is no configuration any more")
        elif _two(measured[name]) < floor[name]:
            texts.append(f"{name}: {_two(measured[name])} is below its floor {floor[name]}: say why new patches are on")
        elif _two(measured[name]) > floor[name]:
            texts.append(f"{name}: raise its floor from {floor[name]} to {_two(measured[name])}")
    return tuple(texts)


def _two(share: float) -> float:
    return math.floor(share * 100 + 1e-9) / 100
