"""The product of a few rows of activations with all FP8 weights: one read of each weight, whatever the rows.

Channels of the vocabulary are the M of the matrix products and rows of activations the N, since the units take no fewer
than 64 (16 below sm 9.0) of the one and as few as 8 of the other.
"""

import triton
import triton.language as tl


@triton.jit
def widened(raw, HALF: tl.constexpr, ASM: tl.constexpr):
    """[BV, BK] bytes of e4m3 to float16 times 2^-8 (HALF), else to bfloat16 times 1.

    The bits of an e4m3 number are those of a wider one whose exponent counts from elsewhere, so shifts suffice, also
    for subnormals. Float16 is left 2^8 too small: all its numbers still lie in range, and the channel's scale puts it
    right. Bfloat16 would be left 2^120 too small, and is multiplied (float32 without ASM). The conversions of the device take a unit that
    does 16 a cycle, or (below sm 8.9) do not exist.
    """
    if ASM and HALF:
        return tl.inline_asm_elementwise(
            """
            {
            .reg .b32 a, b, c, d;
            prmt.b32 a, $2, 0, 0x1404;
            prmt.b32 b, $2, 0, 0x3424;
            shr.u32 c, a, 1;
            shr.u32 d, b, 1;
            and.b32 c, c, 0x3F803F80;
            and.b32 d, d, 0x3F803F80;
            lop3.b32 $0, a, 0x80008000, c, 0xEA;
            lop3.b32 $1, b, 0x80008000, d, 0xEA;
            }
            """,
            "=r,=r,r",
            [raw],
            dtype=tl.float16,
            is_pure=True,
            pack=4,
        )
    elif ASM:  # noqa: RET505 (a constexpr branch)
        return tl.inline_asm_elementwise(
            """
            {
            .reg .b32 a, b, c, d, up, none;
            prmt.b32 a, $2, 0, 0x1404;
            prmt.b32 b, $2, 0, 0x3424;
            shr.u32 c, a, 4;
            shr.u32 d, b, 4;
            and.b32 c, c, 0x07F007F0;
            and.b32 d, d, 0x07F007F0;
            lop3.b32 c, a, 0x80008000, c, 0xEA;
            lop3.b32 d, b, 0x80008000, d, 0xEA;
            mov.b32 up, 0x7B807B80;
            mov.b32 none, 0x80008000;
            fma.rn.bf16x2 $0, c, up, none;
            fma.rn.bf16x2 $1, d, up, none;
            }
            """,
            "=r,=r,r",
            [raw],
            dtype=tl.bfloat16,
            is_pure=True,
            pack=4,
        )
    else:
        x = raw.to(tl.uint16)
        half = (((x & 0x80) << 8) | ((x & 0x7F) << 7)).to(tl.float16, bitcast=True)
        return half if HALF else half.to(tl.float32) * 256.0


@triton.jit(do_not_specialize=["rows"])
def lm_head(
    x, weight, scales, out, x_stride, weight_stride, out_stride, rows, channels,
    H: tl.constexpr, BV: tl.constexpr, BK: tl.constexpr, N: tl.constexpr, STAGES: tl.constexpr, ASM: tl.constexpr,
):  # fmt: skip
    """One program a (BV channels, N rows). Channels beyond the last are read from the last, and not stored."""
    HALF: tl.constexpr = x.dtype.element_ty == tl.float16
    v = tl.program_id(0) * BV + tl.arange(0, BV)
    n = tl.program_id(1) * N + tl.arange(0, N)
    k = tl.arange(0, BK)
    weight_at = weight + tl.minimum(v, channels - 1).to(tl.int64)[:, None] * weight_stride + k[None, :]
    x_at = x + n.to(tl.int64)[None, :] * x_stride + k[:, None]
    acc = tl.zeros([BV, N], tl.float32)
    for first in tl.range(0, H, BK, num_stages=STAGES):
        if H % BK == 0:
            raw = tl.load(weight_at + first)
            part = tl.load(x_at + first, mask=n[None, :] < rows, other=0.0)
        else:
            raw = tl.load(weight_at + first, mask=k[None, :] < H - first, other=0)
            part = tl.load(x_at + first, mask=(n[None, :] < rows) & (k[:, None] < H - first), other=0.0)
        if not (ASM or HALF):
            part = part.to(tl.float32)  # the interpreter would multiply the bits of a bfloat16 as integers
        acc = tl.dot(widened(raw, HALF, ASM), part, acc)
    scale = tl.load(scales + v, mask=v < channels, other=0.0) * (256.0 if HALF else 1.0)
    at = out + n.to(tl.int64)[None, :] * out_stride + v[:, None]
    tl.store(at, (acc * scale[:, None]).to(out.dtype.element_ty), mask=(v[:, None] < channels) & (n[None, :] < rows))
