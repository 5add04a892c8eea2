"""P67: TurboQuant verifies drafts one request after the other, and a full CUDA graph verifies against nothing.

K+1 tokens of a request are a prefill to the backend. Its loop over requests reads their lengths on the CPU and starts
a launch for each, in which every query token and every query head reads the whole cache again. While a graph is
captured these lengths are the dummy batch's, without any cached token, and the graph keeps them: from then on drafts
are held against the few tokens of their own step, whatever was said before. On an H200, 0.24.0 did not come so far: it
died of an illegal memory access at its first request.

Here K+1 tokens are a decode, and decodes go to one kernel that reads each byte of the cache once for all query tokens
and all heads that share it, with the lengths on the GPU: that for keys of FP8, or that for keys out of a codebook. What
the kernel does not serve goes the backend's own way, and then the engine is told to capture no full graphs with drafts.
"""

from __future__ import annotations

from genesisd.patches.carried import carried
from genesisd.patches.conditions import Fact, Is
from genesisd.patches.edits import MODULE, AnchorEdit, Marker, Placement, Variant, replacing
from genesisd.patches.flags import Alias, Flag
from genesisd.patches.lifecycle import Lifecycle, Origin
from genesisd.patches.model import Patch, Proof, Study

FILE = "vllm/v1/attention/backends/turboquant_attn.py"
WORKER = "vllm/v1/worker/gpu_worker.py"
BUILDER = "TurboQuantMetadataBuilder"
IMPL = "TurboQuantAttentionImpl"
ATTEND = """\
        routed = genesis_turboquant.attend(self, query, kv_cache, attn_metadata)
        if routed is not None:
            return routed
"""
GRAPHS = """\

    @classmethod
    def get_cudagraph_support(cls, vllm_config, kv_cache_spec):
        from vllm.genesis.carried.ahead import graphs

        return graphs(vllm_config, super().get_cudagraph_support(vllm_config, kv_cache_spec))
"""
WARM_UP = """\
        from vllm.genesis.carried.turboquant import warm_up as genesis_warm_up

        genesis_warm_up(self.vllm_config)
"""
RESERVE = """\
            from vllm.genesis.carried.ahead import reserve as genesis_reserve

            genesis_reserve(self.vllm_config, self.device)
"""
WARMED = "        kernel_warmup(self)\n"
METHOD, INNER = "Worker.compile_or_warm_up_model", "Worker._compile_or_warm_up_model"
"""Where a worker compiles: from 0.33 on the inner one does, and the other one calls it."""


def _warming(method: str, other: str) -> AnchorEdit:
    """The kernel is compiled with the engine's own, before graphs are captured."""
    return AnchorEdit(
        f"warm_up_in_{method.partition('.')[2]}",
        WORKER,
        method,
        (Variant(WARMED, WARM_UP),),
        placement=Placement.AFTER,
        required=False,
        unless=Marker(WORKER, WARMED, other),
    )


PATCH = Patch(
    id="P67",
    title="Verify K+1 drafts in one TurboQuant kernel",
    family="turboquant",
    lifecycle=Lifecycle.EXPERIMENTAL,
    origin=Origin.RELATED,
    flag=Flag(
        "P67_TQ_MULTI_QUERY_KERNEL",
        (Alias("PN521_TQ_RAW_TAIL_VERIFY"), Alias("PN521_SPLIT_K"), Alias("PN522_TQ_RAW_TAIL_WARMUP")),
    ),
    upstream=(40914,),
    credit="Genesis",
    versions=">=0.24.0",
    applies_to=Is(Fact.KV_CACHE_DTYPE, ("turboquant_k8v4", "turboquant_4bit_nc", "turboquant_k3v4_nc")),
    edits=(
        AnchorEdit(
            "import",
            FILE,
            MODULE,
            (
                Variant(
                    "from vllm.v1.attention.ops.triton_turboquant_store import triton_turboquant_store\n",
                    "from vllm.genesis.carried import turboquant as genesis_turboquant\n",
                ),
            ),
            placement=Placement.AFTER,
        ),
        replacing(
            "count_drafts_as_decode",
            FILE,
            f"{BUILDER}.__init__",
            "        self._init_reorder_batch_threshold(1, supports_spec_as_decode=False)\n",
            "        self._init_reorder_batch_threshold(1, supports_spec_as_decode=True)\n"
            "        self.reorder_batch_threshold = genesis_turboquant.opens(self)\n",
        ),
        AnchorEdit(
            "graphs",
            FILE,
            BUILDER,
            (
                Variant(
                    "    _cudagraph_support: ClassVar[AttentionCGSupport] = AttentionCGSupport.UNIFORM_BATCH\n", GRAPHS
                ),
            ),
            placement=Placement.AFTER,
        ),
        replacing(
            "drafts_are_no_prefill",
            FILE,
            f"{BUILDER}.build",
            "            is_prefill=(cam.max_query_len > 1),\n",
            "            is_prefill=(cam.max_query_len > self.reorder_batch_threshold),\n",
        ),
        AnchorEdit(
            "count",
            FILE,
            f"{BUILDER}.build",
            (
                Variant(
                    "        return TurboQuantMetadata(\n",
                    "        genesis_turboquant.count(self, num_decodes)\n",
                ),
            ),
            placement=Placement.BEFORE,
        ),
        replacing(
            "drafts_in_a_mixed_batch",
            FILE,
            f"{IMPL}.forward",
            "                max_query_len=1,\n",
            "                # One token each, unless there are drafts among them.\n"
            "                max_query_len=1 if num_decode_tokens == num_decodes else attn_metadata.max_query_len,\n",
        ),
        AnchorEdit(
            "attend",
            FILE,
            f"{IMPL}._decode_attention",
            (Variant("        # Acquire shared decode scratch buffers from WorkspaceManager.\n", ATTEND),),
            placement=Placement.BEFORE,
        ),
        *(_warming(method, other) for method, other in ((METHOD, INNER), (INNER, METHOD))),
        AnchorEdit(
            "reserve",
            WORKER,
            "Worker.determine_available_memory",
            (
                Variant("        ) as profile_result:\n", RESERVE),
                Variant("            set_current_vllm_config(self.vllm_config),\n        ):\n", RESERVE),
            ),
            placement=Placement.AFTER,
        ),
        AnchorEdit(
            "reserve_beside_a_fixed_cache",
            WORKER,
            "Worker.determine_available_memory",
            (Variant("        if kv_cache_memory_bytes := self.cache_config.kv_cache_memory_bytes:\n", RESERVE),),
            placement=Placement.AFTER,
        ),
        *carried("carried.turboquant", "carried.ahead"),
    ),
    proofs=(Proof("worker", counter="vllm.genesis.carried.turboquant:_genesis_hits"),),
    study=Study(
        upstream="proposes a kernel for several query tokens, and a grouping of heads, apart from each other",
        ours="one kernel for both and for plain decoding, with its own scratch and a launch for the whole batch; what "
        "it cannot read (another layout, values of 3 bits, a sliding window), and what it was found to answer wrong, "
        "stays with the engine's own path, and the log says why",
        tests="drafts of several requests, decodes and prompts beside them, a captured step whose lengths change, "
        "shapes that are refused",
    ),
)
