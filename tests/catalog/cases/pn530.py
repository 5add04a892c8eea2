"""Steps of new keys and values: who stores them, and are their bytes in the cache what they have to be?

The real ``do_kv_cache_update`` is called as the engine does, with keys and values that lie in a wider tensor and a cache
that lies as the release's own. ``launches`` counts who stored: the kernel that the patch brings, or the engine's.
``wrong`` are tokens whose slots hold other bytes than plain steps make, ``spoiled`` the bytes of the cache that are no
token's and changed. ``captured`` is a step of a kind that came before, ``captured_at_once`` one whose tensors lie like none
before, both while a CUDA graph is captured.
"""

import contextlib
import sys

ID = "PN530"
STUBS = (
    "both GPU kernels, each by plain steps over what the real one is given; the layer, as far as its backend reads it; "
    "Triton; whether a CUDA graph is being captured; what the worker runs to warm up"
)
VERDICTS = dict.fromkeys(("0.24.0", "0.30.0", "0.32.0", "0.33.0"), "applied") | {"0.23.0": "version"}
ENGINE, OURS = "engine", "tq_store"
# tokens, and what is special
STEPS = {
    "one_token": (1, {}),
    "drafts": (12, {}),
    "a_prompt": (3000, {}),
    "padding": (8, {"padded": 5}),
    "padding_alone": (8, {"padded": 8}),
    "int32_slots": (12, {"slots": "int32"}),
    "float16": (12, {"dtype": "float16"}),
    "captured": (12, {"capturing": True}),
    "captured_at_once": (12, {"capturing": True, "dim": 128}),
    "another_layout": (12, {"value_packed_size": 34}),
    "keys_of_4_bits": (12, {"key_fp8": False}),
    "without_the_kernel": (12, {}),
    "a_kernel_that_is_wrong": (12, {}),
    "a_kernel_that_fails": (12, {}),
}
ASIDE = (
    "captured_at_once", "another_layout", "keys_of_4_bits", "without_the_kernel", "a_kernel_that_is_wrong",
    "a_kernel_that_fails",
)  # fmt: skip
"""What the engine stores."""
RIGHT = {"wrong": [], "spoiled": 0}
GREEN = {
    **{name: RIGHT | {"launches": {OURS: 1}} for name in STEPS},
    **{name: RIGHT | {"launches": {ENGINE: 1}} for name in ASIDE},
    "compiled_before_graphs": ["store", "engine's warm-up"],
    "imported": True,
    "why_not": [
        "it does not run here: RuntimeError: no kernel image",
        "it writes wrong bytes here (4 rows, 1 warps): 1 key bytes differ",
        "keys are not stored as FP8",
        "the cache has another layout: 34 value bytes at head_dim 64, but the kernel writes 36",
        "the kernel cannot be loaded: no triton",
        "they lie as none did before, and a CUDA graph is being captured",
    ],
    "steps_counted": 1,
}
RED = {
    **{name: RIGHT | {"launches": {ENGINE: 1}} for name in STEPS},
    "compiled_before_graphs": ["engine's warm-up"],
    "imported": False,
    "why_not": [],
    "steps_counted": 0,
}
HEADS, KV_HEADS, PAGE = 4, 2, 16


def observe(version):
    import torch
    from vllm.v1.attention.backends import turboquant_attn

    turboquant_attn._use_fp8_e4b15 = lambda _device: False
    carried = getattr(turboquant_attn, "genesis_store", None)
    head_major = tuple(map(int, version.split("."))) >= (0, 26)
    with torch.inference_mode():
        seen = {name: Step(turboquant_attn, carried, name, head_major).seen() for name in STEPS}
        seen["compiled_before_graphs"] = Step(turboquant_attn, carried, "drafts", head_major).warmed()
        seen["steps_counted"] = counted(turboquant_attn, carried)
    seen["imported"] = any(name.startswith("vllm.genesis.carried.store") for name in sys.modules)
    seen["why_not"] = sorted(carried._genesis_skips["PN530"]) if carried else []
    return seen


def counted(module, carried):
    """What a step's metadata notes, which is built also where a captured graph is replayed."""
    from stand_ins import Named, common_metadata

    before = carried._genesis_hits["PN530"] if carried else 0
    builder = Named(None, reorder_batch_threshold=1, genesis_route=None)
    module.TurboQuantMetadataBuilder.build(builder, 0, common_metadata([(11, 1), (30, 1)]))
    return (carried._genesis_hits["PN530"] if carried else 0) - before


