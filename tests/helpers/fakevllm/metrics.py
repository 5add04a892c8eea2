"""The /metrics text: vLLM's families, names and labels for what the engine last reported."""

from typing import Any

_COUNTERS = {
    "vllm:prompt_tokens_total": ("prompt", "Number of prefill tokens processed."),
    "vllm:generation_tokens_total": ("generation", "Number of generation tokens processed."),
    "vllm:prefix_cache_queries_total": ("queries", "Prefix cache queries, in terms of number of queried tokens."),
    "vllm:prefix_cache_hits_total": ("hits", "Prefix cache hits, in terms of number of cached tokens."),
}
_SPECULATION = {
    "vllm:spec_decode_num_drafts_total": ("drafts", "Number of spec decoding drafts."),
    "vllm:spec_decode_num_draft_tokens_total": ("draft_tokens", "Number of draft tokens."),
    "vllm:spec_decode_num_accepted_tokens_total": ("accepted", "Number of accepted tokens."),
}
_GAUGES = {
    "vllm:num_requests_running": ("running", "Number of requests in model execution batches."),
    "vllm:num_requests_waiting": ("waiting", "Number of requests waiting to be processed."),
    "vllm:kv_cache_usage_perc": ("kv", "KV-cache usage. 1 means 100 percent usage."),
}
_TTFT = "0.001 0.005 0.01 0.02 0.04 0.06 0.08 0.1 0.25 0.5 0.75 1.0 2.5 5.0 7.5 10.0 20.0 40.0 80.0 160.0 640.0 2560.0"
_ITL = "0.01 0.025 0.05 0.075 0.1 0.15 0.2 0.3 0.4 0.5 0.75 1.0 2.5 5.0 7.5 10.0 20.0 40.0 80.0"
LATENCIES = {"ttft": _TTFT, "itl": _ITL}
_HISTOGRAMS = {
    "vllm:time_to_first_token_seconds": ("ttft", "Histogram of time to first token in seconds."),
    "vllm:inter_token_latency_seconds": ("itl", "Histogram of inter-token latency in seconds."),
}
COUNTED = ("iterations", "iteration_tokens", "prompt", "generation", "successes", "lengths", "queries", "hits")
EMPTY = dict.fromkeys((*COUNTED, "running", "waiting", "kv"), 0)
FROZEN = (*COUNTED, *LATENCIES, "drafts", "draft_tokens", "accepted")


class Histogram:
    """Observations under bounds, cumulated as Prometheus has them."""

    def __init__(self, bounds: str) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds.split()) + 1)
        self.sum = 0.0

    def add(self, value: float) -> None:
        """Observe."""
        self.sum += value
        for at, bound in enumerate([*map(float, self.bounds.split()), float("inf")]):
            self.counts[at] += value <= bound

    def copy(self) -> "Histogram":
        """As it is now."""
        same = Histogram(self.bounds)
        same.counts, same.sum = list(self.counts), self.sum
        return same


def render(stats: dict[str, Any], model: str) -> str:
    """The exposition text."""
    labels = f'engine="0",model_name="{model}"'
    lines: list[str] = []
    counters = _COUNTERS | (_SPECULATION if "drafts" in stats else {})
    for kind, families in (("gauge", _GAUGES), ("counter", counters)):
        for name, (key, text) in families.items():
            lines += [f"# HELP {name.removesuffix('_total')} {text}", f"# TYPE {name.removesuffix('_total')} {kind}"]
            lines.append(f"{name}{{{labels}}} {float(stats[key])}")
    lines.append("# TYPE vllm:request_success_total counter")
    for reason in ("stop", "length", "abort", "error"):
        count = stats[{"stop": "successes", "length": "lengths"}[reason]] if reason in {"stop", "length"} else 0
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
    for name, (key, text) in _HISTOGRAMS.items():
        lines += _histogram(name, text, stats.get(key) or Histogram(LATENCIES[key]), labels, model)
    return "\n".join(lines) + "\n"


def _histogram(name: str, text: str, one: Histogram, labels: str, model: str) -> list[str]:
    lines = [f"# HELP {name} {text}", f"# TYPE {name} histogram"]
    for bound, count in zip([*one.bounds.split(), "+Inf"], one.counts, strict=True):
        lines.append(f'{name}_bucket{{engine="0",le="{bound}",model_name="{model}"}} {float(count)}')
    return [*lines, f"{name}_count{{{labels}}} {float(one.counts[-1])}", f"{name}_sum{{{labels}}} {one.sum}"]
