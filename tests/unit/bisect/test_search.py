"""The search by example."""

from __future__ import annotations

from math import ceil, log2

import pytest

from genesisd.bisect.model import Ask, Constraints, Culprit, Guilty, Inconclusive, NotReproduced, PinFails, Result
from genesisd.bisect.search import search
from genesisd.bisect.words import sentence
from tests.unit.bisect.bench import Bench


def ids(count: int) -> list[str]:
    return [f"p{index}" for index in range(1, count + 1)]


def sets(*names: str) -> frozenset[str]:
    return frozenset(names)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 9, 31, 64, 100])
def test_a_single_culprit_is_found_within_the_stated_runs(count):
    """Wherever it stands."""
    for guilty in ids(count):
        bench = Bench(ids(count), lambda one, guilty=guilty: guilty in one)
        found = bench.find(budget=2 + ceil(log2(count)) + 2)
        assert found == Guilty((Culprit(guilty, sets(guilty)),), sets(*ids(count)) - {guilty})


def test_the_middle_is_asked_each_time():
    """Of eight: the ends, three halvings, the culprit alone, the rest."""

    def runs(guilty: str) -> int:
        bench = Bench(ids(8), lambda one: guilty in one)
        bench.find()
        return len(bench.runs)

    assert [runs(guilty) for guilty in ids(8)] == [6, 7, 7, 7, 7, 7, 7, 6]


def test_the_plain_pin_is_asked_first():
    """If it fails nothing else is run."""
    bench = Bench(ids(9), lambda _: True)
    assert bench.find() == PinFails()
    assert bench.runs == [sets()]


def test_the_whole_set_is_asked_next():
    """If it passes there is nothing to find."""
    bench = Bench(ids(9), lambda _: False)
    assert bench.find() == NotReproduced()
    assert bench.runs == [sets(), sets(*ids(9))]


def test_of_two_that_fail_together_the_last_is_left_out():
    """Each of them is innocent alone; both are named."""
    bench = Bench(ids(9), lambda one: {"p3", "p7"} <= one)
    found = bench.find(budget=11)
    assert found == Guilty((Culprit("p7", sets("p3", "p7")),), sets(*ids(9)) - {"p7"})
    assert len(bench.runs) == 11
    assert sentence(found, 11) == "p7 with p3 makes the pin fail; the rest passes (11 runs)"


def test_of_two_that_fail_together_the_one_that_is_missed_less_is_left_out():
    """A patch that carries load stays."""
    bench = Bench(ids(9), lambda one: {"p3", "p7"} <= one, weights={"p7": 2, "p3": 1})
    assert bench.find().patches == {"p3"}


def test_the_weight_of_those_that_need_it_counts_too():
    """They would go as well."""
    constraints = Constraints(requires={"p5": sets("p3")})
    bench = Bench(ids(9), lambda one: {"p3", "p7"} <= one, constraints, weights={"p5": 9, "p7": 8})
    assert bench.find().patches == {"p7"}


def test_of_equal_weight_the_one_with_which_fewer_go_is_left_out():
    """As much as can stay."""
    constraints = Constraints(after={"p8": sets("p7")})
    assert Bench(ids(9), lambda one: {"p3", "p7"} <= one, constraints).find().patches == {"p3"}


def test_one_that_is_missed_outweighs_many_that_are_not():
    """Numbers count only between equals."""
    constraints = Constraints(requires={"p4": sets("p3"), "p5": sets("p3")})
    bench = Bench(ids(9), lambda one: {"p3", "p7"} <= one, constraints, weights={"p7": 1})
    assert bench.find().patches == {"p3", "p4", "p5"}


def test_what_needs_the_culprit_falls_with_it():
    """Through both kinds of need, and said so."""
    constraints = Constraints(requires={"p5": sets("p2")}, after={"p6": sets("p5"), "p1": sets("gone")})
    found = Bench(ids(9), lambda one: "p2" in one, constraints).find()
    assert found == Guilty((Culprit("p2", sets("p2"), sets("p5", "p6")),), sets("p1", "p3", "p4", "p7", "p8", "p9"))
    assert sentence(found, 8) == (
        "p2 makes the pin fail; left out with it, since they need it: p5, p6; the rest passes (8 runs)"
    )


def test_what_the_culprit_needs_stays():
    """Those are innocent, and were only there for it."""
    constraints = Constraints(requires={"p9": sets("p1", "p8")})
    bench = Bench(ids(9), lambda one: "p9" in one, constraints)
    assert bench.find() == Guilty((Culprit("p9", sets("p1", "p8", "p9")),), sets(*ids(8)))
    assert len(bench.runs) == 7


