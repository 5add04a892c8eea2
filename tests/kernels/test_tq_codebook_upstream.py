"""tq_codebook beside the engine's own store and attention, all in triton's interpreter, where a tree is unpacked."""

from __future__ import annotations

import importlib.util
import sys

import pytest

torch = pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")
pytest.importorskip("triton", reason="the kernels need torch and triton: pip install genesisd[kernels]")

from genesisd.kernels.tq_codebook import cases, problems
from genesisd.kernels.tq_codebook.checking import expected, poisoned
from genesisd.kernels.tq_codebook.codebook import gaussian
from genesisd.kernels.tq_codebook.layout import layout_of
from genesisd.kernels.tq_codebook.pack import slots
from genesisd.kernels.tq_codebook.upstream import Upstream
from genesisd.kernels.tq_verify.problems import error

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
QUANTISER = "vllm/model_executor/layers/quantization/turboquant"
SHAPES = [("4bit_nc", 64, 3), ("4bit_nc", 128, 1), ("k3v4_nc", 64, 3), ("k3v4_nc", 128, 1)]


@pytest.fixture(scope="module")
def theirs(tree):
    return Upstream(tree, device="cpu")


def module_of(tree, name):
    """A file of the tree by itself."""
    spec = importlib.util.spec_from_file_location(f"upstream_{name}", tree / QUANTISER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where a dataclass looks its module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("kind", "dim", "heads"), SHAPES)
def test_bytes_and_places_are_the_engine_s_own(theirs, kind, dim, heads):
    """What its store writes is what ours in plain steps says, but for ties of float32 sums in another order."""
    problem = problems.make(cases.Case("x", kind, heads, heads, dim, (40,), (1,)), "cpu", torch.seed() % 2**31)
    key, value = torch.randn(2, 21, heads, dim)
    to = torch.randperm(problem.cache.shape[0] * 16)[:21].to(torch.int32)
    before = problem.cache.clone()
    theirs.store(problem, key, value, to)
    wanted = before.flatten(0, 1)
    wanted[to.long()] = slots(key, value, kind, problem.codebook, problem.rotation)
    assert (problem.cache.flatten(0, 1) == wanted).double().mean() > 0.998
    layout = layout_of(kind, dim)
    assert torch.equal(problem.cache.flatten(0, 1)[..., layout.key_bytes :], wanted[..., layout.key_bytes :])


@pytest.mark.parametrize(("kind", "dim", "heads"), SHAPES[::3])  # each kind and each dimension once
def test_attention_over_the_engine_s_bytes_is_the_engine_s_own(theirs, kind, dim, heads):
    """Its store fills the cache; its attention, the reference and the kernel agree."""
    case = cases.Case("x", kind, 2 * heads, heads, dim, (37, 50), (2, 2))
    problem = problems.make(case, "cpu", torch.seed() % 2**31, dtype=torch.float32)
    theirs.fill(problem)
    engine = theirs.attention(problem).double()
    assert error(engine, expected(problem)) < 1e-5
    assert error(poisoned(problem), engine) < 1e-3


@pytest.mark.parametrize("dim", [64, 128, 256])
@pytest.mark.parametrize("bits", [3, 4])
def test_the_codebook_that_is_tested_with_is_the_engine_s(tree, dim, bits):
    """Their entries come from sums where ours come from the integrals' closed form; they are mirrored exactly."""
    book = module_of(tree, "centroids").get_centroids(dim, bits)
    assert torch.equal(book, -book.flip(0))
    assert torch.allclose(book, gaussian(dim, bits), rtol=2e-3)


@pytest.mark.parametrize("dim", [64, 128, 256, 512])
@pytest.mark.parametrize("kind", cases.KEY_BITS)
def test_the_layout_is_what_the_engine_s_configuration_says(tree, kind, dim):
    """Sizes of key, value and slot, and that a key's entries are brought to unit length."""
    source = (tree / QUANTISER / "config.py").read_text()
    assert f'"turboquant_{kind}"' in source
    config = module_of(tree, "config").TurboQuantConfig.from_cache_dtype(f"turboquant_{kind}", dim)
    layout = layout_of(kind, dim)
    assert (config.key_mse_bits, config.effective_value_quant_bits) == (layout.key_bits, 4)
    assert config.key_packed_size == layout.key_bytes
    assert config.value_packed_size == layout.value_bytes
    assert config.slot_size_aligned == layout.slot_bytes
    assert config.norm_correction
