"""PN110: a shared block that is given back twice in one call is put on the free list twice.

Counts are lowered first and looked at afterwards, so both mentions find a count of nought. The block is then its
own predecessor, and the pool counts one block more as free than it can hand out. No caller is known that does so; the
later releases decide while they count, as this does.
"""

from __future__ import annotations

from genesisd.patches.edits import Marker, replacing
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Origin
from genesisd.patches.model import Patch, Study

FILE = "vllm/v1/core/block_pool.py"
AFTERWARDS = """\
        for block in blocks_list:
            block.ref_cnt -= 1
        freed_blocks = [
            block for block in blocks_list if block.ref_cnt == 0 and not block.is_null
        ]
"""
AT_ONCE = """\
        freed_blocks = []
        for block in blocks_list:
            block.ref_cnt -= 1
            if block.ref_cnt == 0 and not block.is_null:
                freed_blocks.append(block)
"""

PATCH = Patch(
    id="PN110",
    title="Put a block on the free list once, however often it is given back",
    family="kv_cache",
    origin=Origin.DEFENSIVE,
    flag=Flag("PN110_FREE_ONCE"),
    upstream=(42615,),
    credit="vLLM contributors",
    applied_upstream="0.24.0",
    versions=">=0.23.0",
    edits=(replacing("at_once", FILE, "BlockPool.free_blocks", AFTERWARDS, AT_ONCE),),
    markers=(
        Marker(FILE, "blocks_without_hash.append(block)"),
        Marker(FILE, "blocks_to_evict_first.append(block)"),
    ),
    study=Study(
        upstream="decides while it counts, in a rewrite for the order of eviction",
        ours="the same decision; experimental, since nobody is known to give a block back twice in one call",
        tests="a block of two owners given back by both at once, by one, and a block of one owner",
    ),
)
