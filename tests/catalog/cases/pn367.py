"""What graphs are estimated to take, in MiB, when the free memory moves as it is told to at each capture."""

import contextlib
from types import SimpleNamespace

ID = "PN367"
STUBS = (
    "the card's free memory and its calls; the capture of a graph, which here only moves that memory; the dispatcher "
    "and the cache it is profiled with. The arithmetic and its loop are the real function"
)
VERDICTS = dict.fromkeys(("0.23.0", "0.24.0", "0.30.0", "0.32.0", "0.33.0"), "applied")
GREEN = {
    # the first capture took -300: 4 graphs of 20 each, no more and no less
    "freed_at_first": 80,
    "one_graph_that_freed": 1,
    "all_freed": 4,
    "one_mode_freed": 150 + 20 + 30,
    # controls
    "as_it_should_be": 120 + 3 * 20,
    "two_modes": 200 + 2 * 10 + 30,
    "no_graphs": 0,
}
RED = GREEN | {"freed_at_first": -300 + 3 * 20, "one_graph_that_freed": -300, "all_freed": -300 + 3}
MIB = 1 << 20
# of each mode: the number of graphs, and what the first and the second take
MODES = {
    "freed_at_first": {"FULL": (4, -300, 20)},
    "one_graph_that_freed": {"FULL": (1, -300)},
    "all_freed": {"FULL": (4, -300, -300)},
    "one_mode_freed": {"PIECEWISE": (3, -40, 10), "FULL": (2, 150, 30)},
    "as_it_should_be": {"FULL": (4, 120, 20)},
    "two_modes": {"PIECEWISE": (3, 90, 10), "FULL": (2, 200, 30)},
    "no_graphs": {},
}


def observe(version):
    import torch
    from vllm.v1.worker import gpu_model_runner as module

    class NoWrappers:
        _all_instances = ()
        clear_all_graphs = staticmethod(lambda: None)

    module.CUDAGraphWrapper = module.BreakableCUDAGraphWrapper = NoWrappers
    module.set_current_vllm_config = module.graph_capture = lambda *_, **__: contextlib.nullcontext()
    module.set_cudagraph_capturing_enabled = lambda _: None
    module.current_platform = SimpleNamespace(graph_pool_handle=object, is_rocm=lambda: False)
    torch.accelerator.synchronize = torch.accelerator.empty_cache = lambda: None
    return {name: estimate(torch, module, modes) for name, modes in MODES.items()}


def estimate(torch, module, modes):
    free = [10_000 * MIB]
    torch.cuda.mem_get_info = torch.accelerator.get_memory_info = lambda: (free[0], 0)

    def capture(desc, cudagraph_runtime_mode, profile_seq_lens):
        free[0] -= desc.takes * MIB

    def described(graphs, *takes):
        return [SimpleNamespace(num_tokens=2, takes=takes[n] if n < len(takes) else None) for n in range(graphs)]

    runner = SimpleNamespace(
        vllm_config=None,
        device=None,
        lora_config=None,
        max_model_len=8,
        max_num_tokens=8,
        cudagraph_dispatcher=SimpleNamespace(
            get_capture_descs=lambda: [(module.CUDAGraphMode[name], described(*mode)) for name, mode in modes.items()],
            cudagraph_keys={},
        ),
        _init_minimal_kv_cache_for_profiling=lambda: None,
        _cleanup_profiling_kv_cache=lambda: None,
        _create_encoder_cudagraph_manager=lambda: None,
        _freeze_gc=contextlib.nullcontext,
        _warmup_and_capture=capture,
        maybe_remove_all_loras=lambda _: None,
    )
    return module.GPUModelRunner.profile_cudagraph_memory(runner) / MIB
