"""P109: one request whose stop token is not in the vocabulary ends the engine for everybody.

Stop tokens are columns of the logits that are masked until ``min_tokens`` are out. They are the only such ids that
are not compared with the vocabulary: an id beyond it, or below zero, writes out of bounds, and on a card that is an
error of the whole process.
"""

from __future__ import annotations

from genesisd.patches.edits import AnchorEdit, Marker, Placement, Variant
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin, StableKind
from genesisd.patches.model import Patch, Study

FILE = "vllm/sampling_params.py"
METHOD = """\
    def _genesis_check_stop_token_ids(self, model_config: ModelConfig) -> None:
        size = model_config.get_vocab_size()
        outside = [one for one in self.stop_token_ids or () if not 0 <= one < size]
        if outside:
            raise VLLMValidationError(
                f"stop_token_ids: {outside[:5]} are not in the vocabulary, whose ids go from 0 to {size - 1}",
                parameter="stop_token_ids",
                value=outside[:5],
            )

"""

PATCH = Patch(
    id="P109",
    title="Refuse stop token ids outside the vocabulary",
    family="serving",
    lifecycle=Lifecycle.STABLE,
    stable_kind=StableKind.BEHAVIOUR,
    origin=Origin.BACKPORT,
    flag=Flag("P109_STOP_IDS_IN_VOCABULARY"),
    upstream=(42614,),
    credit="vLLM contributors",
    applied_upstream="0.30.0",
    versions=">=0.23.0",
    edits=(
        AnchorEdit(
            "check",
            FILE,
            "SamplingParams",
            (Variant("    def _validate_logit_bias(self, model_config: ModelConfig) -> None:\n", METHOD),),
            placement=Placement.BEFORE,
        ),
        AnchorEdit(
            "ask",
            FILE,
            "SamplingParams.verify",
            (
                Variant(
                    "        self._validate_logit_bias(model_config)\n",
                    "        self._genesis_check_stop_token_ids(model_config)\n",
                ),
            ),
            placement=Placement.AFTER,
        ),
    ),
    markers=(Marker(FILE, "def _validate_stop_token_ids"),),
    study=Study(
        upstream="refuses them beside the other ids, against the model's vocabulary",
        ours="the same bound; the message names five of them at most, as a request may bring any number. The ids of "
        "log probabilities, the other half of the proposal, are checked by every release that we know",
        tests="above, at and below the bounds, and an id that is fine",
    ),
)
