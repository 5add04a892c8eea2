"""PN361: one request without stored draft probabilities takes those of the whole batch away.

The sampler then judges every draft as if it had been certain, which keeps the distribution but refuses more: one
stranger in a batch (a resumed request, say) costs all others their acceptance for that step. A certain draft can be
written as a row like any other, so only the stranger need be judged that way.
"""

from __future__ import annotations

from genesisd.patches.edits import replacing
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin, StableKind
from genesisd.patches.model import Patch, Study

FILE = "vllm/v1/worker/gpu_model_runner.py"
SCOPE = "GPUModelRunner._get_spec_decode_draft_probs"
ROWS = """\
        draft_probs_rows: list[torch.Tensor] = []
        for req_id, num_draft in zip(
            self.input_batch.req_ids, spec_decode_metadata.num_draft_tokens
        ):
            if num_draft == 0:
                continue
            row_idx = row_by_req_id.get(req_id)
            if row_idx is None:
                logger.warning(
                    "Missing cached draft probabilities for request %s; "
                    "falling back to legacy speculative rejection behavior.",
                    req_id,
                )
                return None
            draft_probs_rows.append(self._draft_probs[row_idx, :num_draft])

        if not draft_probs_rows:
            return None
"""
CERTAIN = """\
        draft_probs_rows: list[torch.Tensor] = []
        any_known = False
        first_draft = 0
        for req_id, num_draft in zip(
            self.input_batch.req_ids, spec_decode_metadata.num_draft_tokens
        ):
            if num_draft == 0:
                continue
            row_idx = row_by_req_id.get(req_id)
            if row_idx is None:
                # Judged as certain, which is what a batch without rows would be.
                drafts = spec_decode_metadata.draft_token_ids[
                    first_draft : first_draft + num_draft
                ]
                rows = self._draft_probs.new_zeros(
                    (num_draft, self._draft_probs.shape[-1])
                )
                rows.scatter_(1, drafts.long().clamp(min=0).unsqueeze(1), 1.0)
            else:
                any_known = True
                rows = self._draft_probs[row_idx, :num_draft]
            draft_probs_rows.append(rows)
            first_draft += num_draft

        if not any_known:
            return None
"""

PATCH = Patch(
    id="PN361",
    title="Keep draft probabilities although one row is missing",
    family="spec_decode",
    lifecycle=Lifecycle.STABLE,
    stable_kind=StableKind.BEHAVIOUR,
    origin=Origin.BACKPORT,
    flag=Flag("PN361_MISSING_DRAFT_PROBS_ROW"),
    upstream=(44869,),
    credit="vLLM contributors",
    versions=">=0.23.0",
    edits=(replacing("certain_row", FILE, SCOPE, ROWS, CERTAIN),),
    study=Study(
        upstream="an open change that keeps the rows that are known",
        ours="a missing row is the certain draft that the sampler would have assumed, so both ways give one distribution; "
        "a batch in which no row is known goes the old way",
        tests="a batch with all, some and no rows, and with requests that have no drafts",
    ),
)
