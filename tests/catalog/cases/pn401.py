"""A new prompt of 40 tokens beside a request that adds 8 to 16 cached ones: does each see all that it should?

The metadata is made by the real builder and read by the real ``forward`` and ``_prefill_attention``; the answer of
each token is compared with plain attention over the request's whole context. ``launches`` counts calls of the
kernel that takes several requests at once.
"""

import itertools

ID = "PN401"
STUBS = (
    "the two GPU kernels (flash attention over the batch; decoding from the quantised cache), each by plain attention "
    "over what the real one is given; the cache itself, which holds keys and values as they are; Triton"
)
VERDICTS = dict.fromkeys(("0.23.0", "0.24.0", "0.30.0", "0.32.0", "0.33.0"), "applied")
GREEN = {
    "new_and_continued": {"wrong": [], "launches": 0},
    "decoded_new_and_continued": {"wrong": [], "launches": 0},
    "without_lengths_on_cpu": {"wrong": [], "launches": 0},
    "new_only": {"wrong": [], "launches": 1},
    "new_and_padding": {"wrong": [], "launches": 1},
    "one_new": {"wrong": [], "launches": 1},
    "longest_is_continued": {"wrong": [], "launches": 0},
    "no_flash_attention": {"wrong": [], "launches": 0},
}
RED = GREEN | {
    "new_and_continued": {"wrong": [1], "launches": 1},
    "decoded_new_and_continued": {"wrong": [2], "launches": 1},
    "without_lengths_on_cpu": {"wrong": [1], "launches": 1},
}
HEADS, KV_HEADS, DIM = 4, 2, 8
# (cached, new) of each request
BATCHES = {
    "new_and_continued": [(0, 40), (16, 8)],
    "decoded_new_and_continued": [(11, 1), (0, 40), (16, 8)],
    "without_lengths_on_cpu": [(0, 40), (16, 8)],
    "new_only": [(0, 40), (0, 12)],
    "new_and_padding": [(0, 40), (0, 12), (0, 0)],
    "one_new": [(0, 40)],
    "longest_is_continued": [(0, 12), (64, 8)],
    "no_flash_attention": [(0, 40), (16, 8)],
}


def observe(version):
    from vllm.v1.attention.backends import turboquant_attn

    return {name: Batch(turboquant_attn, name).seen() for name in BATCHES}


class Batch:
    """Requests with their keys and values, and the kernels that read them."""

    def __init__(self, module, name):
        import torch

        torch.manual_seed(7)
        self.module, self.name, self.lengths, self.launches = module, name, BATCHES[name], 0
        self.keys = [torch.randn(cached + new, KV_HEADS, DIM) for cached, new in self.lengths]
        self.values = [torch.randn(cached + new, KV_HEADS, DIM) for cached, new in self.lengths]
        self.queries = [torch.randn(new, HEADS, DIM) for _, new in self.lengths]

    def seen(self):
        import torch

        def of_new(parts):
            return torch.cat([part[cached:] for part, (cached, _) in zip(parts, self.lengths, strict=True)])

        module = self.module
        module._HAS_FLASH_ATTN = self.name != "no_flash_attention"
        module.triton_turboquant_decode_attention = self.decode
        impl = object.__new__(module.TurboQuantAttentionImpl)
        impl.num_heads, impl.num_kv_heads, impl.head_size, impl.scale = HEADS, KV_HEADS, DIM, DIM**-0.5
        impl.tq_config, impl.max_num_kv_splits = Anything(), 32
        impl._soa_store = False
        impl._ensure_on_device = lambda layer, device: None
        impl._flash_attn_varlen = self.flash
        impl._decode_attention = lambda q, cache, meta, *_: self.decode(q, cache, meta.block_table, meta.seq_lens)
        queries, cache = torch.cat(self.queries), torch.zeros(1, 1, 1, 1)
        got = impl.forward(Anything(), queries, of_new(self.keys), of_new(self.values), cache, self.metadata())
        got = got.view(-1, HEADS, DIM).split([new for _, new in self.lengths])
        return {"wrong": [n for n in range(len(got)) if not self.is_right(n, got[n])], "launches": self.launches}

    def metadata(self):
        import torch
        from vllm.v1.attention.backend import CommonAttentionMetadata

        lengths = torch.tensor([cached + new for cached, new in self.lengths], dtype=torch.int32)
        starts = torch.tensor([0] + [new for _, new in self.lengths]).cumsum(0).to(torch.int32)
        common = CommonAttentionMetadata(
            query_start_loc=starts,
            query_start_loc_cpu=starts.clone(),
            seq_lens=lengths,
            num_reqs=len(self.lengths),
            num_actual_tokens=int(starts[-1]),
            max_query_len=max(new for _, new in self.lengths),
            max_seq_len=int(lengths.max()),
            # One block a request, so that a row of the table says whose cache is read.
            block_table_tensor=torch.arange(len(self.lengths)).view(-1, 1),
            slot_mapping=torch.arange(int(starts[-1])),
            seq_lens_cpu_upper_bound=None if self.name == "without_lengths_on_cpu" else lengths.clone(),
        )
        builder = object.__new__(self.module.TurboQuantMetadataBuilder)
        builder.reorder_batch_threshold = 1
        return builder.build(0, common)

    def flash(self, q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k):
        import torch

        bounds = cu_seqlens_q.tolist()
        assert bounds == cu_seqlens_k.tolist()
        self.launches += len(bounds) > 2 or len(self.lengths) == 1
        spans = [slice(*pair) for pair in itertools.pairwise(bounds)]
        return torch.cat([attend(q[at], k[at], v[at]) for at in spans])

    def decode(self, query, kv_cache, block_table, seq_lens, *_, **__):
        import torch

        rows = zip(query, block_table[:, 0].tolist(), seq_lens.tolist(), strict=True)
        return torch.cat([attend(q[None], self.keys[n][:length], self.values[n][:length]) for q, n, length in rows])

    def is_right(self, number, got):
        import torch

        return torch.allclose(got, attend(self.queries[number], self.keys[number], self.values[number]), atol=1e-5)


class Anything:
    """A layer and a configuration of which the code under test only passes fields on."""

    def __getattr__(self, name):
        return None


def attend(queries, keys, values):
    """Plain causal attention of the last ``len(queries)`` tokens over all keys."""
    import torch

    new, context = len(queries), len(keys)
    seen = torch.ones(new, context, dtype=torch.bool).tril(context - new)
    q, k, v = (part.transpose(0, 1) for part in (queries, keys, values))
    return torch.nn.functional.scaled_dot_product_attention(
        q, k, v, attn_mask=seen, scale=DIM**-0.5, enable_gqa=True
    ).transpose(0, 1)
