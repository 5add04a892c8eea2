"""The way from the engine's store to tq_store, with the kernel itself in triton's interpreter."""

from __future__ import annotations

import dataclasses
import sys
import types

import pytest

torch = pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")
pytest.importorskip("triton", reason="the kernels need torch and triton: pip install genesisd[kernels]")

from genesisd.carried import store as storing
from genesisd.carried import store_trial
from genesisd.kernels.tq_store import cases, launch, problems
from genesisd.kernels.tq_store.plan import Plan
from genesisd.kernels.tq_store.reference import reference
from genesisd.kernels.tq_verify import K8V4

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
DIM = 64
FULL = cases.Case("x", 37, 2, DIM, wide=True)


class Layer:
    """The engine's implementation of a layer, as far as a store reads it."""

    def __init__(self, layout=None, *, key_fp8=True):
        layout = layout or K8V4(DIM)
        self.head_size = layout.head_dim
        self.tq_config = types.SimpleNamespace(
            key_fp8=key_fp8,
            key_packed_size=layout.key_bytes,
            value_packed_size=layout.value_bytes,
            slot_size_aligned=layout.slot_bytes,
        )


@pytest.fixture(autouse=True)
def _nothing_was_decided(monkeypatch):
    """And the backend, which is this module here, has keys in e4nv."""
    monkeypatch.setattr(storing, "_DECIDED", {})
    monkeypatch.setattr(storing, "_genesis_skips", {"PN530": {}})
    monkeypatch.setattr(sys.modules[__name__], "_use_fp8_e4b15", lambda _device: False, raising=False)


def arguments(case=FULL, **changed):
    """A store's tensors, some of them changed."""
    problem = problems.make(case, "cpu", seed=5)
    found = dict(zip(("key", "value", "cache", "slots"), problem.arguments(), strict=True))
    return tuple((found | {name: change(found[name]) for name, change in changed.items()}).values())


def reasons():
    return list(storing._genesis_skips["PN530"])


def by_heads(cache):
    """The same cache, one head's tokens after the other's in each page."""
    return cache.transpose(1, 2).contiguous().transpose(1, 2)


def odd(cache):
    return torch.cat([cache, cache[..., :1]], 3)[..., :-1]


def shifted(cache):
    raw = torch.zeros(cache.numel() + 2, dtype=torch.uint8)
    return raw[2:].view(cache.shape)


def apart(numbers):
    """The numbers of a head do not follow each other."""
    return numbers.transpose(1, 2).contiguous().transpose(1, 2)


@pytest.mark.parametrize(
    ("case", "changed"),
    [
        (FULL, {}),
        (dataclasses.replace(FULL, tokens=1), {}),
        (dataclasses.replace(FULL, slots="int32"), {}),
        (dataclasses.replace(FULL, skipped="all"), {}),
        (dataclasses.replace(FULL, tokens=700, heads=1), {}),
        (dataclasses.replace(FULL, activations="float16", wide=False), {}),
        (dataclasses.replace(FULL, padded=True), {}),
        (FULL, {"cache": by_heads}),
    ],
    ids=["tokens", "one", "int32 slots", "padding alone", "a prompt", "float16", "pages apart", "by heads"],
)
def test_a_step_is_stored(case, changed):
    """Its bytes are those of the plain steps, and padding writes nothing."""
    given = arguments(case, **changed)
    right = reference(*given)
    assert storing.store(Layer(), *given)
    assert torch.equal(given[2], right)
    assert reasons() == []


def test_keys_of_older_cards_are_stored_in_their_format(monkeypatch):
    """The backend says which one it reads."""
    monkeypatch.setattr(sys.modules[__name__], "_use_fp8_e4b15", lambda _device: True)
    monkeypatch.setattr(store_trial, "refuted", lambda *_: None)
    monkeypatch.setattr(storing, "refusal", lambda setting: None if setting.fp8_format == "e4b15" else "another")
    given = arguments()
    right = reference(*given, fp8_format="e4b15")
    assert storing.store(Layer(), *given)
    assert torch.equal(given[2], right)


