"""The words of the search: what may stand together, what a run showed, what came of it. Plain frozen data. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Result(StrEnum):
    """What a run of one set of patches showed.

    One answer a set: whoever doubts an answer (a fault that comes and goes) runs the set several times before it is
    written down, and calls it failing if any run fails.
    """

    PASSES = "passes"
    FAILS = "fails"
    BROKEN = "broken"
    """It could not be asked: it does not build, or never becomes ready. Says neither."""


@dataclass(frozen=True, slots=True)
class Constraints:
    """What may stand together. Ids that are not among the patches of the search are left out of account.

    Attributes:
        requires: for a patch, those that must be there with it.
        after: for a patch, those on whose output its anchors stand; without them it cannot be applied.
        conflicts: sets of which not all may be there.
        fixed: patches that stay in every set that is asked, with all that they need.
    """

    requires: Mapping[str, frozenset[str]] = field(default_factory=dict)
    after: Mapping[str, frozenset[str]] = field(default_factory=dict)
    conflicts: tuple[frozenset[str], ...] = ()
    fixed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Culprit:
    """A patch that is to be left out.

    Attributes:
        patch: its id.
        failing: the smallest set that was seen to fail with it, beside what is fixed; the patch is a member.
        falls: patches that need it, and go with it.
    """

    patch: str
    failing: frozenset[str]
    falls: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Ask:
    """Run this set, write down what it shows, and search again."""

    patches: frozenset[str]


@dataclass(frozen=True, slots=True)
class Guilty:
    """Who is to be left out, and the rest, which was seen to pass."""

    culprits: tuple[Culprit, ...]
    rest: frozenset[str]

    @property
    def patches(self) -> frozenset[str]:
        """All that is to be left out: those at fault, and those that fall with them."""
        return frozenset().union(*({one.patch} | one.falls for one in self.culprits))


@dataclass(frozen=True, slots=True)
class PinFails:
    """The plain pin (with what is fixed) fails too: no patch is to blame."""


@dataclass(frozen=True, slots=True)
class NotReproduced:
    """All patches together pass: what was seen came from elsewhere, or comes and goes."""


@dataclass(frozen=True, slots=True)
class Inconclusive:
    """The search cannot go on; ``text`` says why and what is known."""

    text: str


Finding = Guilty | PinFails | NotReproduced | Inconclusive
Answer = Ask | Finding
