"""Three requests and room for two: the third is left out for some steps, and then scheduled again.

Placeholders are only as good as what the worker holds: the first runner holds drafts of the step before, the second
those of every request. Real drafts, which the synchronous scheduler is told, are worth keeping.
"""

ID = "P79c"
STUBS = "the worker (its answers are made up); configuration, scheduler and cache are real"
VERDICTS = dict.fromkeys(("0.23.0", "0.24.0", "0.30.0", "0.32.0", "0.33.0"), "applied")
KEPT = {
    "second runner, back": [["c", [-1, -1, -1]]],
    "synchronous, back": [["c", [7, 7, 7]]],
}
RED = {
    "back": [["c", [-1, -1, -1]]],
    "scheduled in a row": [["a", [-1, -1, -1]], ["b", [-1, -1, -1]]],
    "answers": {"a": 6, "b": 6, "c": 12},
    **KEPT,
}
GREEN = {**RED, "back": [["c", None]]}


def observe(version):
    steps, lengths = _run(asynchronous=True)
    second, _ = _run(asynchronous=True, second=True)
    synchronous, _ = _run(asynchronous=False)
    return {
        "back": _first(steps, "c"),
        "scheduled in a row": steps[1],
        "answers": lengths,
        "second runner, back": _first(second, "c"),
        "synchronous, back": _first(synchronous, "c"),
    }


def _first(steps, name):
    """What the first step after the prompt that has the request schedules."""
    return next(step for step in steps[1:] if name in dict(step))


def _run(*, asynchronous, second=False):
    """What each step schedules, as (request, drafts), and how many tokens each request was given."""
    import small_engine
    from vllm.v1.outputs import DraftTokenIds

    config = small_engine.config(drafts=3, budget=8)
    scheduler = small_engine.scheduler(config, asynchronous=asynchronous, second_runner=second)
    requests = [small_engine.request(name, 2, tokens=tokens) for name, tokens in (("a", 6), ("b", 6), ("c", 12))]
    for request in requests:
        scheduler.add_request(request)
    steps, flying = [], []
    while scheduler.has_unfinished_requests():
        output = scheduler.schedule()
        steps.append([[name, output.scheduled_spec_decode_tokens.get(name)] for name in output.num_scheduled_tokens])
        flying.append(output)
        if len(flying) > asynchronous:
            done = flying.pop(0)
            drafts = {name: len(done.scheduled_spec_decode_tokens.get(name, ())) for name in done.num_scheduled_tokens}
            answer = small_engine.answered(done, {name: [5] * (1 + count) for name, count in drafts.items()})
            scheduler.update_from_output(done, answer)
            if not asynchronous:
                scheduler.update_draft_token_ids(DraftTokenIds(list(drafts), [[7, 7, 7] for _ in drafts]))
        assert len(steps) < 50
    return steps, {request.request_id: request.num_output_tokens for request in requests}