def test_layers_of_one_shape_are_decided_once(monkeypatch):
    """Nothing is tried again for the next layer, nor for another number of tokens."""
    tried = []
    monkeypatch.setattr(store_trial, "refuted", lambda *given: tried.append(given))
    for tokens in (37, 5, 130):
        for layer in (Layer(), Layer()):
            assert storing.store(layer, *arguments(dataclasses.replace(FULL, tokens=tokens)))
    assert len(tried) == 1
    assert storing.store(Layer(), *arguments(dataclasses.replace(FULL, slots="int32")))
    assert len(tried) == 2


def test_all_that_is_launched_was_tried(monkeypatch):
    """The kernels of any number of tokens were compiled when the first step came, for tensors that lie as its own."""
    seen = []
    real = launch.tq_store

    def tq_store(key, value, cache, slots, *, fp8_format, plan=None):
        lies = [one.stride()[1:] for one in (key, value, cache)], [one.data_ptr() % 16 for one in (key, value, cache)]
        seen.append((plan, lies, key.stride(0) % 16, cache.stride(0) % 64, key.dtype, slots.dtype))
        real(key, value, cache, slots, fp8_format=fp8_format, plan=plan)

    fake = types.SimpleNamespace(**vars(launch) | {"tq_store": tq_store})
    monkeypatch.setattr(storing, "launching", lambda: fake)
    storing.store(Layer(), *arguments(dataclasses.replace(FULL, padded=True)))
    *tried, (_, *own) = seen
    assert len(tried) == len({plan for plan, *_ in tried}) == 2
    assert all(lies == own for _, *lies in tried)
    plans = {
        launch.plan_for(dataclasses.replace(launch.shape_of(arguments()[0]), rows=rows)) for rows in range(1, 9999)
    }
    assert plans == {plan for plan, *_ in tried}


def test_on_a_large_card_all_cuts_are_known():
    """Every number of rows up to that of 65,536 tokens of 8 heads has one of the plans that are tried."""
    for dim in (64, 96, 128, 256, 512):
        shape = launch.Shape(1, dim, 132)
        like = types.SimpleNamespace(shape_of=lambda _key, shape=shape: shape)
        tried = store_trial.plans(like, None)
        assert {launch.plan_for(dataclasses.replace(shape, rows=rows)) for rows in range(1, 2**19, 7)} == set(tried)


OTHER = dataclasses.replace(K8V4(DIM), value_bytes=34, slot_bytes=98)


@pytest.mark.parametrize(
    ("layer", "changed", "told"),
    [
        (Layer(OTHER), {}, "another layout: 34 value bytes at head_dim 64, but the kernel writes 36"),
        (Layer(key_fp8=False), {}, "keys are not stored as FP8"),
        (Layer(), {"key": lambda one: one.double()}, "keys are torch.float64"),
        (Layer(), {"value": apart}, "values are torch.bfloat16"),
        (Layer(), {"slots": lambda one: one.short()}, "slots are torch.int16"),
        (Layer(), {"slots": lambda one: one.repeat(2)[::2]}, "slots are torch.int64 with strides (2,)"),
        (Layer(), {"cache": lambda one: one.view(torch.int8)}, "the cache is torch.int8"),
        (Layer(), {"cache": lambda one: torch.cat([one, one], 2)}, "the cache is torch.uint8"),
        (Layer(), {"cache": odd}, "not all multiples of 4"),
        (Layer(), {"cache": shifted}, "the cache is torch.uint8"),
    ],
    ids=["layout", "keys", "double", "apart", "int16", "strided", "signed", "heads", "strides", "place"],
)
def test_what_the_kernel_does_not_write_is_the_engine_s(layer, changed, told):
    """Nothing was written, and the reason is told once."""
    given = arguments(**changed)
    before = given[2].clone()
    assert not storing.store(layer, *given)
    assert not storing.store(layer, *given)
    assert torch.equal(given[2], before)
    assert storing._genesis_skips["PN530"] == {told_of(told): 1}


def told_of(part):
    (reason,) = reasons()
    assert part in reason
    return reason


def raising(*_, **__):
    raise RuntimeError("no kernel image\nfor this device")


