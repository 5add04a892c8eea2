// The query made ready for hopper.cu's products.

constexpr int WIDE = D / 8;  // threads of a row of the query, 8 dimensions each
template <int N> constexpr int TURNS = N * WIDE / 128;

struct Query {
  const u16* query;
  int first_row, rows, q0, head, q_stride;

  __device__ __forceinline__ uint4 piece(int i) const {
    const int row = first_row + threadIdx.x / WIDE + i * (128 / WIDE);
    if (row >= rows) return make_uint4(0, 0, 0, 0);
    return __ldg((const uint4*)(query + (long long)(q0 + row / GROUP) * q_stride + (head * GROUP + row % GROUP) * D) + threadIdx.x % WIDE);
  }
};

// The query's rows, scaled by one power of two and cut into two FP8 halves, into shared memory; returns the scale.
// Read again out of the first-level cache: a loop that is not unrolled is fetched once.
template <int N>
__device__ __forceinline__ float store_query(const Query& query, const uint4 (&pieces)[TURNS<N>], u32 low, u32 high, u32 red, Place p) {
  const int column = threadIdx.x % WIDE;
  u32 top2 = 0;  // magnitudes of both formats are ordered as integers are
#pragma unroll
  for (int i = 0; i < TURNS<N>; ++i) {
    const uint4 v = pieces[i];
    top2 = most2(most2(top2, most2(v.x & 0x7FFF7FFF, v.y & 0x7FFF7FFF)), most2(v.z & 0x7FFF7FFF, v.w & 0x7FFF7FFF));
  }
  float top = most(widened(top2 & 0xFFFF), widened(top2 >> 16));
#pragma unroll
  for (int far = 16; far; far >>= 1) top = most(top, __shfl_xor_sync(~0u, top, far));
  if (p.lane == 0) sts(red + p.warp * 4, __float_as_uint(top));
  __syncthreads();
  top = most(most(ldsf(red), ldsf(red + 4)), most(ldsf(red + 8), ldsf(red + 12)));
  int exponent = max((int)(__float_as_uint(top) >> 23), 8);
  float up = __uint_as_float((u32)(261 - exponent) << 23);  // the greatest lands in 128 to 256
#pragma unroll 4
  for (int i = 0; i < TURNS<N>; ++i) {
    const uint4 v = query.piece(i);
    const u32 w[4] = {v.x, v.y, v.z, v.w};
    const int n = threadIdx.x / WIDE + i * (128 / WIDE);
    // Words stand in the order in which threads take a row's: runs of 8 words are one thread's, or each is the next one's.
    const int byte = RUN ? column % 4 * 32 + column / 4 % 4 * 4 : column % 16 * 8;
    const u32 at = column / 16 * (N * 128) + n * 128 + (byte ^ n % 8 * 16);
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      u32 big[2], small[2];
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const u32 x = halves(widened(w[2 * k + e] & 0xFFFF) * up, widened(w[2 * k + e] >> 16) * up);
        u16 one, rest;
        u32 left;
        asm("{.reg .b32 b; cvt.rn.satfinite.e4m3x2.f16x2 %0, %2; cvt.rn.f16x2.e4m3x2 b, %0; sub.f16x2 %1, %2, b;}"
            : "=h"(one), "=r"(left) : "r"(x));
        asm("cvt.rn.satfinite.e4m3x2.f16x2 %0, %1;" : "=h"(rest) : "r"(left));
        big[e] = one, small[e] = rest;
      }
      sts(low + (at ^ k * (RUN ? 16 : 4)), small[0] | small[1] << 16);
      sts(high + (at ^ k * (RUN ? 16 : 4)), big[0] | big[1] << 16);
    }
  }
  return up;
}