def test_needs_may_come_later_in_the_list():
    """The order of application does not have to follow what is required."""
    constraints = Constraints(requires={"p1": sets("p9")})
    assert Bench(ids(9), lambda one: "p9" in one, constraints).find().patches == {"p1", "p9"}
    assert Bench(ids(9), lambda one: "p1" in one, constraints).find().patches == {"p1"}


def test_patches_that_need_one_another_go_together():
    """They cannot be told apart."""
    constraints = Constraints(requires={"p2": sets("p4"), "p4": sets("p2")})
    found = Bench(ids(5), lambda one: "p2" in one, constraints).find()
    assert found.patches == {"p2", "p4"}


def test_what_patches_need_that_need_one_another_is_told_apart_from_them():
    """It stands below them both, wherever it is listed."""
    constraints = Constraints(requires={"p1": sets("p3", "p6"), "p3": sets("p1")})
    found = Bench(ids(8), lambda one: "p6" in one, constraints).find(budget=7)
    assert found == Guilty((Culprit("p6", sets("p6"), sets("p1", "p3")),), sets("p2", "p4", "p5", "p7", "p8"))


def test_two_culprits_are_both_found():
    """The rest of the first fails still."""
    found = Bench(ids(9), lambda one: bool(one & {"p2", "p8"})).find()
    assert found == Guilty((Culprit("p2", sets("p2")), Culprit("p8", sets("p8"))), sets(*ids(9)) - {"p2", "p8"})


def test_what_needs_two_culprits_falls_with_each():
    """It is named with both, since it can come back only when both do."""
    constraints = Constraints(requires={"p9": sets("p2", "p8")})
    found = Bench(ids(9), lambda one: bool(one & {"p2", "p8"}), constraints).find()
    assert [(one.patch, one.falls) for one in found.culprits] == [("p2", {"p9"}), ("p8", {"p9"})]


def test_one_that_is_innocent_without_the_other_is_put_back():
    """p5 was left out first; then p9, which fails with p1 too, was missed so much that p1 had to go."""
    bench = Bench(ids(9), lambda one: "p1" in one and bool(one & {"p5", "p9"}), weights={"p9": 5})
    assert bench.find() == Guilty((Culprit("p1", sets("p1", "p9")),), sets(*ids(9)) - {"p1"})
    assert bench.runs[-1] == sets(*ids(9)) - {"p1"}


def test_every_one_but_the_last_is_put_back_once():
    """p1 is at fault by itself, and stays out; p5 comes back, as it did alone."""
    bench = Bench(ids(9), lambda one: "p1" in one or ("p2" in one and bool(one & {"p5", "p9"})), weights={"p9": 5})
    assert bench.find().patches == {"p1", "p2"}


def test_a_fixed_patch_is_in_every_set():
    """With what it needs; of two that fail together the other goes."""
    constraints = Constraints(requires={"p7": sets("p1")}, fixed=sets("p7", "elsewhere"))
    bench = Bench(ids(9), lambda one: {"p3", "p7"} <= one, constraints)
    assert bench.find() == Guilty((Culprit("p3", sets("p3")),), sets(*ids(9)) - {"p3"})
    assert bench.runs[0] == {"p1", "p7"}


def test_a_fixed_patch_that_fails_counts_as_the_pin():
    """There is nothing to leave out."""
    assert Bench(ids(3), lambda one: "p2" in one, Constraints(fixed=sets("p2"))).find() == PinFails()
    assert Bench(ids(3), lambda one: False, Constraints(fixed=sets(*ids(3)))).find() == NotReproduced()


def test_a_set_that_never_could_run_is_not_searched():
    """It has a conflict in it."""
    found = Bench(ids(3), lambda _: True, Constraints(conflicts=(sets("p1", "p3"), sets("p1", "x")))).find()
    assert found == Inconclusive("the set has a conflict in it (p1, p3), so it was never run")
    assert isinstance(Bench(["p1", "p3"], bool, Constraints(conflicts=(sets("p1", "p3"),))).find(), Inconclusive)
    assert Bench(ids(3), lambda _: True, Constraints(conflicts=(sets("p1", "x"),))).find() == PinFails()


@pytest.mark.parametrize(
    ("broken", "text"),
    [(sets(), "the plain pin could not be asked"), (sets(*ids(3)), "the whole set could not be asked")],
)
def test_the_ends_have_to_answer(broken, text):
    """Without them nothing is known."""
    assert Bench(ids(3), bool, broken=lambda one: one == broken).find() == Inconclusive(text)


