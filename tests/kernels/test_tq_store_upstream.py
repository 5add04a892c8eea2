"""tq_store beside the engine's own kernel, both in triton's interpreter, where a release's tree is unpacked."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")
pytest.importorskip("triton", reason="the kernels need torch and triton: pip install genesisd[kernels]")

from genesisd.kernels.tq_store import cases, problems
from genesisd.kernels.tq_store.launch import tq_store
from genesisd.kernels.tq_store.upstream import Upstream

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
CASES = [case for case in cases.CPU_EDGES if case.fp8_format == "e4nv" and not case.padded]


@pytest.fixture(scope="module")
def theirs(tree):
    """The newest tree's store. It asks the device for its format, and there is none."""
    found = Upstream(tree, device="cpu")
    found.module._use_fp8_e4b15 = lambda _device: 0
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_values_and_places_are_the_engine_s_own(theirs, case):
    """All but the keys' bytes: the interpreter's own cast to FP8 loses carries, so theirs are no measure here."""
    problem = problems.make(case, "cpu", torch.seed() % 2**31)
    expected = problem.cache.clone()
    theirs.store(problem.key.float(), problem.value, expected, problem.slot_mapping)
    tq_store(*problem.arguments())
    assert torch.equal(problem.cache[..., case.dim :], expected[..., case.dim :])
    same = problem.cache[..., : case.dim] == expected[..., : case.dim]
    assert same.double().mean() > (0.9 if case.size < 10 else 0.5)
