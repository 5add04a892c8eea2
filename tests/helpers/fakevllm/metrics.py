"""The /metrics text: vLLM's families, names and labels for what the engine last reported."""

from typing import Any

_COUNTERS = {
    "vllm:prompt_tokens_total": ("prompt", "Number of prefill tokens processed."),
    "vllm:generation_tokens_total": ("generation", "Number of generation tokens processed."),
}
_GAUGES = {
    "vllm:num_requests_running": ("running", "Number of requests in model execution batches."),
    "vllm:num_requests_waiting": ("waiting", "Number of requests waiting to be processed."),
    "vllm:kv_cache_usage_perc": ("kv", "KV-cache usage. 1 means 100 percent usage."),
}
COUNTED = ("iterations", "iteration_tokens", "prompt", "generation", "successes")
EMPTY = dict.fromkeys((*COUNTED, "running", "waiting", "kv"), 0)


def render(stats: dict[str, Any], model: str) -> str:
    """The exposition text."""
    labels = f'engine="0",model_name="{model}"'
    lines = []
    for kind, families in (("gauge", _GAUGES), ("counter", _COUNTERS)):
        for name, (key, text) in families.items():
            lines += [f"# HELP {name.removesuffix('_total')} {text}", f"# TYPE {name.removesuffix('_total')} {kind}"]
            lines.append(f"{name}{{{labels}}} {float(stats[key])}")
    lines.append("# TYPE vllm:request_success_total counter")
    for reason in ("stop", "length", "abort", "error"):
        count = stats["successes"] if reason == "stop" else 0
        lines.append(
            f'vllm:request_success_total{{engine="0",finished_reason="{reason}",model_name="{model}"}} {float(count)}'
        )
    lines.append("# TYPE vllm:iteration_tokens_total histogram")
    for bound in ("1.0", "8.0", "128.0", "2048.0", "16384.0", "+Inf"):
        lines.append(
            f'vllm:iteration_tokens_total_bucket{{engine="0",le="{bound}",model_name="{model}"}} {float(stats["iterations"])}'
        )
    lines.append(f"vllm:iteration_tokens_total_count{{{labels}}} {float(stats['iterations'])}")
    lines.append(f"vllm:iteration_tokens_total_sum{{{labels}}} {float(stats['iteration_tokens'])}")
    return "\n".join(lines) + "\n"
