"""What a served output layer does with its weights and with activations, and the trial before it, by the kernel itself."""

from __future__ import annotations

import itertools
import types
import weakref

import pytest

torch = pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")
pytest.importorskip("triton", reason="the kernels need torch and triton: pip install genesisd[kernels]")

from genesisd.carried import lm_head, lm_head_trial, lm_head_weight
from genesisd.kernels.lm_head_fp8 import launch
from genesisd.kernels.lm_head_fp8.plan import MOST_ROWS, Shape, plan_for
from genesisd.kernels.lm_head_fp8.quantise import quantise
from genesisd.kernels.lm_head_fp8.reference import reference

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
CPU, BF16 = torch.device("cpu"), torch.bfloat16
HIDDEN, CHANNELS = 64, 200


@pytest.fixture(autouse=True)
def _nothing_was_tried(monkeypatch):
    monkeypatch.setattr(lm_head_trial, "_TRIED", {})


def kernel(spoiled=lambda out, **_: None):
    """The launcher whose every answer is right, in the reference's words, and then spoiled."""
    calls = []

    def lm_head_fp8(x, weight, scales, *, plan, out):
        assert out.isnan().all()
        out.copy_(reference(x, weight, scales))
        calls.append((x.shape[0], plan, weight.shape[0]))
        spoiled(out, rows=x.shape[0])
        return out

    return types.SimpleNamespace(shape_of=launch.shape_of, lm_head_fp8=lm_head_fp8, calls=calls)


def refuted(launcher, hidden=HIDDEN, channels=CHANNELS, dtype=BF16):
    return lm_head_trial.refuted(launcher, hidden, channels, dtype, CPU)


@pytest.mark.parametrize("dtype", [BF16, torch.float16])
def test_the_kernel_itself_passes(dtype):
    """In triton's interpreter, every number of rows that is tried."""
    assert refuted(launch, dtype=dtype) is None


@pytest.mark.parametrize(("channels", "processors"), list(itertools.product((151936, 37984, 18992, 300), (132, 84))))
@pytest.mark.parametrize("capability", [(8, 6), (9, 0), (12, 0)])
def test_no_other_kernel_is_ever_launched(capability, channels, processors):
    """What the trial compiled is all that a layer of this size needs for any number of rows."""

    def plan(rows):
        return plan_for(Shape(rows, 2048, channels, capability, processors))

    tried = {plan(rows) for rows in lm_head_trial.ROWS}
    assert tried == {plan(rows) for rows in range(1, 3 * MOST_ROWS)}


@pytest.mark.parametrize("channels", [151936, 151937, 700, 1032])
def test_a_small_layer_stands_for_a_large_one(channels):
    """Tried with the large one's cut, and divisible by 16 where that one is."""
    one = kernel()
    assert refuted(one, channels=channels) is None
    few = {few for _, _, few in one.calls}
    assert all(size % 16 == channels % 16 and size <= min(channels, 1040) for size in few)
    for rows, plan, _ in one.calls:
        assert plan == plan_for(Shape(rows, HIDDEN, channels, (9, 0), 1))


@pytest.mark.parametrize("rows", lm_head_trial.ROWS)
def test_one_wrong_kernel_of_several_is_found(rows):
    """Each has its own code, and the reason says which it was."""
    reason = refuted(kernel(lambda out, rows=0, wrong=rows: out.mul_(1.05) if rows == wrong else None))
    assert reason == f"it answers wrong here ({rows} rows): error 5.0e-02, allowed 1e-02"


def test_one_unwritten_logit_is_found():
    """Anything left unwritten is not a number."""

    def forget(out, rows):
        out[-1, -1] = float("nan")

    assert refuted(kernel(forget)) == "it answers wrong here (1 rows): error nan, allowed 1e-02"


def test_what_fails_is_told_in_a_line():
    """A compiler's message may be pages long."""

    def fail(out, rows):
        raise ValueError("no such instruction\nthe whole program follows")

    assert refuted(kernel(fail)) == "it does not run here: ValueError: no such instruction"


def test_a_full_card_is_no_verdict(caplog):
    """There was no memory to try it in, which says nothing of the kernel."""

    def full(out, rows):
        raise torch.OutOfMemoryError("none left")

    assert refuted(kernel(full)) is None
    assert "could not be tried" in caplog.text


def test_a_layer_is_tried_once():
    """A drafter's layer of the same size costs no second trial."""
    one = kernel()
    assert refuted(one) == refuted(one)
    assert len(one.calls) == len(lm_head_trial.ROWS)


class Plain:
    """The engine's method, as far as it is called."""

    def apply(self, layer, x, bias=None):
        return torch.nn.functional.linear(x, layer.weight, bias)

    def embedding(self, layer, ids):
        return torch.nn.functional.embedding(ids, layer.weight)


@pytest.fixture
def served():
    """A layer whose weights were quantised, its method, and what they were before."""
    layer, generator = torch.nn.Module(), torch.Generator().manual_seed(3)
    weight = torch.randn(CHANNELS, HIDDEN, generator=generator).to(BF16)
    layer.weight = torch.nn.Parameter(weight.clone(), requires_grad=False)
    method = lm_head._fp8_of(Plain)()
    method.process_weights_after_loading(layer)
    return layer, method, weight


def off(got, x, weight, bias=None):
    """From the float64 reference of the quantised weights."""
    right = reference(x.reshape(-1, x.shape[-1]), *quantise(weight)).view(*x.shape[:-1], -1)
    right = right if bias is None else right + bias.double()
    return float((got.double() - right).norm() / right.norm())


