"""New keys and values into the cache's bytes, a block of rows a program: a row is one KV head of one token.

All of a row is in one warp, so its least and greatest value need no shared memory, and bytes leave in words of 4, the
widest that slots are aligned to. Quotients are triton's, as in the engine's kernel: the device's approximate division
decides which way a tie goes, and both have to decide alike.
"""

import triton
import triton.language as tl


@triton.jit
def e4nv(x):
    """float32 to bytes of e4m3, for the interpreter, whose own cast loses the carry into the exponent."""
    size = tl.minimum(tl.abs(x), 448.0)
    bits = size.to(tl.int32, bitcast=True)
    normal = ((bits + 0x7FFFF + ((bits >> 20) & 1)) >> 20) - (120 << 3)
    subnormal = (size + 16384.0).to(tl.int32, bitcast=True) - 0x46800000
    sign = (x.to(tl.int32, bitcast=True) >> 24) & 0x80
    return (tl.where(size >= 0.015625, normal, subnormal) | sign).to(tl.uint8)


@triton.jit
def e4b15(x):
    """float32 to bytes of e4b15, for the interpreter, which does not know the device's way."""
    size = tl.minimum(tl.abs(x), 1.75)
    normal = (size.to(tl.int32, bitcast=True) >> 13) - (112 << 10)
    half = tl.where(size >= 6.103515625e-05, normal, (size * 16777216.0).to(tl.int32))
    sign = (x.to(tl.int32, bitcast=True) >> 24) & 0x80
    return (((half + 0x40) >> 7) | sign).to(tl.uint8)


@triton.jit
def key_bytes(x, E4B15: tl.constexpr, ASM: tl.constexpr):
    """[R, BLOCK_D] float32 to bytes, by the device's conversions where there is a device."""
    if ASM:
        fp8 = x.to(tl.float8e4b15) if E4B15 else x.to(tl.float8e4nv)
        return fp8.to(tl.uint8, bitcast=True)
    else:  # noqa: RET505 (a constexpr branch)
        return e4b15(x) if E4B15 else e4nv(x)


@triton.jit
def word(scale, zero):
    """Both as float16 in one word, the scale in the lower half."""
    low = scale.to(tl.float16).to(tl.uint16, bitcast=True).to(tl.uint32)
    return low | (zero.to(tl.float16).to(tl.uint16, bitcast=True).to(tl.uint32) << 16)


@triton.jit(do_not_specialize=["tokens"], do_not_specialize_on_alignment=["slot_mapping"])
def store(
    key, value, cache, slot_mapping, key_token, key_head, value_token, value_head, page_words, tokens,
    POS: tl.constexpr, HEAD: tl.constexpr, PAGE: tl.constexpr, HEADS: tl.constexpr,
    D: tl.constexpr, BLOCK_D: tl.constexpr, R: tl.constexpr, E4B15: tl.constexpr, ASM: tl.constexpr,
):  # fmt: skip
    """One program R rows. Tokens whose slot is negative are padding: nothing of theirs is written."""
    row = tl.program_id(0) * R + tl.arange(0, R)
    token = row // HEADS
    head = row % HEADS
    slot = tl.load(slot_mapping + token, mask=token < tokens, other=-1).to(tl.int64)
    ok = slot >= 0
    slot = tl.maximum(slot, 0)
    word_at = slot // PAGE * page_words + slot % PAGE * POS + head * HEAD
    here = tl.multiple_of((cache.to(tl.pointer_type(tl.uint32)) + word_at).to(tl.pointer_type(tl.uint8)), 4)
    d = tl.arange(0, BLOCK_D)
    inside = d[None, :] < D
    there = ok[:, None] if D == BLOCK_D else ok[:, None] & inside

    at = token.to(tl.int64) * key_token + head * key_head
    x = tl.load(key + at[:, None] + d[None, :], mask=there, other=0.0).to(tl.float32)
    tl.store(here[:, None] + d[None, :], key_bytes(x, E4B15, ASM), mask=there)

    at = token.to(tl.int64) * value_token + head * value_head
    v = tl.load(value + at[:, None] + d[None, :], mask=there, other=0.0).to(tl.float32)
    low = tl.min(v if D == BLOCK_D else tl.where(inside, v, float("inf")), 1)
    high = tl.max(v if D == BLOCK_D else tl.where(inside, v, -float("inf")), 1)
    scale = (high - low) / 15.0
    scale = tl.where(scale > 1e-8, scale, 1e-8)
    nibbles = ((v - low[:, None]) / scale[:, None] + 0.5).to(tl.int32)
    nibbles = tl.minimum(tl.maximum(nibbles, 0), 15)
    even, odd = tl.split(tl.reshape(nibbles, [R, BLOCK_D // 2, 2]))
    e = tl.arange(0, BLOCK_D // 2)
    there = ok[:, None] if D == BLOCK_D else ok[:, None] & (e[None, :] < D // 2)
    tl.store(here[:, None] + D + e[None, :], (even | (odd << 4)).to(tl.uint8), mask=there)
    tl.store(cache.to(tl.pointer_type(tl.uint32)) + word_at + (D + D // 2) // 4, word(scale, low), mask=ok)
