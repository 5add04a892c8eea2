"""PN388: a piece of a prompt that is not its last must end where a Mamba block does.

The state that a piece leaves is put into the cache as that of a whole block. With a drafter the last block of a prompt
is not reused, and behind the one before it pieces of any length pass, for a prompt of less than two blocks from the
start. Whoever finds that block later goes on from a state that has seen a part of it, and nothing tells them.
"""

from __future__ import annotations

from genesisd.patches.conditions import Fact, Is
from genesisd.patches.edits import Marker, replacing
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin, StableKind
from genesisd.patches.model import Patch, Proof, Study

FILE = "vllm/v1/core/sched/scheduler.py"
LOGGER = "logger = init_logger(__name__)\n"
LAST = """\
            else:
                # prefill the last few tokens
                pass
"""
ALIGNED = """\
            elif num_computed_tokens_after_sched < max(
                request.num_prompt_tokens, request.num_tokens - 1
            ):
                # More of the prompt is to come, so this must end with a block.
                aligned_end = num_computed_tokens_after_sched // block_size * block_size
                if aligned_end != num_computed_tokens_after_sched:
                    _genesis_hits["PN388"] += 1
                num_new_tokens = max(aligned_end - num_computed_tokens, 0)
"""

PATCH = Patch(
    id="PN388",
    title="End every piece of a prompt but its last with a Mamba block",
    family="scheduler",
    lifecycle=Lifecycle.STABLE,
    stable_kind=StableKind.BEHAVIOUR,
    origin=Origin.BACKPORT,
    flag=Flag("PN388_MAMBA_BLOCK_ALIGNED_CHUNKS"),
    upstream=(45477,),
    credit="kodek",
    applied_upstream="0.28.0",
    versions=">=0.23.0",
    applies_to=Is(Fact.IS_HYBRID, (True,)),
    edits=(
        replacing("counter", FILE, "", LOGGER, LOGGER + '_genesis_hits = {"PN388": 0}\n'),
        replacing("align", FILE, "Scheduler._mamba_block_aligned_split", LAST, ALIGNED),
    ),
    markers=(Marker(FILE, "aligned_end = end // block_size * block_size"),),
    proofs=(Proof("engine", counter="vllm.v1.core.sched.scheduler:_genesis_hits"),),
    study=Study(
        upstream="the same invariant; later rewritten as a list of stops, which also lets a block be wider than a step",
        ours="one branch more; these releases refuse a block wider than a step at start. While others' decoding leaves "
        "less than a block of each step, such a prompt waits, as longer ones did before",
        tests="prompts of less and of more than two blocks, with and without a drafter; last pieces and decoding as "
        "controls",
    ),
)
