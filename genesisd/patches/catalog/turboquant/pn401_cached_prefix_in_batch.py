"""PN401: a request that continues a cached prefix loses it when a long new prompt is in the same batch.

TurboQuant's prefill hands the whole batch to one kernel that sees only the new keys and values, if the longest
query is as long as the longest context. These are two maxima of the batch: a long new prompt makes them equal for
everyone, and a shorter request beside it that has cached tokens attends to its new ones alone. Its answer is
wrong, and nothing says so.
"""

from __future__ import annotations

from genesisd.patches.conditions import Fact, Is
from genesisd.patches.edits import MODULE, AnchorEdit, Placement, Variant, replacing
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin, StableKind
from genesisd.patches.model import Patch, Proof, Study

FILE = "vllm/v1/attention/backends/turboquant_attn.py"
QUESTION = '''\


_genesis_hits = globals().get("_genesis_hits", {})
_genesis_hits["PN401"] = 0


def _genesis_has_cached_prefix(attn_metadata) -> bool:
    """Whether a request of the batch attends to what only the cache holds."""
    _genesis_hits["PN401"] += 1
    if attn_metadata.query_start_loc.shape[0] == 2:
        return False  # the maxima of one request are its own lengths
    starts, lengths = attn_metadata.query_start_loc_cpu, attn_metadata.seq_lens_cpu
    if starts is None or lengths is None:
        return True  # asking the GPU would wait for it; the loop tells the requests apart
    new = starts.diff()
    return bool(((new > 0) & (lengths[: new.shape[0]] > new)).any())
'''

PATCH = Patch(
    id="PN401",
    title="Attend to cached prefixes when TurboQuant continues prefill",
    family="turboquant",
    lifecycle=Lifecycle.STABLE,
    stable_kind=StableKind.BEHAVIOUR,
    origin=Origin.BACKPORT,
    flag=Flag("PN401_TQ_PREFILL_CONTINUATION_GUARD"),
    upstream=(46461,),
    credit="GreatGIF (vLLM)",
    versions=">=0.23.0",
    applies_to=Is(Fact.IS_TURBOQUANT, (True,)),
    edits=(
        AnchorEdit(
            "question",
            FILE,
            MODULE,
            (Variant("_CONTINUATION_DECODE_THRESHOLD = 128\n", QUESTION),),
            placement=Placement.AFTER,
        ),
        replacing(
            "ask_each_request",
            FILE,
            "TurboQuantAttentionImpl._prefill_attention",
            "        if _HAS_FLASH_ATTN and attn_metadata.max_query_len == attn_metadata.max_seq_len:\n",
            "        if (\n"
            "            _HAS_FLASH_ATTN\n"
            "            and attn_metadata.max_query_len == attn_metadata.max_seq_len\n"
            "            and not _genesis_has_cached_prefix(attn_metadata)\n"
            "        ):\n",
        ),
    ),
    proofs=(Proof("worker", counter="vllm.v1.attention.backends.turboquant_attn:_genesis_hits"),),
    study=Study(
        upstream="asks the lengths on the CPU as well, where the metadata has them, and trusts the maxima where not",
        ours="trusts the maxima for a lone request only: without lengths on the CPU the loop decides, which reads "
        "them; rows of padding, which have no query, do not count as continuations",
        tests="a long new prompt beside a short continuation, new prompts alone, a continuation alone",
    ),
)
