"""Paged attention of a few query tokens a sequence over a TurboQuant cache of 3- and 4-bit keys (docs/kernels.md).

Import `launch` for the operation itself; what is here needs neither torch nor triton.
"""

from genesisd.kernels.tq_codebook.guards import Setting, refusal
from genesisd.kernels.tq_codebook.layout import SlotLayout, layout_of

__all__ = ["Setting", "SlotLayout", "layout_of", "refusal"]
