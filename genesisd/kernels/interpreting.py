"""Whether kernels are compiled, or run by triton's interpreter."""

from __future__ import annotations

import os


def interpreted() -> bool:
    """Whether triton's interpreter runs the kernels: it knows no assembly."""
    return os.environ.get("TRITON_INTERPRET") == "1"
