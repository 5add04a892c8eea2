"""PN376: FP8 checkpoints that name the modules they left alone by part of their path are taken for quantised there.

``modules_to_not_convert`` is compared with a layer's whole name, and ``linear_attn.in_proj_qkv`` is no layer's
whole name, nor is one written without the root that a multimodal wrapper adds. The layer gets FP8 weights and a
scale that the checkpoint never had, and the model talks gibberish.
"""

from __future__ import annotations

from genesisd.patches.edits import AnchorEdit, Marker, Placement, Variant, replacing
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin, StableKind
from genesisd.patches.model import Patch, Study

FP8 = "vllm/model_executor/layers/quantization/fp8.py"
FUSED_EXPERTS = "vllm/model_executor/layers/quantization/utils/config_utils.py"
METHOD = '''\
    def genesis_ignored(self, prefix: str) -> list[str]:
        """The ignored names, and the names of this layer or its shards whose path an ignored name is part of.

        A layer whose fused name is ignored has no shard that is not. A part is whole components: ``mlp.gate`` is not in ``mlp.gate_up_proj``, nor ``layers.1`` in ``layers.10``.
        """
        last = prefix.split(".")[-1]
        shards = (self.packed_modules_mapping or {}).get(last, ())
        names = [prefix, *(prefix.replace(last, shard) for shard in shards)]
        named = [name for name in names if any(f".{one}." in f".{name}." for one in self.ignored_layers)]
        return [*self.ignored_layers, *(names if prefix in named else named)]

'''


def _asked_for(edit: str, kind: str, condition: str) -> AnchorEdit:
    head = f"{condition} isinstance(layer, {kind}):\n            if is_layer_skipped(\n                prefix=prefix,\n"
    return replacing(
        edit,
        FP8,
        "Fp8Config.get_quant_method",
        f"{head}                ignored_layers=self.ignored_layers,\n",
        f"{head}                ignored_layers=self.genesis_ignored(prefix),\n",
    )


PATCH = Patch(
    id="PN376",
    title="Match ignored FP8 modules by part of their name",
    family="quantization",
    lifecycle=Lifecycle.STABLE,
    stable_kind=StableKind.BEHAVIOUR,
    origin=Origin.BACKPORT,
    flag=Flag("PN376_FP8_IGNORED_BY_PART"),
    upstream=(44628,),
    credit="LEWISZZZcc (vLLM)",
    versions=">=0.23.0",
    edits=(
        AnchorEdit(
            "method",
            FP8,
            "Fp8Config",
            (Variant("    def apply_vllm_mapper(self,", METHOD),),
            placement=Placement.BEFORE,
        ),
        _asked_for("linear", "LinearBase", "if"),
        _asked_for("experts", "RoutedExperts", "elif"),
        AnchorEdit(
            "shared_experts",
            FUSED_EXPERTS,
            "is_shared_expert_quant_fse_compatible.<locals>.is_ignored",
            (
                Variant(
                    "                ignored_layers=quant_config.ignored_layers,\n",
                    "                ignored_layers=quant_config.genesis_ignored(layer_name),\n",
                ),
            ),
            required=False,
            unless=Marker(FP8, "moe_quant_method = Fp8MoEMethod(self, layer)"),  # from before experts were fused
        ),
    ),
    study=Study(
        upstream="takes any substring, for FP8 and four more methods; a later change lets one model ask for suffixes",
        ours="whole components of the path, so that mlp.gate leaves mlp.gate_up_proj alone; exact names, and single "
        "experts named by number, mean what they did; FP8 only, since the other lists are written differently",
        tests="short pattern, whole path, a pattern that no layer has; ours add the boundaries and the fused names",
    ),
)
