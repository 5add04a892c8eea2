from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")
pytest.importorskip("triton", reason="the kernels need torch and triton: pip install genesisd[kernels]")

from genesisd.kernels.tq_codebook import cases, problems
from genesisd.kernels.tq_codebook.checking import expected, poisoned
from genesisd.kernels.tq_codebook.codebook import gaussian, hadamard, tables_of
from genesisd.kernels.tq_codebook.pack import packed
from genesisd.kernels.tq_codebook.plan import Plan
from genesisd.kernels.tq_codebook.reference import indexes_of
from genesisd.kernels.tq_verify.problems import error

# The interpreter's own, of numpy: scalars taken from arrays, and exponents that are meant to vanish.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
KINDS = list(cases.KEY_BITS)


def made(case, **changes):
    """A case with fresh numbers."""
    return problems.make(case, "cpu", seed=torch.seed() % 2**31, **changes)


@pytest.mark.parametrize("case", cases.CPU_EDGES, ids=lambda case: case.name)
def test_agrees_with_the_reference(case):
    """The kernel gives the float64 reference's output for every odd shape."""
    problem = made(case)
    assert error(poisoned(problem), expected(problem)) < cases.TOLERANCE


@pytest.mark.parametrize("kind", KINDS)
def test_long_and_short_sequences_share_a_launch(kind):
    """Lengths that differ by 50 times and more; the longest has more shares than the merge weighs at once."""
    problem = made(cases.Case("x", kind, 2, 1, 64, (4300, 80, 15, 17, 1), (2, 2, 2, 2, 1)))
    assert error(poisoned(problem, splits=80), expected(problem)) < cases.TOLERANCE


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_lost_is_the_query_s_rounding(kind):
    """Where the output is not rounded, float16 entries and a float16 query leave an error of 1e-3 or less."""
    problem = made(cases.Case("x", kind, 4, 1, 128, (200,), (3,)), dtype=torch.float32)
    assert error(poisoned(problem), expected(problem)) < 1e-3


@pytest.mark.parametrize("splits", [1, 2, 7, 65])
def test_the_number_of_splits_changes_nothing(splits):
    """Any number of splits gives the same attention, also more of them than there are tokens to share."""
    problem = made(cases.Case("x", "4bit_nc", 4, 1, 64, (700, 70, 3), (2, 2, 2)))
    assert error(poisoned(problem, splits=splits), expected(problem)) < cases.TOLERANCE


@pytest.mark.parametrize("tokens", [16, 64])
@pytest.mark.parametrize("kind", KINDS)
def test_tiles_of_other_sizes(kind, tokens):
    """What a sweep times gives the same output."""
    problem = made(cases.Case("x", kind, 4, 2, 64, (150, 40), (2, 2)))
    plan = Plan(16, tokens, 2, 4, splits=2)
    assert error(poisoned(problem, plan=plan), expected(problem)) < cases.TOLERANCE


@pytest.mark.parametrize("kind", KINDS)
def test_what_lies_behind_the_last_token_does_not_matter(kind):
    """The rest of the last page may hold anything, also what is not a number."""
    problem = made(cases.Case("x", kind, 8, 1, 64, (70,), (3,)))
    before = poisoned(problem)
    problem.cache[problem.table[0, -1].long(), 70 % 16 :] = 0xFF
    assert torch.equal(before, poisoned(problem))


def test_a_row_that_sees_nothing_is_zero():
    """Padding rows of a captured graph get zeros, never what the memory held."""
    out = poisoned(made(cases.Case("x", "4bit_nc", 8, 1, 64, (0, 2), (2, 4))))
    assert torch.equal(out[:4], torch.zeros_like(out[:4]))


def test_no_query_is_no_work():
    """An empty batch launches nothing."""
    problem = made(cases.Case("x", "4bit_nc", 8, 1, 64, (5,), (1,)))
    problem.query, problem.lens = problem.query[:0], problem.lens[:0]
    problem.case = cases.Case("x", "4bit_nc", 8, 1, 64, (), (1,))
    problem.starts = problem.starts[:1]
    assert poisoned(problem).shape == (0, 8, 64)


@pytest.mark.parametrize("bits", [3, 4])
def test_packing_and_reading_are_each_other_s_inverse(bits):
    """Indexes come back bit by bit."""
    indexes = torch.randint(2**bits, (5, 64))
    assert torch.equal(indexes_of(packed(indexes, bits), bits), indexes)
    assert packed(indexes, bits).shape == (5, 8 * bits)


@pytest.mark.parametrize("bits", [3, 4])
def test_tables_hold_the_first_eight_entries(bits):
    """Upper bytes before lower ones, of float16 numbers whose largest is one."""
    book = gaussian(128, bits)
    held = tables_of(book)
    halves = torch.stack([held[8:], held[:8]], -1).flatten().view(torch.float16)
    assert torch.allclose(halves.double(), (book / book.max())[:8].double(), rtol=5e-4)


def test_a_codebook_that_cannot_be_halved_is_an_error():
    """The reason is that of the guards."""
    with pytest.raises(ValueError, match="not the same below and above zero"):
        tables_of(gaussian(128, 4) + 0.1)


def test_the_rotation_keeps_lengths_and_undoes_itself():
    """It is orthonormal and symmetric."""
    turn = hadamard(128).double()
    assert torch.allclose(turn @ turn, torch.eye(128, dtype=torch.float64), atol=1e-6)
