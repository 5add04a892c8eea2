"""The search against every set there is: small fields, random constraints, random culprits."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from hypothesis import event, given, settings
from hypothesis import strategies as st

from genesisd.bisect.model import Constraints, Guilty, Inconclusive, NotReproduced, PinFails
from tests.unit.bisect.bench import Bench, Set, needing, stands

PATCHES = [f"p{index}" for index in range(8)]


@dataclass(frozen=True)
class Crime:
    """Sets that fail, and with them all that hold one of them whole."""

    minimal: tuple[Set, ...]

    def __call__(self, one: Set) -> bool:
        return any(guilty <= one for guilty in self.minimal)


@st.composite
def constraints(draw) -> Constraints:
    """Needs in any direction, cycles too; conflicts with patches that are not there."""
    some = st.frozensets(st.sampled_from(PATCHES), max_size=2)
    needs = st.dictionaries(st.sampled_from(PATCHES), some, max_size=4)
    fixed = draw(st.sampled_from([frozenset()] * 3 + [frozenset({"p3"})]))
    return Constraints(draw(needs), draw(needs), (frozenset({"p1", "not here"}),), fixed)


def guilty_sets(least: int, most: int, count: int):
    one = st.frozensets(st.sampled_from(PATCHES), min_size=least, max_size=most)
    return st.lists(one, min_size=count, max_size=count).map(tuple).map(Crime)


CRIMES = {
    "single": guilty_sets(1, 1, 1),
    "pair": guilty_sets(2, 2, 1),
    "two singles": guilty_sets(1, 1, 2),
    "anything": st.integers(1, 3).flatmap(lambda count: guilty_sets(1, 3, count)),
}


def standing(rules: Constraints) -> list[Set]:
    """Every set that may be run."""
    every = (frozenset(one) for size in range(len(PATCHES) + 1) for one in combinations(PATCHES, size))
    return [one for one in every if stands(one, PATCHES, rules)]


@settings(deadline=None)
@given(st.data(), constraints(), st.sampled_from(sorted(CRIMES)))
def test_what_is_left_out_is_right(data, rules, sort):
    """The rest passes, nothing of it could be kept beside it, and nobody else falls."""
    crime = data.draw(CRIMES[sort])
    weights = data.draw(st.dictionaries(st.sampled_from(PATCHES), st.integers(0, 3)))
    floor = min(standing(rules), key=len)
    bench = Bench(PATCHES, crime, rules, weights=weights)
    found = bench.find()
    event(f"{sort}: {type(found).__name__}")
    if crime(floor):
        assert found == PinFails()
        return
    assert isinstance(found, Guilty)
    assert not crime(found.rest)
    assert found.rest | found.patches == frozenset(PATCHES)
    assert not found.rest & found.patches
    assert found.patches == needing(frozenset(one.patch for one in found.culprits), PATCHES, rules)
    assert found.rest in bench.runs or found.rest == floor
    for larger in standing(rules):
        assert not found.rest < larger or crime(larger), "more could have stayed"


@settings(deadline=None)
@given(st.data(), constraints(), st.sampled_from(sorted(CRIMES)))
def test_each_culprit_is_shown_with_a_smallest_failing_set(data, rules, sort):
    """All sets within it that can stand pass."""
    crime = data.draw(CRIMES[sort])
    found = Bench(PATCHES, crime, rules).find()
    floor = min(standing(rules), key=len)
    for one in found.culprits if isinstance(found, Guilty) else ():
        assert one.patch in one.failing
        assert crime(one.failing | floor)
        assert not any(crime(less) for less in standing(rules) if less < one.failing | floor)


@settings(deadline=None)
@given(constraints(), st.sampled_from(PATCHES))
def test_a_single_culprit_falls_alone_with_what_needs_it(rules, guilty):
    """Never an innocent one that was only near, and within the stated runs: 2 + 3 + 2 for eight."""
    bench = Bench(PATCHES, Crime((frozenset({guilty}),)), rules)
    found = bench.find()
    assert isinstance(found, PinFails) or found.patches == needing(frozenset({guilty}), PATCHES, rules)
    assert len(bench.runs) <= 7


@settings(deadline=None)
@given(
    st.data(),
    constraints(),
    st.sets(st.integers(0, 2**8 - 1), max_size=60),
    st.sets(st.integers(0, 2**8 - 1), max_size=128),
    st.integers(1, 30),
)
def test_it_ends_whatever_runs_say(data, rules, broken, failing, budget):
    """Answers without sense, and sets that cannot be asked: the search ends in its budget, and blames only what failed."""

    def number(one: Set) -> int:
        return sum(1 << PATCHES.index(name) for name in one)

    whole = len(PATCHES)
    bench = Bench(
        PATCHES,
        lambda one: len(one) == whole or (number(one) in failing and number(one) != 0),
        rules,
        lambda one: number(one) in broken and 0 < len(one) < whole,
    )
    found = bench.find(budget)
    event(type(found).__name__)
    assert isinstance(found, Guilty | Inconclusive | PinFails | NotReproduced)
    if isinstance(found, Guilty):
        assert bench.result(found.rest) == "passes"
        for one in found.culprits:
            assert bench.result(one.failing | min(standing(rules), key=len)) == "fails"
