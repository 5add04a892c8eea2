"""What the kernel refuses, each with its reason: who is refused goes on with the engine's own path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from genesisd.kernels.tq_codebook.layout import KEY_BITS, SlotLayout, difference

GRANULE = 16
"""Tokens that must lie together: the kernel looks a page up once for so many."""
FURTHEST = 2**32
"""Bytes within a page: they are counted in halves of words, by 31 bits."""
HEAD_DIMS = (64, 128, 256, 512)
"""The rotation is a Hadamard matrix, which the engine has for powers of two alone."""


@dataclass(frozen=True)
class Setting:
    """What the backend runs with, asked once when the kernel is loaded."""

    kind: str
    """The cache kind, without `turboquant_`."""
    layout: SlotLayout
    norm_correction: bool
    """Whether the backend scales the entries that a key points to back to unit length."""
    page_size: int
    query_heads: int
    kv_heads: int
    max_query_len: int
    capability: tuple[int, int]
    cache_strides: tuple[int, int, int]
    """Bytes from page to page, from token to token, from KV head to KV head."""
    softcap: float = 0.0
    sliding_window: int = 0


def refusal(setting: Setting) -> str | None:
    """Why the kernel does not serve a setting, or None."""
    return _kind(setting) or _layout(setting) or _shape(setting) or _feature(setting)


def codebook_refusal(codebook: Sequence[float], bits: int) -> str | None:
    """Why the entries of a codebook cannot be read, or None. They are compared as float32 leaves them."""
    if len(codebook) != 2**bits:
        return f"{len(codebook)} entries in the codebook of {bits}-bit keys: {2**bits} are needed"
    largest = max(abs(entry) for entry in codebook)
    if not 0 < largest < float("inf"):
        return f"a codebook whose largest entry is {largest}"
    for low, high in zip(codebook[: len(codebook) // 2], reversed(codebook), strict=False):
        if low >= 0 or not abs(low + high) <= 1e-4 * largest:
            return f"a codebook that is not the same below and above zero ({low} and {high}): the kernel keeps one half"
    return None


def _kind(setting: Setting) -> str | None:
    if setting.kind not in KEY_BITS:
        return f"the cache kind {setting.kind}: {' and '.join(sorted(KEY_BITS))} are served"
    if not setting.norm_correction:
        return "a backend that takes a key's entries as they are: the kernel scales them to unit length"
    return None


def _layout(setting: Setting) -> str | None:
    found = difference(setting.kind, setting.layout)
    if found is not None:
        return f"the cache has another layout: {found}"
    page, token, head = setting.cache_strides
    if page % 4 or token % 2 or head % 2:
        return f"cache strides of {setting.cache_strides} bytes: pages must be multiples of 4 apart, slots of 2"
    furthest = (setting.kv_heads - 1) * head + GRANULE * token
    if furthest >= FURTHEST:
        return f"heads of a page that lie {furthest} bytes apart: {FURTHEST} and more are not counted by the kernel"
    return None


def _shape(setting: Setting) -> str | None:
    if setting.layout.head_dim not in HEAD_DIMS:
        return f"head_dim {setting.layout.head_dim}: {', '.join(map(str, HEAD_DIMS))} are served"
    if setting.page_size <= 0 or setting.page_size % GRANULE:
        return f"pages of {setting.page_size} tokens are not whole multiples of {GRANULE}"
    if setting.query_heads % setting.kv_heads:
        return f"{setting.query_heads} query heads cannot be shared out to {setting.kv_heads} KV heads"
    if not 1 <= setting.max_query_len <= 16:
        return f"{setting.max_query_len} query tokens a sequence: 1 to 16 are served"
    if setting.capability < (8, 0):
        return f"compute capability {setting.capability[0]}.{setting.capability[1]}: 8.0 or newer is needed"
    return None


def _feature(setting: Setting) -> str | None:
    for what, found in (("logits soft cap", setting.softcap), ("sliding window", setting.sliding_window)):
        if found:
            return f"a {what} of {found}: the backend itself applies none, so neither does the kernel"
    return None
