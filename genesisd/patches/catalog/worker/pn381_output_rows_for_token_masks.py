"""PN381: a mask of allowed tokens comes without the rows of output that speak for its requests.

The metadata of a step holds the tokens generated so far when a penalty or a list of bad words needs them; a mask alone
does not, so a consumer that counts requests by these rows finds none beside a mask of several. The rejection sampler
counts by drafts in the releases known here: this closes the gap before somebody falls into it. Its price is that such
requests wait for their tokens under asynchronous scheduling, as requests with penalties do.
"""

from __future__ import annotations

from genesisd.patches.edits import replacing
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Origin
from genesisd.patches.model import Patch, Study

FILE = "vllm/v1/worker/gpu_input_batch.py"
TRACKED = "            or thinking_budget_tracks_reqs\n        )\n"

PATCH = Patch(
    id="PN381",
    title="Give rows of output along with a mask of allowed tokens",
    family="worker",
    origin=Origin.DEFENSIVE,
    flag=Flag("PN381_ALLOWED_TOKEN_IDS_METADATA"),
    upstream=(44742,),
    credit="vLLM contributors",
    versions=">=0.23.0",
    edits=(
        replacing(
            "masks_need_rows",
            FILE,
            "InputBatch._make_sampling_metadata",
            TRACKED,
            "            or thinking_budget_tracks_reqs\n            or not self.no_allowed_token_ids\n        )\n",
        ),
    ),
    study=Study(
        upstream="an open change of the condition",
        ours="the same condition; experimental, since no release known here has a consumer that fails",
        tests="requests with a mask, with a penalty, with both and with neither",
    ),
)
