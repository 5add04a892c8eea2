"""A step that accepts `reasoning </think> answer`, a schema for the answer, and drafts in which reasoning ends.

The grammar is xgrammar's, for the answer `ab*c`; its tokens are single letters, END is `</think>`.
"""

ID = "P62"
STUBS = (
    "the worker, and a reasoning parser without a tokenizer (the engine's base class, given two token ids); scheduler, "
    "structured output, xgrammar and its masks are real"
)
VERDICTS = {
    "0.23.0": "applied",
    "0.24.0": "applied",
    "0.30.0": "superseded",
    "0.32.0": "superseded",
    "0.33.0": "superseded",
}
A, B, C, X, START, END = ord("a"), ord("b"), ord("c"), ord("x"), 299, 300
FREE = "all"
LAST = {"masks": [FREE] * 4, "drafts": [X, X, X], "ended": True, "next drafts": [A, B], "then": ["a", "bc", "bc"]}
NEVER = {**LAST, "ended": False, "next drafts": [A, B, X], "then": [FREE] * 4}
BEFORE = {**LAST, "masks": ["bc"] * 4, "drafts": [B, B, B], "next drafts": [B], "then": ["bc", "bc"]}
GREEN = {
    "second of four": {
        **LAST,
        "masks": [FREE, FREE, "a", "bc"],
        "drafts": [X, END, A],
        "next drafts": [B],
        "then": ["bc", "bc"],
    },
    "forbidden draft behind the end": {**LAST, "drafts": [X, END], "masks": [FREE, FREE, "a"]},
    "last of the step": LAST,
    "not in the step": NEVER,
    "before the step": BEFORE,
}
RED = {
    **GREEN,
    "second of four": {**NEVER, "drafts": [X, END, A], "next drafts": [B, X, B]},
    "forbidden draft behind the end": {**LAST, "drafts": [X, END, X]},
}


def observe(version):
    return {
        "second of four": _step([X, END, A], [X, END, A, B], [B, X, B]),
        "forbidden draft behind the end": _step([X, END, X], [X, END], [A, B, X]),
        "last of the step": _step([X, X, X], [X, X, X, END], [A, B, X]),
        "not in the step": _step([X, X, X], [X, X, X, X], [A, B, X]),
        "before the step": _step([B, B, B], [B, B, B, B], [B, X, B], ended=True),
    }


def _step(drafts, accepted, after, *, ended=False):
    """Two steps with drafts: what is scheduled and masked, and what is known when the first is done."""
    import small_engine
    from vllm.sampling_params import SamplingParams, StructuredOutputsParams
    from vllm.v1.outputs import DraftTokenIds

    scheduler = small_engine.scheduler(small_engine.config(drafts=3))
    manager = scheduler.structured_output_manager
    reasoner, grammar, backend = _parts()
    manager.reasoner_cls, manager.backend = type(reasoner), backend
    request = small_engine.request(
        "r",
        [START, X, X, X],
        sampling=SamplingParams(
            max_tokens=40, ignore_eos=True, structured_outputs=StructuredOutputsParams(regex="ab*c")
        ),
    )
    state = request.structured_output_request
    state.reasoner, state.grammar, state.reasoning_ended = reasoner, grammar, ended
    scheduler.add_request(request)

    def step(answer, drafts):
        output = scheduler.schedule()
        mask = scheduler.get_grammar_bitmask(output)
        told = list(output.scheduled_spec_decode_tokens.get("r", ()))
        scheduler.update_from_output(output, small_engine.answered(output, {"r": answer}))
        scheduler.update_draft_token_ids(DraftTokenIds(["r"], [drafts]))
        return told, _letters(mask.grammar_bitmask[: 1 + len(told)])  # 0.33 has rows to spare

    step([A] if ended else [X], drafts)
    scheduled, masks = step(accepted, after)
    known = state.reasoning_ended
    then, masks_then = step([B], [X])
    return {"masks": masks, "drafts": scheduled, "ended": known, "next drafts": then, "then": masks_then}


def _parts():
    """A reasoning parser, a grammar for `ab*c`, and a backend that allocates masks."""
    import xgrammar
    from vllm.reasoning.basic_parsers import BaseThinkingReasoningParser
    from vllm.v1.structured_output.backend_xgrammar import XgrammarBackend, XgrammarGrammar

    class Parser(BaseThinkingReasoningParser):
        start_token, end_token = "<think>", "</think>"

        def __init__(self):
            self.start_token_id, self.end_token_id = START, END

    vocabulary = [bytes([n]) if 32 <= n < 127 else f"<{n}>".encode() for n in range(512)]
    info = xgrammar.TokenizerInfo(vocabulary, stop_token_ids=[511])
    compiled = xgrammar.GrammarCompiler(info).compile_regex("ab*c")
    grammar = XgrammarGrammar(
        vocab_size=512, matcher=xgrammar.GrammarMatcher(compiled, max_rollback_tokens=4), ctx=compiled
    )
    backend = object.__new__(XgrammarBackend)
    backend.vocab_size = 512
    return Parser(), grammar, backend


def _letters(mask):
    """What each row of a mask allows: its letters, or all."""
    rows = []
    for row in mask:
        allowed = [n for n in range(512) if (int(row[n // 32]) >> (n % 32)) & 1]
        rows.append(FREE if len(allowed) == 512 else "".join(map(chr, allowed)))
    return rows
