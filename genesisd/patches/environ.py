"""The environment of a worker against the catalog: every key of ours is declared, and every value can be read. Pure.

A misspelt switch is worse than a missing one: the engine runs without the patch, and its owner measures it.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from genesisd.patches.flags import DISABLE, ENABLE
from genesisd.patches.model import Patch
from genesisd.patches.parameters import BadValue, read_parameter

PREFIXES = ("GENESIS_", "SNDR_")


@dataclass(frozen=True, slots=True)
class Undeclared:
    """A key that no patch declares, and the declared one that it resembles, if any."""

    name: str
    near: str | None = None


def environ_problems(
    environ: Mapping[str, str], patches: Sequence[Patch], extra: Collection[str] = ()
) -> tuple[Undeclared | BadValue, ...]:
    """What in ``environ`` means nothing, or nothing that can be used; ``extra`` lists keys that are let through.

    An alias that has expired still counts as declared: the ruling of its patch says what to write instead.
    """
    return (*_undeclared(environ, patches, extra), *_bad_values(environ, patches))


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
