"""Requests with three drafts each: how many launches verify them, and against which tokens?

The metadata is made by the real builder and read by the real ``forward``. Each answer is compared with plain attention
over the request's whole context. ``launches`` counts calls of each kernel: the one that the patch brings, the engine's
own, and flash attention. ``captured`` does what a CUDA graph does: it keeps the launches of a step that was made up,
and makes them again once the tensors on the device hold other lengths. ``measured`` is the engine measuring its memory, ``imported``
whether anything of the patch was: without it the release's own code is all that there is.
"""

import itertools
import sys

ID = "P67"
STUBS = (
    "the three GPU kernels, each by plain attention over what the real one is given; the cache's content, which is "
    "looked up by the first page of a request; the engine's configuration, as far as the builder reads it; Triton; what "
    "the worker runs to measure its memory"
)
UNATTESTED = {"": "its device code in CUDA is no Python, and known by its file"}
VERDICTS = dict.fromkeys(("0.24.0", "0.30.0", "0.32.0", "0.33.0"), "applied") | {"0.23.0": "version"}
ENGINE = "engine"
ASIDE = (
    "another_layout", "without_the_kernel", "a_kernel_that_is_wrong", "a_kernel_that_fails", "micro_batches",
    "a_cache_shared_out", "a_sliding_window",
)  # fmt: skip
"""Where all stays with the engine's own path."""
GREEN = {
    "drafts": {"wrong": [], "launches": {"tq_verify": 1}},
    "drafts_of_any_number": {"wrong": [], "launches": {"tq_verify": 1}},
    "decoded": {"wrong": [], "launches": {"tq_verify": 1}},
    "drafts_and_prompts": {"wrong": [], "launches": {"tq_verify": 1, "flash": 1}},
    "captured": {"wrong": [], "launches": {"tq_verify": 1}},
    "more_drafts_than_served": {"wrong": [], "launches": {ENGINE: 2}},
    "decoded_beside_such_drafts": {"wrong": [], "launches": {"tq_verify": 1, ENGINE: 1}},
    "parallel_drafts": {"wrong": [], "launches": {"tq_verify": 1}},
    **{name: {"wrong": [], "launches": {ENGINE: 3}} for name in ASIDE},
    "compiled_before_a_request": [1, 4],
    "graphs_of_pieces": sorted({*ASIDE, "more_drafts_than_served", "decoded_beside_such_drafts"}),
    "measured": ["memory taken", "engine run"],
    "not_measured": ["memory taken", "engine run"],
    "held_before_the_cache": True,
    "imported": True,
    "why_not": [
        "decoding: a sequence's cache is shared out to several ranks",
        "decoding: a sliding window of 8: the backend itself applies none, so neither does the kernel",
        "decoding: it answers wrong here (token-major, 1 x 1 query tokens): error 1.0e-01, allowed 1e-02",
        "decoding: it does not run here: RuntimeError: no kernel image",
        "decoding: micro-batches run beside each other, and would share one scratch",
        "decoding: the cache has another layout: 34 value bytes at head_dim 64, but the kernel reads 36",
        "decoding: the kernel cannot be loaded: no triton",
        "verifying 17 tokens a sequence: 17 query tokens a sequence: 1 to 16 are served",
    ],
    "steps_counted": 7,
}
RED = GREEN | {
    "drafts": {"wrong": [], "launches": {ENGINE: 3}},
    "drafts_of_any_number": {"wrong": [], "launches": {ENGINE: 3}},
    "decoded": {"wrong": [], "launches": {ENGINE: 1}},
    "drafts_and_prompts": {"wrong": [], "launches": {ENGINE: 2, "flash": 1}},
    "captured": {"wrong": [0, 1, 2], "launches": {"flash": 1}},
    "decoded_beside_such_drafts": {"wrong": [], "launches": {ENGINE: 2}},
    "parallel_drafts": {"wrong": [], "launches": {ENGINE: 2}},
    "compiled_before_a_request": [],
    "graphs_of_pieces": [],
    "measured": ["engine run"],
    "not_measured": ["engine run"],
    "held_before_the_cache": False,
    "imported": False,
    "why_not": [],
    "steps_counted": 0,
}
HEADS, KV_HEADS, DIM, PAGE = 4, 2, 64, 16
# (cached, new) of each request
BATCHES = {
    "drafts": [(11, 4), (30, 4), (5, 4)],
    "drafts_of_any_number": [(11, 4), (30, 2), (5, 3)],
    "decoded": [(11, 1), (30, 1), (5, 1)],
    "drafts_and_prompts": [(50, 4), (11, 4), (0, 40)],
    "captured": [(11, 4), (30, 4), (5, 4)],
    "more_drafts_than_served": [(11, 17), (30, 17)],
    "decoded_beside_such_drafts": [(11, 1), (30, 17)],
    "parallel_drafts": [(11, 9), (30, 9)],
    **{name: [(11, 4), (30, 4), (5, 4)] for name in ASIDE},
}
DRAFTS = {"more_drafts_than_served": 16, "decoded_beside_such_drafts": 16, "parallel_drafts": 8}


