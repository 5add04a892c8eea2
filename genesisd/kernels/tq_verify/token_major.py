"""The cache's tokens as the M of the matrix products: for few rows, which would leave most of M empty.

FP8 keys go from shared memory to the matrix units untouched; the halves of the query stand beside each other in N.
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
def tile(
    acc, m, l, z, q_t, factor, limit, pages, start, length, cache, head_at,
    POS: tl.constexpr, D: tl.constexpr, BLOCK_D: tl.constexpr, R: tl.constexpr, N: tl.constexpr,
    ASM: tl.constexpr, MASK: tl.constexpr,
):  # fmt: skip
    """As query_major.tile, transposed; l and z stay a value a token and row, and are summed once at the end."""
    n = tl.arange(0, N)
    pos = start + n
    here = rows_at(cache, pages, n, head_at, POS, N)
    k = load_keys(here, tl.arange(0, BLOCK_D), D, BLOCK_D, False)
    b = load_values(here, D, BLOCK_D)
    log_scale, inverse, zero = load_columns(here, pos, length, D, ASM, MASK)
    s = tl.sum(tl.reshape(tl.dot(k, q_t), [N, 2, R]), 1)
    t = s * factor[None, :] + log_scale[:, None]
    if MASK:
        t = tl.where(pos[:, None] <= limit[None, :], t, float("-inf"))
    m_new = tl.maximum(m, tl.max(t, 0) - 14.0)
    shrink = ex2(m - m_new, ASM)
    w = ex2(t - m_new[None, :], ASM)
    l = l * shrink[None, :] + w * inverse[:, None]
    z = z * shrink[None, :] + w * zero[:, None]
    acc = tl.dot(tl.trans(centred_nibbles(b, N, BLOCK_D, ASM)), w.to(tl.float16), acc * shrink[None, :])
    return acc, m_new, l, z


@triton.jit(do_not_specialize=["splits"])
def token_major(
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
    tl.static_assert(FP8 and not E4B15, "the token-major form needs FP8 matrix units")
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
    d = tl.arange(0, BLOCK_D)
    both = tl.arange(0, 2 * M)
    twice = block * M + both % M
    at = (q0 + twice // GROUP).to(tl.int64) * q_stride + (head * GROUP + twice % GROUP) * D
    seen = (twice // GROUP < q_len)[:, None] & (d < D)[None, :]
    q = tl.load(query + at[:, None] + d[None, :], mask=seen, other=0.0).to(tl.float32)
    up = tl.exp2(7.0 - tl.floor(tl.log2(tl.maximum(tl.max(tl.abs(q), 1), 1e-30))))
    q = q * up[:, None]
    high = to_fp8(q, ASM).to(tl.float32)
    q_t = tl.trans(to_fp8(tl.where((both < M)[:, None], high, q - high), ASM))
    factor = scale_log2 / tl.max(tl.reshape(up, [2, M]), 0)
    row = block * M + tl.arange(0, M)
    ok = row // GROUP < q_len
    limit = tl.where(ok, length - q_len + row // GROUP, -1)
    acc = tl.zeros([BLOCK_D, M], tl.float32)
    m = tl.full([M], -1e30, tl.float32)
    l = tl.zeros([N, M], tl.float32)
    z = tl.zeros([N, M], tl.float32)
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
            acc, m, l, z, q_t, factor, limit, here, start, stored, cache, head_at, POS, D, BLOCK_D, M, N, ASM, False
        )  # fmt: skip
    for start in tl.range(first + seen_by_all, last, N, num_stages=1):
        here = pages_at(table, start, last, page_words, POS, PAGE, N, ASM)
        acc, m, l, z = tile(
            acc, m, l, z, q_t, factor, limit, here, start, stored, cache, head_at, POS, D, BLOCK_D, M, N, ASM, True
        )  # fmt: skip
    total = tl.sum(l, 0)
    some = total > 0
    r = 1.0 / tl.where(some, total, 1.0)
    acc = (acc + tl.sum(z, 0)[None, :]) * r[None, :]
    out = ((q0 + row // GROUP).to(tl.int64) * (KV_HEADS * GROUP) + head * GROUP + row % GROUP) * splits + split
    tl.store(lse + out, tl.where(some, m + tl.log2(total), float("-inf")), mask=ok)
    tl.store(part + out[None, :] * BLOCK_D + d[:, None], acc, mask=ok[None, :])
