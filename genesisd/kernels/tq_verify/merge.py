"""The splits' outputs weighed into one; puts the columns into the order of the dimensions."""

import triton
import triton.language as tl

from genesisd.kernels.tq_verify.device import span_beside


@triton.jit(do_not_specialize=["splits"])
def merge(
    part, lse, lens, starts, out, out_stride, splits,
    HEADS: tl.constexpr, D: tl.constexpr, BLOCK_D: tl.constexpr, N: tl.constexpr,
    CHUNK: tl.constexpr, BLOCK: tl.constexpr, WIDTH: tl.constexpr, MAX_QUERY: tl.constexpr,
    TAIL: tl.constexpr = False,
):  # fmt: skip
    """One program a (query token, head, WIDTH columns). A row that sees no token is zero."""
    seq = tl.program_id(0) // MAX_QUERY
    j = tl.program_id(0) % MAX_QUERY
    head = tl.program_id(1)
    q0 = tl.load(starts + seq)
    q_len = tl.load(starts + seq + 1) - q0
    if j >= q_len:
        return
    _, _, active, _ = span_beside(tl.load(lens + seq), q_len, 0, splits, N, CHUNK, TAIL)
    row = ((q0 + j).to(tl.int64) * HEADS + head) * splits
    col = tl.program_id(2) * WIDTH + tl.arange(0, WIDTH)
    m = -1e30
    total = 0.0
    acc = tl.zeros([BLOCK, WIDTH], tl.float32)
    for s in tl.range(0, active, BLOCK, num_stages=2):
        one = s + tl.arange(0, BLOCK)
        ok = one < active
        log = tl.load(lse + row + one, mask=ok, other=float("-inf"))
        rows = tl.load(part + (row + one)[:, None] * BLOCK_D + col[None, :], mask=ok[:, None], other=0.0)
        m_new = tl.maximum(m, tl.max(log, 0))
        weight = tl.exp2(log - m_new)
        shrink = tl.exp2(m - m_new)
        total = total * shrink + tl.sum(weight, 0)
        acc = acc * shrink + weight[:, None] * rows
        m = m_new
    result = tl.sum(acc, 0) * tl.where(total > 0, 1.0 / tl.where(total > 0, total, 1.0), 0.0)
    d = col // 8 * 8 + col % 8 // 2 + col % 2 * 4
    at = out + (q0 + j).to(tl.int64) * out_stride + head * D + d
    tl.store(at, result.to(out.dtype.element_ty), mask=d < D)
