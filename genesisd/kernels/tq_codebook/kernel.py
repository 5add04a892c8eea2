"""Attention over indexes into a codebook: query rows are the M of the matrix products, entries are looked up in registers.

One program a (split, KV head, sequence x block of rows): each byte of the cache is read once for all of them.
"""

import triton
import triton.language as tl

from genesisd.kernels.tq_codebook.device import columns, entries3, entries4, funnel, nibbles, side_by_side, whole
from genesisd.kernels.tq_verify.device import ex2, pages_at, span


@triton.jit
def places_at(pages, n, head_at, POS: tl.constexpr, N: tl.constexpr):
    """Words from the cache's start to the word in which each slot begins, and 1 where it begins in its middle.

    All that is counted in halves of words is the same for every tile; pages begin at words.
    """
    p0, p1, p2, p3 = pages
    page = tl.where((n & 16) == 0, p0, p1)
    if N > 32:
        page = tl.where((n & 32) == 0, page, tl.where((n & 16) == 0, p2, p3))
    at = (n % 16) * POS + head_at
    return (page >> 1) + (at >> 1), at & 1


@triton.jit
def words_at(halves, column, N: tl.constexpr, E: tl.constexpr, ASM: tl.constexpr):
    """[N, E] words and those after them, out of a place in halves for each row and a column for each half.

    They are read as halves, two of them at once: laid out in words, a tile would lie in shared memory column by column,
    and 32 threads would meet one bank.
    """
    at = tl.multiple_of(halves, 4)[:, None] + column
    return whole(tl.load(at), N, E, ASM), whole(tl.load(at + 2), N, E, ASM)


