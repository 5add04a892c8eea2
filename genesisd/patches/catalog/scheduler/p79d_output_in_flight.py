"""P79d: output that is in flight when a request is preempted must be waited for, or dropped whole.

Asynchronous scheduling has steps under way while it plans the next. Clearing the prefix cache under way preempts all
requests and drops as many answers as *tokens* were in flight, so with drafts it also drops answers of steps that ran
afterwards: the client is sent text with a hole of several tokens. And where a pipeline keeps more than two steps under
way, a preempted request can be resumed before its last answer has come, and then has those tokens twice.
"""

from __future__ import annotations

from genesisd.patches.edits import AnchorEdit, Marker, Placement, Variant
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin, StableKind
from genesisd.patches.model import Patch, Study

FILE = "vllm/v1/core/sched/scheduler.py"
WAIT = """\
                if (
                    request.status == RequestStatus.PREEMPTED
                    and request.num_output_placeholders > 0
                ):
                    # Its own answer has yet to come; resumed now, it would sample those tokens again.
                    request_queue.pop_request()
                    step_skipped_waiting.prepend_request(request)
                    continue

"""
DROP = """\
            if generated_token_ids and request.async_tokens_to_discard > 0:
                # From before a forced preemption, so it must not touch the counters. A step was counted as
                # its drafts and what it samples beside them, and is taken off as such.
                request.async_tokens_to_discard -= {sampled} + len(
                    scheduled_spec_token_ids or ()
                )
                continue

"""
OLD = "            if scheduled_spec_token_ids and generated_token_ids:\n"
DIFFUSION = (
    "            if scheduled_spec_token_ids and (\n"
    "                generated_token_ids or self.num_sampled_tokens_per_step == 0\n"
    "            ):\n"
)

PATCH = Patch(
    id="P79d",
    title="Account for output in flight when a request is preempted",
    family="scheduler",
    lifecycle=Lifecycle.STABLE,
    stable_kind=StableKind.BEHAVIOUR,
    origin=Origin.BACKPORT,
    flag=Flag("P79D_PREEMPT_ASYNC_DISCARD"),
    upstream=(38624,),
    credit="CodersAcademy006",
    applied_upstream="0.28.0",
    versions=">=0.23.0",
    edits=(
        AnchorEdit(
            "wait_for_output",
            FILE,
            "Scheduler.schedule",
            (Variant("                # Check that adding the request still respects the max_loras\n", WAIT),),
            Placement.BEFORE,
        ),
        AnchorEdit(
            "drop_by_step",
            FILE,
            "Scheduler.update_from_output",
            (
                Variant(OLD, DROP.format(sampled="1"), "one bonus token"),
                Variant(DIFFUSION, DROP.format(sampled="self.num_sampled_tokens_per_step"), "diffusion"),
            ),
            Placement.BEFORE,
        ),
    ),
    markers=(Marker(FILE, "request.num_stale_output_tokens = request.num_in_flight_tokens"),),
    study=Study(
        upstream="the open attempt drops the answer of every preempted request; what came with 0.28 delivers it and "
        "waits, and counts the tokens scheduled",
        ours="waits as that does, by the counter these releases have; an answer to a forced preemption is dropped step "
        "by step, before it touches the counters of the life that came after",
        tests="a prefix cache cleared under way, with none, some and all drafts accepted; a request preempted and "
        "resumed in a pipeline of three; without drafts, and two deep, as controls",
    ),
)