@pytest.mark.parametrize("shape", [(1,), (3,), (64,), (70,), (2, 5)], ids=str)
@pytest.mark.parametrize("dtype", [BF16, torch.float16, torch.float32])
def test_logits_of_any_rows_and_types(served, shape, dtype):
    """The kernel takes two types of activations; torch's own steps take the rest."""
    layer, method, weight = served
    x = torch.randn(*shape, HIDDEN).to(dtype)
    got = method.apply(layer, x)
    assert got.dtype == dtype
    assert got.shape == (*shape, CHANNELS)
    assert off(got, x, weight) < 5e-3


def test_rows_that_lie_apart_are_put_together(served):
    """The kernel is compiled for rows that follow each other, and no other is to be compiled while requests run."""
    layer, method, weight = served
    x = torch.randn(HIDDEN, 4).to(BF16).T
    assert off(method.apply(layer, x), x, weight) < 5e-3


def test_a_bias_of_the_call_is_added(served):
    """Some models pass one that is no part of the layer."""
    layer, method, weight = served
    x, bias = torch.randn(3, HIDDEN).to(BF16), torch.randn(CHANNELS).to(BF16)
    assert off(method.apply(layer, x, bias), x, weight, bias) < 5e-3


def test_the_steps_of_torch_are_taken_some_channels_at_once(served, monkeypatch):
    """A wider copy of all weights is what nobody has measured memory for."""
    layer, method, weight = served
    monkeypatch.setattr(lm_head, "AT_ONCE", 48)
    x = torch.randn(3, HIDDEN)
    assert off(method.apply(layer, x), x, weight) < 1e-6


def test_weights_that_are_read_in_another_type_are_what_they_stand_for(served, monkeypatch):
    """The engine's logits processor multiplies by them itself where activations are of another type."""
    layer, _, weight = served
    monkeypatch.setattr(lm_head_weight, "AT_ONCE", 48)
    numbers, scales = quantise(weight)
    stand_for = numbers.double() * scales.double()[:, None]
    assert torch.equal(layer.weight.to(BF16), stand_for.float().to(BF16))
    assert torch.equal(layer.weight.to(CPU, dtype=torch.float32), stand_for.float())
    assert torch.equal(layer.weight.to(CPU), numbers.view(torch.uint8))


def test_numbers_are_not_copied_in(served):
    """They would be cut to bytes, and lack their scale."""
    layer, _, weight = served
    before = layer.weight.clone()
    with pytest.raises(RuntimeError, match="checkpoint's format"):
        layer.weight.copy_(weight)
    assert torch.equal(layer.weight, before)


def test_its_own_bytes_are_put_back(served):
    """Sleep mode may keep a copy of them while the card's memory is let go."""
    layer, method, weight = served
    kept, x = layer.weight.detach().to("cpu", copy=True), torch.randn(3, HIDDEN).to(BF16)
    layer.weight.data.zero_()
    layer.weight.copy_(kept)
    assert off(method.apply(layer, x), x, weight) < 5e-3


def test_a_layer_is_moved_with_its_model(served):
    """Whole models are moved by the same word that reads a layer's weights."""
    layer, method, weight = served
    x = torch.randn(3, HIDDEN).to(BF16)
    assert off(method.apply(layer.to(CPU), x), x, weight) < 5e-3


def test_a_layer_that_is_processed_twice_is_quantised_once(served):
    """Its numbers may come from another process, and would be taken for weights."""
    layer, method, _ = served
    before, scales = layer.weight.clone(), layer.weight_scale.clone()
    method.process_weights_after_loading(layer)
    assert torch.equal(layer.weight, before)
    assert torch.equal(layer.weight_scale, scales)


def test_a_layer_is_freed_without_the_collector(served):
    """A drafter's layer goes when it gets the target's, and its memory is counted on at once."""
    layer, _, _ = served
    gone = weakref.ref(layer.weight)
    del layer.weight
    assert gone() is None


def test_no_tensor_is_held_twice(served):
    """The numbers that were loaded are let go: a byte a weight, and the scales."""
    layer, _, weight = served
    held = [*layer.parameters(), *layer.buffers()]
    assert sum(one.nbytes for one in held) == weight.numel() + 4 * CHANNELS
    assert [name for name, _ in layer.named_parameters()] == ["weight"]


def test_the_same_weights_make_the_same_bytes(served):
    """Ranks, drafters and reloads quantise alike."""
    layer, method, weight = served
    other = torch.nn.Module()
    other.weight = torch.nn.Parameter(weight.clone(), requires_grad=False)
    method.process_weights_after_loading(other)
    assert torch.equal(other.weight, layer.weight)
    assert torch.equal(other.weight_scale, layer.weight_scale)


def test_a_layer_that_stayed_whole_can_be_compared_with(served):
    """The engine asks whether a drafter's weights are these, and torch compares FP8 with nothing but FP8."""
    layer, _, weight = served
    assert not torch.equal(layer.weight, weight)
    assert not torch.equal(weight.half(), layer.weight)


def test_embedding_by_such_a_layer_is_refused(served):
    """It would give FP8 numbers without their scale."""
    layer, method, weight = served
    with pytest.raises(RuntimeError, match="switch the patch off"):
        method.embedding(layer, torch.tensor([1]))
    layer.weight = torch.nn.Parameter(weight, requires_grad=False)
    assert torch.equal(method.embedding(layer, torch.tensor([1])), weight[1:2])


def test_the_method_is_still_the_engines():
    """Loaders ask for its class before they have it process weights."""
    method = lm_head._fp8_of(Plain)()
    assert isinstance(method, Plain)
    assert type(method) is lm_head._fp8_of(Plain)
