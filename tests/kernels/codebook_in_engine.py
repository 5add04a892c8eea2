"""Layers of a patched backend over keys from a codebook, one scene after the other. Run by the test beside it.

A scene has layers, by the kind of their cache and head_dim, and something odd. Triton's interpreter is slow: the trial is
only asked about, but in the scene where it fails, and what is launched to be compiled is noted and not run.
"""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path

import torch
import triton
import triton.language as tl
import vllm.triton_utils as utils

utils.triton, utils.tl, utils.HAS_TRITON = triton, tl, True  # without a card vLLM makes do with names alone

from stand_ins import Named, common_metadata
from vllm.genesis.carried import codebook_keys, fp8_keys, scratch, trial
from vllm.genesis.kernels.tq_codebook import launch as codebook_launch
from vllm.genesis.kernels.tq_codebook.pack import slots
from vllm.genesis.kernels.tq_codebook.reference import reference as codebook_reference
from vllm.genesis.kernels.tq_verify import launch as fp8_launch
from vllm.genesis.kernels.tq_verify.pack import slots as fp8_slots
from vllm.genesis.kernels.tq_verify.reference import reference as fp8_reference
from vllm.model_executor.layers.quantization.turboquant.config import TurboQuantConfig
from vllm.v1.attention.backends import turboquant_attn as backend
from vllm.v1.attention.ops import triton_turboquant_decode, triton_turboquant_store

CPU, HEADS, KV_HEADS, PAGE, PAGES, NEW = torch.device("cpu"), 4, 2, 16, 10, 3
LENGTHS = (70, 5)
HEADS_FIRST = "kv_cache.transpose(1, 2)" in Path(backend.__file__).read_text()
CENTROIDS, REFUTED, P67 = backend.get_centroids, trial.refuted, backend.genesis_turboquant
for module in (backend, triton_turboquant_decode, triton_turboquant_store):
    module._use_fp8_e4b15 = lambda _device: 0


