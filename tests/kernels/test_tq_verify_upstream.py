"""tq_verify beside the engine's own kernel, both in triton's interpreter, where a release's tree is unpacked."""

from __future__ import annotations

import sys

import pytest

torch = pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")
pytest.importorskip("triton", reason="the kernels need torch and triton: pip install genesisd[kernels]")

from genesisd.kernels.tq_verify import cases, problems
from genesisd.kernels.tq_verify.checking import poisoned
from genesisd.kernels.tq_verify.upstream import Upstream

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def theirs(tree):
    """The newest tree's attention. It asks the device for its format, and there is none."""
    found = Upstream(tree)
    sys.modules[found.decode.__module__]._use_fp8_e4b15 = lambda _device: 0
    return found


@pytest.mark.parametrize(("dim", "heads", "count"), [(64, 3, 1), (128, 1, 2)])
def test_attention_is_the_engine_s_own(theirs, dim, heads, count):
    """Over each of the tables that the benchmark takes in turn."""
    case = cases.Case("x", 2 * heads, heads, dim, (37, 45), (count,) * 2)  # as many pages each: all of a table is read
    problem = problems.make(case, "cpu", torch.seed() % 2**31, spare=2, dtype=torch.float32)
    tables = [problem.table, (problem.table + 1) % len(problem.cache)]
    run = theirs.prepared(problem, tables)
    for i, table in enumerate(tables):
        problem.table = table
        assert problems.error(poisoned(problem), run(i).double()) < cases.TOLERANCE
