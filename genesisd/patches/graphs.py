"""Which CUDA graphs the engine would capture, as its flags say, on a card. Pure.

What the engine changes by itself later, for a backend or a connector that takes no full graphs, is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping

from genesisd.patches.serve_flags import LEVEL, ServeFlags

NONE, PIECEWISE, FULL = "NONE", "PIECEWISE", "FULL"
MODES = (NONE, PIECEWISE, FULL, "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE")
"""As the engine names them; the first three by number as well."""
BY_LEVEL = {"0": NONE, "1": PIECEWISE, "2": "FULL_AND_PIECEWISE", "3": "FULL_AND_PIECEWISE"}
"""What each level of optimisation captures where nothing else is said."""
DEFAULT_LEVEL = "2"
_IN_PIECES = (3, "VLLM_COMPILE")
"""How ``mode`` of the compilation says that the model is compiled in pieces; not given, it is so above level 0."""
_VARYING = "num_speculative_tokens_per_batch_size"


def cudagraph_mode(flags: ServeFlags) -> str | None:
    """The mode by name, or None where the flags do not tell it for every release."""
    if flags.is_on("--enforce-eager"):
        return NONE
    level = flags.value(LEVEL) if flags.has(LEVEL) else DEFAULT_LEVEL
    compilation = flags.mapping("--compilation-config")
    if not flags.whole or level not in BY_LEVEL or compilation is None:
        return None
    found = _named(compilation.get("cudagraph_mode"), BY_LEVEL[level])
    if found is None or found == NONE:
        return found
    if found.endswith(PIECEWISE) and not _in_pieces(compilation, level):
        # Up to 0.26 no graphs at all are left; later releases keep the full ones.
        return NONE if found == PIECEWISE else None
    # Drafts of a varying number had full graphs taken away at first, and are now captured by one of two runners.
    return None if found.startswith(FULL) and _VARYING in (flags.mapping("--speculative-config") or {}) else found


def _named(value: object, default: str) -> str | None:
    if value is None:
        return default
    if isinstance(value, int):
        return MODES[value] if 0 <= value <= MODES.index(FULL) else None
    return value.upper() if isinstance(value, str) and value.upper() in MODES else None


def _in_pieces(compilation: Mapping[str, object], level: str) -> bool:
    mode = compilation.get("mode")
    if mode is None:
        return level != "0"
    return (mode.upper() if isinstance(mode, str) else mode) in _IN_PIECES
