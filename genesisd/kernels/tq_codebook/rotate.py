"""The query rotated as keys were before they were stored, once for all programs that read it."""

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["rows"])
def rotate(
    query, rotation, out, factors, q_stride, rows,
    HEADS: tl.constexpr, D: tl.constexpr, R: tl.constexpr, C: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """One program (R rows, C columns). Rows are left as float16 of about unit size, with what they were divided by.

    That is a power of two by the length of the row, which the rotation keeps: all programs of a row find the same.
    """
    row = tl.program_id(0) * R + tl.arange(0, R)
    column = tl.program_id(1) * C + tl.arange(0, C)
    ok = row < rows
    at = query + (row // HEADS).to(tl.int64) * q_stride + row % HEADS * D
    acc = tl.zeros([R, C], tl.float32)
    squared = tl.zeros([R], tl.float32)
    for first in tl.range(0, D, K):
        k = first + tl.arange(0, K)
        x = tl.load(at[:, None] + k[None, :], mask=ok[:, None], other=0.0).to(tl.float32)
        turn = tl.load(rotation + k[:, None] * D + column[None, :])
        acc = tl.dot(x, turn, acc, input_precision="tf32x3")
        squared += tl.sum(x * x, 1)
    size = tl.maximum(tl.sqrt(squared / D), 1e-15)
    down = tl.exp2(-tl.floor(tl.log2(size)))
    to = row.to(tl.int64)[:, None] * D + column[None, :]
    tl.store(out + to, (acc * down[:, None]).to(tl.float16), mask=ok[:, None])
    if tl.program_id(1) == 0:
        tl.store(factors + row, 1.0 / down, mask=ok)