def observe(version):
    import torch
    from stand_ins import held, measured
    from vllm.v1.attention.backends import turboquant_attn

    turboquant_attn._HAS_FLASH_ATTN = True
    turboquant_attn._use_fp8_e4b15 = lambda _device: False
    carried = getattr(turboquant_attn, "genesis_turboquant", None)
    head_major = tuple(map(int, version.split("."))) >= (0, 26)
    with torch.inference_mode():
        seen = {name: Batch(turboquant_attn, carried, name, head_major).seen() for name in BATCHES}
        seen["graphs_of_pieces"] = sorted(name for name in BATCHES if seen[name].pop("pieces"))
        drafts = Batch(turboquant_attn, carried, "drafts", head_major)
        seen["compiled_before_a_request"] = drafts.compiled()
        seen["held_before_the_cache"] = held(drafts.config(), drafts.made) if carried else False
        seen["measured"] = measured(sys.modules.get("vllm.genesis.carried.ahead"))
        seen["not_measured"] = measured(sys.modules.get("vllm.genesis.carried.ahead"), fixed=2**30)
    seen["imported"] = any(name.startswith("vllm.genesis") for name in sys.modules)
    seen["why_not"] = sorted(carried._genesis_skips["P67"]) if carried else []
    seen["steps_counted"] = carried._genesis_hits["P67"] if carried else 0
    return seen


