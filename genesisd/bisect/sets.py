"""Sets of patches that can stand: closed under what each of them needs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from genesisd.bisect.model import Constraints


@dataclass(frozen=True, slots=True)
class Field:
    """The patches of a search, needs first, and what each of them needs directly."""

    order: tuple[str, ...]
    needs: Mapping[str, frozenset[str]]
    floor: frozenset[str]
    """What is in every set: the fixed ones and what they need."""

    @classmethod
    def of(cls, patches: Sequence[str], constraints: Constraints) -> Field:
        """The field of ``patches``, which are in order of application."""
        known = frozenset(patches)
        nothing: frozenset[str] = frozenset()
        needs = {
            name: (constraints.requires.get(name, nothing) | constraints.after.get(name, nothing)) & known
            for name in patches
        }
        return cls(_needs_first(patches, needs), needs, _reached(constraints.fixed & known, needs))

    @property
    def whole(self) -> frozenset[str]:
        """All of them."""
        return frozenset(self.order)

    def closed(self, names: Iterable[str]) -> frozenset[str]:
        """The smallest set that can stand and has ``names`` in it."""
        return _reached(self.floor.union(names), self.needs)

    def falling(self, name: str, within: frozenset[str]) -> frozenset[str]:
        """``name`` and all of ``within`` that need it, however indirectly."""
        return frozenset(one for one in within if name in _reached({one}, self.needs))

    def chain(self, within: frozenset[str], background: frozenset[str]) -> list[frozenset[str]]:
        """Sets that can stand, from ``background`` up to it with all of ``within``, each a little larger."""
        sets = [self.closed(background)]
        for name in self.order:
            if name in within and name not in sets[-1]:
                sets.append(self.closed(sets[-1] | {name}))
        return sets

    def tops(self, names: frozenset[str]) -> tuple[str, ...]:
        """Those of ``names`` that nothing else of them needs, but for what they need themselves; never a fixed one."""
        return tuple(
            name
            for name in self.order
            if name in names - self.floor and self.falling(name, names) <= _reached({name}, self.needs)
        )


def _reached(names: Iterable[str], needs: Mapping[str, frozenset[str]]) -> frozenset[str]:
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(needs[name])
    return frozenset(found)


def _needs_first(patches: Sequence[str], needs: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    """``patches`` in their order, but none before what it needs, unless they need one another."""
    below = {name: _reached({name}, needs) for name in patches}
    placed: dict[str, None] = {}
    for name in patches:
        # What is needed reaches less far than what needs it; those that need one another reach equally far.
        for need in sorted(below[name], key=lambda one: (len(below[one]), patches.index(one))):
            placed.setdefault(need)
    return tuple(placed)
