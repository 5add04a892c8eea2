"""A Qwen3 of 12 layers with 16/2 heads of 256 and random weights, for which attention counts and drafts can be right."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import save_file

VOCABULARY = 4096
HIDDEN, INNER, LAYERS, HEADS, KV_HEADS, DIM = 2048, 6144, 12, 16, 2, 256
CONFIG = {
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": HIDDEN, "intermediate_size": INNER,
    "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "head_dim": DIM,
    "vocab_size": VOCABULARY, "max_position_embeddings": 163840, "rms_norm_eps": 1e-6, "hidden_act": "silu",
    "rope_theta": 1e6, "tie_word_embeddings": False, "attention_bias": False, "torch_dtype": "bfloat16",
    "bos_token_id": 0, "eos_token_id": 0, "use_cache": True, "attention_dropout": 0.0,
}  # fmt: skip
SHARP = 4.0
"""Factor of queries: with 1 a token of 100,000 would weigh nothing, and attention would be a mean of noise."""
EMBEDDED = 3.0
"""Against some 3 that the layers add: the last token is still heard at the end."""
FOLLOWED = 0.0041
"""How strongly the head follows a token by the next one: about 6 nats above the rest."""


def make(folder: Path) -> Path:
    """Write the model."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    torch.manual_seed(1)
    embedded = _random(VOCABULARY, HIDDEN, std=EMBEDDED)
    weights = {
        "model.embed_tokens.weight": embedded,
        "lm_head.weight": _random(VOCABULARY, HIDDEN) + FOLLOWED / EMBEDDED * embedded.roll(1, 0),
        "model.norm.weight": _one(HIDDEN),
    }
    for layer in range(LAYERS):
        weights |= {f"model.layers.{layer}.{name}.weight": one for name, one in _layer().items()}
    save_file({name: one.to(torch.bfloat16).cpu() for name, one in weights.items()}, folder / "model.safetensors")
    return folder


def _layer() -> dict[str, torch.Tensor]:
    return {
        "self_attn.q_proj": _random(HEADS * DIM, HIDDEN),
        "self_attn.k_proj": _random(KV_HEADS * DIM, HIDDEN),
        "self_attn.v_proj": _random(KV_HEADS * DIM, HIDDEN),
        "self_attn.o_proj": _random(HIDDEN, HEADS * DIM),
        "self_attn.q_norm": _one(DIM) * SHARP,
        "self_attn.k_norm": _one(DIM),
        "mlp.gate_proj": _random(INNER, HIDDEN),
        "mlp.up_proj": _random(INNER, HIDDEN),
        "mlp.down_proj": _random(HIDDEN, INNER),
        "input_layernorm": _one(HIDDEN),
        "post_attention_layernorm": _one(HIDDEN),
    }


def _random(*shape: int, std: float = 0.02) -> torch.Tensor:
    return torch.randn(*shape, device="cuda" if torch.cuda.is_available() else "cpu") * std


def _one(size: int) -> torch.Tensor:
    return torch.ones(size)
