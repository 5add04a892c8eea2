"""PN384: with a drafter, a prompt that fills its blocks is refused a block that was found to be right.

The last block of a hit is dropped, since the drafter's entry at its end depends on the token that follows. The lookup
stops a token short of the prompt, so where the prompt's last block is full, the one before it is dropped, although the
following token is known to be the same: it stands in the block that was not looked at. One block is recomputed for
nothing, and in hybrid models a block has more than a thousand tokens.
"""

from __future__ import annotations

from genesisd.patches.edits import AnchorEdit, Marker, Variant
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin, StableKind
from genesisd.patches.model import Patch, Study

FILE = "vllm/v1/core/kv_cache_coordinator.py"
HYBRID = "HybridKVCacheCoordinator.find_longest_cache_hit"
# These lookups drop what they find at the very end, so that the last token is computed all the same. A Mamba lookup
# drops nothing, and would find the whole prompt.
DROPS = "isinstance({spec}, (FullAttentionSpec, SlidingWindowSpec))"
SHORT = "                        curr_hit_length + {margin}, max_cache_hit_length\n"
FULL = f"""\
                        curr_hit_length + {{margin}},
                        max_cache_hit_length
                        + {DROPS.format(spec="spec")},
"""
CALL = """\
            max_length=max_cache_hit_length{more},
            kv_cache_group_ids=[0],
            block_pool=self.block_pool,
            kv_cache_spec=self.kv_cache_spec,
            drop_eagle_block=0 in self.{groups},
"""


def one_group(groups: str) -> Variant:
    """The lookup in the form that asks ``groups`` whether to drop; so does what is added."""
    more = f"\n            + (0 in self.{groups}\n               and {DROPS.format(spec='self.kv_cache_spec')})"
    return Variant(CALL.format(more="", groups=groups), CALL.format(more=more, groups=groups), groups)


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
        AnchorEdit(
            "one_group",
            FILE,
            "UnitaryKVCacheCoordinator.find_longest_cache_hit",
            # From 0.33 on a group may be the drafter's and drop nothing.
            (one_group("eagle_group_ids"), one_group("drop_eagle_group_ids")),
        ),
        # From 0.32 on the groups of a hybrid model look further already.
        AnchorEdit(
            "several_groups",
            FILE,
            HYBRID,
            tuple(
                Variant(SHORT.format(margin=margin), FULL.format(margin=margin), margin)
                for margin in ("spec.block_size", "eagle_margin")
            ),
            required=False,
            unless=Marker(FILE, "len(block_hashes) * self.hash_block_size,\n", HYBRID),
        ),
    ),
    study=Study(
        upstream="an open attempt keeps the last block of every prefill, which was turned down: the drafter's entry may "
        "belong to another continuation, and drafts get worse",
        ours="keeps only what is proven, a block whose following token was compared too",
        tests="prompts that end with a block and behind it, with and without a drafter, hybrid and not",
    ),
)
