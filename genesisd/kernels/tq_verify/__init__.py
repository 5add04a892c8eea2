"""Paged attention of a few query tokens a sequence over a TurboQuant k8v4 cache (docs/kernels.md).

Import `launch` for the operation itself; what is here needs neither torch nor triton.
"""

from genesisd.kernels.tq_verify.guards import refusal
from genesisd.kernels.tq_verify.layout import K8V4, SlotLayout

__all__ = ["K8V4", "SlotLayout", "refusal"]
