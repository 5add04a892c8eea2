"""What a model's config.json says about it, wherever its authors put it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

Config = Mapping[str, object]

HYBRIDS = frozenset(
    {
        "AliceAIForCausalLM", "BailingMoeV2_5ForCausalLM", "BailingMoeV3ForCausalLM",
        "BailingMoeV3VLForConditionalGeneration", "BambaForCausalLM", "ClefFlashForJointSchema", "ColBERTLfm2Model",
        "ColQwen3_5", "FalconH1ForCausalLM", "GraniteMoeHybridForCausalLM", "InternS2MobiusForConditionalGeneration",
        "InternS2PreviewForConditionalGeneration", "JambaForCausalLM", "JambaForSequenceClassification",
        "KimiLinearForCausalLM", "Lfm2ForCausalLM", "Lfm2MoeForCausalLM", "Lfm2VlForConditionalGeneration",
        "MiniCPMOcrForConditionalGeneration", "MiniCPMV4_6ForConditionalGeneration",
        "MiniCPMV4_7ForConditionalGeneration", "MiniMaxForCausalLM", "MiniMaxM1ForCausalLM",
        "MiniMaxText01ForCausalLM", "NemotronHForCausalLM", "NemotronHPuzzleForCausalLM",
        "NemotronH_Nano_Omni_Reasoning_V3", "NemotronH_Nano_VL_V2", "NemotronH_Omni_Reasoning_V3",
        "NemotronH_Super_Omni_Reasoning_V3", "OlmoHybridForCausalLM", "Plamo2ForCausalLM", "Qwen3NextForCausalLM",
        "Qwen3_5ForCausalLM", "Qwen3_5ForConditionalGeneration", "Qwen3_5MoeForCausalLM",
        "Qwen3_5MoeForConditionalGeneration", "Zamba2ForCausalLM",
    }
)  # fmt: skip
"""Architectures that the engine (0.23 to 0.33) serves with attention and state layers side by side."""
_ATTENTION = frozenset({"attention", "full_attention", "sliding_attention", "chunked_attention"})
_STATE = frozenset({"linear_attention", "mamba", "mamba2", "conv", "gated_delta_net", "recurrent", "hybrid"})
_LISTS = ("layer_types", "layers_block_type")
_GDN = "linear_num_value_heads"
"""Every gated delta net has it, and nothing else."""


def parts(config: Config) -> Iterator[Config]:
    """The config and the one of its language model, which multimodal models nest."""
    yield config
    for name in ("text_config", "language_config", "llm_config"):
        inner = config.get(name)
        if isinstance(inner, Mapping):
            yield inner


def first(config: Config, key: str) -> object:
    """The value at ``key``, the outer one before the nested; None where there is none."""
    return next((part[key] for part in parts(config) if part.get(key) is not None), None)


def architecture(config: Config) -> str | None:
    """The class that the engine looks for."""
    named = config.get("architectures")
    return str(named[0]) if isinstance(named, Sequence) and not isinstance(named, str) and named else None


def is_hybrid(config: Config) -> bool | None:
    """Whether state layers stand beside attention; None where the config names neither layers nor architecture."""
    for part in parts(config):
        for name in _LISTS:
            layers = part.get(name)
            if isinstance(layers, Sequence) and not isinstance(layers, str) and layers:
                kinds = {str(kind) for kind in layers}
                if kinds & _STATE:
                    return True
                if kinds <= _ATTENTION:
                    return False
        if any(part.get(name) is not None for name in ("hybrid_override_pattern", "attn_type_list", _GDN)):
            return True
    named = architecture(config)
    return None if named is None else named in HYBRIDS


def is_gdn(config: Config) -> bool:
    """Whether its state layers are gated delta nets, as in Qwen3-Next and Qwen3.5."""
    return any(part.get(_GDN) is not None for part in parts(config))


def quantization(config: Config) -> str | None:
    """How the checkpoint was quantised, by its own word (``quant_method``); None if it was not."""
    for part in parts(config):
        for name in ("quantization_config", "compression_config"):
            found = part.get(name)
            if isinstance(found, Mapping) and found.get("quant_method") is not None:
                return str(found["quant_method"])
    return None


def positions(config: Config) -> int | None:
    """How many tokens the model has positions for; None where that is not told, or stretched by a scaling."""
    for part in parts(config):
        for name in ("rope_scaling", "rope_parameters"):
            if any(rope.get("rope_type", rope.get("type", "default")) != "default" for rope in _ropes(part.get(name))):
                return None
    found = first(config, "max_position_embeddings")
    return found if isinstance(found, int) else None


def _ropes(found: object) -> Iterator[Config]:
    """One for all layers, or one for each kind of layer."""
    if isinstance(found, Mapping):
        yield found
        yield from (inner for inner in found.values() if isinstance(inner, Mapping))


def overridden(config: Config, changes: Config) -> Config:
    """The config as ``--hf-overrides`` changes it: mappings key by key, all else whole."""
    merged = dict(config)
    for key, value in changes.items():
        inner = merged.get(key)
        both = isinstance(value, Mapping) and isinstance(inner, Mapping)
        merged[key] = overridden(inner, value) if both else value  # type: ignore[arg-type]
    return merged
