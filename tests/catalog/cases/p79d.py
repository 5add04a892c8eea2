"""A worker that numbers the tokens it makes: a hole or a repetition in the numbers is a lost or a doubled token.

Once the prefix cache is cleared under way, with drafts of which the worker takes some; once a request is preempted for
want of blocks, and its neighbour ends in the next step. The register of defects knew of the second alone, by the
counter that it leaves behind; two deep, as on one card, that does no harm. The first does, on any card.
"""

import itertools

ID = "P79d"
STUBS = "the worker (it numbers its tokens) and the depth of the pipeline; configuration, scheduler and cache are real"
VERDICTS = {
    "0.23.0": "applied",
    "0.24.0": "applied",
    "0.30.0": "superseded",
    "0.32.0": "superseded",
    "0.33.0": "superseded",
}
GREEN = {
    "cleared, no drafts": [],
    "cleared, drafts taken": [],
    "cleared, one draft taken": [],
    "cleared, drafts refused": [],
    "preempted, two deep": [],
    "preempted, three deep": [],
}
RED = {
    **GREEN,
    "cleared, drafts taken": [[25, 34]],
    "cleared, one draft taken": [[13, 18]],
    "cleared, drafts refused": [[7, 10]],
    "preempted, three deep": [[19, 18]],
}


def observe(version):
    return {
        "cleared, no drafts": _breaks(clear=8),
        "cleared, drafts taken": _breaks(clear=8, drafts=3, taken=3),
        "cleared, one draft taken": _breaks(clear=8, drafts=3, taken=1),
        "cleared, drafts refused": _breaks(clear=8, drafts=3),
        "preempted, two deep": _breaks(first=19, blocks=5),
        "preempted, three deep": _breaks(first=18, blocks=5, deep=3),
    }


def _breaks(*, drafts=0, taken=0, clear=None, first=40, blocks=64, deep=2):
    """Where the second request's numbers break off: the number that was due, and the one that came."""
    import small_engine

    config = small_engine.config(drafts=drafts, budget=128, blocks=blocks)
    scheduler = small_engine.scheduler(config, asynchronous=True, second_runner=True)
    requests = [small_engine.request("a", 14, tokens=first), small_engine.request("b", 14, tokens=40)]
    for request in requests:
        scheduler.add_request(request)
    made, flying = {}, []
    for step in range(200):
        if step == clear:
            scheduler.reset_prefix_cache(reset_running_requests=True)
        output = scheduler.schedule()
        for new in output.scheduled_new_reqs:  # a resumed request is a new one, that brings its tokens along
            made[new.req_id] = len(new.prefill_token_ids) - 14
        answers = {}
        for name in output.num_scheduled_tokens:
            more = 1 + min(taken, len(output.scheduled_spec_decode_tokens.get(name, ())))
            answers[name] = list(range(made[name], made[name] + more))
            made[name] += more
        if answers:
            flying.append((output, answers))
        if flying and (len(flying) == deep or not answers):
            done, told = flying.pop(0)
            scheduler.update_from_output(done, small_engine.answered(done, told))
        if not scheduler.has_unfinished_requests():
            break
    else:
        return "the engine hangs"
    assert all(request.num_preemptions for request in requests[1:])
    numbers = list(requests[1].output_token_ids)
    return [[one + 1, other] for one, other in itertools.pairwise(numbers) if other != one + 1]
