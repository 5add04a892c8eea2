"""The store of new keys and values into a TurboQuant k8v4 cache, in one launch (docs/kernels.md).

Import `launch` for the operation itself; what is here needs neither torch nor triton.
"""

from genesisd.kernels.tq_store.guards import Setting, refusal

__all__ = ["Setting", "refusal"]
