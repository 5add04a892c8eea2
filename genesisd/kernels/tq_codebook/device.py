"""What the kernel does with the cache's bytes.

Slots begin at even bytes, every other one in the middle of a word of 4 bytes, and the asynchronous copies to shared
memory take no less than a word. So words are read as they lie, and again one further on; a shift of both (by 16 bits,
or by none) gives the word that was meant. Word e holds the numbers 8e to 8e + 7, whichever their size.
"""

import triton
import triton.language as tl


@triton.jit
def entries4(low, high, shift, t0, t1, t2, t3, tables, ASM: tl.constexpr):
    """[N, E] pairs of words and their shift to the float16 entries of eight keys each, and two sums of their squares.

    Permutations of bytes look entries up: a selector of three bits chooses among eight bytes, so one takes the upper
    bytes of four entries and one the lower. The book's upper half is its lower half mirrored: its selectors are
    inverted, and the sign is cleared.
    """
    if ASM:
        return tl.inline_asm_elementwise(
            """
            {
            .reg .b32 x, s, t, m, k, u, h, l, a, b, c, d, f;
            shf.r.wrap.b32 x, $10, $11, $12;
            and.b32 s, x, 0x88888888;
            shr.u32 t, s, 3;
            sub.u32 t, s, t;
            shl.b32 m, x, 4;
            lop3.b32 k, x, t, 0x77777777, 0x28;
            prmt.b32 h, $13, $14, k;
            prmt.b32 l, $15, $16, k;
            prmt.b32 u, m, x, 0xD9C8;
            lop3.b32 h, h, u, 0x80808080, 0x70;
            prmt.b32 a, l, h, 0x5140;
            prmt.b32 b, l, h, 0x7362;
            shr.u32 k, k, 16;
            prmt.b32 h, $13, $14, k;
            prmt.b32 l, $15, $16, k;
            prmt.b32 u, m, x, 0xFBEA;
            lop3.b32 h, h, u, 0x80808080, 0x70;
            prmt.b32 c, l, h, 0x5140;
            prmt.b32 d, l, h, 0x7362;
            mov.b32 {$0, $1}, a;
            mov.b32 {$2, $3}, b;
            mov.b32 {$4, $5}, c;
            mov.b32 {$6, $7}, d;
            mul.f16x2 f, a, a;
            fma.rn.f16x2 f, b, b, f;
            fma.rn.f16x2 f, c, c, f;
            fma.rn.f16x2 f, d, d, f;
            mov.b32 {$8, $9}, f;
            }
            """,
            "=&h,=&h,=&h,=&h,=&h,=&h,=&h,=&h,=&h,=&h,r,r,r,r,r,r,r",
            [low, high, shift, t0, t1, t2, t3],
            dtype=(tl.float16,) * 10,
            is_pure=True,
            pack=1,
        )
    else:  # noqa: RET505 (a constexpr branch)
        return looked_up(funnel(low, high, shift), 4, tables)


@triton.jit
def entries3(low, high, shift, t0, t1, t2, t3, tables, ASM: tl.constexpr):
    """As entries4, of 24 bits: they are drawn apart to nibbles first. All eight entries are in the tables."""
    if ASM:
        return tl.inline_asm_elementwise(
            """
            {
            .reg .b32 x, y, h, l, a, b, c, d, f;
            shf.r.wrap.b32 x, $10, $11, $12;
            and.b32 y, x, 0x00FFF000;
            and.b32 x, x, 0x00000FFF;
            mad.lo.u32 x, y, 16, x;
            and.b32 y, x, 0x0FC00FC0;
            and.b32 x, x, 0x003F003F;
            mad.lo.u32 x, y, 4, x;
            and.b32 y, x, 0x38383838;
            and.b32 x, x, 0x07070707;
            mad.lo.u32 x, y, 2, x;
            prmt.b32 h, $13, $14, x;
            prmt.b32 l, $15, $16, x;
            prmt.b32 a, l, h, 0x5140;
            prmt.b32 b, l, h, 0x7362;
            shr.u32 x, x, 16;
            prmt.b32 h, $13, $14, x;
            prmt.b32 l, $15, $16, x;
            prmt.b32 c, l, h, 0x5140;
            prmt.b32 d, l, h, 0x7362;
            mov.b32 {$0, $1}, a;
            mov.b32 {$2, $3}, b;
            mov.b32 {$4, $5}, c;
            mov.b32 {$6, $7}, d;
            mul.f16x2 f, a, a;
            fma.rn.f16x2 f, b, b, f;
            fma.rn.f16x2 f, c, c, f;
            fma.rn.f16x2 f, d, d, f;
            mov.b32 {$8, $9}, f;
            }
            """,
            "=&h,=&h,=&h,=&h,=&h,=&h,=&h,=&h,=&h,=&h,r,r,r,r,r,r,r",
            [low, high, shift, t0, t1, t2, t3],
            dtype=(tl.float16,) * 10,
            is_pure=True,
            pack=1,
        )
    else:  # noqa: RET505 (a constexpr branch)
        return looked_up(funnel(low, high, shift), 3, tables)


