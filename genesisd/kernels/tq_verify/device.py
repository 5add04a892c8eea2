"""What both forms of the kernel do with the cache's bytes.

Slots are 1.5 head_dim + 4 bytes, so rows are aligned to 4 bytes only: every address is counted in words of 4 bytes,
and every load is 4 bytes a thread, which is the narrowest that the asynchronous copies to shared memory take.
"""

import triton
import triton.language as tl


@triton.jit
def ex2(x, ASM: tl.constexpr):
    """2 to the x; triton's own has three more instructions for results that are not normal."""
    if ASM:
        return tl.inline_asm_elementwise(
            "ex2.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
        )
    else:  # noqa: RET505 (a constexpr branch)
        return tl.exp2(x)


@triton.jit
def to_fp8(x, ASM: tl.constexpr):
    """Rounded to the nearest e4nv. A bfloat16 is the sum of two: 8 bits less 4 leave a rest of at most 4.

    The interpreter's cast loses the carry into the exponent, so it is given numbers that need no rounding.
    """
    if ASM:
        return x.to(tl.float8e4nv)
    else:  # noqa: RET505 (a constexpr branch)
        return ((x.to(tl.int32, bitcast=True) + 0x80000) & -0x100000).to(tl.float32, bitcast=True).to(tl.float8e4nv)


