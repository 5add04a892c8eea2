"""What the processes of a build must run: the part of the build's manifest that its plugin wrote. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from genesisd.attest.errors import AttestError

FORMAT = 1
Key: TypeAlias = tuple[str, str, str]
"""Module, name in it, kind."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that must be found alive.

    Attributes:
        patches: ids of the patches that made it so.
        digests: any of them will do: an ``if`` may have chosen between forms.
        optional: it may be absent: an ``if`` may have left it out.
    """

    module: str
    name: str
    kind: str
    patches: tuple[str, ...]
    digests: frozenset[str]
    optional: bool = False

    @property
    def key(self) -> Key:
        """By which reports name it."""
        return (self.module, self.name, self.kind)

    @property
    def full_name(self) -> str:
        """For people."""
        return f"{self.module}.{self.name}" if self.name else f"module {self.module}"


@dataclass(frozen=True, slots=True)
class Blind:
    """What a patch changed and nobody can look at.

    Attributes:
        covered: the code that made it is attested, though what came of it is not.
    """

    patches: tuple[str, ...]
    path: str
    name: str
    why: str
    covered: bool


@dataclass(frozen=True, slots=True)
class Expectation:
    """All that is to be attested of one build.

    Attributes:
        build: its name, which is that of its folder.
        root: its folder, without symbolic links: reports give real paths.
    """

    build: str
    root: str
    items: Mapping[Key, Item]
    blind: tuple[Blind, ...] = ()

    def patches(self) -> tuple[str, ...]:
        """Every patch of the build that changed anything, sorted."""
        named = {patch for one in self.items.values() for patch in one.patches}
        return tuple(sorted(named | {patch for one in self.blind for patch in one.patches}))

    def holds(self, path: str) -> bool:
        """Whether a file lies in the build."""
        return path.startswith(self.root.rstrip("/") + "/")


def read_expectation(build: str, root: str, attest: Mapping[str, Any]) -> Expectation:
    """The plugin's answer, as the manifest keeps it. Raises AttestError when that is not what a plugin says."""
    try:
        check_format(attest["format"])
        items: dict[Key, Item] = {}
        for one in attest["items"]:
            item = _item(one)
            items[item.key] = _merged(items.get(item.key), item)
        return Expectation(build, root, items, tuple(_blind(one) for one in attest["unattestable"]))
    except (KeyError, TypeError, ValueError) as error:
        what = f"no field {error}" if isinstance(error, KeyError) else str(error)
        raise AttestError(
            f"the manifest of build {build} does not say what must be attested: {what}",
            hint="remove the build; it is made anew at the next start",
            build=build,
        ) from error


def check_format(found: object) -> None:
    """Raises ValueError for another format than this program's."""
    if found != FORMAT:
        raise ValueError(f"it has format {found!r}, and this genesisd reads format {FORMAT}")


def _item(one: Mapping[str, Any]) -> Item:
    names = (str(one["module"]), str(one["name"]), str(one["kind"]))
    patches, digests = tuple(map(str, one["patches"])), frozenset({str(one["digest"])})
    return Item(*names, patches, digests, bool(one.get("optional", False)))


def _merged(before: Item | None, item: Item) -> Item:
    if before is None:
        return item
    patches = tuple(sorted({*before.patches, *item.patches}))
    return replace(item, patches=patches, digests=before.digests | item.digests)


def _blind(one: Mapping[str, Any]) -> Blind:
    patches = tuple(map(str, one["patches"]))
    return Blind(patches, str(one["path"]), str(one["name"]), str(one["why"]), bool(one.get("covered", False)))
