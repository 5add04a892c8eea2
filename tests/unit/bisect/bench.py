"""A bench that answers for real runs: it holds which sets fail, and what cannot be built."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from genesisd.bisect.model import Ask, Constraints, Finding, Result
from genesisd.bisect.search import search

Set = frozenset[str]


@dataclass
class Bench:
    """Runs sets, and checks that each may be run and is run once."""

    patches: Sequence[str]
    fails: Callable[[Set], bool]
    constraints: Constraints = field(default_factory=Constraints)
    broken: Callable[[Set], bool] = lambda _: False
    weights: Mapping[str, int] = field(default_factory=dict)
    runs: list[Set] = field(default_factory=list)

    def result(self, one: Set) -> Result:
        if self.broken(one):
            return Result.BROKEN
        return Result.FAILS if self.fails(one) else Result.PASSES

    def find(self, budget: int = 60) -> Finding:
        known: dict[Set, Result] = {}
        while isinstance(answer := search(self.patches, self.constraints, known, budget, self.weights), Ask):
            assert answer.patches not in known
            assert stands(answer.patches, self.patches, self.constraints)
            known[answer.patches] = self.result(answer.patches)
            self.runs.append(answer.patches)
            assert len(self.runs) <= budget
        return answer


def stands(one: Set, patches: Sequence[str], constraints: Constraints) -> bool:
    """Whether a set keeps to the constraints; written apart from what it checks."""
    for wanted in (constraints.requires, constraints.after):
        for name in one:
            if not (wanted.get(name, frozenset()) & set(patches)) <= one:
                return False
    return constraints.fixed & set(patches) <= one and not any(conflict <= one for conflict in constraints.conflicts)


def needing(names: Set, patches: Sequence[str], constraints: Constraints) -> Set:
    """``names`` and all that cannot stand without them."""
    gone = names
    while True:
        more = {
            name
            for name in patches
            if gone & (constraints.requires.get(name, frozenset()) | constraints.after.get(name, frozenset()))
        }
        if more <= gone:
            return gone
        gone |= more
