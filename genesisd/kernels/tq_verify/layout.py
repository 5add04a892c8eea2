"""Where the bytes of one token of one KV head lie in the cache."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SlotLayout:
    """A slot: FP8 keys, then 4-bit values (the lower dimension in the lower half of a byte), then scale and zero.

    A value is nibble * scale + zero, both float16.
    """

    head_dim: int
    key_bytes: int
    value_bytes: int
    """Packed values with their scale and zero."""
    slot_bytes: int


def K8V4(head_dim: int) -> SlotLayout:
    """The layout that the kernels read: what turboquant_k8v4 stores in vLLM 0.23 to 0.33."""
    value_bytes = head_dim // 2 + 4
    return SlotLayout(head_dim, head_dim, value_bytes, head_dim + value_bytes)


def difference(found: SlotLayout) -> str | None:
    """How a layout differs from the one that the kernels read, or None."""
    known = K8V4(found.head_dim)
    for what in ("key_bytes", "value_bytes", "slot_bytes"):
        if getattr(found, what) != getattr(known, what):
            name = what.replace("_", " ")
            return f"{getattr(found, what)} {name} at head_dim {found.head_dim}, but the kernel reads {getattr(known, what)}"
    return None
