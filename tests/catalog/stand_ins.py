"""What cases about attention give the engine's code in place of the engine: fields alone, a step, a worker, plain sums."""

from __future__ import annotations

import contextlib


class Named:
    """Some fields of an object, and the rest of another."""

    def __init__(self, behind, **fields):
        self.__dict__.update(fields, _behind=behind)

    def __getattr__(self, name):
        if name.startswith("__") or self._behind is None:
            raise AttributeError(name)
        return getattr(self._behind, name)


class Anything:
    """A layer of which the code under test only passes fields on."""

    def __getattr__(self, name):
        return None


def common_metadata(requests):
    """What the engine tells every backend of a step, in which each (cached, new) is a request on one page."""
    import torch
    from vllm.v1.attention.backend import CommonAttentionMetadata

    lengths = torch.tensor([cached + new for cached, new in requests], dtype=torch.int32)
    starts = torch.tensor([0] + [new for _, new in requests]).cumsum(0).to(torch.int32)
    return CommonAttentionMetadata(
        query_start_loc=starts,
        query_start_loc_cpu=starts.clone(),
        seq_lens=lengths,
        num_reqs=len(requests),
        num_actual_tokens=int(starts[-1]),
        max_query_len=max(new for _, new in requests),
        max_seq_len=int(lengths.max()),
        # One page a request, so that a row of the table says whose cache is read.
        block_table_tensor=torch.arange(len(requests), dtype=torch.int32).view(-1, 1),
        slot_mapping=torch.arange(int(starts[-1])),
        seq_lens_cpu_upper_bound=lengths.clone(),
    )


def attend(queries, keys, values):
    """Plain causal attention of the last ``len(queries)`` tokens over all keys."""
    import torch

    new, context = len(queries), len(keys)
    seen = torch.ones(new, context, dtype=torch.bool).tril(context - new)
    q, k, v = (part.transpose(0, 1) for part in (queries, keys, values))
    return torch.nn.functional.scaled_dot_product_attention(
        q, k, v, attn_mask=seen, scale=queries.shape[-1] ** -0.5, enable_gqa=True
    ).transpose(0, 1)


def resolved(support, query_len):
    """Which CUDA graphs the engine captures by default for steps of ``query_len`` tokens, where a backend takes these."""
    from inspect import signature

    from vllm.config.compilation import CompilationConfig, CompilationMode, CUDAGraphMode

    config = Named(
        Anything(),
        cudagraph_mode=CUDAGraphMode.FULL_AND_PIECEWISE,
        mode=CompilationMode.VLLM_COMPILE,
        splitting_ops_contain_attention=lambda: True,
        adjust_cudagraph_sizes_for_spec_decode=lambda *_: None,
    )
    resolve = CompilationConfig.resolve_cudagraph_mode_and_sizes
    more = {"use_v2_model_runner": False} if "use_v2_model_runner" in signature(resolve).parameters else {}
    return resolve(config, support, "a backend", query_len, **more).name


def held(config, make):
    """Whether all the memory of P67 was taken before there was a builder, which ``make`` makes."""
    import torch
    from vllm.genesis.carried import ahead, scratch

    def places():
        return {name: part.data_ptr() for pool in scratch._POOLS.values() for name, part in pool.items()}

    scratch._POOLS.clear()
    ahead.reserve(config, torch.device("cpu"))
    before = places()
    make()
    return before == places() and "out" in before


def measured(taking, fixed=None):
    """What the worker does to measure how much memory is left, up to the run that it measures.

    ``taking`` is the module by which a patch takes memory of its own, or None; ``fixed`` the size of the cache where it
    was given, and the run only compiles.
    """
    from vllm.v1.worker import gpu_worker

    done = []
    if taking is not None:
        taking.reserve = lambda config, device: done.append("memory taken")
    gpu_worker.memory_profiling = lambda *_, **__: contextlib.nullcontext()
    gpu_worker.set_current_vllm_config = lambda *_, **__: contextlib.nullcontext()
    gpu_worker.maybe_apply_startup_plan = lambda worker: None

    def run(**_):
        done.append("engine run")
        raise StopIteration

    worker = Named(
        Anything(),
        cache_config=Named(None, kv_cache_memory_bytes=fixed),
        model_runner=Named(None, profile_run=run, model_memory_usage=0),
        _scoped_allocator_max_split=lambda **_: contextlib.nullcontext(),
    )
    with contextlib.suppress(StopIteration):
        gpu_worker.Worker.determine_available_memory(worker)
    return done