class Layer(torch.nn.Module):
    """One of the engine's, of which there is an attention, a cache, and a builder of metadata."""

    def __init__(self, kind, dim, odd):
        super().__init__()
        config = TurboQuantConfig.from_cache_dtype(f"turboquant_{kind}", dim)
        self.kind, self.dim, self.impl = kind, dim, object.__new__(backend.TurboQuantAttentionImpl)
        self.slot = config.slot_size_aligned
        impl = self.impl
        impl.num_heads, impl.num_kv_heads, impl.num_kv_groups, impl.head_size = HEADS, KV_HEADS, 2, dim
        impl.scale, impl.max_num_kv_splits, impl.sinks, impl.sliding_window = dim**-0.5, 4, None, None
        impl.tq_config = Named(config, norm_correction=False) if odd == "plain" else config
        impl._mse_bytes, impl._val_data_bytes = -(-dim * (config.key_mse_bits or 8) // 8), dim // 2
        impl._n_centroids, impl._soa_store, impl._use_flydsl = config.n_centroids, False, False
        self.kv_cache, page = self.held(odd)
        self.spec = Named(
            None, block_size=PAGE, page_size_bytes=page, num_kv_heads=KV_HEADS, head_size=dim,
            sliding_window=8 if odd == "window" else None,
        )  # fmt: skip

    def held(self, odd):
        """The cache as the backend is given it, and what its spec says of a page: bytes between pages count."""
        size = PAGE * KV_HEADS * self.slot
        page = size + {"padded by halves": 2, "laid otherwise": 36}.get(odd, 0)
        heads_first = (odd == "laid otherwise") != HEADS_FIRST
        places = (KV_HEADS, PAGE) if heads_first else (PAGE, KV_HEADS)
        cache = torch.zeros(PAGES, page, dtype=torch.uint8)[:, :size].unflatten(1, (*places, self.slot))
        return cache if heads_first == HEADS_FIRST else cache.transpose(1, 2), page

    def get_kv_cache_spec(self, _):
        return self.spec

    def seen(self):
        """The cache as kernels are given it."""
        return self.kv_cache.transpose(1, 2) if HEADS_FIRST else self.kv_cache

    def fill(self, table):
        """New keys and values for all places, by the engine's own store where that can write them on a CPU, and there."""
        keys, values = torch.randn(2, sum(LENGTHS), KV_HEADS * self.dim)
        at = [torch.arange(length) for length in LENGTHS]
        places = torch.cat([table[n].long()[k // PAGE] * PAGE + k % PAGE for n, k in enumerate(at)])
        if self.kind != "k8v4" and self.kv_cache.is_contiguous():
            self.impl.do_kv_cache_update(self, keys, values, self.kv_cache, places)
            return
        given = [one.view(-1, KV_HEADS, self.dim) for one in (keys, values)]
        fp8 = self.kind == "k8v4"
        packed = fp8_slots(*given, "e4nv") if fp8 else slots(*given, self.kind, self._tq_centroids, self._tq_PiT)
        self.seen()[places // PAGE, places % PAGE] = packed

    def right(self, query, table, lens, starts):
        given = query, self.seen(), table, lens, starts
        if self.kind == "k8v4":
            return fp8_reference(*given, scale=self.impl.scale, fp8_format="e4nv")
        named = {"kind": self.kind, "codebook": self._tq_centroids, "rotation": self._tq_PiT}
        return codebook_reference(*given, **named, scale=self.impl.scale)

    def theirs(self, query, table, lens, new):
        """The engine's own kernel, which takes each new token for a sequence."""
        config = self.impl.tq_config
        return backend.triton_turboquant_decode_attention(
            query=query, kv_cache=self.seen(), block_table=table.repeat_interleave(new, 0),
            seq_lens=(lens[:, None] - new + 1 + torch.arange(new)).flatten().to(torch.int32),
            Pi=self._tq_Pi, centroids=self._tq_centroids, scale=self.impl.scale, mse_bits=config.key_mse_bits,
            key_packed_size=config.key_packed_size, value_quant_bits=4, norm_correction=True, PiT=self._tq_PiT,
            max_num_kv_splits=1,
        )  # fmt: skip


class Scene:
    """An engine with some layers, each a group of its own, in which launches are told apart and noted."""

    def __init__(self, layers, odd):
        scratch._POOLS.clear()
        P67._genesis_skips["P67"].clear()
        backend.get_centroids = (lambda *given: CENTROIDS(*given) + 0.01) if odd == "lopsided" else CENTROIDS
        if odd == "no codebook":
            del backend.get_centroids
        self.odd, self.layers = odd, {kind: Layer(kind, dim, odd) for kind, dim in layers.items()}
        self.launched, self.cuts, self.allocated, self.wrong, self.unlike, self.tried = [], {}, [], [], [], set()
        trial.refuted = REFUTED if odd == "wrong" else self.asked
        codebook_keys.launching = lambda: Named(codebook_launch, tq_codebook=self.noted(codebook_launch.tq_codebook))
        fp8_keys.launching = lambda: Named(fp8_launch, tq_verify=self.noted(fp8_launch.tq_verify))
        self.config = Named(
            None,
            speculative_config=Named(None, num_speculative_tokens=NEW - 1, parallel_drafting=False),
            use_v2_model_runner=False,
            device_config=Named(None, device="cpu"),
            parallel_config=Named(None, decode_context_parallel_size=1, use_ubatching=False, tensor_parallel_size=1),
            scheduler_config=Named(None, max_num_seqs=len(LENGTHS)),
            model_config=Named(None, dtype=torch.float32, max_model_len=512),
            compilation_config=Named(None, static_forward_context=self.layers),
        )

    def asked(self, _launch, operation, *_):
        self.tried.add((operation.name, operation.setting.layout.head_dim, operation.setting.cache_strides))

    def noted(self, kernel):
        def launch(query, cache, table, lens, starts, *, out, scratch, **named):
            whose = [kind for kind, one in self.layers.items() if shares(cache, one.kv_cache)]
            cut = (named["max_query_len"], named["plan"])
            if whose and not int(lens.max()):
                self.cuts.setdefault(*whose, set()).add(cut)
                return out
            out = kernel(query, cache, table, lens, starts, out=out, scratch=scratch, **named)
            if not whose:  # the trial's
                return out.mul_(1.1)
            self.launched.append([*whose, cut[0]])
            if not {one.data_ptr() for one in (out, *vars(scratch).values())} <= set(places().values()):
                self.allocated += whose
            assert whose == ["k8v4"] or named["rotation"] is self.layers[whose[0]]._tq_PiT
            return out

        return launch

    def play(self):
        """Both numbers of new tokens in each layer, in turn; what was laid out before must serve throughout."""
        made = {kind: self.builder(kind) for kind in self.layers}
        held = places()
        graphs = {
            backend.TurboQuantMetadataBuilder.get_cudagraph_support(self.config, one.spec).name
            for one in self.layers.values()
        }
        P67.warm_up(self.config)
        for new in (1, NEW) if all(one.genesis_route for one in made.values()) else ():
            for kind, builder in made.items():
                self.step(kind, builder, new)
        return {
            "launched": self.launched,
            "wrong": self.wrong,
            "unlike_the_engine": self.unlike,
            "skips": sorted(P67._genesis_skips["P67"]),
            "compiled": [kind for kind, one in made.items() if self.cuts.get(kind) == cuts_of(one)],
            "allocated": self.allocated,
            "tried": [kind for kind, one in self.layers.items() if self.was_tried(one)],
            "graphs": sorted(graphs),
            "stayed": held == places(),
            "memory": sorted(held),
        }

    def was_tried(self, layer):
        """Over a cache that lies as the layer's does."""
        name = "tq_verify" if layer.kind == "k8v4" else "tq_codebook"
        return (name, layer.dim, layer.seen().stride()[:3]) in self.tried

    def builder(self, kind):
        return backend.TurboQuantMetadataBuilder(self.layers[kind].spec, [kind], self.config, CPU)

    def step(self, kind, builder, new):
        layer, table = self.layers[kind], torch.randperm(PAGES).to(torch.int32).view(len(LENGTHS), -1)
        layer.impl._ensure_on_device(layer, CPU)
        layer.fill(table)
        query, common = (
            torch.randn(len(LENGTHS) * new, HEADS, layer.dim),
            common_metadata([(k - new, new) for k in LENGTHS]),
        )
        common.block_table_tensor = table
        cached = query[:, :KV_HEADS]  # stored already
        got = layer.impl.forward(layer, query, cached, cached, layer.kv_cache, builder.build(0, common)).clone()
        got = got.view(query.shape)
        lens, starts = torch.tensor(LENGTHS, dtype=torch.int32), torch.arange(0, len(query) + 1, new, dtype=torch.int32)
        if apart(got, layer.right(query, table, lens, starts)):
            self.wrong.append([kind, new])
        if new == NEW and not self.odd and kind != "k8v4" and apart(got, layer.theirs(query, table, lens, new)):
            self.unlike.append([kind, new])


def apart(got, right):
    return not (got - right).norm() / right.norm() < 1e-2


def shares(one, other):
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


def places():
    """Where the memory of all layers is."""
    return {name: one.data_ptr() for name, one in scratch._POOLS.get(CPU, {}).items()}


def cuts_of(builder):
    """All that a batch may be cut to."""
    plans = builder.genesis_route._plans.items() if builder.genesis_route else ()
    return {(tokens, plan) for (_, tokens, *_), plan in plans}


def played(layers, odd):
    try:
        return Scene(layers, odd).play()
    except Exception:
        return {"raised": traceback.format_exc()}


torch.manual_seed(3)
with torch.inference_mode():
    print(json.dumps({name: played(*scene) for name, scene in json.loads(sys.argv[1]).items()}))