def spoiling(at):
    def tq_store(key, value, cache, slots, **more):
        launch.tq_store(key, value, cache, slots, **more)
        cache[..., at] ^= 0x22

    return tq_store


def skipping_none(key, value, cache, slots, **more):
    launch.tq_store(key, value, cache, slots.clamp(min=0), **more)


def large_cut(key, value, cache, slots, *, fp8_format, plan):
    launch.tq_store(key, value, cache, slots, fp8_format=fp8_format, plan=plan)
    if plan.warps > 1:
        cache.zero_()


@pytest.mark.parametrize(
    ("tq_store", "told"),
    [
        (raising, "it does not run here: RuntimeError: no kernel image"),
        (lambda *_, **__: None, "it writes wrong bytes here"),
        (spoiling(3), "key bytes differ"),
        (spoiling(70), "values differ"),
        (spoiling(96), "scales differ"),
        (spoiling(99), "zeros differ"),
        (skipping_none, "it writes wrong bytes here"),
        (large_cut, f"it writes wrong bytes here ({Plan(16, 4).rows} rows, 4 warps)"),
    ],
)
def test_a_kernel_that_is_wrong_here_writes_nothing_to_the_engine_s_cache(monkeypatch, tq_store, told):
    """It was tried on a cache of its own, and the engine's store serves."""
    fake = types.SimpleNamespace(**vars(launch) | {"tq_store": tq_store})
    monkeypatch.setattr(storing, "launching", lambda: fake)
    given = arguments()
    before = given[2].clone()
    assert not storing.store(Layer(), *given)
    assert torch.equal(given[2], before)
    told_of(told)


def without_triton():
    raise ImportError("no triton")


def test_without_triton_the_engine_stores(monkeypatch):
    """Its own message says what is missing."""
    monkeypatch.setattr(storing, "launching", without_triton)
    assert not storing.store(Layer(), *arguments())
    assert reasons() == ["the kernel cannot be loaded: no triton"]


def test_nothing_is_decided_while_a_graph_is_captured(monkeypatch):
    """Compiling and trying would break the capture: such a step is the engine's, and what is known is served."""
    layer, given = Layer(), arguments()
    monkeypatch.setattr(storing, "_capturing", lambda _key: True)
    assert not storing.store(layer, *given)
    assert reasons() == ["they lie as none did before, and a CUDA graph is being captured"]
    monkeypatch.setattr(storing, "_capturing", lambda _key: False)
    assert storing.store(layer, *given)
    monkeypatch.setattr(storing, "_capturing", lambda _key: True)
    assert storing.store(layer, *given)


def test_steps_are_counted_once_something_is_served(monkeypatch):
    """A worker whose stores are all the engine's shows that it does not use the patch."""
    monkeypatch.setattr(storing, "_genesis_hits", {"PN530": 0})
    storing.store(Layer(key_fp8=False), *arguments())
    storing.count()
    assert storing._genesis_hits["PN530"] == 0
    storing.store(Layer(), *arguments())
    storing.count()
    assert storing._genesis_hits["PN530"] == 1


def test_layers_are_warmed_by_the_backend_s_own_way():
    """With tokens of padding, which write nothing; what is no layer of this backend is left alone."""
    came = []
    cache = torch.zeros(3, 16, 2, K8V4(DIM).slot_bytes, dtype=torch.uint8)

    class Impl(Layer):
        num_heads, num_kv_heads = 4, 2

        def do_kv_cache_update(self, _layer, key, value, cache, slots):
            came.append((key.stride(), slots.tolist()))
            views = (one.view(-1, 2, DIM) for one in (key, value))
            assert storing.store(self, *views, cache, slots)

    layers = {
        "one": types.SimpleNamespace(impl=Impl(), kv_cache=cache),
        "without a cache": types.SimpleNamespace(impl=Impl(), kv_cache=torch.tensor([])),
        "other": types.SimpleNamespace(),
    }
    storing.warm_up(
        types.SimpleNamespace(
            compilation_config=types.SimpleNamespace(static_forward_context=layers),
            model_config=types.SimpleNamespace(dtype=torch.bfloat16),
        )
    )
    assert came == [((8 * DIM, 1), [-1, -1])]
    assert not cache.any()
