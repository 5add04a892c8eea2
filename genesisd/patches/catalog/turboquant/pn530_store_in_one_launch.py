"""PN530: TurboQuant's store copies new keys and values before it packs them, a byte at a time.

Keys and values lie in the layer's wider tensor, and the engine's launcher copies both so that they follow each other.
Then four warps share one head of one token, with four barriers for its least and greatest value, and store single
bytes. On an H200 that took 5.7 us for 8 tokens, and 105 us for 8,192 of 8 heads.

Here one launch reads keys and values where they lie, finds least and greatest within one warp and stores words: 1.8 us
and 17.9 us. The bytes are the same, so that a cache may be filled by either; what the kernel does not serve, and steps
whose tensors lie like none before while a CUDA graph is captured, are stored by the engine.
"""

from __future__ import annotations

from genesisd.patches.carried import carried
from genesisd.patches.conditions import Fact, Is
from genesisd.patches.edits import MODULE, AnchorEdit, Marker, Placement, Variant
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin
from genesisd.patches.model import Patch, Proof, Study

FILE = "vllm/v1/attention/backends/turboquant_attn.py"
WORKER = "vllm/v1/worker/gpu_worker.py"
STORE = """\
        if genesis_store.store(self, key, value, kv_cache, slot_mapping):
            return
"""
WARM_UP = """\
        from vllm.genesis.carried.store import warm_up as genesis_warm_up_stores

        genesis_warm_up_stores(self.vllm_config)

"""
WARMED = "        # Warmup and tune the kernels used during model execution before\n"
METHOD, INNER = "Worker.compile_or_warm_up_model", "Worker._compile_or_warm_up_model"
"""Where a worker compiles: from 0.33 on the inner one does, and the other one calls it."""


def _warming(method: str, other: str) -> AnchorEdit:
    """The kernel is compiled ahead of the engine's own, before graphs are captured."""
    return AnchorEdit(
        f"warm_up_in_{method.partition('.')[2]}",
        WORKER,
        method,
        (Variant(WARMED, WARM_UP),),
        placement=Placement.BEFORE,
        required=False,
        unless=Marker(WORKER, WARMED, other),
    )


PATCH = Patch(
    id="PN530",
    title="Store TurboQuant keys and values in one launch",
    family="turboquant",
    lifecycle=Lifecycle.EXPERIMENTAL,
    origin=Origin.ORIGINAL,
    flag=Flag("PN530_TQ_STORE"),
    credit="Genesis",
    versions=">=0.24.0",
    applies_to=Is(Fact.KV_CACHE_DTYPE, ("turboquant_k8v4",)),
    edits=(
        AnchorEdit(
            "import",
            FILE,
            MODULE,
            (
                Variant(
                    "from vllm.v1.attention.backends.utils import split_decodes_and_prefills\n",
                    "from vllm.genesis.carried import store as genesis_store\n",
                ),
            ),
            placement=Placement.BEFORE,
        ),
        AnchorEdit(
            "count",
            FILE,
            "TurboQuantMetadataBuilder.build",
            (Variant("        cam = common_attn_metadata\n", "        genesis_store.count()\n"),),
            placement=Placement.BEFORE,
        ),
        AnchorEdit(
            "store",
            FILE,
            "TurboQuantAttentionImpl._store_kv",
            (Variant("        triton_turboquant_store(\n", STORE),),
            placement=Placement.BEFORE,
        ),
        *(_warming(method, other) for method, other in ((METHOD, INNER), (INNER, METHOD))),
        *carried("carried.store"),
    ),
    proofs=(Proof("worker", counter="vllm.genesis.carried.store:_genesis_hits"),),
    study=Study(
        upstream="has no proposal for it; from 0.26 on its launcher takes caches that lie by heads, and still copies",
        ours="one launch, no copy and no memory of its own, tried on this device before it writes to the cache; what it "
        "cannot write (another layout, keys that are not FP8), and what it was found to write wrong, stays with the "
        "engine's own store, and the log says why",
        tests="steps of one token and of thousands, padding, slots of both widths, caches by tokens and by heads, a "
        "captured step, shapes that are refused, alone and together with P67",
    ),
)
