"""Two requests in the worker's batch, with and without a list of allowed tokens, and with a penalty."""

ID = "PN381"
STUBS = "none: the worker's own batch and metadata, on the CPU"
VERDICTS = dict.fromkeys(("0.23.0", "0.24.0", "0.30.0", "0.32.0", "0.33.0"), "applied")
GREEN = {
    "masked": {"mask rows": 2, "output rows": 2},
    "penalised": {"mask rows": 0, "output rows": 2},
    "both": {"mask rows": 2, "output rows": 2},
    "neither": {"mask rows": 0, "output rows": 0},
}
RED = {**GREEN, "masked": {"mask rows": 2, "output rows": 0}}


def observe(version):
    return {
        "masked": _rows(allowed_token_ids=[1, 2]),
        "penalised": _rows(presence_penalty=1.0),
        "both": _rows(allowed_token_ids=[1, 2], presence_penalty=1.0),
        "neither": _rows(),
    }


def _rows(**asked):
    import inspect

    import torch
    from vllm.sampling_params import SamplingParams
    from vllm.v1.worker import gpu_input_batch

    wanted = {
        "max_num_reqs": 4,
        "max_model_len": 64,
        "max_num_batched_tokens": 64,
        "max_num_blocks_per_req": [4],
        "device": torch.device("cpu"),
        "pin_memory": False,
        "vocab_size": 32,
        "block_sizes": [16],
        "kernel_block_sizes": [16],
    }
    if hasattr(gpu_input_batch, "PIN_MEMORY"):
        gpu_input_batch.PIN_MEMORY = False
    takes = inspect.signature(gpu_input_batch.InputBatch).parameters
    batch = gpu_input_batch.InputBatch(**{name: value for name, value in wanted.items() if name in takes})
    for name in "ab":
        sampling = SamplingParams(temperature=1.0, **(asked if name == "a" else {}))
        state = {
            "req_id": name,
            "prompt_token_ids": [1, 2, 3],
            "mm_features": [],
            "sampling_params": sampling,
            "generator": None,
            "block_ids": ([1],),
            "num_computed_tokens": 3,
            "output_token_ids": [4],
        }
        batch.add_request(gpu_input_batch.CachedRequestState(**state))
    metadata = batch._make_sampling_metadata()
    mask = metadata.allowed_token_ids_mask
    return {"mask rows": 0 if mask is None else len(mask), "output rows": len(metadata.output_token_ids)}
