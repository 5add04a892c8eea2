"""Query rows as the M of the matrix products: for many rows, and for devices without FP8 matrix units.

One program a (split, KV head, sequence x block of rows): each byte of the cache is read once for all of them.
"""

import triton
import triton.language as tl

from genesisd.kernels.tq_verify.device import (
    centred_nibbles,
    ex2,
    load_columns,
    load_keys,
    load_values,
    pages_at,
    rows_at,
    span_beside,
    to_fp8,
)
from genesisd.kernels.tq_verify.tail import attend_tail


@triton.jit
def scores(q_high, q_low, k, FP8: tl.constexpr):
    """[M, N] float32. The small half of an FP8 query goes first: the FP8 units cut a sum to about 14 bits at each step."""
    if FP8:
        kt = tl.trans(k)
        return tl.dot(q_high, kt, tl.dot(q_low, kt))
    else:  # noqa: RET505 (a constexpr branch)
        return tl.dot(q_high, tl.trans(k.to(tl.float16)))


@triton.jit
def tile(
    acc, m, l, z, q_high, q_low, factor, limit, pages, start, length, cache, head_at,
    POS: tl.constexpr, D: tl.constexpr, BLOCK_D: tl.constexpr, N: tl.constexpr,
    FP8: tl.constexpr, E4B15: tl.constexpr, ASM: tl.constexpr, MASK: tl.constexpr,
):  # fmt: skip
    """One tile into the running softmax: maximum m, sum l, sum of zero points z, weighted nibbles acc.

    The value's scale is part of the exponent, so weights are at most 2^14 whatever the scales are, and keep float16's
    precision down to 2^-28 of the largest.
    """
    n = tl.arange(0, N)
    pos = start + n
    here = rows_at(cache, pages, n, head_at, POS, N)
    k = load_keys(here, tl.arange(0, BLOCK_D), D, BLOCK_D, E4B15)
    b = load_values(here, D, BLOCK_D)
    log_scale, inverse, zero = load_columns(here, pos, length, D, ASM, MASK)
    t = scores(q_high, q_low, k, FP8) * factor[:, None] + log_scale[None, :]
    if MASK:
        t = tl.where(pos[None, :] <= limit[:, None], t, float("-inf"))
    m_new = tl.maximum(m, tl.max(t, 1) - 14.0)
    shrink = ex2(m - m_new, ASM)
    w = ex2(t - m_new[:, None], ASM)
    l = l * shrink + tl.sum(w * inverse[None, :], 1)
    z = z * shrink + tl.sum(w * zero[None, :], 1)
    acc = tl.dot(w.to(tl.float16), centred_nibbles(b, N, BLOCK_D, ASM), acc * shrink[:, None])
    return acc, m_new, l, z


@triton.jit
def split_query(q, FP8: tl.constexpr, ASM: tl.constexpr):
    """A query row scaled by a power of two to FP8's range and cut into two FP8 halves (or one float16), with the scale."""
    top = tl.maximum(tl.max(tl.abs(q), 1), 1e-30)
    up = tl.exp2((7.0 if FP8 else 0.0) - tl.floor(tl.log2(top)))
    q = q * up[:, None]
    if FP8:
        high = to_fp8(q, ASM)
        return high, to_fp8(q - high.to(tl.float32), ASM), up
    else:  # noqa: RET505 (a constexpr branch)
        high = q.to(tl.float16)
        return high, high, up


@triton.jit(do_not_specialize=["splits"])
def query_major(
    query, cache, table, lens, starts, part, lse, scale_log2, q_stride, table_stride, page_words, splits,
    tail_key, tail_value, key_stride, value_stride,
    POS: tl.constexpr, HEAD: tl.constexpr, PAGE: tl.constexpr, KV_HEADS: tl.constexpr, GROUP: tl.constexpr,
    D: tl.constexpr, BLOCK_D: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
    CHUNK: tl.constexpr, BLOCKS: tl.constexpr, FP8: tl.constexpr, E4B15: tl.constexpr, ASM: tl.constexpr,
    STAGES: tl.constexpr,
):  # fmt: skip
    """Attention of up to M query rows over one split; writes its normalised output and log2 of its sum.

    Without a tail its four arguments are None, and nothing of it is compiled.
    """
    TAIL: tl.constexpr = tail_key is not None
    split = tl.program_id(0)
    head = tl.program_id(1)
    seq = tl.program_id(2) // BLOCKS
    block = tl.program_id(2) % BLOCKS
    q0 = tl.load(starts + seq)
    q_len = tl.load(starts + seq + 1) - q0
    length = tl.load(lens + seq)
    first, last, _, stored = span_beside(length, q_len, split, splits, N, CHUNK, TAIL)
    if first >= last:
        return
    if block * M >= q_len * GROUP:
        return
    if TAIL:  # noqa: SIM102 (a constexpr branch)
        if split == 0:
            attend_tail(
                query, tail_key, tail_value, part, lse, scale_log2, q_stride, key_stride, value_stride, splits,
                q0, q_len, length, head, block * M, KV_HEADS, GROUP, D, BLOCK_D, M, ASM,
            )  # fmt: skip
            return
    row = block * M + tl.arange(0, M)
    ok = row // GROUP < q_len
    limit = tl.where(ok, length - q_len + row // GROUP, -1)
    d = tl.arange(0, BLOCK_D)
    at = (q0 + row // GROUP).to(tl.int64) * q_stride + (head * GROUP + row % GROUP) * D
    q = tl.load(query + at[:, None] + d[None, :], mask=ok[:, None] & (d < D)[None, :], other=0.0).to(tl.float32)
    q_high, q_low, up = split_query(q, FP8, ASM)
    factor = scale_log2 / up
    acc = tl.zeros([M, BLOCK_D], tl.float32)
    m = tl.full([M], -1e30, tl.float32)
    l = tl.zeros([M], tl.float32)
    z = tl.zeros([M], tl.float32)
    table += seq.to(tl.int64) * table_stride
    head_at = head * HEAD
    if TAIL:  # all rows see all that is stored
        limit = tl.full([M], stored - 1, tl.int32)
        seen_by_all = (last - first) // N * N
    else:
        seen_by_all = tl.maximum(tl.minimum(last, length - q_len + 1) - first, 0) // N * N
    pages = pages_at(table, first, last, page_words, POS, PAGE, N, ASM)
    for start in tl.range(first, first + seen_by_all, N, num_stages=STAGES):
        here = pages
        pages = pages_at(table, start + N, last, page_words, POS, PAGE, N, ASM)
        acc, m, l, z = tile(
            acc, m, l, z, q_high, q_low, factor, limit, here, start, stored, cache, head_at,
            POS, D, BLOCK_D, N, FP8, E4B15, ASM, False,
        )  # fmt: skip
    for start in tl.range(first + seen_by_all, last, N, num_stages=1):
        here = pages_at(table, start, last, page_words, POS, PAGE, N, ASM)
        acc, m, l, z = tile(
            acc, m, l, z, q_high, q_low, factor, limit, here, start, stored, cache, head_at,
            POS, D, BLOCK_D, N, FP8, E4B15, ASM, True,
        )  # fmt: skip
    some = l > 0
    r = 1.0 / tl.where(some, l, 1.0)
    out = ((q0 + row // GROUP).to(tl.int64) * (KV_HEADS * GROUP) + head * GROUP + row % GROUP) * splits + split
    tl.store(lse + out, tl.where(some, m + tl.log2(l), float("-inf")), mask=ok)
    tl.store(part + out[:, None] * BLOCK_D + d[None, :], (acc + z[:, None]) * r[:, None], mask=ok[:, None])