class Step:
    """New keys and values, a layer and its cache, and the kernels that write to it."""

    def __init__(self, module, carried, name, head_major):
        import torch

        torch.manual_seed(7)
        self.module, self.carried, self.name, self.head_major = module, carried, name, head_major
        self.tokens, self.special = STEPS[name]
        self.dim = self.special.get("dim", 64)
        dtype = getattr(torch, self.special.get("dtype", "bfloat16"))
        wide = torch.randn(self.tokens + 3, (HEADS + 2 * KV_HEADS) * self.dim).to(dtype)
        self.key, self.value = wide.split([HEADS * self.dim, *[KV_HEADS * self.dim] * 2], 1)[1:]
        pages = 2 + self.tokens // PAGE
        self.slots = torch.randperm(pages * PAGE)[: self.tokens].to(getattr(torch, self.special.get("slots", "int64")))
        self.slots[self.tokens - self.special.get("padded", 0) :] = -1
        self.cache = torch.randint(256, (pages, PAGE, KV_HEADS, self.dim * 3 // 2 + 4), dtype=torch.uint8)
        if head_major:
            self.cache = self.cache.transpose(1, 2).contiguous()
        self.launches = []
        module.triton_turboquant_store = self.engines
        self.impl = self.layer()
        self.serve()

    def layer(self):
        from stand_ins import Named
        from vllm.model_executor.layers.quantization.turboquant.config import TurboQuantConfig

        impl = object.__new__(self.module.TurboQuantAttentionImpl)
        impl.num_heads, impl.num_kv_heads, impl.head_size = HEADS, KV_HEADS, self.dim
        config = TurboQuantConfig.from_cache_dtype("turboquant_k8v4", self.dim)
        names = ("value_packed_size", "key_fp8")
        impl.tq_config = Named(config, **{name: self.special[name] for name in names if name in self.special})
        impl._soa_store = False
        impl._ensure_on_device = lambda layer, device: None
        return impl

    def serve(self):
        """Put the kernel in, if the patch brings one. The step that is captured has come before, or not."""
        if self.carried is None:
            return
        self.carried._DECIDED.clear()
        self.carried.launching = self.launching
        self.carried._capturing = lambda _key: False
        if self.name == "captured":
            self.store()
            self.launches.clear()
        self.carried._capturing = lambda _key: self.special.get("capturing", False)

    def launching(self):
        from stand_ins import Named
        from vllm.genesis.kernels.tq_store.plan import Shape

        if self.name == "without_the_kernel":
            raise ImportError("no triton")
        return Named(None, shape_of=lambda key: Shape(1, key.shape[2], 4), tq_store=self.ours)

    def store(self):
        """As the engine does: some rows behind the step's tokens, and slots for these alone."""
        from stand_ins import Anything

        self.impl.do_kv_cache_update(Anything(), self.key, self.value, self.cache, self.slots)

    def seen(self):
        by_tokens = self.cache.transpose(1, 2) if self.head_major else self.cache
        before = by_tokens.clone()
        self.store()
        key, value = (one[: self.tokens].view(self.tokens, KV_HEADS, self.dim) for one in (self.key, self.value))
        right, wrong = packed(key, value), []
        for token, slot in enumerate(self.slots.tolist()):
            if slot >= 0:
                at = slot // PAGE, slot % PAGE
                wrong += [] if bool((by_tokens[at] == right[token]).all()) else [token]
                before[at] = by_tokens[at]
        return {
            "wrong": wrong,
            "spoiled": int((before != by_tokens).sum()),
            "launches": {name: self.launches.count(name) for name in sorted(set(self.launches))},
        }

    def warmed(self):
        """What a worker does ahead of its graphs, up to the engine's own warm-up."""
        import torch
        from stand_ins import Anything, Named
        from vllm.v1.worker import gpu_worker

        done = []

        def engines_warm_up(_worker):
            done.append("engine's warm-up")
            raise StopIteration

        gpu_worker.kernel_warmup = engines_warm_up
        layer = Named(Anything(), impl=self.impl, kv_cache=self.cache)
        config = Named(
            None,
            compilation_config=Named(None, mode=None, static_forward_context={"layer": layer, "other": Named(None)}),
            model_config=Named(None, dtype=torch.bfloat16),
        )
        runner = Named(None, maybe_remove_all_loras=lambda _: None, lora_config=None)
        worker = Named(None, vllm_config=config, model_runner=runner)
        names = ("_compile_or_warm_up_model", "compile_or_warm_up_model")
        method = next(name for name in names if hasattr(gpu_worker.Worker, name))
        before = self.cache.clone()
        with contextlib.suppress(StopIteration):
            getattr(gpu_worker.Worker, method)(worker)
        assert bool((before == self.cache).all())
        return ["store"] * len(self.launches) + done

    def ours(self, key, value, cache, slots, *, fp8_format, plan=None):
        """The kernel of the patch."""
        assert fp8_format == "e4nv"
        if self.name == "a_kernel_that_fails":
            raise RuntimeError("no kernel image\nfor this device")
        written(key, value, cache, slots)
        if plan is None:
            assert cache.data_ptr() == self.cache.data_ptr()
            self.launches.append(OURS)
        elif self.name == "a_kernel_that_is_wrong":
            cache[0, 0, 0, 5] ^= 1

    def engines(self, key, value, kv_cache, slot_mapping, *_, **__):
        self.launches.append(ENGINE)
        written(key, value, kv_cache, slot_mapping)


def written(key, value, cache, slots):
    """The cache once all tokens that are no padding are in their slots."""
    for token, slot in enumerate(slots.tolist()):
        if slot >= 0:
            cache[slot // PAGE, slot % PAGE] = packed(key[token], value[token])


def packed(key, value):
    """FP8 keys, nibbles between the least and the greatest value, scale and least value."""
    import torch

    value = value.float()
    low, high = value.amin(-1, keepdim=True), value.amax(-1, keepdim=True)
    scale = ((high - low) / 15).clamp(min=1e-8)
    nibbles = ((value - low) / scale + 0.5).int().clamp(0, 15)
    pairs = (nibbles[..., ::2] + 16 * nibbles[..., 1::2]).to(torch.uint8)
    ends = torch.cat([scale, low], -1).half().view(torch.uint8)
    return torch.cat([key.float().to(torch.float8_e4m3fn).view(torch.uint8), pairs, ends], -1)
