"""One vLLM of the benchmark ``lm_head``: boots, then measures what each line of its standard input asks for."""

from __future__ import annotations

import json
import os
import sys
import time

from turboquant_engine import prompt_of, timed

CONTEXT, NEW, TURNS = 64, 128, 3


def main() -> int:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever the engine prints is no answer
    began = time.monotonic()
    llm = engine(sys.argv[1])
    import vllm  # noqa: PLC0415 - loading it is part of the boot

    boot = {"seconds": round(time.monotonic() - began, 1), "vllm": vllm.__file__, "version": vllm.__version__}
    print(f"ready {json.dumps(boot)}", file=answers, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            found = times(llm, asked["batch"]) if "batch" in asked else likeliest(llm, asked["prefixes"])
        except Exception as error:
            found = {"error": repr(error)}
        print(f"measured {json.dumps(found)}", file=answers, flush=True)
    return 0


def engine(model: str):
    from vllm import LLM  # noqa: PLC0415

    return LLM(
        model=model, skip_tokenizer_init=True, max_model_len=1024, max_num_seqs=64, max_num_batched_tokens=4096,
        gpu_memory_utilization=0.22, kv_cache_memory_bytes=2 << 30, max_logprobs=20, disable_log_stats=True, seed=0,
        compilation_config={"cudagraph_capture_sizes": [1, 8]},
    )  # fmt: skip


def times(llm, batch: int) -> dict:
    """Milliseconds a token of a batch of prompts that are cached by then; the first token is left out."""
    prompts = [prompt_of(CONTEXT, "random", turn) for turn in range(batch)]
    timed(llm, prompts, NEW + 1)
    found = []
    for _ in range(TURNS):
        whole, _ = timed(llm, prompts, NEW + 1)
        alone, _ = timed(llm, prompts, 1)
        found.append(round((whole - alone) / NEW * 1e3, 4))
    return {"ms_a_token": found}


def likeliest(llm, prefixes: int) -> dict:
    """Log-probabilities of the 20 likeliest next tokens after each prefix."""
    from vllm import SamplingParams  # noqa: PLC0415

    params = SamplingParams(temperature=0, max_tokens=1, logprobs=20, detokenize=False)
    prompts = [{"prompt_token_ids": prompt_of(CONTEXT, "random", turn)} for turn in range(prefixes)]
    outputs = llm.generate(prompts, params, use_tqdm=False)
    return {
        "told": [{str(token): one.logprob for token, one in each.outputs[0].logprobs[0].items()} for each in outputs]
    }


if __name__ == "__main__":
    sys.exit(main())
