"""The register of patch ids: what each one stands for, and whether this project implements it.

An id is never given to anything else, so the register also holds what is retired, what was only planned, and what
is known by name alone. ``register.yaml`` is the data; docs/patch-ids.md says how ids work.
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import cast

from genesisd import yamlfile
from genesisd.errors import ConfigError, NotFoundError
from genesisd.patches.flags import DISABLE, ENABLE
from genesisd.patches.register_spec import PatchRecord, RegisterSpec
from genesisd.yamlfile import Document, Location

REGISTER = Path(__file__).with_name("register.yaml")


class Register:
    """Every id with its record, and the ways to find one."""

    def __init__(self, records: Mapping[str, PatchRecord]) -> None:
        self.records = records
        self._names = {name.casefold(): patch for patch, record in records.items() for name in (patch, *record.aliases)}
        self._by_flag: dict[str, tuple[str, ...]] = defaultdict(tuple)
        for patch, record in records.items():
            for _, flag in _flags(record):
                self._by_flag[stem(flag)] += (patch,)

    def find(self, name: str) -> str | None:
        """The id that ``name`` (an id in any case of letters, or an alias) means, or None."""
        return self._names.get(name.casefold())

    def resolve(self, name: str) -> str:
        """As ``find``; raises NotFoundError that names the nearest."""
        found = self.find(name)
        if found is None:
            raise NotFoundError(f"no patch {name!r} in the register{_near(name, self.records)}", patch=name)
        return found

    def __getitem__(self, name: str) -> PatchRecord:
        """The record of ``name``; raises NotFoundError."""
        return self.records[self.resolve(name)]

    def by_flag(self, flag: str) -> tuple[str, ...]:
        """The ids that ``flag`` switches, in either prefix and as ENABLE or DISABLE; none if it is no known flag."""
        return self._by_flag.get(stem(flag), ())


def stem(flag: str) -> str:
    """What GENESIS_ENABLE_X, SNDR_ENABLE_X and their DISABLE forms have in common; empty for any other variable."""
    return next((flag.removeprefix(prefix) for prefix in (*ENABLE, *DISABLE) if flag.startswith(prefix)), "")


def load_register(path: Path = REGISTER) -> Register:
    """The register in the file at ``path``.

    Raises:
        ConfigError: with file, line and field of the first fault, and all of them in ``problems``.
    """
    document = yamlfile.load(path)
    spec = yamlfile.validate(RegisterSpec, document)
    rules = (_names, _flag_users, _references, _circles)
    faults = [fault for rule in rules for fault in rule(document, spec)]
    if faults:
        faults.sort(key=lambda one: cast("int", one.fields["line"]))
        problems = [one for fault in faults for one in cast("list[object]", fault.fields["problems"])]
        text = "\n".join(one.message for one in faults)
        raise ConfigError(text, hint=None, **{**faults[0].fields, "problems": problems})
    return Register(spec.patches)


def _names(document: Document, spec: RegisterSpec) -> Iterator[ConfigError]:
    """Names that two patches bear, or one patch twice; letters in another case make no other name."""
    seen: dict[str, str] = {}
    for patch, record in spec.patches.items():
        places: dict[Location, str] = {("patches", patch): patch}
        places |= {("patches", patch, "aliases", at): alias for at, alias in enumerate(record.aliases)}
        for place, name in places.items():
            if taken := seen.get(name.casefold()):
                yield yamlfile.fault(document, place, f"{name!r} is a name of {taken} already; no id is used twice")
            seen[name.casefold()] = patch


def _flag_users(document: Document, spec: RegisterSpec) -> Iterator[ConfigError]:
    """Flags that several patches name, unless exactly these are declared to share it."""
    declared = {stem(flag): set(sharing) for flag, sharing in spec.shared_flags.items()}
    users: dict[str, list[str]] = defaultdict(list)
    for patch, record in spec.patches.items():
        for place, flag in _flags(record):
            others = users[stem(flag)]
            if others and patch not in declared.get(stem(flag), ()):
                problem = f"{flag} is {others[0]}'s already; if both are meant, list them under 'shared_flags'"
                yield yamlfile.fault(document, ("patches", patch, *place), problem)
            others.append(patch)
    for flag, sharing in spec.shared_flags.items():
        if len(sharing) < 2 or sorted(sharing) != sorted(users[stem(flag)]):
            switched = ", ".join(users[stem(flag)]) or "no patch"
            problem = f"switches {switched}: list exactly these, if they are two at least"
            yield yamlfile.fault(document, ("shared_flags", flag), problem)


def _references(document: Document, spec: RegisterSpec) -> Iterator[ConfigError]:
    """References to ids that are not there, or to the patch itself."""
    for patch, record in spec.patches.items():
        for place, aim in _aims(record):
            if aim == patch:
                yield yamlfile.fault(document, ("patches", patch, *place), f"{aim!r} is the patch itself")
            elif aim not in spec.patches:
                problem = f"no patch {aim!r}{_near(aim, spec.patches)}"
                yield yamlfile.fault(document, ("patches", patch, *place), problem)


def _circles(document: Document, spec: RegisterSpec) -> Iterator[ConfigError]:
    """References that lead back to where they began; a circle through one patch is _references' affair."""
    for field in ("superseded_by", "part_of", "requires"):
        graph = {
            patch: [aim for place, aim in _aims(record) if place[0] == field and aim != patch]
            for patch, record in spec.patches.items()
        }
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            circle = list(reversed(error.args[1]))
            first = next(patch for patch in spec.patches if patch in circle)
            yield yamlfile.fault(document, ("patches", first, field), f"goes in a circle: {' -> '.join(circle)}")


def _aims(record: PatchRecord) -> Iterator[tuple[Location, str]]:
    """Every id that a record refers to, with the place of the reference."""
    if record.superseded_by:
        yield ("superseded_by",), record.superseded_by
    if record.part_of:
        yield ("part_of",), record.part_of
    for at, aim in enumerate(record.requires):
        yield ("requires", at), aim
    for at, aim in enumerate(record.conflicts):
        yield ("conflicts", at), aim


def _flags(record: PatchRecord) -> Iterator[tuple[Location, str]]:
    """Every flag that switches a patch, with its place in the record."""
    if record.flag:
        yield ("flag",), record.flag
    for at, flag in enumerate(record.flag_aliases):
        yield ("flag_aliases", at), flag


def _near(name: str, known: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
