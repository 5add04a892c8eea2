"""The output layer with FP8 weights: logits of a few rows, each weight read once (docs/kernels.md).

Import `launch` for the operation itself; what is here needs neither torch nor triton.
"""

from genesisd.kernels.lm_head_fp8.guards import Setting, refusal

__all__ = ["Setting", "refusal"]
