"""Checkpoints of one file each, and the warnings that their configuration gives before they are loaded.

The class has moved in 0.24; before, the patch keeps out (``version``), although the defect is there.
"""

import tempfile
from pathlib import Path

ID = "PN518"
STUBS = "none: the real configuration, on files with weights of a few numbers; only the log is listened to"
VERDICTS = {"0.23.0": "version"} | dict.fromkeys(("0.24.0", "0.30.0", "0.32.0", "0.33.0"), "applied")
RED = {"mixed": [], "int4": [], "fp8_without_scale": [], "unquantised_beside": []}
GREEN = RED | {"mixed": [[2, 4, "model.layers.0.self_attn.k_proj"]]}
K, Q, EXPERT = "model.layers.0.self_attn.k_proj", "model.layers.0.self_attn.q_proj", "model.layers.0.mlp.experts.0.up"


def observe(version):
    import torch
    from vllm.model_executor.layers.quantization.inc import inc

    fp8 = torch.zeros(2, 2).to(torch.float8_e4m3fn)
    scale, packed, plain = torch.zeros(1, 1), torch.zeros(2, 2, dtype=torch.int32), torch.zeros(2, 2)
    int4 = {f"{EXPERT}.qweight": packed, f"{EXPERT}.scales": plain}
    scaled = {f"{name}.weight": fp8 for name in (Q, K)} | {f"{name}.weight_scale_inv": scale for name in (Q, K)}
    return {
        "mixed": warnings(inc, int4 | scaled),
        "int4": warnings(inc, int4),
        "fp8_without_scale": warnings(inc, int4 | {f"{Q}.weight": fp8}),
        "unquantised_beside": warnings(inc, int4 | {f"{Q}.weight": plain}),
    }


def warnings(inc, weights):
    from safetensors.torch import save_file

    said = []
    inc.logger.warning = lambda _, layers, model, bits, first: said.append([layers, bits, first])
    config = inc.INCConfig.from_config({"quant_method": "auto-round", "bits": 4, "group_size": 128, "sym": True})
    with tempfile.TemporaryDirectory() as folder:
        save_file({name: one.clone() for name, one in weights.items()}, Path(folder, "model.safetensors"))
        config.maybe_update_config(folder, hf_config=None, revision=None)
    return said