def test_a_set_that_cannot_be_asked_is_passed_by():
    """p4 alone does not build, whatever is declared; p6 is to blame."""
    found = Bench(ids(9), lambda one: "p6" in one, broken=lambda one: "p4" in one and "p5" not in one).find()
    assert found.patches == {"p6"}


def test_what_cannot_be_told_apart_is_pared():
    """Between p2 and p6 nothing runs; of those four the innocent ones are found out one by one."""
    chain = [sets(*ids(count)) for count in (3, 4, 5)]
    bench = Bench(ids(9), lambda one: "p4" in one, broken=lambda one: one in chain)
    assert bench.find() == Guilty((Culprit("p4", sets("p4")),), sets(*ids(9)) - {"p4"})
    assert ["".join(sorted(one)) for one in bench.runs[-6:-1]] == ["p3p4p5p6", "p3p4p5", "p3p4", "p3", "p4"]


def test_two_that_cannot_be_told_apart_are_pared():
    """One set between them is enough."""
    found = Bench(ids(9), lambda one: "p4" in one, broken=lambda one: one == sets(*ids(4))).find()
    assert found == Guilty((Culprit("p4", sets("p4")),), sets(*ids(9)) - {"p4"})


def test_what_the_culprit_needs_is_not_blamed_where_the_rest_cannot_be_asked():
    """To leave out p1 would take the culprit with it, and be a lie."""
    rest = sets(*ids(8))
    constraints = Constraints(requires={"p9": sets("p1")})
    found = Bench(ids(9), lambda one: "p9" in one, constraints, lambda one: one == rest).find()
    assert found == Inconclusive("p1, p9 fails, but the rest without it could not be asked")


def test_where_the_rest_cannot_be_asked_another_one_is_left_out():
    """Of two that fail together."""
    rest = sets(*ids(9)) - {"p7"}
    found = Bench(ids(9), lambda one: {"p3", "p7"} <= one, broken=lambda one: one == rest).find()
    assert found.patches == {"p3"}


def test_where_no_rest_can_be_asked_the_search_ends():
    """And says what fails."""
    found = Bench(ids(9), lambda one: "p3" in one, broken=lambda one: len(one) == 8).find()
    assert found == Inconclusive("p3 fails, but the rest without it could not be asked")


@pytest.mark.parametrize(
    ("budget", "text"),
    [
        (1, "the budget of 1 runs is spent"),
        (4, "the budget of 4 runs is spent; the smallest set that fails is p1, p2, p3, p4, p5, p6, p7, p8, p9"),
        (6, "the budget of 6 runs is spent; the smallest set that fails is p1, p2, p3, p4, p5, p6, p7"),
    ],
)
def test_a_spent_budget_tells_what_is_known(budget, text):
    """A person can go on from there."""
    assert Bench(ids(9), lambda one: {"p3", "p7"} <= one).find(budget) == Inconclusive(text)


def test_the_smallest_of_all_that_failed_is_told():
    """Also where it was seen after another one was left out."""
    found = Bench(ids(9), lambda one: {"p1", "p2"} <= one or "p8" in one).find(budget=12)
    assert found == Inconclusive("the budget of 12 runs is spent; the smallest set that fails is p8")


def test_the_search_goes_on_from_what_is_known():
    """A daemon that was restarted asks nothing twice, and what is known costs nothing of what is left."""
    fails = {"p2"}.issubset
    known = {sets(): Result.PASSES, sets(*ids(4)): Result.FAILS, sets("p9"): Result.BROKEN}
    assert search(ids(4), Constraints(), known, 3) == Ask(sets("p1", "p2"))
    known[sets("p1", "p2")] = Result.FAILS if fails(sets("p1", "p2")) else Result.PASSES
    assert isinstance(search(ids(4), Constraints(), known, 3), Inconclusive)
    assert search(ids(4), Constraints(), known, 4) == Ask(sets("p1"))


@pytest.mark.parametrize(
    ("finding", "text"),
    [
        (PinFails(), "the plain pin fails without any patch that could be left out (1 run)"),
        (Inconclusive("so it is"), "so it is (1 run)"),
        (
            NotReproduced(),
            "all patches together pass on a scratch worker: it comes and goes, or is of this worker (1 run)",
        ),
    ],
)
def test_every_finding_has_its_sentence(finding, text):
    """For the journal and for people."""
    assert sentence(finding, 1) == text
