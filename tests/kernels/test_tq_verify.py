from __future__ import annotations

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")
pytest.importorskip("triton", reason="the kernels need torch and triton: pip install genesisd[kernels]")

from genesisd.kernels.tq_verify import cases, problems
from genesisd.kernels.tq_verify.checking import poisoned
from genesisd.kernels.tq_verify.launch import tq_verify
from genesisd.kernels.tq_verify.pack import slots
from genesisd.kernels.tq_verify.plan import Plan
from genesisd.kernels.tq_verify.reference import reference, tokens_of

# The interpreter's own, of numpy: scalars taken from arrays, and exponents that are meant to vanish.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
HOPPER, AMPERE = (9, 0), (8, 6)


def run(problem, capability, splits=None):
    """What the kernel says, with NaN in all that it must write."""
    return poisoned(problem, capability=capability, splits=splits)


def expected(problem):
    return reference(*problem.arguments(), scale=problem.scale, fp8_format=problem.case.fp8_format, **problem.tail)


@pytest.mark.parametrize("case", cases.CPU_EDGES, ids=lambda case: case.name)
@pytest.mark.parametrize("capability", [HOPPER, AMPERE], ids=["sm_90", "sm_86"])
def test_agrees_with_the_reference(case, capability):
    """Both forms give the float64 reference's output for every odd shape."""
    if case.fp8_format == "e4b15" and capability == HOPPER:
        pytest.skip("Hopper stores e4nv")
    problem = problems.make(case, "cpu", seed=torch.seed() % 2**31)
    assert problems.error(run(problem, capability), expected(problem)) < cases.TOLERANCE


def test_a_query_in_two_halves_is_the_whole_query():
    """Eight significant bits survive the split into two FP8 halves: sharp attention shows every lost one."""
    case = next(case for case in cases.CPU_EDGES if case.name == "sharp attention")
    problem = problems.make(case, "cpu", seed=torch.seed() % 2**31, dtype=torch.float32)
    problem.query[:] = problem.query.bfloat16().float()
    assert problems.error(run(problem, HOPPER), expected(problem)) < 1e-3


@pytest.mark.parametrize("splits", [1, 2, 3, 7, 65])
def test_the_number_of_splits_changes_nothing(splits):
    """Any number of splits gives the same attention, also more of them than there are tokens to share."""
    problem = problems.make(cases.Case("x", 8, 1, 64, (1000, 70, 3), (2, 2, 2)), "cpu", seed=splits)
    assert problems.error(run(problem, HOPPER, splits), expected(problem)) < cases.TOLERANCE


def test_a_row_that_sees_nothing_is_zero():
    """Padding rows of a captured graph get zeros, never what the memory held."""
    problem = problems.make(cases.Case("x", 8, 1, 64, (0, 2), (2, 4)), "cpu", seed=1)
    out = run(problem, HOPPER)
    assert torch.equal(out[:4], torch.zeros_like(out[:4]))


def test_what_lies_behind_the_last_token_does_not_matter():
    """The rest of the last page may hold anything, also what is not a number."""
    problem = problems.make(cases.Case("x", 8, 1, 64, (70,), (3,)), "cpu", seed=2)
    before = run(problem, HOPPER)
    problem.cache[problem.table[0, -1].long(), 70 % 16 :] = 0xFF
    assert torch.equal(before, run(problem, HOPPER))


def by_heads(problem):
    """As some of the engine's releases lay their cache out: a head's tokens of a page follow each other."""
    return replace(problem, cache=problems.by_heads(problem.cache))


def heads_apart(problem):
    """A head has a region of its own, with all its pages: the next one begins far outside of the page."""
    return replace(problem, cache=problem.cache.permute(2, 0, 1, 3).contiguous().permute(1, 2, 0, 3))


def apart(problem):
    """Pages that are padded to the size of another kind of layer's, with what is not a number between them."""
    size = problem.cache[0].numel()
    wide = torch.full((problem.cache.shape[0], size + 64), 0xFF, dtype=torch.uint8)
    wide[:, :size] = problem.cache.flatten(1)
    return replace(problem, cache=wide[:, :size].unflatten(1, problem.cache.shape[1:]))


