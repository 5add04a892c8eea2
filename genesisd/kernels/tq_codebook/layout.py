"""Where the bytes of one token of one KV head lie in a cache whose keys are indexes into a codebook."""

from __future__ import annotations

from dataclasses import dataclass

KEY_BITS = {"4bit_nc": 4, "k3v4_nc": 3}
"""Bits of a key's index, by the cache kind as the engine names it behind `turboquant_`."""


@dataclass(frozen=True)
class SlotLayout:
    """A slot: the keys' indexes, the key's norm as float16, 4-bit values, their scale and zero as float16.

    Numbers of less than a byte follow each other from the lowest bit of a byte up, across bytes where they are of 3
    bits. All slots are an even number of bytes that is no multiple of 4: every other one begins in the middle of a word.
    """

    head_dim: int
    key_bits: int
    key_bytes: int
    """Indexes and the norm."""
    value_bytes: int
    """Packed values with their scale and zero."""
    slot_bytes: int


def layout_of(kind: str, head_dim: int) -> SlotLayout:
    """The layout that the kernel reads: what these kinds store in vLLM 0.23 to 0.33.

    Raises:
        KeyError: the kind is not one of KEY_BITS.
    """
    bits = KEY_BITS[kind]
    key_bytes, value_bytes = -(-head_dim * bits // 8) + 2, -(-head_dim // 2) + 4
    slot = key_bytes + value_bytes
    return SlotLayout(head_dim, bits, key_bytes, value_bytes, slot + slot % 2)


def difference(kind: str, found: SlotLayout) -> str | None:
    """How a layout differs from the one that the kernel reads of this kind, or None."""
    known = layout_of(kind, found.head_dim)
    for what in ("key_bits", "key_bytes", "value_bytes", "slot_bytes"):
        if getattr(found, what) != getattr(known, what):
            name = what.replace("_", " ")
            return f"{getattr(found, what)} {name} at head_dim {found.head_dim}, but the kernel reads {getattr(known, what)}"
    return None
