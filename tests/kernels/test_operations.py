"""The two kernels as operations of a route: what differs between them is theirs to say."""

from __future__ import annotations

import dataclasses
import sys
import types

import pytest

torch = pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")
pytest.importorskip("triton", reason="the kernels need torch and triton: pip install genesisd[kernels]")

from genesisd.carried import trial
from genesisd.carried.codebook_keys import TELLING, CodebookKeys, of_codebook
from genesisd.carried.fp8_keys import Fp8Keys
from genesisd.carried.lying import Lying
from genesisd.kernels.tq_codebook import Setting, layout_of
from genesisd.kernels.tq_codebook import launch as codebook_launch
from genesisd.kernels.tq_codebook.codebook import gaussian, hadamard
from genesisd.kernels.tq_verify import K8V4
from genesisd.kernels.tq_verify.guards import Setting as Fp8Setting
from genesisd.kernels.tq_verify.plan import Plan, Shape, plan_for

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
CPU, BF16, PAGE, KV_HEADS = torch.device("cpu"), torch.bfloat16, 16, 2


@pytest.fixture(autouse=True)
def _nothing_was_tried(monkeypatch):
    monkeypatch.setattr(trial, "_TRIED", {})


def codebook(kind="4bit_nc", dim=64, by_heads=False, more=0):
    """Layers whose slots lie by tokens or by heads, with so many bytes more between pages than they need."""
    layout = layout_of(kind, dim)
    slot = layout.slot_bytes
    lies = (slot, PAGE * slot) if by_heads else (KV_HEADS * slot, slot)
    setting = Setting(kind, layout, True, PAGE, 4, KV_HEADS, 3, (9, 0), (PAGE * KV_HEADS * slot + more, *lies))
    return CodebookKeys(setting, tuple(gaussian(dim, layout.key_bits).tolist()), hadamard(dim))


@pytest.mark.parametrize(
    "operation",
    [codebook("4bit_nc", 128), codebook("k3v4_nc", by_heads=True, more=4)],
    ids=["4 bits", "3 bits, by heads, pages apart"],
)
def test_a_kernel_of_codebooks_passes_its_trial(operation):
    """In triton's interpreter, decoding and with drafts, over a cache that lies as the engine's does."""
    assert operation.refusal() is None
    assert trial.refuted(codebook_launch, operation, 1, BF16, CPU) is None


def test_where_it_is_wrong_there_is_no_other_form():
    """It is tried no second time, and the reason has the kernel's name."""
    tried = []

    def wrong(*_, out, **__):
        tried.append(out.shape)
        return out.zero_()

    launch = types.SimpleNamespace(**vars(codebook_launch) | {"tq_codebook": wrong})
    told = trial.refuted(launch, codebook(), 3, BF16, CPU)
    assert told == "it answers wrong here (tq_codebook, 1 x 1 query tokens): error 1.0e+00, allowed 1e-02"
    assert len(tried) == 1


def test_layers_with_one_codebook_are_alike():
    """Their rotation follows from head_dim; another codebook makes another operation."""
    one, other = codebook(), codebook()
    assert one.rotation is not other.rotation
    assert {one} == {other}
    assert one != dataclasses.replace(one, codebook=tuple(entry * 2 for entry in one.codebook))
    assert one != one.laid((1 << 20, 140, 70))


def test_both_ways_of_a_launch_that_lengths_choose_are_tried():
    """Small sequences would show the one for short batches alone."""
    operation = Fp8Keys(Fp8Setting(K8V4(256), PAGE, 16, KV_HEADS, 6, (9, 0), "e4nv", (1 << 20, 776, 388)))
    plan = plan_for(Shape(1, KV_HEADS, 8, 256, 6, (9, 0), 132, warp_groups=True))
    assert plan.narrow
    assert [one.narrow_to for one in operation.tried(plan)] == [plan.narrow_to, 0]
    plain = dataclasses.replace(plan, narrow=0)
    assert operation.tried(plain) == (plain,)


@pytest.mark.parametrize(("form", "others"), [("warp-group", True), ("token-major", False), ("query-major", False)])
def test_only_the_form_in_cuda_has_others_in_its_place(form, others):
    """It is left out on the device that is meant."""
    left_out = []
    launch = types.SimpleNamespace(hopper=types.SimpleNamespace(leave_out=lambda *given: left_out.append(given)))
    operation = Fp8Keys(Fp8Setting(K8V4(64), PAGE, 4, KV_HEADS, 3, (9, 0), "e4nv", (1 << 20, 200, 100)))
    assert operation.leaves_out(launch, Plan(form, 8, 64, "fp8", 3, 4, 1), CPU, "wrong") is others
    assert left_out == [(None, "wrong")] * others


def backend(**told):
    """A layer of a backend that tells so much."""
    module = types.ModuleType("a_backend_without_an_engine")
    vars(module).update(told)
    sys.modules[module.__name__] = module
    config = types.SimpleNamespace(
        key_mse_bits=4, centroid_bits=4, effective_value_quant_bits=4, key_packed_size=34, value_packed_size=36,
        slot_size_aligned=70, norm_correction=True,
    )  # fmt: skip
    impl = type("Impl", (), {"__module__": module.__name__})()
    impl.tq_config, impl.head_size = config, 64
    return impl


LYING = Lying(PAGE, 4, KV_HEADS, 3, (9, 0), (PAGE * KV_HEADS * 70, KV_HEADS * 70, 70), 0, CPU)
TOLD = {"get_centroids": gaussian, "_build_hadamard": lambda dim, _device: hadamard(dim)}


def test_codebook_and_rotation_are_the_engines():
    """As it gives them to its own store."""
    found = of_codebook(backend(**TOLD), LYING)
    assert found.refusal() is None
    assert found == codebook()
    assert torch.equal(found.rotation, hadamard(64))


@pytest.mark.parametrize("name", TELLING)
def test_a_backend_that_tells_no_codebook_or_no_rotation_is_refused(name):
    """With a reason: an error while a builder is made would keep the engine from starting."""
    found = of_codebook(backend(**{known: one for known, one in TOLD.items() if known != name}), LYING)
    assert found.refusal() == (
        "a backend that tells no codebook or no rotation: get_centroids and _build_hadamard are asked for them"
    )


def test_what_is_refused_for_its_shape_is_asked_for_no_codebook():
    """The engine may have no rotation for such a head_dim."""
    impl = backend(get_centroids=None, _build_hadamard=None)
    impl.head_size, impl.tq_config.key_packed_size = 96, 50
    impl.tq_config.value_packed_size, impl.tq_config.slot_size_aligned = 52, 102
    assert of_codebook(impl, LYING).refusal() == "head_dim 96: 64, 128, 256, 512 are served"
