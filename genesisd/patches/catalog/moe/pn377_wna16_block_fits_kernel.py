"""PN377: INT4 experts in groups of 32 abort small batches, as the block that is chosen for them has no kernel.

The CUDA kernel exists for blocks of 1, 2, 4 or 8 quantisation groups. The choice of the block's depth knows only
that it must divide the matrix: it arrives at 16 groups for common sizes and at 3 for odd ones, and the kernel
refuses, at the first decoded token or already while the engine warms up.
"""

from __future__ import annotations

from genesisd.patches.edits import replacing
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin, StableKind
from genesisd.patches.model import Patch, Study

CHOSEN = "        block_size_k = _ensure_block_size_k_divisible(size_k, block_size_k, group_size)\n"
FITTED = (
    CHOSEN
    + """\
        if block_size_k // group_size not in (1, 2, 4, 8):
            # The kernel has no other; the deepest below the chosen one that divides.
            block_size_k = next(
                (
                    groups * group_size
                    for groups in (8, 4, 2, 1)
                    if groups * group_size <= block_size_k
                    and size_k % (groups * group_size) == 0
                ),
                block_size_k,
            )
"""
)

PATCH = Patch(
    id="PN377",
    title="Clamp the K block of small MoE quantisation groups",
    family="moe",
    lifecycle=Lifecycle.STABLE,
    stable_kind=StableKind.BEHAVIOUR,
    origin=Origin.BACKPORT,
    flag=Flag("PN377_WNA16_BLOCK_FITS_KERNEL"),
    upstream=(44563,),
    credit="Sunt-ing (vLLM)",
    versions=">=0.23.0",
    edits=(
        replacing(
            "fit_the_kernel",
            "vllm/model_executor/layers/fused_moe/fused_moe.py",
            "get_moe_wna16_block_config",
            CHOSEN,
            FITTED,
        ),
    ),
    study=Study(
        upstream="caps the first guess at eight groups and searches among 1, 2, 4 and 8 for a divisor",
        ours="changes only what the kernel would have refused, after the choice: every block that worked is the same, "
        "so no speed that was measured moves",
        tests="both sizes of the report (16 and 3 groups) and a grid, every one against the kernel's own conditions",
    ),
)
