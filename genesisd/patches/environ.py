"""The environment of a worker against the catalog: every key of ours is declared, and every value can be read. Pure.

A misspelt switch is worse than a missing one: the engine runs without the patch, and its owner measures it.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from genesisd import __version__
from genesisd.patches.flags import DISABLE, ENABLE, Flag, Switch, said
from genesisd.patches.model import Patch
from genesisd.patches.parameters import BadValue, read_parameter

PREFIXES = ("GENESIS_", "SNDR_")


@dataclass(frozen=True, slots=True)
class Undeclared:
    """A key that no patch declares, and the declared one that it resembles, if any."""

    name: str
    near: str | None = None


@dataclass(frozen=True, slots=True)
class Contradiction:
    """An older name that switches a patch off, beside another of its names that switches it on.

    It was a switch of its own once, so what its owner meant may be less than the whole patch. A patch's own name that
    says off is no contradiction: it means the whole, and beats the others.
    """

    name: str
    other: str
    patch: str
    own: str
    """What to write to switch the whole patch off."""

    def __str__(self) -> str:
        """Both names, and the two ways out."""
        return (
            f"{self.name} switches off what {self.other} switches on: both are names of {self.patch}; take one of them "
            f"out, or write {self.own}=0 to be without {self.patch}"
        )


Problem: TypeAlias = Undeclared | BadValue | Contradiction


def environ_problems(
    environ: Mapping[str, str], patches: Sequence[Patch], extra: Collection[str] = (), program: str = __version__
) -> tuple[Problem, ...]:
    """What in ``environ`` means nothing, or nothing that can be used; ``extra`` lists keys that are let through.

    An alias that has expired still counts as declared: the ruling of its patch says what to write instead.
    """
    return (
        *_undeclared(environ, patches, extra),
        *_bad_values(environ, patches),
        *_contradictions(environ, patches, program),
    )


def variables_of(patch: Patch) -> Iterator[str]:
    """Every key that ``patch`` reads, or once read: one that came back with another meaning would surprise."""
    if patch.flag is not None:
        for name in (patch.flag.name, *(alias.name for alias in patch.flag.aliases)):
            yield from (prefix + name for prefix in (*ENABLE, *DISABLE))
    for parameter in patch.parameters:
        yield from (parameter.name, *parameter.aliases)


def declared(patches: Sequence[Patch]) -> frozenset[str]:
    """Every key that some patch reads."""
    return frozenset(name for patch in patches for name in variables_of(patch))


def _undeclared(environ: Mapping[str, str], patches: Sequence[Patch], extra: Collection[str]) -> Iterator[Undeclared]:
    known = declared(patches)
    for name in sorted(environ):
        if name.startswith(PREFIXES) and name not in known and name not in extra:
            yield Undeclared(name, _near(name, known))


def _near(name: str, known: Collection[str]) -> str | None:
    """What was meant: a longer name that begins so, or one that differs little in what follows its prefix."""
    longer = sorted(other for other in known if other.startswith(f"{name}_"))
    alike = [other for other in sorted(known) if _prefix(other) == _prefix(name)]
    rests = [other.removeprefix(_prefix(other)) for other in alike]
    close = difflib.get_close_matches(name.removeprefix(_prefix(name)), rests, n=1, cutoff=0.8)
    return next(iter(longer or [_prefix(name) + rest for rest in close]), None)


def _prefix(name: str) -> str:
    return next(prefix for prefix in (*ENABLE, *DISABLE, *PREFIXES, "") if name.startswith(prefix))


def _bad_values(environ: Mapping[str, str], patches: Sequence[Patch]) -> Iterator[BadValue]:
    for parameter in (parameter for patch in patches for parameter in patch.parameters):
        value = read_parameter(parameter, environ)
        if isinstance(value, BadValue):
            yield value


def _contradictions(environ: Mapping[str, str], patches: Sequence[Patch], program: str) -> Iterator[Contradiction]:
    for patch in patches:
        if patch.flag is not None and patch.flag.aliases:
            yield from _contradiction(patch.id, patch.flag, environ, program)


def _contradiction(patch: str, flag: Flag, environ: Mapping[str, str], program: str) -> Iterator[Contradiction]:
    """The first pair, unless the patch's own name says off anyhow."""
    found = said(flag, environ, program)
    offs, ons = ([key for key, switch in found if switch is wanted] for wanted in (Switch.OFF, Switch.ON))
    own = [prefix + flag.name for prefix in (*ENABLE, *DISABLE)]
    if offs and ons and not set(own) & set(offs):
        yield Contradiction(offs[0], ons[0], patch, own[0])
