"""A second request with the prefix of the first waits until that one ends, and is then admitted with a hit."""

ID = "P88"
STUBS = "the worker (its answers are made up); configuration, scheduler and cache are real"
VERDICTS = {
    "0.23.0": "applied",
    "0.24.0": "applied",
    "0.30.0": "superseded",
    "0.32.0": "superseded",
    "0.33.0": "superseded",
}
GREEN = {
    "first admitted": {"requests": 1, "queries": 40, "hits": 0},
    "all": {"requests": 2, "queries": 144, "hits": 32},
    "steps waited": 9,
    "answers": [10, 4],
}
RED = {**GREEN, "all": {"requests": 11, "queries": 1080, "hits": 320}}


def observe(version):
    import small_engine

    scheduler = small_engine.scheduler(small_engine.config(budget=128, blocks=8, caching=True), stats=True)
    first = small_engine.request("first", 40, tokens=10)
    second = small_engine.request("second", [*range(100, 132), *range(72)], tokens=4)
    counted, seen, waited = [], {}, 0

    def run(request):
        output = scheduler.schedule()
        stats = scheduler.kv_cache_manager.prefix_cache_stats
        counted.append({"requests": stats.requests, "queries": stats.queries, "hits": stats.hits})
        scheduler.kv_cache_manager.make_prefix_cache_stats()
        scheduler.update_from_output(
            output, small_engine.answered(output, {name: [5] for name in output.num_scheduled_tokens})
        )
        return output.num_scheduled_tokens

    scheduler.add_request(first)
    run(first)
    seen["first admitted"] = counted[0]
    scheduler.add_request(second)
    while scheduler.has_unfinished_requests():
        waited += "second" not in run(second) and second.num_computed_tokens == 0
        assert len(counted) < 50
    seen["all"] = {key: sum(one[key] for one in counted) for key in counted[0]}
    seen["steps waited"] = waited
    seen["answers"] = [first.num_output_tokens, second.num_output_tokens]
    return seen
