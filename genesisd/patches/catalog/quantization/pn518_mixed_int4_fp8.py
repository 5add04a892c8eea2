"""PN518: an AutoRound checkpoint that holds FP8 layers beside INT4 ones loads without a complaint and talks gibberish.

The INT4 configuration makes no place for the FP8 layers' scales; the loader drops them, one quiet line for each.
This patch does not make such a checkpoint work. It says, once and before anything is loaded, that it will not.
"""

from __future__ import annotations

from genesisd.patches.edits import AnchorEdit, Placement, Variant
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Implementation, Lifecycle, Origin, StableKind
from genesisd.patches.model import Patch

FILE = "vllm/model_executor/layers/quantization/inc/inc.py"
METHOD = '''\
    def maybe_update_config(self, model_name: str, hf_config=None, revision: str | None = None) -> None:
        """Tell of weights in FP8 for whose scales this configuration has no place."""
        if self.data_type != "int":
            return
        from vllm.transformers_utils.config import get_safetensors_params_metadata

        held = get_safetensors_params_metadata(model_name, revision=revision)
        layers = sorted(
            name.removesuffix(".weight")
            for name, info in held.items()
            if name.endswith(".weight")
            and str(info.get("dtype", "")).startswith("F8_")
            and f"{name}_scale_inv" in held
        )
        if layers:
            logger.warning(
                "%d layers of %s are FP8, and its quantization_config says INT%d: their scales will not be "
                "loaded, and the answers will be garbage. The first is %s",
                len(layers),
                model_name,
                self.weight_bits,
                layers[0],
            )

'''

PATCH = Patch(
    id="PN518",
    title="Warn of AutoRound checkpoints that mix INT4 and FP8",
    family="quantization",
    lifecycle=Lifecycle.STABLE,
    stable_kind=StableKind.BEHAVIOUR,
    implementation=Implementation.DIAGNOSTIC,
    origin=Origin.RELATED,
    flag=Flag("PN518_INC_HYBRID_FP8_DETECT"),
    upstream=(46322,),
    credit="tgmerritt (vLLM)",
    versions=">=0.24.0",
    edits=(
        AnchorEdit(
            "look",
            FILE,
            "INCConfig",
            (Variant("    def get_layer_config(self, layer, layer_name: str):\n", METHOD),),
            placement=Placement.BEFORE,
        ),
    ),
)
