"""PN384: with a drafter, a prompt that fills its blocks is refused a block that was found to be right.

The last block of a hit is dropped, since the drafter's entry at its end depends on the token that follows. The lookup
stops a token short of the prompt, so where the prompt's last block is full, the one before it is dropped, although the
following token is known to be the same: it stands in the block that was not looked at. One block is recomputed for
nothing, and in hybrid models a block has more than a thousand tokens.
"""

from __future__ import annotations

from genesisd.patches.edits import AnchorEdit, Variant, replacing
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin, StableKind
from genesisd.patches.model import Patch, Study

FILE = "vllm/v1/core/kv_cache_coordinator.py"
SHORT = "                        curr_hit_length + {margin}, max_cache_hit_length\n"
FULL = "                        curr_hit_length + {margin}, max_cache_hit_length + 1\n"

PATCH = Patch(
    id="PN384",
    title="Look at a prompt's last block where the drafter's lookup drops it",
    family="kv_cache",
    lifecycle=Lifecycle.STABLE,
    stable_kind=StableKind.BEHAVIOUR,
    origin=Origin.RELATED,
    flag=Flag("PN384_PROMPT_LAST_BLOCK"),
    upstream=(44986,),
    credit="vLLM contributors",
    versions=">=0.23.0",
    edits=(
        replacing(
            "one_group",
            FILE,
            "UnitaryKVCacheCoordinator.find_longest_cache_hit",
            "            max_length=max_cache_hit_length,\n",
            "            # What is found at the very end is dropped, so the last token is computed all the same.\n"
            "            max_length=max_cache_hit_length + (0 in self.eagle_group_ids),\n",
        ),
        # From 0.32 on the groups of a hybrid model look further already.
        AnchorEdit(
            "several_groups",
            FILE,
            "HybridKVCacheCoordinator.find_longest_cache_hit",
            tuple(
                Variant(SHORT.format(margin=margin), FULL.format(margin=margin), margin)
                for margin in ("spec.block_size", "eagle_margin")
            ),
            required=False,
        ),
    ),
    study=Study(
        upstream="an open attempt keeps the last block of every prefill, which was turned down: the drafter's entry may "
        "belong to another continuation, and drafts get worse",
        ours="keeps only what is proven, a block whose following token was compared too",
        tests="prompts that end with a block and behind it, with and without a drafter, hybrid and not",
    ),
)
