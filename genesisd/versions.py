"""Versions and ranges as vLLM uses them. Pure.

Three habits of PEP 440 mislead with development pins. Prereleases are left out of ranges unless asked for; ``<0.23.1`` excludes
``0.23.1rc1.dev748`` although it is older; and ``==`` and ``<=`` treat a local segment on one side only. Here a
range is order alone: a version is below, at or above a bound, prereleases like any other.
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

if TYPE_CHECKING:
    from collections.abc import Callable

_CLAUSE = re.compile(r"\s*(===|==|!=|<=|>=|<|>|~=)\s*(\S+)\s*")
_DESCRIBED = re.compile(r"v?(?P<tag>\d[^-\s]*)-(?P<distance>\d+)-g(?P<sha>[0-9a-f]{7,40})(?P<dirty>-dirty)?")
_SHA_IN_LOCAL = re.compile(r"^g([0-9a-f]{7,40})(?:\.|$)")
_ORDER: dict[str, Callable[[Version, Version], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def parse_version(text: str) -> Version:
    """A version from ``0.32.0``, ``v0.32.0``, ``0.32.0+cpu`` or what ``git describe`` prints.

    ``v0.23.0-748-g2dfaae752`` lies 748 commits after 0.23.0 and becomes ``0.23.1.dev748+g2dfaae752``, as setuptools-scm names
    it; a tag that is itself a prerelease, ``v0.23.1rc0-748-g...``, becomes ``0.23.1rc1.dev748+g...``.

    Raises:
        ValueError: neither.
    """
    stripped = text.strip()
    described = _DESCRIBED.fullmatch(stripped)
    try:
        return _from_described(described) if described else Version(stripped)
    except InvalidVersion:
        raise ValueError(f"expected a version such as 0.32.0 or 0.23.1rc1.dev748+g2dfaae752, not {text!r}") from None


def commit_of(version: Version) -> str | None:
    """The abbreviated commit in the local segment (``+g2dfaae752``), or None (``+cpu``)."""
    found = _SHA_IN_LOCAL.match(version.local or "")
    return found[1] if found else None


def public(version: Version) -> Version:
    """The version less its local segment, which says how it was built and not what it is."""
    return Version(version.public)


@dataclass(frozen=True, slots=True)
class Clause:
    """One bound."""

    operator: str
    bound: str

    def contains(self, version: Version) -> bool:
        """Whether ``version`` satisfies it."""
        if self.operator == "===":
            return str(version) == self.bound
        if self.bound.endswith(".*"):
            return _has_prefix(version, self.bound[:-2]) is (self.operator == "==")
        bound = Version(self.bound)
        # A bound without a local segment speaks of every build of the version; one with it, of that build.
        seen = version if bound.local else public(version)
        if self.operator == "~=":
            return seen >= bound and _has_prefix(version, ".".join(map(str, bound.release[:-1])))
        if self.operator in _ORDER:
            return _ORDER[self.operator](seen, bound)
        return (seen == bound) is (self.operator == "==")


@dataclass(frozen=True, slots=True)
class VersionRange:
    """Bounds that all hold."""

    clauses: tuple[Clause, ...]

    def contains(self, version: Version | str) -> bool:
        """Whether ``version`` is inside; the empty range holds everything."""
        seen = parse_version(version) if isinstance(version, str) else version
        return all(clause.contains(seen) for clause in self.clauses)

    def __str__(self) -> str:
        return ",".join(f"{clause.operator}{clause.bound}" for clause in self.clauses)


def parse_range(text: str) -> VersionRange:
    """A range from ``>=0.23.0,<0.24``; raises ValueError on anything else."""
    return VersionRange(tuple(_clause(part) for part in text.split(",") if part.strip()))


def _clause(text: str) -> Clause:
    found = _CLAUSE.fullmatch(text)
    if found is None:
        raise ValueError(f"expected a bound such as >=0.23.0, not {text.strip()!r}")
    operator_, bound = found[1], found[2]
    starred = bound.endswith(".*")
    if starred and operator_ not in {"==", "!="}:
        raise ValueError(f"'.*' goes with == and != only, not with {operator_}")
    if operator_ != "===":
        checked = parse_version(bound.removesuffix(".*"))
        if operator_ == "~=" and len(checked.release) < 2:
            raise ValueError(f"~= needs two parts at least, such as ~=0.23, not {bound!r}")
        bound = str(checked) + (".*" if starred else "")
    return Clause(operator_, bound)


def _has_prefix(version: Version, prefix: str) -> bool:
    """``0.23`` matches 0.23.0 and each of its prereleases; a missing part counts as 0."""
    wanted = Version(prefix)
    have = version.release + (0,) * max(0, len(wanted.release) - len(version.release))
    return version.epoch == wanted.epoch and have[: len(wanted.release)] == wanted.release


def _from_described(found: re.Match[str]) -> Version:
    tag, distance = Version(found["tag"]), int(found["distance"])
    local = f"g{found['sha']}" + (".dirty" if found["dirty"] else "")
    if distance == 0:
        return Version(f"{tag}+{local}")
    return Version(f"{_next(tag)}.dev{distance}+{local}")


def _next(tag: Version) -> str:
    """What the commits after ``tag`` lead to."""
    release = ".".join(map(str, tag.release))
    if tag.pre is not None:
        return f"{release}{tag.pre[0]}{tag.pre[1] + 1}"
    *first, last = tag.release
    return ".".join(map(str, (*first, last + 1)))
