"""One vLLM of the benchmark ``turboquant``: boots, then measures what each line of its standard input asks for."""

from __future__ import annotations

import json
import os
import random
import sys
import time

NEW, COMPARED, TURNS = 96, 48, 2
VOCABULARY = 4096


def main() -> int:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever the engine prints is no answer
    asked = json.loads(sys.argv[1])
    began = time.monotonic()
    llm = engine(**asked)
    import vllm  # noqa: PLC0415 - loading it is part of the boot

    boot = {"seconds": round(time.monotonic() - began, 1), "vllm": vllm.__file__, "version": vllm.__version__}
    print(f"ready {json.dumps(boot)}", file=answers, flush=True)
    for line in sys.stdin:
        try:
            found = measure(llm, **json.loads(line))
        except Exception as error:
            found = {"error": repr(error)}
        print(f"measured {json.dumps(found)}", file=answers, flush=True)
    return 0


def engine(model: str, cache: str, drafts: int, graphs: str, *, every_layer: bool):
    from vllm import LLM  # noqa: PLC0415
    from vllm.model_executor.layers.quantization.turboquant.config import TurboQuantConfig  # noqa: PLC0415

    if every_layer:  # the engine leaves the first two and the last two to flash attention
        TurboQuantConfig.get_boundary_skip_layers = staticmethod(lambda *_, **__: [])
    step, more = drafts + 1, {}
    if drafts:
        lookup = {"prompt_lookup_max": 4, "prompt_lookup_min": 1}
        more["speculative_config"] = {"method": "ngram", "num_speculative_tokens": drafts, **lookup}
    return LLM(
        model=model, skip_tokenizer_init=True, kv_cache_dtype=cache, max_model_len=140_000, max_num_seqs=4,
        gpu_memory_utilization=0.22, kv_cache_memory_bytes=6 << 30, max_logprobs=20, disable_log_stats=False, seed=0,
        compilation_config={"cudagraph_capture_sizes": [step, 4 * step], "cudagraph_mode": graphs},
        cudagraph_metrics=True, **more,
    )  # fmt: skip


def prompt_of(context: int, kind: str, turn: int) -> list[int]:
    """One that counts through the vocabulary, as the model does, or random tokens."""
    made = random.Random(context + turn)
    return [(at + turn) % VOCABULARY if kind == "counting" else made.randrange(VOCABULARY) for at in range(context)]


def measure(llm, context: int, kind: str, requests: int = 1) -> dict:
    """Times, tokens and log-probabilities after prompts that are cached by then; of fresh ones the time alone."""
    if kind == "fresh":
        return fresh(llm, context, requests)
    prompts = [prompt_of(context, kind, turn) for turn in range(requests)]
    first, _ = timed(llm, prompts, 1)
    timed(llm, prompts, NEW + 1)
    before, times = counters(llm), []
    for _ in range(TURNS):
        whole, _ = timed(llm, prompts, NEW + 1)
        alone, _ = timed(llm, prompts, 1)
        times.append((whole - alone) / NEW * 1e3)
    after = counters(llm)
    _, out = timed(llm, prompts, COMPARED, logprobs=8)
    spent = {name: after[name] - before[name] for name in after}
    accepted = spent.get("accepted_tokens", 0) / TURNS / requests
    steps = NEW - accepted
    return {
        "first_call_s": round(first, 2),
        "ms_a_token": round(min(times), 3),
        "ms_a_token_all": [round(one, 3) for one in times],
        "ms_a_step": round(min(times) * NEW / steps, 3),
        "tokens_a_step": round(NEW / steps, 2),
        "counted": spent,
        "tokens": list(out.token_ids),
        "logprobs": [{str(token): round(one.logprob, 5) for token, one in step.items()} for step in out.logprobs],
    }


def fresh(llm, context: int, requests: int) -> dict:
    """Milliseconds a prompt up to its first token, where nothing of it is cached."""
    times = []
    for turn in range(TURNS + 1):
        first = (1 + turn) * 1_000_000  # other tokens than those of any other measurement
        prompts = [prompt_of(context, "random", first + one) for one in range(requests)]
        spent, _ = timed(llm, prompts, 1)
        times.append(round(spent / requests * 1e3, 2))
    return {"ms_a_prompt": min(times[1:]), "ms_a_prompt_all": times}


def timed(llm, prompts: list[list[int]], count: int, logprobs: int | None = None):
    from vllm import SamplingParams  # noqa: PLC0415

    params = SamplingParams(temperature=0, max_tokens=count, ignore_eos=True, logprobs=logprobs, detokenize=False)
    began = time.perf_counter()
    outputs = llm.generate([{"prompt_token_ids": one} for one in prompts], params, use_tqdm=False)
    return time.perf_counter() - began, outputs[0].outputs[0]


def counters(llm) -> dict[str, float]:
    """Drafts and what was accepted of them, so far."""
    begin = "vllm:spec_decode_num_"
    found = {one.name: getattr(one, "value", None) for one in llm.get_metrics()}
    return {
        name.removeprefix(begin): value
        for name, value in found.items()
        if name.startswith(begin) and isinstance(value, int | float)
    }


if __name__ == "__main__":
    sys.exit(main())