def far(problem):
    """Pages behind the first 8 GiB of the cache: counted in bytes or in words, they lie beyond 31 bits."""
    page = problem.cache[0].numel()
    there = torch.arange(9 * 2**30 // page - problem.cache.shape[0], 9 * 2**30 // page)
    try:  # of which a few pages are touched
        cache = torch.empty(int(there[-1]) + 1, *problem.cache.shape[1:], dtype=torch.uint8)
    except RuntimeError:
        pytest.skip("this machine does not lend 9 GiB of addresses")
    cache[there] = problem.cache
    table = torch.where(problem.table < 2**30, problem.table + int(there[0]), problem.table).to(torch.int32)
    return replace(problem, cache=cache, table=table)


def beside_keys(problem):
    """A query that is a part of rows which hold keys and values too."""
    width = problem.query[0].numel()
    wide = torch.full((problem.query.shape[0], 2 * width), float("nan"), dtype=problem.query.dtype)
    wide[:, :width] = problem.query.flatten(1)
    return replace(problem, query=wide[:, :width].unflatten(1, problem.query.shape[1:]))


@pytest.mark.parametrize("capability", [HOPPER, AMPERE], ids=["sm_90", "sm_86"])
@pytest.mark.parametrize("laid_out", [by_heads, heads_apart, apart, far, beside_keys])
def test_how_tensors_lie_changes_nothing(capability, laid_out):
    """Cache, pages and query lie as the engine lays them out, and the output is the same to the last bit."""
    problem = problems.make(cases.Case("x", 8, 2, 64, (70, 33, 130), (3, 1, 2)), "cpu", seed=5)
    found = run(problem, capability)
    assert problems.error(found, expected(problem)) < cases.TOLERANCE
    assert torch.equal(run(laid_out(problem), capability), found)


def test_the_hand_made_case():
    """One key alike, one opposite: the weights are the softmax of their two scores."""
    problem = problems.make(cases.Case("x", 1, 1, 64, (2,), (1,)), "cpu", seed=3, dtype=torch.float32)
    problem.query[:] = 1.0
    keys = torch.stack([torch.ones(64), -torch.ones(64)])
    values = torch.stack([torch.arange(64.0) % 16, torch.zeros(64)])
    problem.cache[problem.table[0, 0].long(), :2, 0] = slots(keys, values)
    share = 1 / (1 + torch.exp(torch.tensor(-2 * 64 / 8.0)))
    assert torch.allclose(run(problem, AMPERE)[0, 0], values[0] * share, atol=2e-3)


def test_a_plan_is_kept():
    """A plan that was given is the one that is launched: scratch of its size suffices."""
    problem = problems.make(cases.Case("x", 8, 1, 64, (200,), (2,)), "cpu", seed=4)
    plan = Plan("query-major", 16, 16, "f16", 2, 4, 3, 16)
    out = tq_verify(*problem.arguments(), max_query_len=2, scale=problem.scale, plan=plan)
    assert problems.error(out, expected(problem)) < cases.TOLERANCE


TAILED = cases.Case("x", 8, 2, 64, (70, 33, 130), (3, 1, 2), tail=True)


@pytest.mark.parametrize("splits", [2, 3, 7, 65])
def test_a_tail_takes_a_split_of_its_own(splits):
    """However many share the cache beside it."""
    problem = problems.make(TAILED, "cpu", seed=splits)
    assert problems.error(run(problem, HOPPER, splits), expected(problem)) < cases.TOLERANCE


@pytest.mark.parametrize("capability", [HOPPER, AMPERE], ids=["sm_90", "sm_86"])
def test_a_tail_of_what_the_cache_holds_changes_nothing(capability):
    """Keys and values read back from the cache give the attention that the cache itself gives."""
    problem = problems.make(replace(TAILED, tail=False), "cpu", seed=6, dtype=torch.float32)
    rows = [
        (keys[-count:], values[-count:])
        for pages, length, count in zip(problem.table, problem.case.lens, problem.case.query_lens, strict=True)
        for keys, values in [tokens_of(problem.cache, pages, length, 64, "e4nv")]
    ]
    keys, values = (torch.cat(part).float() for part in zip(*rows, strict=True))
    found = run(replace(problem, tail={"tail_key": keys, "tail_value": values}), capability)
    assert problems.error(found, run(problem, capability).double()) < 2e-3


@pytest.mark.parametrize("capability", [HOPPER, AMPERE], ids=["sm_90", "sm_86"])
def test_no_row_sees_a_later_one_of_the_tail(capability):
    """Whatever the last draft's key and value are, the rows before it are the same to the last bit."""
    problem = problems.make(TAILED, "cpu", seed=7)
    before = run(problem, capability)
    for rows in problem.tail.values():
        rows[2] += 1.0
    after = run(problem, capability)
    assert torch.equal(before[:2], after[:2])
    assert not torch.equal(before[2], after[2])
    assert torch.equal(before[3:], after[3:])


def test_a_tail_may_lie_between_others_numbers():
    """Keys and values are parts of the rows that a layer's projection wrote."""
    problem = problems.make(TAILED, "cpu", seed=8)
    found = run(problem, HOPPER)
    wide = torch.full((problem.query.shape[0], 2, 4, 64), float("nan"), dtype=problem.query.dtype)
    for i, rows in enumerate(problem.tail.values()):
        wide[:, i, 1:3] = rows
    problem.tail = {"tail_key": wide[:, 0, 1:3], "tail_value": wide[:, 1, 1:3]}
    assert torch.equal(run(problem, HOPPER), found)


def test_a_tail_that_cannot_be_read_is_refused():
    """Before anything is launched, with what was found and what is needed."""
    problem = problems.make(TAILED, "cpu", seed=9)
    arguments = {"max_query_len": 3, "scale": problem.scale}
    with pytest.raises(ValueError, match="no tail_value"):
        tq_verify(*problem.arguments(), **arguments, tail_key=problem.tail["tail_key"])
    with pytest.raises(ValueError, match=r"holds torch\.float32 and the query"):
        tq_verify(*problem.arguments(), **arguments, **{name: one.float() for name, one in problem.tail.items()})
