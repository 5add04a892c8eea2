"""P62: with speculation, reasoning can end in the middle of what one step accepts.

The grammar's turn is noticed by the last token alone. Where `</think>` is any but the last of a step's tokens, it goes
by unseen: the answer is never held to its schema, and no error is told. What comes after the end within the step,
drafts and accepted tokens alike, is the answer's already, and is held to the grammar here.
"""

from __future__ import annotations

from genesisd.patches.edits import AnchorEdit, Marker, Placement, Variant, replacing
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin, StableKind
from genesisd.patches.model import Patch, Proof, Study

MANAGER = "vllm/v1/structured_output/__init__.py"
SCHEDULER = "vllm/v1/core/sched/scheduler.py"
LOGGER = "logger = init_logger(__name__)\n"
FUNCTIONS = '''\
_genesis_hits = {"P62": 0}


def genesis_answer_start(manager, request, tokens, appended):
    """Where in ``tokens`` the answer begins, or None where reasoning goes on behind them.

    ``appended`` tells whether the request holds them already.
    """
    state = request.structured_output_request
    reasoner = manager._get_reasoner(request)
    if reasoner is None or manager.enable_in_reasoning:
        return 0
    if state.reasoning_ended is None:
        state.reasoning_ended = reasoner.is_reasoning_end(
            request.prompt_token_ids or []
        )
    if state.reasoning_ended:
        return 0
    if not tokens:
        return None
    # Most steps go no further, and a long context is copied as little as can be.
    whole = request.all_token_ids if appended else [*request.all_token_ids, *tokens]
    if not reasoner.is_reasoning_end_streaming(whole, tokens):
        return None
    seen = list(whole)[: -len(tokens)]
    for end in range(1, len(tokens)):
        if reasoner.is_reasoning_end_streaming(seen + tokens[:end], tokens[:end]):
            _genesis_hits["P62"] += 1
            return end
    return len(tokens)


def genesis_accepted(manager, request, tokens):
    """Whether the grammar takes what of the new ``tokens`` belongs to the answer."""
    if not request.use_structured_output:
        return True
    start = genesis_answer_start(manager, request, tokens, True)
    if start is None:
        return True
    state = request.structured_output_request
    state.reasoning_ended = True
    answer = tokens[start:]
    return not answer or state.grammar.accept_tokens(request.request_id, answer)


def genesis_valid_drafts(manager, request, drafts):
    """The drafts up to the first that the grammar forbids."""
    if not request.use_structured_output:
        return drafts
    real = genesis_real(drafts)
    start = genesis_answer_start(manager, request, real, False)
    if start is None or start >= len(real):
        return drafts
    grammar = request.structured_output_request.grammar
    return real[:start] + grammar.validate_tokens(real[start:])


def genesis_real(drafts):
    """The drafts before the first placeholder."""
    return list(itertools.takewhile(lambda token: token >= 0, drafts))
'''
FIND = """\
                answer_start = None
                if not apply_bitmask and req_tokens:
                    answer_start = genesis_answer_start(
                        self, request, genesis_real(req_tokens), False
                    )
                position = 0
"""
SWITCH = """\
                    if position == answer_start:
                        apply_bitmask = True
                    position += 1
"""
ACCEPT = """\
            if new_token_ids and self.structured_output_manager.should_advance(request):
                struct_output_request = request.structured_output_request
                assert struct_output_request is not None
                assert struct_output_request.grammar is not None
                if not struct_output_request.grammar.accept_tokens(  # type: ignore[union-attr]
                    req_id, new_token_ids
                ):
"""
ACCEPT_ANSWER = """\
            if new_token_ids:
                if not genesis_accepted(
                    self.structured_output_manager, request, new_token_ids
                ):
"""
VALIDATE = """\
            if self.structured_output_manager.should_advance(request):
                metadata = request.structured_output_request
                spec_token_ids = metadata.grammar.validate_tokens(spec_token_ids)  # type: ignore[union-attr]
"""
VALIDATE_SCHEDULED = """\
            if self.structured_output_manager.should_advance(request):
                metadata = request.structured_output_request
                assert metadata is not None and metadata.grammar is not None
                spec_token_ids = metadata.grammar.validate_tokens(spec_token_ids)
"""
VALIDATE_ANSWER = """\
            spec_token_ids = genesis_valid_drafts(
                self.structured_output_manager, request, spec_token_ids
            )
"""
IMPORT = "from vllm.v1.structured_output import StructuredOutputManager\n"
IMPORTS = """\
from vllm.v1.structured_output import (
    StructuredOutputManager,
    genesis_accepted,
    genesis_valid_drafts,
)
"""

PATCH = Patch(
    id="P62",
    title="Hold the answer to its grammar where reasoning ends within a speculative step",
    family="structured_output",
    lifecycle=Lifecycle.STABLE,
    stable_kind=StableKind.BEHAVIOUR,
    origin=Origin.BACKPORT,
    flag=Flag("P62_STRUCT_OUT_SPEC_TIMING"),
    upstream=(36138, 44297, 44993),
    credit="sfbemerk, cicirori",
    versions=">=0.23.0",
    edits=(
        replacing("functions", MANAGER, "", LOGGER, LOGGER + FUNCTIONS),
        AnchorEdit(
            "find_answer",
            MANAGER,
            "StructuredOutputManager.grammar_bitmask",
            (Variant("                req_tokens = scheduled_spec_decode_tokens.get(req_id, ())\n", FIND),),
            Placement.AFTER,
        ),
        AnchorEdit(
            "mask_answer",
            MANAGER,
            "StructuredOutputManager.grammar_bitmask",
            (
                Variant(
                    "                    self._fill_bitmasks(((grammar, cumulative_index, apply_bitmask),))\n", SWITCH
                ),
            ),
            Placement.BEFORE,
        ),
        replacing("imports", SCHEDULER, "", IMPORT, IMPORTS),
        replacing("accept", SCHEDULER, "Scheduler.update_from_output", ACCEPT, ACCEPT_ANSWER),
        replacing("drafts", SCHEDULER, "Scheduler.update_draft_token_ids", VALIDATE, VALIDATE_ANSWER),
        replacing(
            "scheduled_drafts",
            SCHEDULER,
            "Scheduler.update_draft_token_ids_in_output",
            VALIDATE_SCHEDULED,
            VALIDATE_ANSWER,
        ),
    ),
    markers=(Marker(MANAGER, "spec_tokens_committed"),),
    proofs=(Proof("engine", counter="vllm.v1.structured_output:_genesis_hits"),),
    study=Study(
        upstream="its final form (in 0.30) finds where the constraint starts within a block of tokens and uses that for "
        "masks, drafts and accepted tokens",
        ours="the same three places; a step whose tokens do not end reasoning is asked about once, as before",
        tests="the end as second of four accepted tokens, as the last, absent, and before the first; a draft behind it "
        "that the grammar forbids",
    ),
)
