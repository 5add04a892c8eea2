"""P79c: a running request that a step leaves out keeps the placeholders of drafts that nobody holds any more.

Asynchronous scheduling gives each scheduled request a -1 for every draft token that the worker will have made by the
next step. The first model runner fills them in from its previous step alone. A request that was left out of one
(the others took the budget) comes back with its placeholders, and the -1 reach the embedding as token ids. The second
model runner keeps drafts with the request, however long it waits, so there they stay.
"""

from __future__ import annotations

from genesisd.patches.edits import AnchorEdit, Placement, Variant, replacing
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin, StableKind
from genesisd.patches.model import Patch, Proof, Study

FILE = "vllm/v1/core/sched/async_scheduler.py"
DROP = """\
        # The runner fills placeholders in from its last step, in which these had no part.
        if not self.use_v2_model_runner and len(self.running) > len(
            scheduler_output.num_scheduled_tokens
        ):
            for waiting_request in self.running:
                if (
                    waiting_request.spec_token_ids
                    and waiting_request.request_id
                    not in scheduler_output.num_scheduled_tokens
                ):
                    waiting_request.spec_token_ids = []
                    _genesis_hits["P79c"] += 1
"""

PATCH = Patch(
    id="P79c",
    title="Drop draft placeholders of running requests that a step leaves out",
    family="scheduler",
    lifecycle=Lifecycle.STABLE,
    stable_kind=StableKind.BEHAVIOUR,
    origin=Origin.BACKPORT,
    flag=Flag("P79C_STALE_SPEC_TOKEN_CLEANUP"),
    upstream=(37629,),
    credit="vLLM contributors",
    versions=">=0.23.0",
    edits=(
        replacing(
            "counter",
            FILE,
            "",
            "logger = init_logger(__name__)\n",
            'logger = init_logger(__name__)\n_genesis_hits = {"P79c": 0}\n',
        ),
        AnchorEdit(
            "drop_placeholders",
            FILE,
            "AsyncScheduler._update_after_schedule",
            (Variant("        spec_decode_tokens = scheduler_output.scheduled_spec_decode_tokens\n", DROP),),
            Placement.BEFORE,
        ),
    ),
    proofs=(Proof("engine", counter="vllm.v1.core.sched.async_scheduler:_genesis_hits"),),
    study=Study(
        upstream="clears the drafts of every unscheduled running request, in the scheduler that all share",
        ours="only placeholders, and only for the runner that loses them: real drafts of the synchronous scheduler and "
        "of the second runner stay usable; a step that schedules all costs one comparison",
        tests="a request left out for some steps is scheduled again; the second runner and the synchronous scheduler "
        "are the controls",
    ),
)