@triton.jit
def keys_at(
    here, odd, book, tables, D: tl.constexpr, BITS: tl.constexpr, N: tl.constexpr, ASM: tl.constexpr
):  # fmt: skip
    """[N, D] entries, and [N, D/4] sums of their squares. Eight keys are 3 or 4 bytes and begin anywhere in a word."""
    t0, t1, t2, t3 = book
    c = tl.arange(0, D // 4)
    e = tl.arange(0, D // 8)
    halves = here.to(tl.pointer_type(tl.uint16))
    shift = (e[None, :] * BITS + 2 * odd[:, None]) % 4 * 8
    if BITS == 4:
        low, high = words_at(halves, c[None, :], N, D // 8, ASM)
        k = entries4(low, high, shift, t0, t1, t2, t3, tables, ASM)
    else:
        word = (c[None, :] // 2 * BITS + 2 * odd[:, None]) // 4
        column = tl.max_contiguous(tl.multiple_of(word * 2 + c[None, :] % 2, [1, 2]), [1, 2])
        low, high = words_at(halves, column, N, D // 8, ASM)
        k = entries3(low, high, shift, t0, t1, t2, t3, tables, ASM)
    both = side_by_side(k[0], k[1], k[2], k[3], k[4], k[5], k[6], k[7], N, D // 8)
    return both, tl.reshape(tl.join(k[8], k[9]), [N, D // 4])


@triton.jit
def values_at(here, odd, D: tl.constexpr, KEY: tl.constexpr, N: tl.constexpr, ASM: tl.constexpr):
    """[N, D] values less 8. They begin half a word behind the keys: where a slot is odd, they are not."""
    c = tl.arange(0, D // 4)
    e = tl.arange(0, D // 8)
    low, high = words_at((here + KEY // 4 + odd).to(tl.pointer_type(tl.uint16)), c[None, :], N, D // 8, ASM)
    v = nibbles(low, high, (16 - 16 * odd)[:, None] + 0 * e[None, :], ASM)
    return side_by_side(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], N, D // 8)


@triton.jit
def columns_at(here, odd, pos, length, D: tl.constexpr, KEY: tl.constexpr, ASM: tl.constexpr, MASK: tl.constexpr):
    """What a token has one of, as `columns` gives it. What lies behind the last token is replaced by zeros and ones."""
    norm = tl.load(here + KEY // 4) >> (odd * 16).to(tl.uint32)
    at = here + KEY // 4 + odd + D // 8
    # An odd slot needs no second word: behind the last one of the cache there may be no memory.
    words = funnel(tl.load(at), tl.load(at + 1 - odd), (1 - odd) * 16)
    if MASK:
        words = tl.where(pos < length, words, 0x3C00)
        norm = tl.where(pos < length, norm, 0)
    return columns(words, norm, ASM)


@triton.jit
def inverse_root(x, ASM: tl.constexpr):
    """One over the square root."""
    if ASM:
        return tl.inline_asm_elementwise(
            "rsqrt.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
        )
    else:  # noqa: RET505 (a constexpr branch)
        return 1.0 / tl.sqrt(x)


@triton.jit
def tile(
    acc, m, l, z, q, ones, book, tables, factor, limit, pages, start, length, cache, head_at,
    POS: tl.constexpr, D: tl.constexpr, BITS: tl.constexpr, N: tl.constexpr, ASM: tl.constexpr, MASK: tl.constexpr,
):  # fmt: skip
    """One tile into the running softmax: maximum m, sum l, sum of zero points z, weighted nibbles acc.

    The squared length of a key's entries is a product too, with rows of ones, so that it lies where the scores lie. The
    value's scale is part of the exponent: weights are at most 2^14 whatever the scales are.
    """
    n = tl.arange(0, N)
    pos = start + n
    at, odd = places_at(pages, n, head_at, POS, N)
    here = cache.to(tl.pointer_type(tl.uint32)) + at
    k, squares = keys_at(here, odd, book, tables, D, BITS, N, ASM)
    v = values_at(here, odd, D, D * BITS // 8, N, ASM)
    log_scale, inverse, zero, norm = columns_at(here, odd, pos, length, D, D * BITS // 8, ASM, MASK)
    root = inverse_root(tl.dot(ones, tl.trans(squares)), ASM)
    t = tl.dot(q, tl.trans(k)) * root * factor[:, None] * norm[None, :] + log_scale[None, :]
    if MASK:
        t = tl.where(pos[None, :] <= limit[:, None], t, float("-inf"))
    m_new = tl.maximum(m, tl.max(t, 1) - 14.0)
    shrink = ex2(m - m_new, ASM)
    w = ex2(t - m_new[:, None], ASM)
    l = l * shrink + tl.sum(w * inverse[None, :], 1)
    z = z * shrink + tl.sum(w * zero[None, :], 1)
    acc = tl.dot(w.to(tl.float16), v, acc * shrink[:, None])
    return acc, m_new, l, z


@triton.jit(do_not_specialize=["splits"])
def attend(
    query, factors, cache, tables, table, lens, starts, part, lse, scale_log2, table_stride, page_halves, splits,
    POS: tl.constexpr, HEAD: tl.constexpr, PAGE: tl.constexpr, KV_HEADS: tl.constexpr, GROUP: tl.constexpr,
    D: tl.constexpr, BITS: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
    CHUNK: tl.constexpr, BLOCKS: tl.constexpr, ASM: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Attention of up to M rotated query rows over one split; writes its normalised output and log2 of its sum."""
    split = tl.program_id(0)
    head = tl.program_id(1)
    seq = tl.program_id(2) // BLOCKS
    block = tl.program_id(2) % BLOCKS
    q0 = tl.load(starts + seq)
    q_len = tl.load(starts + seq + 1) - q0
    length = tl.load(lens + seq)
    first, last, _ = span(length, split, splits, N, CHUNK)
    if first >= last:
        return
    if block * M >= q_len * GROUP:
        return
    row = block * M + tl.arange(0, M)
    ok = row // GROUP < q_len
    limit = tl.where(ok, length - q_len + row // GROUP, -1)
    row_at = (q0 + row // GROUP).to(tl.int64) * (KV_HEADS * GROUP) + head * GROUP + row % GROUP
    d = tl.arange(0, D)
    q = tl.load(query + row_at[:, None] * D + d[None, :], mask=ok[:, None], other=0.0)
    factor = tl.load(factors + row_at, mask=ok, other=0.0) * scale_log2
    ones = tl.full([M, D // 4], 1.0, tl.float16)
    words = tables.to(tl.pointer_type(tl.uint32))
    book = (tl.load(words), tl.load(words + 1), tl.load(words + 2), tl.load(words + 3))
    acc = tl.zeros([M, D], tl.float32)
    m = tl.full([M], -1e30, tl.float32)
    l = tl.zeros([M], tl.float32)
    z = tl.zeros([M], tl.float32)
    table += seq.to(tl.int64) * table_stride
    head_at = head * HEAD
    seen_by_all = tl.maximum(tl.minimum(last, length - q_len + 1) - first, 0) // N * N
    pages = pages_at(table, first, last, page_halves, POS, PAGE, N, ASM)
    for start in tl.range(first, first + seen_by_all, N, num_stages=STAGES):
        here = pages
        pages = pages_at(table, start + N, last, page_halves, POS, PAGE, N, ASM)
        acc, m, l, z = tile(
            acc, m, l, z, q, ones, book, tables, factor, limit, here, start, length, cache, head_at,
            POS, D, BITS, N, ASM, False,
        )  # fmt: skip
    for start in tl.range(first + seen_by_all, last, N, num_stages=1):
        here = pages_at(table, start, last, page_halves, POS, PAGE, N, ASM)
        acc, m, l, z = tile(
            acc, m, l, z, q, ones, book, tables, factor, limit, here, start, length, cache, head_at,
            POS, D, BITS, N, ASM, True,
        )  # fmt: skip
    some = l > 0
    r = 1.0 / tl.where(some, l, 1.0)
    out = row_at * splits + split
    tl.store(lse + out, tl.where(some, m + tl.log2(l), float("-inf")), mask=ok)
    tl.store(part + out[:, None] * D + d[None, :], (acc + z[:, None]) * r[:, None], mask=ok[:, None])