@triton.jit
def centred_nibbles(x, N: tl.constexpr, D: tl.constexpr, ASM: tl.constexpr):
    """[N, D/4] half words to [N, D] float16 of nibble - 8; column c is dimension c//8*8 + c%8//2 + c%2*4.

    A nibble becomes a float by landing in the mantissa of 1024 or of 64: no conversion instructions. The order of the
    columns is that in which pairs fall out of a word; the merge puts it right. Centring keeps rounding errors of the
    weights from being multiplied by the values' common offset.
    """
    if ASM:
        a, b, c, d = tl.inline_asm_elementwise(
            """
            {
            .reg .b32 s, a, b, c, d, k, n;
            shr.u32 s, $4, 8;
            lop3.b32 a, $4, 0x000F000F, 0x64006400, 0xEA;
            lop3.b32 b, $4, 0x00F000F0, 0x54005400, 0xEA;
            lop3.b32 c, s, 0x000F000F, 0x64006400, 0xEA;
            lop3.b32 d, s, 0x00F000F0, 0x54005400, 0xEA;
            mov.b32 k, 0x64086408;
            mov.b32 n, 0x54805480;
            sub.f16x2 $0, a, k;
            sub.f16x2 $1, b, n;
            sub.f16x2 $2, c, k;
            sub.f16x2 $3, d, n;
            }
            """,
            "=r,=r,=r,=r,r",
            [x],
            dtype=(tl.float16, tl.float16, tl.float16, tl.float16),
            is_pure=True,
            pack=2,
        )
    else:
        a = (x & 15).to(tl.float16) - 8
        b = ((x >> 4) & 15).to(tl.float16) - 8
        c = ((x >> 8) & 15).to(tl.float16) - 8
        d = (x >> 12).to(tl.float16) - 8
    v = tl.join(tl.join(a, c), tl.join(b, d))
    return tl.reshape(tl.permute(tl.reshape(v, [N, D // 8, 2, 4]), (0, 1, 3, 2)), [N, D])


@triton.jit
def page_at(table, at, last, page_words, POS: tl.constexpr, PAGE: tl.constexpr, ASM: tl.constexpr):
    """Words from the cache's start to token `at` (a multiple of 16), never beyond the page of the last token.

    The load is hidden in assembly: the pipeliner would take it for one of its own and wait for everything at each.
    """
    at = tl.minimum(at, (last - 1) // 16 * 16)
    if ASM:
        page = tl.inline_asm_elementwise(
            "ld.global.nc.b32 $0, [$1];", "=r,l", [table + at // PAGE], dtype=tl.int32, is_pure=True, pack=1
        )
    else:
        page = tl.load(table + at // PAGE)
    base = page.to(tl.int64) * page_words
    if PAGE != 16:
        base += (at % PAGE) * POS
    return base


@triton.jit
def pages_at(table, start, last, page_words, POS: tl.constexpr, PAGE: tl.constexpr, N: tl.constexpr, ASM: tl.constexpr):
    """The places of a tile's groups of 16 tokens: scalars, since a vector would be loaded once per layout of its uses."""
    p0 = page_at(table, start, last, page_words, POS, PAGE, ASM)
    p1, p2, p3 = p0, p0, p0
    if N > 16:
        p1 = page_at(table, start + 16, last, page_words, POS, PAGE, ASM)
    if N > 32:
        p2 = page_at(table, start + 32, last, page_words, POS, PAGE, ASM)
        p3 = page_at(table, start + 48, last, page_words, POS, PAGE, ASM)
    return p0, p1, p2, p3


@triton.jit
def rows_at(cache, pages, n, head_at, POS: tl.constexpr, N: tl.constexpr):
    """Pointers (to words) to a tile's slots. Bits of n choose the page: the compiler folds them into fixed offsets."""
    p0, p1, p2, p3 = pages
    page = tl.where((n & 16) == 0, p0, p1)
    if N > 32:
        page = tl.where((n & 32) == 0, page, tl.where((n & 16) == 0, p2, p3))
    return cache.to(tl.pointer_type(tl.uint32)) + (page + ((n % 16) * POS + head_at))


@triton.jit
def load_keys(here, d, D: tl.constexpr, BLOCK_D: tl.constexpr, E4B15: tl.constexpr):
    """[N, BLOCK_D] keys: e4nv as they are, e4b15 (whose exponent has float16's bias) widened by shifts."""
    if E4B15:
        at = tl.multiple_of(here.to(tl.pointer_type(tl.uint8)), 4)[:, None] + d[None, :]
        raw = (tl.load(at) if D == BLOCK_D else tl.load(at, mask=d[None, :] < D, other=0)).to(tl.uint16)
        return (((raw & 0x80) << 8) | ((raw & 0x7F) << 7)).to(tl.float16, bitcast=True)
    else:  # noqa: RET505 (a constexpr branch)
        at = tl.multiple_of(here.to(tl.pointer_type(tl.float8e4nv)), 4)[:, None] + d[None, :]
        return tl.load(at) if D == BLOCK_D else tl.load(at, mask=d[None, :] < D, other=0.0)


@triton.jit
def load_values(here, D: tl.constexpr, BLOCK_D: tl.constexpr):
    """[N, BLOCK_D/4] half words of packed values; two lie in one word, so a thread's load is 4 bytes and in order."""
    e = tl.arange(0, BLOCK_D // 4)
    at = tl.multiple_of((here + D // 4).to(tl.pointer_type(tl.uint16)), 4)[:, None] + e[None, :]
    return tl.load(at) if D == BLOCK_D else tl.load(at, mask=e[None, :] < D // 4, other=0)


@triton.jit
def load_columns(here, pos, length, D: tl.constexpr, ASM: tl.constexpr, MASK: tl.constexpr):
    """log2 of the value scale, its reciprocal, and zero / scale + 8, a token each.

    Scales of zero (a token whose values are all alike) count as the smallest float16: their nibbles are zero anyway.
    """
    words = tl.load(here + (D + D // 2) // 4)
    if MASK:
        words = tl.where(pos < length, words, 0x3C00)
    if ASM:
        return tl.inline_asm_elementwise(
            """
            {
            .reg .b16 s, z;
            .reg .f32 x, y, r;
            mov.b32 {s, z}, $3;
            cvt.f32.f16 x, s;
            cvt.f32.f16 y, z;
            max.f32 x, x, 0f33800000;
            rcp.approx.ftz.f32 r, x;
            lg2.approx.ftz.f32 $0, x;
            fma.rn.f32 $2, y, r, 0f41000000;
            mov.f32 $1, r;
            }
            """,
            "=f,=f,=f,r",
            [words],
            dtype=(tl.float32, tl.float32, tl.float32),
            is_pure=True,
            pack=1,
        )
    else:  # noqa: RET505 (a constexpr branch)
        scale = (words & 0xFFFF).to(tl.uint16).to(tl.float16, bitcast=True).to(tl.float32)
        zero = (words >> 16).to(tl.uint16).to(tl.float16, bitcast=True).to(tl.float32)
        scale = tl.maximum(scale, 5.9604645e-08)
        return tl.log2(scale), 1.0 / scale, zero / scale + 8.0


@triton.jit
def span(length, split, splits, N: tl.constexpr, CHUNK: tl.constexpr):
    """The tokens of one split, and how many splits have any: the same words in the kernels and in the merge."""
    chunk = tl.maximum(tl.cdiv(tl.cdiv(length, splits), N) * N, CHUNK)
    first = split * chunk
    return first, tl.minimum(first + chunk, length), tl.cdiv(length, chunk)


@triton.jit
def span_beside(length, q_len, split, splits, N: tl.constexpr, CHUNK: tl.constexpr, TAIL: tl.constexpr):
    """The tokens of one split out of the cache, how many splits have work, and how many tokens the cache has.

    With a tail the first split is its program's, and the cache is read without the query tokens. That split's span is
    not empty (it lies before the first token), so it has work also where the cache has none.
    """
    if TAIL:
        stored = tl.maximum(length - q_len, 0)
        first, last, active = span(stored, split - 1, splits - 1, N, CHUNK)
        return first, last, active + 1, stored
    else:  # noqa: RET505 (a constexpr branch)
        first, last, active = span(length, split, splits, N, CHUNK)
        return first, last, active, length
