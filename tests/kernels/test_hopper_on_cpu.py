from __future__ import annotations

import shutil

import pytest

torch = pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")

from genesisd.kernels.tq_verify import problems
from genesisd.kernels.tq_verify.cases import Case
from genesisd.kernels.tq_verify.reference import reference
from tests.helpers.hopper_on_cpu import attended, cut, planned, source

PLAIN, SHARP = 2e-3, 2e-2
"""Before the output is rounded: the units cut FP8 sums to about 14 bits, which scores of up to 100 show."""
CASES = (
    Case("decode, group 8, dim 256", 8, 1, 256, (1, 15, 17, 300, 80), (1,) * 5),
    Case("verify, group 6, two KV heads, dim 256", 12, 2, 256, (1, 17, 300), (5,) * 3),
    Case("verify, group 16, blocks of rows", 16, 1, 128, (300, 5), (16, 3)),
    Case("verify, three KV heads, pages of 48", 12, 3, 128, (300, 47, 49), (3, 3, 3), page=48),
    Case("ragged, an empty sequence, fewer tokens than queries", 8, 1, 128, (17, 0, 300, 1, 3), (4, 2, 3, 1, 4)),
    Case("huge values", 4, 1, 128, (300,), (2,), value_scale=1e4),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    if shutil.which("g++") is None:
        pytest.skip("no g++ to compile the device code with")
    return tmp_path_factory.mktemp("hopper")


def error(problem: problems.Problem, folder, **how) -> float:
    expected = reference(*problem.arguments(), scale=problem.scale)
    return problems.error(attended(problem, folder, **how), expected)


def drawn(case: Case, dtype=torch.bfloat16) -> problems.Problem:
    return problems.make(case, "cpu", int(torch.randint(2**31, ()).item()), dtype=dtype)


def test_nothing_in_assembly_is_left_without_a_meaning():
    """What is new in the device code has to be said for a CPU too."""
    assert "asm" not in source(48, 24, {})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_device_code_agrees_with_the_reference(case, folder):
    """Its own text, run thread by thread with the units' sums cut as the units cut them."""
    assert error(drawn(case), folder) < PLAIN


SHORT = (
    Case("group 8", 8, 1, 256, (1, 15, 17, 300, 80), (6,) * 5),
    Case("group 6, two KV heads", 12, 2, 256, (300, 70), (5, 5)),
    Case("group 5, rows of padding", 5, 1, 256, (300, 0, 7), (8, 1, 3)),
    Case("group 16, blocks of rows", 16, 1, 256, (300, 5), (6, 3)),
)


@pytest.mark.parametrize("case", SHORT, ids=lambda case: case.name)
@pytest.mark.parametrize("narrow", [True, False])
def test_half_of_the_rows_a_program_change_nothing(case, narrow, folder):
    """A short batch is cut into twice as many blocks of rows, told from the lengths; both ways agree."""
    assert cut(case, planned(case, 40))[1]
    assert error(drawn(case), folder, processors=40, narrow=narrow) < PLAIN


def test_a_batch_that_grows_is_read_once_again(folder):
    """Longer chunks than the plan's bound: whole blocks of rows, out of the same code."""
    case = Case("three lengths", 16, 2, 256, (1700, 20, 400), (6, 6, 1))
    assert cut(case, planned(case, 12)) == (256, False)
    assert error(drawn(case), folder, processors=12) < PLAIN


def test_copies_by_threads_bring_the_same_tokens(folder):
    """Where pages are not aligned to 16 bytes the copy engine cannot serve."""
    case = Case("two KV heads", 8, 2, 128, (300, 70), (3, 3))
    assert error(drawn(case), folder, aligned=False) < PLAIN


def test_queries_may_be_float16(folder):
    """Of their 11 bits the two FP8 halves keep 8."""
    case = Case("group 5", 5, 1, 128, (200,), (2,))
    assert error(drawn(case, torch.float16), folder) < PLAIN


def test_the_reference_of_the_exponent_is_raised_in_time(folder):
    """A weight that would leave float16 is found by the vote, and its tile is done again."""
    case = Case("sharp", 4, 1, 128, (700,), (2,), key_scale=30.0)
    assert error(drawn(case), folder, processors=1) < SHARP


def test_a_long_chunk_loses_nothing_to_the_units_sums(folder):
    """They cut toward zero at each step: sums that only grow would lose more than the output is worth."""
    case = Case("chunks of many tiles", 2, 1, 128, (12000,), (1,))
    assert error(drawn(case), folder, processors=1) < 8e-4


def test_what_a_weight_loses_counts_by_the_distance_from_the_mean(folder):
    """Scores near zero leave FP8 sums little to lose: 2e-4 are expected, and 5e-4 if it counted by the nibble."""
    problem = drawn(Case("nearly alike", 8, 1, 128, (300,), (4,)))
    problem.query.mul_(0.01)
    assert error(problem, folder) < 3e-4
