"""A prefill, and steps 40 ms apart of one, four and no tokens."""

ID = "PN529"
STUBS = "none: the statistics of the engine, given times; a lane without adapters"
VERDICTS = dict.fromkeys(("0.23.0", "0.24.0", "0.30.0", "0.32.0", "0.33.0"), "applied")
RED = {
    "one token": [0.04],
    "four tokens": [0.04],
    "no token": [0.04],
    "added up": 0.12,
    "samples": 3,
    "first token": 1,
    "generated": 6,
}
GREEN = {**RED, "four tokens": [0.01] * 4, "samples": 6}


def observe(version):
    from vllm.v1.engine import EngineCoreOutput
    from vllm.v1.metrics.stats import IterationStats, RequestStateStats

    stats, of_request, now, seen = IterationStats(), RequestStateStats(arrival_time=0.0), 100.0, {}

    def step(tokens, *, prefill=False):
        before = len(stats.inter_token_latencies_iter)
        output = EngineCoreOutput(request_id="r", new_token_ids=[5] * tokens)
        stats.update_from_output(output, now, prefill, of_request, None, None)
        return [round(one, 6) for one in stats.inter_token_latencies_iter[before:]]

    step(1, prefill=True)
    for name, tokens in (("one token", 1), ("four tokens", 4), ("no token", 0)):
        now += 0.04
        seen[name] = step(tokens)
    times = stats.inter_token_latencies_iter
    return {
        **seen,
        "added up": round(sum(times), 6),
        "samples": len(times),
        "first token": len(stats.time_to_first_tokens_iter),
        "generated": of_request.num_generation_tokens,
    }
