"""A scheduler of the engine, real but for the worker that it would feed: for cases that need one.

Runs in the pin's Python, where ``server.py`` puts this folder on the path; a case imports it inside ``observe``.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

OPT = {
    "architectures": ["OPTForCausalLM"],
    "model_type": "opt",
    "hidden_size": 64,
    "ffn_dim": 128,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "max_position_embeddings": 8192,
    "vocab_size": 512,
    "word_embed_proj_dim": 64,
    "torch_dtype": "float32",
}


def config(*, drafts=0, budget=64, seqs=8, block=16, blocks=64, caching=False, length=256):
    """The engine's configuration for a model of one small layer, with ``drafts`` tokens of ngram speculation."""
    from vllm.config import CacheConfig, DeviceConfig, ModelConfig, SchedulerConfig, SpeculativeConfig, VllmConfig

    with tempfile.TemporaryDirectory() as folder:
        os.environ["VLLM_CACHE_ROOT"] = folder  # releases do not read one another's notes on models
        os.environ["VLLM_USE_V2_MODEL_RUNNER"] = "0"  # the second one wants Triton
        Path(folder, "config.json").write_text(json.dumps(OPT))
        model = ModelConfig(model=folder, skip_tokenizer_init=True, max_model_len=length, dtype="float32")
        speculative = None
        if drafts:
            speculative = SpeculativeConfig(
                method="ngram", num_speculative_tokens=drafts, prompt_lookup_max=2, prompt_lookup_min=1
            )
        cache = CacheConfig(block_size=block, enable_prefix_caching=caching)
        cache.num_gpu_blocks = blocks
        scheduler = SchedulerConfig(
            max_num_seqs=seqs,
            max_num_batched_tokens=budget,
            max_model_len=length,
            is_encoder_decoder=False,
            enable_chunked_prefill=True,
            async_scheduling=False,
        )
        return VllmConfig(
            model_config=model,
            cache_config=cache,
            scheduler_config=scheduler,
            speculative_config=speculative,
            device_config=DeviceConfig(device="cpu"),
        )


def scheduler(vllm_config, *, asynchronous=False, second_runner=False, stats=False):
    """A scheduler over one group of attention layers; it takes the word for which model runner it feeds."""
    import torch
    from vllm.v1.core.sched.async_scheduler import AsyncScheduler
    from vllm.v1.core.sched.scheduler import Scheduler
    from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
    from vllm.v1.structured_output import StructuredOutputManager

    block = vllm_config.cache_config.block_size
    vllm_config.scheduler_config.async_scheduling = asynchronous
    spec = FullAttentionSpec(block_size=block, num_kv_heads=1, head_size=1, dtype=torch.float32)
    made = (AsyncScheduler if asynchronous else Scheduler)(
        vllm_config=vllm_config,
        kv_cache_config=KVCacheConfig(
            num_blocks=vllm_config.cache_config.num_gpu_blocks,
            kv_cache_tensors=[],
            kv_cache_groups=[KVCacheGroupSpec(["layer"], spec)],
        ),
        structured_output_manager=StructuredOutputManager(vllm_config),
        block_size=block,
        log_stats=stats,
    )
    made.use_v2_model_runner = second_runner
    return made


def request(name, prompt, *, tokens=16, block=16, sampling=None):
    """A request for ``tokens`` tokens after a prompt of as many, or of these, tokens."""
    from vllm.sampling_params import SamplingParams
    from vllm.utils.hashing import sha256
    from vllm.v1.core import kv_cache_utils
    from vllm.v1.request import Request

    if not hasattr(kv_cache_utils, "NONE_HASH"):  # at random: once for all requests
        kv_cache_utils.init_none_hash(sha256)
    return Request(
        request_id=name,
        prompt_token_ids=list(range(100, 100 + prompt)) if isinstance(prompt, int) else list(prompt),
        sampling_params=sampling or SamplingParams(max_tokens=tokens, ignore_eos=True),
        pooling_params=None,
        block_hasher=kv_cache_utils.get_request_block_hasher(block, sha256),
    )


def answered(output, tokens):
    """What the worker would answer to a scheduler's output: ``tokens[name]`` for each request that has some."""
    from vllm.v1.outputs import ModelRunnerOutput

    names = list(output.num_scheduled_tokens)
    return ModelRunnerOutput(
        req_ids=names,
        req_id_to_index={name: n for n, name in enumerate(names)},
        sampled_token_ids=[tokens.get(name, []) for name in names],
        logprobs=None,
        prompt_logprobs_dict={},
        pooler_output=[],
    )


def hybrid(*, drafter=False, marked=False, cached=5, mamba=True, attention=True):
    """The cache of a model with attention and Mamba layers (or one of the two) that holds a prompt's first blocks, and its hashes."""
    import inspect

    import torch
    from vllm.v1.core.kv_cache_coordinator import get_kv_cache_coordinator
    from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec, MambaSpec

    prompt = request("r", 80)
    full = FullAttentionSpec(block_size=16, num_kv_heads=1, head_size=1, dtype=torch.float32)
    groups = [KVCacheGroupSpec(["attention"], full, is_eagle_group=marked)] if attention else []
    if mamba:
        state = MambaSpec(block_size=16, shapes=((1,),), dtypes=(torch.float32,), mamba_cache_mode="align")
        groups.append(KVCacheGroupSpec(["mamba"], state))
    wanted = {
        "kv_cache_config": KVCacheConfig(num_blocks=64, kv_cache_tensors=[], kv_cache_groups=groups),
        "max_model_len": 256,
        "max_num_batched_tokens": 256,
        "max_in_flight_tokens": 256,
        "use_eagle": drafter,
        "enable_caching": True,
        "enable_kv_cache_events": False,
        "dcp_world_size": 1,
        "pcp_world_size": 1,
        "scheduler_block_size": 16,
        "hash_block_size": 16,
    }
    takes = inspect.signature(get_kv_cache_coordinator).parameters
    coordinator = get_kv_cache_coordinator(**{name: value for name, value in wanted.items() if name in takes})
    for group, one in enumerate(groups):
        pool = coordinator.block_pool
        pool.cache_full_blocks(
            request=prompt,
            blocks=pool.get_new_blocks(cached),
            num_cached_blocks=0,
            num_full_blocks=cached,
            block_size=one.kv_cache_spec.block_size,
            kv_cache_group_id=group,
        )
    return coordinator, prompt.block_hashes