@triton.jit
def nibbles(low, high, shift, ASM: tl.constexpr):
    """[N, E] pairs of words and their shift to eight of value - 8: a nibble lands in the mantissa of 1024 or of 64.

    They come in the order 0, 4, 1, 5, 2, 6, 3, 7, in which pairs fall out of a word; the merge puts it right.
    """
    if ASM:
        return tl.inline_asm_elementwise(
            """
            {
            .reg .b32 x, y, a, b, c, d, k, n;
            shf.r.wrap.b32 x, $8, $9, $10;
            mov.b32 k, 0x64086408;
            mov.b32 n, 0x54805480;
            shr.u32 y, x, 8;
            lop3.b32 a, x, 0x000F000F, 0x64006400, 0xEA;
            lop3.b32 b, x, 0x00F000F0, 0x54005400, 0xEA;
            lop3.b32 c, y, 0x000F000F, 0x64006400, 0xEA;
            lop3.b32 d, y, 0x00F000F0, 0x54005400, 0xEA;
            sub.f16x2 a, a, k;
            sub.f16x2 b, b, n;
            sub.f16x2 c, c, k;
            sub.f16x2 d, d, n;
            mov.b32 {$0, $1}, a;
            mov.b32 {$2, $3}, b;
            mov.b32 {$4, $5}, c;
            mov.b32 {$6, $7}, d;
            }
            """,
            "=&h,=&h,=&h,=&h,=&h,=&h,=&h,=&h,r,r,r",
            [low, high, shift],
            dtype=(tl.float16,) * 8,
            is_pure=True,
            pack=1,
        )
    else:  # noqa: RET505 (a constexpr branch)
        x = funnel(low, high, shift)
        return (
            centred(x), centred(x >> 16), centred(x >> 4), centred(x >> 20),
            centred(x >> 8), centred(x >> 24), centred(x >> 12), centred(x >> 28),
        )  # fmt: skip


@triton.jit
def side_by_side(a, b, c, d, e, f, g, h, N: tl.constexpr, E: tl.constexpr):
    """Eight [N, E] to [N, 8 E], number j of word e in column 8e + j. A thread's own numbers stay its own."""
    even = tl.join(tl.join(a, e), tl.join(c, g))
    odd = tl.join(tl.join(b, f), tl.join(d, h))
    return tl.reshape(tl.join(even, odd), [N, 8 * E])


@triton.jit
def columns(words, norm, ASM: tl.constexpr):
    """Of scale and zero in a word, and a norm in the lower half of another: log2 of the scale, its reciprocal, zero / scale + 8, the norm.

    Scales of zero (a token whose values are all alike) count as the smallest float16: their nibbles are zero anyway.
    """
    if ASM:
        return tl.inline_asm_elementwise(
            """
            {
            .reg .b16 s, z;
            .reg .f32 x, y, r;
            mov.b32 {s, z}, $5;
            cvt.f32.f16 $3, s;
            mov.b32 {s, z}, $4;
            cvt.f32.f16 x, s;
            cvt.f32.f16 y, z;
            max.f32 x, x, 0f33800000;
            rcp.approx.ftz.f32 r, x;
            lg2.approx.ftz.f32 $0, x;
            fma.rn.f32 $2, y, r, 0f41000000;
            mov.f32 $1, r;
            }
            """,
            "=&f,=&f,=&f,=&f,r,r",
            [words, norm],
            dtype=(tl.float32, tl.float32, tl.float32, tl.float32),
            is_pure=True,
            pack=1,
        )
    else:  # noqa: RET505 (a constexpr branch)
        scale = tl.maximum(half(words), 5.9604645e-08)
        return tl.log2(scale), 1.0 / scale, half(words >> 16) / scale + 8.0, half(norm)


@triton.jit
def whole(halves, N: tl.constexpr, E: tl.constexpr, ASM: tl.constexpr):
    """[N, 2 E] halves to [N, E] words; that a thread's two lie in one register already is left to the compiler to see."""
    low, high = tl.split(tl.reshape(halves, [N, E, 2]))
    if ASM:
        return tl.inline_asm_elementwise(
            "mov.b32 $0, {$1, $2};", "=r,h,h", [low, high], dtype=tl.uint32, is_pure=True, pack=1
        )
    else:  # noqa: RET505 (a constexpr branch)
        return low.to(tl.uint32) | (high.to(tl.uint32) << 16)


@triton.jit
def funnel(low, high, shift):
    """32 bits out of two words, from bit `shift` of the lower one."""
    return ((low.to(tl.uint64) | (high.to(tl.uint64) << 32)) >> shift.to(tl.uint64)).to(tl.uint32)


@triton.jit
def half(x):
    """The lower half of a word as the float16 that it is."""
    return (x & 0xFFFF).to(tl.uint16).to(tl.float16, bitcast=True).to(tl.float32)


@triton.jit
def centred(x):
    """The lowest nibble less 8."""
    return (x & 15).to(tl.float16) - 8


@triton.jit
def looked_up(x, BITS: tl.constexpr, tables):
    """For the interpreter: eight entries a word out of the tables in memory, and the sums of their squares."""
    a, b, c, d = (
        entry(x, 0, BITS, tables),
        entry(x, 1, BITS, tables),
        entry(x, 2, BITS, tables),
        entry(x, 3, BITS, tables),
    )
    e, f, g, h = (
        entry(x, 4, BITS, tables),
        entry(x, 5, BITS, tables),
        entry(x, 6, BITS, tables),
        entry(x, 7, BITS, tables),
    )
    return a, b, c, d, e, f, g, h, a * a + c * c + e * e + g * g, b * b + d * d + f * f + h * h


@triton.jit
def entry(x, j: tl.constexpr, BITS: tl.constexpr, tables):
    """Number j of a word as its entry."""
    index = (x >> (j * BITS)).to(tl.int32) & ((1 << BITS) - 1)
    at = tables + tl.where(index < 8, index, 15 - index)
    bits = (tl.load(at).to(tl.uint16) << 8) | tl.load(at + 8)
    return tl.where(index < 8, bits, bits & 0x7FFF).to(tl.uint16).to(tl.float16, bitcast=True)
