"""Layers as models name them, asked of a configuration as checkpoints write it: quantised, left alone, or refused."""

ID = "PN376"
STUBS = (
    "the methods that make and run FP8 weights, by their names; layers without weights. The configuration, its reading "
    "and its decisions are the real ones"
)
VERDICTS = dict.fromkeys(("0.23.0", "0.24.0", "0.30.0", "0.32.0", "0.33.0"), "applied")
PARTIAL = "refused"
GREEN_OLD = {
    # by part
    "short_name": "left",
    "short_name_of_fused": "left",
    "one_shard_of_fused": PARTIAL,
    "without_the_root": "left",
    "a_whole_tower": "left",
    "a_whole_layer": "left",
    "experts_by_part": "left",
    # controls
    "whole_name": "left",
    "other_layer": "fp8",
    "longer_last_component": "fp8",
    "longer_first_component": "fp8",
    "layer_ten_is_not_one": "fp8",
    "expert_by_number": "left",
    "other_experts": "fp8",
    "nothing_ignored": "fp8",
}
RED_OLD = GREEN_OLD | dict.fromkeys(
    (
        "short_name",
        "short_name_of_fused",
        "one_shard_of_fused",
        "without_the_root",
        "a_whole_tower",
        "a_whole_layer",
        "experts_by_part",
    ),
    "fp8",
)
NEWER = ("0.30.0", "0.32.0", "0.33.0")
# Since 0.30 shared experts may be stored with the routed ones, unless one of the two is left alone.
RED = RED_OLD | {version: RED_OLD | {"may_fuse_shared_experts": True} for version in NEWER}
GREEN = GREEN_OLD | {version: GREEN_OLD | {"may_fuse_shared_experts": False} for version in NEWER}
RED |= dict.fromkeys(("0.23.0", "0.24.0"), RED_OLD)
GREEN |= dict.fromkeys(("0.23.0", "0.24.0"), GREEN_OLD)

ATTENTION = "language_model.model.layers.1.linear_attn"
MLP = "model.layers.1.mlp"
# what is ignored, and the layer that is asked about
LINEAR = {
    "short_name": ("linear_attn.out_proj", f"{ATTENTION}.out_proj"),
    "short_name_of_fused": ("linear_attn.in_proj", f"{ATTENTION}.in_proj"),
    "one_shard_of_fused": ("in_proj_qkv", f"{ATTENTION}.in_proj"),
    "without_the_root": ("model.layers.1.linear_attn.out_proj", f"{ATTENTION}.out_proj"),
    "a_whole_tower": ("visual", "visual.blocks.3.attn.proj"),
    "a_whole_layer": ("layers.1", f"{MLP}.down_proj"),
    "whole_name": (f"{MLP}.gate", f"{MLP}.gate"),
    "other_layer": ("model.layers.0.mlp.gate", f"{MLP}.gate"),
    "longer_last_component": ("mlp.gate", f"{MLP}.gate_proj"),
    "longer_first_component": ("lm.gate", f"{MLP}.gate"),
    "layer_ten_is_not_one": ("layers.1", "model.layers.10.mlp.down_proj"),
    "nothing_ignored": (None, f"{MLP}.gate"),
}
EXPERTS = {
    "experts_by_part": ("mlp.experts", f"{MLP}.experts"),
    "expert_by_number": (f"{MLP}.experts.0.gate_proj", f"{MLP}.experts"),
    "other_experts": ("layers.0.mlp.experts", f"{MLP}.experts"),
}


def observe(version):
    from vllm.model_executor.layers.quantization import fp8

    for kind in ("Fp8LinearMethod", "Fp8MoEMethod", "UnquantizedLinearMethod", "UnquantizedFusedMoEMethod"):
        setattr(fp8, kind, type(kind, (), {"__init__": lambda self, *_: None}))
    seen = {name: asked(fp8, fp8.LinearBase, *what) for name, what in LINEAR.items()}
    seen |= {name: asked(fp8, fp8.RoutedExperts, *what) for name, what in EXPERTS.items()}
    if version in NEWER:
        from vllm.model_executor.layers.quantization.utils import config_utils

        config = config_of(fp8, "mlp.shared_expert")
        asks = (config, f"{MLP}.experts", f"{MLP}.shared_expert")
        seen["may_fuse_shared_experts"] = config_utils.is_shared_expert_quant_fse_compatible(*asks)[0]
    return seen


def config_of(fp8, ignored):
    written = {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}
    if ignored is not None:
        written["modules_to_not_convert"] = [ignored, "lm_head"]
    config = fp8.Fp8Config.from_config(written)
    config.packed_modules_mapping = {"in_proj": ["in_proj_qkv", "in_proj_z"], "gate_up_proj": ["gate_proj", "up_proj"]}
    return config


def asked(fp8, kind, ignored, name):
    import torch

    layer = object.__new__(kind)
    torch.nn.Module.__init__(layer)
    layer.moe_config = None
    try:
        method = config_of(fp8, ignored).get_quant_method(layer, name)
    except ValueError:
        return PARTIAL
    return "left" if type(method).__name__.startswith("Unquantized") else "fp8"
