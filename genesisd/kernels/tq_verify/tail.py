"""The newest tokens from their own keys and values: the raw tail, which the cache holds not yet, or coarser.

It has a program of its own beside those that share the cache, so that their loops are what they are without it. All
query tokens are in it, at most 16: one tile, causal, multiplied in the query's own type.
"""

import triton
import triton.language as tl

from genesisd.kernels.tq_verify.device import ex2

TOKENS = tl.constexpr(16)
"""As many as a sequence may have query tokens, and the fewest that a product of 16-bit numbers takes."""


@triton.jit
def factor_of(x, ASM: tl.constexpr):
    """As it is, for a product. The interpreter multiplies the bits of a bfloat16 as if they were a number's."""
    if ASM:
        return x
    else:  # noqa: RET505 (a constexpr branch)
        return x.to(tl.float32)


@triton.jit
def load_tail(tail, stride, q0, seen, head, D: tl.constexpr, BLOCK_D: tl.constexpr):
    """[TOKENS, BLOCK_D] keys or values; zeros for what is no token of the sequence."""
    d = tl.arange(0, BLOCK_D)
    at = (q0 + tl.arange(0, TOKENS)).to(tl.int64) * stride + head * D
    return tl.load(tail + at[:, None] + d[None, :], mask=seen[:, None] & (d < D)[None, :], other=0.0)


@triton.jit
def attend_tail(
    query, tail_key, tail_value, part, lse, scale_log2, q_stride, key_stride, value_stride, splits,
    q0, q_len, length, head, first_row,
    KV_HEADS: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr, BLOCK_D: tl.constexpr, M: tl.constexpr,
    ASM: tl.constexpr,
):  # fmt: skip
    """Attention of up to M query rows over the tail; writes what a split writes, as the first of them.

    Values are scaled by a power of two a token, so that they keep to float16's range whatever they are. The columns of
    the output are in the order of `centred_nibbles`, which the merge puts right. Rows come 32 at a time: more would
    take more registers than the programs beside, and then spill.
    """
    ROWS: tl.constexpr = 16 if M < 16 else (M if M < 32 else 32)  # noqa: FURB136 (triton's min is of tensors)
    d = tl.arange(0, BLOCK_D)
    pos = length - q_len + tl.arange(0, TOKENS)
    seen = (pos >= 0) & (pos < length)
    for turn in tl.range(0, M, ROWS, num_stages=1):
        i = turn + tl.arange(0, ROWS)
        row = first_row + i
        ok = (i < M) & (row // GROUP < q_len)
        limit = tl.where(ok, length - q_len + row // GROUP, -1)
        at = (q0 + row // GROUP).to(tl.int64) * q_stride + (head * GROUP + row % GROUP) * D
        q = tl.load(query + at[:, None] + d[None, :], mask=ok[:, None] & (d < D)[None, :], other=0.0)
        k = load_tail(tail_key, key_stride, q0, seen, head, D, BLOCK_D)
        t = tl.dot(factor_of(q, ASM), tl.trans(factor_of(k, ASM))) * scale_log2
        t = tl.where(seen[None, :] & (pos[None, :] <= limit[:, None]), t, float("-inf"))
        v = load_tail(tail_value, value_stride, q0, seen, head, D, BLOCK_D)
        v = tl.reshape(tl.permute(tl.reshape(v, [TOKENS, BLOCK_D // 8, 2, 4]), (0, 1, 3, 2)), [TOKENS, BLOCK_D])
        v = v.to(tl.float32)
        log_scale = tl.floor(tl.log2(tl.maximum(tl.max(tl.abs(v), 1), 1e-30)))
        inverse = tl.exp2(-log_scale)
        t += log_scale[None, :]
        m = tl.maximum(tl.max(t, 1) - 14.0, -1e30)
        w = ex2(t - m[:, None], ASM)
        l = tl.sum(w * inverse[None, :], 1)
        acc = tl.dot(w.to(tl.float16), (v * inverse[:, None]).to(tl.float16))
        some = l > 0
        r = 1.0 / tl.where(some, l, 1.0)
        out = ((q0 + row // GROUP).to(tl.int64) * (KV_HEADS * GROUP) + head * GROUP + row % GROUP) * splits
        tl.store(lse + out, tl.where(some, m + tl.log2(l), float("-inf")), mask=ok)
        tl.store(part + out[:, None] * BLOCK_D + d[None, :], acc * r[:, None], mask=ok[:, None])
