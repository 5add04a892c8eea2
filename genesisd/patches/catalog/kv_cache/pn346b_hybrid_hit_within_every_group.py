"""PN346B: a prefix hit of a hybrid model must not be longer than what every group of layers has.

A drafter's group looks one block further, and drops it. Where no group is marked as the drafter's, all count as such;
but the Mamba lookup drops nothing, so the hit it answers with is a block longer than that of attention. The request
goes on as if it had the keys and values of a block that was never filled: wrong output, and no error.
"""

from __future__ import annotations

from genesisd.patches.conditions import Fact, Is
from genesisd.patches.edits import AnchorEdit, Marker, Variant, replacing
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin, StableKind
from genesisd.patches.model import Patch, Study

FILE = "vllm/v1/core/kv_cache_coordinator.py"
FURTHER = """\
                if drop_eagle_block:
                    # Eagle needs to match one more block and then pop the last.
"""
WITH_IMPORT = "    KVCacheSpec,\n    MambaSpec,\n    SlidingWindowSpec,\n"
NOT_MAMBA = """\
                if drop_eagle_block and not isinstance(spec, MambaSpec):
                    # Eagle needs to match one more block and then pop the last; a Mamba lookup pops none.
"""

PATCH = Patch(
    id="PN346B",
    title="Keep hybrid prefix hits within what every group has",
    family="kv_cache",
    lifecycle=Lifecycle.STABLE,
    stable_kind=StableKind.BEHAVIOUR,
    origin=Origin.BACKPORT,
    flag=Flag("PN346B_HYBRID_HIT_BOUND"),
    upstream=(45614, 46281),
    credit="vLLM contributors",
    applied_upstream="0.26.0",
    versions=">=0.23.0",
    applies_to=Is(Fact.IS_HYBRID, (True,)),
    edits=(
        AnchorEdit(
            "import",
            FILE,
            "",
            (Variant("    KVCacheSpec,\n    SlidingWindowSpec,\n", WITH_IMPORT),),
            required=False,
            unless=Marker(FILE, WITH_IMPORT),
        ),
        replacing("no_margin", FILE, "HybridKVCacheCoordinator.find_longest_cache_hit", FURTHER, NOT_MAMBA),
    ),
    markers=(
        Marker(FILE, "if drop_eagle_block and not isinstance(spec, MambaSpec):\n                    eagle_margin"),
    ),
    study=Study(
        upstream="gives Mamba groups no margin",
        ours="the same condition, in the form of these releases",
        tests="attention and Mamba groups with none, and with one, marked as the drafter's; prefixes of each length",
    ),
)