class Batch:
    """Requests with their keys and values, the engine's layer, and the kernels that read them."""

    def __init__(self, module, carried, name, head_major):
        import torch

        torch.manual_seed(7)
        self.module, self.carried, self.name, self.lengths = module, carried, name, BATCHES[name]
        self.keys = [torch.randn(cached + new, KV_HEADS, DIM) for cached, new in self.lengths]
        self.values = [torch.randn(cached + new, KV_HEADS, DIM) for cached, new in self.lengths]
        self.queries = [torch.randn(new, HEADS, DIM) for _, new in self.lengths]
        self.launches, self.cuts = [], []
        cache = torch.zeros(4, PAGE, KV_HEADS, DIM * 3 // 2 + 4, dtype=torch.uint8)
        self.cache = cache.transpose(1, 2) if head_major else cache
        module.triton_turboquant_decode_attention = self.decode
        self.impl = self.layer()
        self.serve()
        self.builder = self.made()

    def made(self):
        import torch

        return self.module.TurboQuantMetadataBuilder(self.spec(), ["layer"], self.config(), torch.device("cpu"))

    def layer(self):
        from stand_ins import Named
        from vllm.model_executor.layers.quantization.turboquant.config import TurboQuantConfig

        impl = object.__new__(self.module.TurboQuantAttentionImpl)
        impl.num_heads, impl.num_kv_heads, impl.head_size, impl.scale = HEADS, KV_HEADS, DIM, DIM**-0.5
        config = TurboQuantConfig.from_cache_dtype("turboquant_k8v4", DIM)
        impl.tq_config, impl.max_num_kv_splits = config, 32
        if self.name == "another_layout":
            impl.tq_config = Named(config, value_packed_size=34)
        impl._soa_store = impl._use_flydsl = False
        impl._ensure_on_device = lambda layer, device: None
        impl._flash_attn_varlen = self.flash
        return impl

    def serve(self):
        """Put the kernel in, if the patch brings one."""
        if self.carried is not None:
            from vllm.genesis.carried import fp8_keys, trial

            trial._TRIED.clear()
            fp8_keys.launching = self.launching

    def launching(self):
        if self.name == "without_the_kernel":
            raise ImportError("no triton")
        from dataclasses import dataclass

        import torch
        from stand_ins import Named
        from vllm.genesis.kernels.tq_verify.plan import Shape

        @dataclass
        class Scratch:
            part: torch.Tensor

        return Named(
            None,
            Scratch=Scratch,
            shape_of=lambda query, cache, batch, most: Shape(batch, KV_HEADS, 2, DIM, most, (9, 0), 4),
            scratch_for=lambda plan, query: Scratch(torch.empty(*query.shape, plan.splits, device=query.device)),
            tq_verify=self.verify,
        )

    def spec(self):
        from stand_ins import Named

        window = 8 if self.name == "a_sliding_window" else None
        return Named(
            None, block_size=PAGE, page_size_bytes=3200, num_kv_heads=KV_HEADS, head_size=DIM, sliding_window=window
        )

    def config(self):
        import torch
        from stand_ins import Anything, Named

        drafts, parallel = DRAFTS.get(self.name, 3), self.name == "parallel_drafts"
        layer = Named(Anything(), impl=self.impl, kv_cache=self.cache, get_kv_cache_spec=lambda _: self.spec())
        return Named(
            None,
            speculative_config=Named(None, num_speculative_tokens=drafts, parallel_drafting=parallel),
            use_v2_model_runner=False,
            device_config=Named(None, device="cpu"),
            parallel_config=Named(
                None,
                decode_context_parallel_size=2 if self.name == "a_cache_shared_out" else 1,
                use_ubatching=self.name == "micro_batches",
                tensor_parallel_size=1,
            ),
            scheduler_config=Named(None, max_num_seqs=3),
            model_config=Named(None, dtype=torch.float32, max_model_len=512),
            compilation_config=Named(None, static_forward_context={"layer": layer, "other": Named(None)}),
        )

    def seen(self):
        import torch
        from stand_ins import common_metadata, resolved

        support = self.module.TurboQuantMetadataBuilder.get_cudagraph_support(self.config(), self.spec())
        common = common_metadata(self.lengths)
        if self.name == "captured":
            metadata = self.builder.build_for_cudagraph_capture(common_metadata([(0, new) for _, new in self.lengths]))
            self.forward(metadata)
            metadata.seq_lens.copy_(common.seq_lens)
            got = torch.cat([launch() for _, launch in self.launches])
        else:
            got = self.forward(self.builder.build(0, common))
        names = [name for name, _ in self.launches]
        parts = got.view(-1, HEADS, DIM).split([new for _, new in self.lengths])
        return {
            "pieces": resolved(support, 4) == "PIECEWISE",
            "wrong": [n for n in range(len(parts)) if not self.is_right(n, parts[n])],
            "launches": {name: names.count(name) for name in sorted(set(names))},
        }

    def compiled(self):
        """The most query tokens a sequence of the kernels that are compiled before the first request."""
        if self.carried is not None:
            self.carried.warm_up(self.config())
        return sorted(set(self.cuts))

    def forward(self, metadata):
        import torch
        from stand_ins import Anything

        def of_new(parts):
            return torch.cat([part[cached:] for part, (cached, _) in zip(parts, self.lengths, strict=True)])

        return self.impl.forward(
            Anything(), torch.cat(self.queries), of_new(self.keys), of_new(self.values), self.cache, metadata
        )

    def launched(self, name, launch):
        self.launches.append((name, launch))
        return launch()

    def verify(self, query, cache, table, lens, starts, *, max_query_len, out, scale, fp8_format, **_):
        """The kernel of the patch: each sequence's last tokens against its whole cache."""
        if cache.data_ptr() != self.cache.data_ptr():  # a small one, to be tried on
            return self.tried(out, query, cache, table, lens, starts, scale=scale, fp8_format=fp8_format)
        if not int(lens.max()):  # nothing but to be compiled
            self.cuts.append(max_query_len)
            return out.zero_()
        from stand_ins import attend

        assert cache.shape[1:3] == (PAGE, KV_HEADS)

        def launch():
            spans = itertools.pairwise(starts.tolist())
            for (at, end), n, length in zip(spans, table[:, 0].tolist(), lens.tolist(), strict=True):
                assert end - at <= max_query_len
                known = max(length, end - at)  # a made-up step may say less than it asks
                out[at:end] = attend(query[at:end], self.keys[n][:known], self.values[n][:known])
            return out

        return self.launched("tq_verify", launch)

    def tried(self, out, *given, **options):
        from vllm.genesis.kernels.tq_verify.reference import reference

        if self.name == "a_kernel_that_fails":
            raise RuntimeError("no kernel image\nfor this device")
        return out.copy_(reference(*given, **options) * (1.1 if self.name == "a_kernel_that_is_wrong" else 1))

    def flash(self, q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k):
        import torch
        from stand_ins import attend

        def launch():
            spans = [slice(*pair) for pair in itertools.pairwise(cu_seqlens_q.tolist())]
            return torch.cat([attend(q[at], k[at], v[at]) for at in spans])

        return self.launched("flash", launch)

    def decode(self, query, kv_cache, block_table, seq_lens, *_, **__):
        import torch
        from stand_ins import attend

        def launch():
            rows = zip(query, block_table[:, 0].tolist(), seq_lens.tolist(), strict=True)
            return torch.cat([attend(q[None], self.keys[n][:length], self.values[n][:length]) for q, n, length in rows])

        return self.launched(ENGINE, launch)

    def is_right(self, number, got):
        import torch
        from stand_ins import attend

        return torch.allclose(got, attend(self.queries[number], self.keys[number], self.values[number]), atol=1e-5)
