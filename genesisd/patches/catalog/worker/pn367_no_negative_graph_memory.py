"""PN367: memory that is freed while the first CUDA graph is captured counts as memory that graphs will never need.

The estimate of what graphs take is measured from free memory before and after. The first capture also warms up,
and what the warm-up releases can exceed what the graph takes: the sample is negative and is added as it is. The
KV cache is made that much larger, and the real capture runs out of memory.
"""

from __future__ import annotations

from genesisd.patches.edits import replacing
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin, StableKind
from genesisd.patches.model import Patch, Study

ADDED = "                    shared_memory_estimate[mode] = first_capture\n"

PATCH = Patch(
    id="PN367",
    title="Never estimate negative memory for CUDA graphs",
    family="worker",
    lifecycle=Lifecycle.STABLE,
    stable_kind=StableKind.BEHAVIOUR,
    origin=Origin.BACKPORT,
    flag=Flag("PN367_NO_NEGATIVE_GRAPH_MEMORY"),
    upstream=(44745, 45076),
    credit="aryabyte21, Oxygen56 (vLLM)",
    versions=">=0.23.0",
    edits=(
        replacing(
            "first_capture",
            "vllm/v1/worker/gpu_model_runner.py",
            "GPUModelRunner.profile_cudagraph_memory",
            ADDED,
            "                    # The largest graph takes no less than the next; a lower sample saw memory come free.\n"
            "                    first_capture = max(first_capture, per_graph)\n" + ADDED,
        ),
    ),
    study=Study(
        upstream="takes zero for every negative difference, and again for the sum",
        ours="takes what the next graph was measured at: zero would still promise the cache the memory of the "
        "largest graph; later graphs have upstream's floor of 1 MiB already, so the sum cannot be negative",
        tests="a first sample below zero, all samples below zero, and samples that are right",
    ),
)
