"""The switches of patches: environment variables with older names, where off beats on. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from genesisd.versions import parse_version

ENABLE = ("GENESIS_ENABLE_", "SNDR_ENABLE_")
DISABLE = ("GENESIS_DISABLE_", "SNDR_DISABLE_")
_ON = frozenset({"1", "true", "yes", "on"})
_OFF = frozenset({"0", "false", "no", "off", ""})


@dataclass(frozen=True, slots=True)
class Alias:
    """An older name; from version ``expires`` of this program on it means nothing (None: never)."""

    name: str
    expires: str | None = None


@dataclass(frozen=True, slots=True)
class Flag:
    """A switch, by what follows the prefix: ``P62_GRAMMAR`` is switched by ``GENESIS_ENABLE_P62_GRAMMAR``."""

    name: str
    aliases: tuple[Alias, ...] = ()

    def live(self, program: str) -> tuple[str, ...]:
        """The names that count for version ``program`` of this program."""
        return (self.name, *(alias.name for alias in self.aliases if not _is_expired(alias, program)))


class Switch(Enum):
    """What the environment says."""

    UNSET = auto()
    ON = auto()
    OFF = auto()


@dataclass(frozen=True, slots=True)
class Reading:
    """What a flag was found to say, by which variable, and what a person should know about it."""

    switch: Switch
    by: str = ""
    notes: tuple[str, ...] = ()


def read_flag(flag: Flag, environ: Mapping[str, str], program: str) -> Reading:
    """What ``environ`` says about ``flag``; one variable that switches it off beats all that switch it on.

    A value that is neither on nor off counts as off: a patch must not be applied by a slip.
    """
    found = said(flag, environ, program)
    offs = [key for key, switch in found if switch is Switch.OFF]
    ons = [key for key, switch in found if switch is Switch.ON]
    notes = tuple(_notes(flag, environ, program))
    if offs and ons:
        notes = (*notes, f"{offs[0]} beats {ons[0]}")
    if offs:
        return Reading(Switch.OFF, offs[0], notes)
    return Reading(Switch.ON, ons[0], notes) if ons else Reading(Switch.UNSET, notes=notes)


def said(flag: Flag, environ: Mapping[str, str], program: str) -> list[tuple[str, Switch]]:
    """What each variable of ``flag`` that is set says, the one to prefer first."""
    return [(key, _says(key, environ[key])) for key in variables(flag, program) if key in environ]


def variables(flag: Flag, program: str) -> tuple[str, ...]:
    """Every variable that switches ``flag``, the one to prefer first."""
    return tuple(prefix + name for name in flag.live(program) for prefix in (*ENABLE, *DISABLE))


def _says(key: str, value: str) -> Switch:
    """``GENESIS_DISABLE_X=0`` says nothing; ``GENESIS_ENABLE_X=0`` says off."""
    word = value.strip().lower()
    if key.startswith(DISABLE):
        return Switch.UNSET if word in _OFF else Switch.OFF
    return Switch.ON if word in _ON else Switch.OFF


def _notes(flag: Flag, environ: Mapping[str, str], program: str) -> Iterator[str]:
    for key in variables(flag, program):
        if key in environ and environ[key].strip().lower() not in _ON | _OFF:
            yield f"{key}={environ[key]!r} is neither on (1) nor off (0) and counts as off"
    for alias in flag.aliases:
        for key in (prefix + alias.name for prefix in (*ENABLE, *DISABLE)):
            if key in environ and _is_expired(alias, program):
                yield f"{key} was removed in {alias.expires}: write {key.removesuffix(alias.name)}{flag.name}"


def _is_expired(alias: Alias, program: str) -> bool:
    return alias.expires is not None and parse_version(program) >= parse_version(alias.expires)
