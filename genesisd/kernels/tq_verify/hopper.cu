// The cache's tokens as the M of warp-group products; every byte is read from shared memory as it came.
//
// One program a (chunk of a sequence, KV head, block of rows), of one warp group. A tile is 64 tokens; their slots lie in
// shared memory as in the cache. Which thread takes which word is chosen so that no bank is met twice.
//   scores^T [64 tokens, N rows] = keys (registers, FP8) x query^T (shared, FP8, the small half first)
//   output^T [D, N rows]        += values^T (registers, float16) x weights^T (shared, float16)
// N is the rows rounded up to 8. A nibble masked out of a word is a subnormal float16, n * 2^-24 (or 2^-20), exact in the
// matrix units: nothing is converted.
// The reference of the softmax is raised only when a weight would leave float16: the threads vote at the one barrier
// that a tile needs anyway.
// Weights are summed as the products see them: a rounding error then shifts a share of the whole, and counts by how far
// that token's values are from the mean. Of 8 tokens the last 4 have negative weights and 15 - n for n, which adds
// w * (n - 15), put right in the zero points: the units cut their sums toward zero, and these stay near it.
// What runs once is kept in loops: code is fetched slower than it runs.
//
// Defined by the caller: D (128, 256), ROWS, NARROW, BLOCKS (of ROWS rows), GROUP, KV_HEADS, PAGE, POS, HEAD (words
// between tokens, between KV heads), STAGES, BULK (pages are aligned to 16 bytes: the copy engine takes them), HALF (the
// query is float16), RESIDENT; and the two products, written out for ROWS and NARROW by hopper.py.

// One warp's 16 tokens of a tile, all from one page.
__device__ __forceinline__ void copy_tokens(u32 to, const u32* from, int head, int lane, u32 barrier) {
#if BULK
  if (lane == 0) expect_run(barrier, 16 * ROW * 4);
  if (RUN && lane == 0) copy_run(to, from, 16 * ROW * 4, barrier);
  if (!RUN && lane < 16) copy_run(to + lane * ROW * 4, from + lane * POS - shift_of(head, lane), ROW * 4, barrier);
#else
#pragma unroll 4
  for (int k = 0; k < 16; ++k)
    for (int i = lane; i < WORDS; i += 32) copy4(to + (k * ROW + i) * 4, from + k * POS + i);
#endif
}

// A program's chunk: N of its rows, which PARTED programs have between them.
template <int N, int PARTED>
__device__ __forceinline__ void attend(
    unsigned char* memory, const u16* __restrict__ query, const u32* __restrict__ cache, const int* __restrict__ table,
    const int* __restrict__ lens, const int* __restrict__ starts, float* __restrict__ part, float* __restrict__ lse,
    float scale_log2, int q_stride, int table_stride, int page_words, int batch, int splits, int chunk, u32 barriers) {
  constexpr int Q_BYTES = N * D, P_BYTES = N * 128;
  const Place p = {(int)threadIdx.x / 32, (int)threadIdx.x % 32, (int)threadIdx.x % 32 / 4, (int)threadIdx.x % 4};
  const int head = blockIdx.x, first_row = blockIdx.y % PARTED * N;
  const Share share = share_of(lens, batch, chunk, blockIdx.y / PARTED);
  if (share.seq < 0) return;
  const int seq = share.seq, length = lens[seq], q0 = starts[seq], q_len = starts[seq + 1] - q0, rows = q_len * GROUP;
  const int first = share.split * chunk;
  const int last = min(first + chunk, length);
  if (first_row >= rows) return;

  const u32 q_low = shared_at(memory), q_high = q_low + Q_BYTES, weights = q_high + Q_BYTES;
  const u32 stages = weights + 2 * P_BYTES, red = stages + STAGES * STAGE_BYTES;
  const int* pages = table + (long long)seq * table_stride;
  const int tiles = (last - first + TILE - 1) / TILE;
  const int group_end = (last - 1) / 16 * 16;

  auto place_of = [&](int tile) { return min(first + tile * TILE + p.warp * 16, group_end); };
  auto page_of = [&](int tile) { return __ldg(pages + place_of(tile) / PAGE); };
  int next_page = page_of(0);
  const Query mine = {query, first_row, rows, q0, head, q_stride};
  uint4 pieces[TURNS<N>];
#pragma unroll
  for (int i = 0; i < TURNS<N>; ++i) pieces[i] = mine.piece(i);

  auto fetch = [&](int tile, int stage, int page) {
    const u32* from = cache + (long long)page * page_words + place_of(tile) % PAGE * POS + head * HEAD;
    if (tile < tiles) copy_tokens(stages + stage * STAGE_BYTES + p.warp * 16 * ROW * 4, from, head, p.lane, barriers + stage * 8);
    if (!BULK) commit_copies();
  };
#pragma unroll 1
  for (int i = 0; i < STAGES - 1; ++i) {
    const int page = next_page;
    next_page = page_of(i + 1);
    fetch(i, i, page);
  }

  const float up = store_query<N>(mine, pieces, q_low, q_high, red, p);
  const float factor = scale_log2 / up;
  const int open = min(last, length - q_len + 1);  // tokens below are seen by all rows
  seen_by_products();
  __syncthreads();

  float acc[TILES_D][N / 2];
  float m[N / 4], l[N / 4], z[N / 4];
#pragma unroll
  for (int i = 0; i < TILES_D; ++i)
#pragma unroll
    for (int j = 0; j < N / 2; ++j) acc[i][j] = 0.0f;
#pragma unroll
  for (int i = 0; i < N / 4; ++i) m[i] = -1e30f, l[i] = 0.0f, z[i] = 0.0f;

  const u64 low_matrix = matrix_at(q_low), high_matrix = matrix_at(q_high);
  const u32 key_at = ((p.warp * 16 + p.g) * ROW + shift_of(head, p.g) + (RUN ? p.t * 8 : p.t)) * 4;
  const u32 column_at = ((p.warp * 16 + p.g) * ROW + shift_of(head, p.g) + WORDS - 1) * 4;
#if D == 256
  const int value_word = RUN ? 4 * p.g + p.warp : p.g % 4 + p.g / 4 * 16 + 4 * p.warp;
#else
  const int value_word = RUN ? 4 * (p.g % 4) + p.warp : p.g % 4 + 4 * p.warp;
  const u32 pick = p.g / 4 ? 0x7632 : 0x5410;
#endif
  const u32 value_at = (p.t * ROW + shift_of(head, p.t) + D / 4 + value_word) * 4;
  const u32 weight_row = 2 * p.t * 128 + p.g % 4 * 4;
  const u32 weight_at[2] = {weight_row + (((2 * p.warp + p.g / 4) ^ (2 * p.t)) * 16),
                            weight_row + 128 + (((2 * p.warp + p.g / 4) ^ (2 * p.t + 1)) * 16)};

  const u32 sign = p.g / 4 ? 0x80000000 : 0;
  const float lift = p.g / 4 ? -15.0f : 0.0f;

  int stage = 0, phase = 0;
  for (int tile = 0; tile < tiles; ++tile) {
#if BULK
    wait_run(barriers + stage * 8, phase);
#else
    wait_copies<STAGES - 2>();
    __syncwarp();
#endif
    const u32 here = stages + stage * STAGE_BYTES;
    const u32 p_at = weights + (tile & 1) * P_BYTES;
    const int pos = first + tile * TILE + p.warp * 16 + p.g;
    const bool masked = first + (tile + 1) * TILE > open;
    u32 column[2] = {lds(here + column_at), lds(here + column_at + 8 * ROW * 4)};
    if (masked) {
      if (pos >= last) column[0] = 0x3C00;
      if (pos + 8 >= last) column[1] = 0x3C00;
    }
    float log_scale[2], inverse[2], zero[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float scale = most(half_to_float(column[i] & 0xFFFF), 5.9604645e-08f);
      inverse[i] = rcp(__uint_as_float(__float_as_uint(scale) | sign));
      log_scale[i] = lg2(scale);
      zero[i] = fmaf(half_to_float(column[i] >> 16), inverse[i], lift);
    }
    float s[N / 2];
    for (bool again = tile == 0;;) {
      u32 a[STEPS][4];
#pragma unroll
      for (int k = 0; k < STEPS; ++k)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          int turn = 2 * k + e / 2;
          a[k][e] = lds(here + key_at + (e % 2 * 8 * ROW + (RUN ? turn / 8 * 32 + turn % 8 : turn * 4)) * 4);
        }
      products_begin();
#pragma unroll
      for (int k = 0; k < STEPS; ++k) keys_product(s, a[k], low_matrix + (k / 4 * (N * 128) + k % 4 * 32) / 16, k > 0);
#pragma unroll
      for (int k = 0; k < STEPS; ++k) keys_product(s, a[k], high_matrix + (k / 4 * (N * 128) + k % 4 * 32) / 16, 1);
      products_commit();
      products_wait<0>();
      settled(s);
      in_use(a);
#pragma unroll
      for (int i = 0; i < N / 2; ++i) s[i] = fmaf(s[i], factor, log_scale[i / 2 % 2]);
      if (masked) {
#pragma unroll
        for (int i = 0; i < N / 2; ++i) {
          int row = first_row + i / 4 * 8 + 2 * p.t + i % 2, at = pos + i / 2 % 2 * 8;
          if (at >= last || at > length - q_len + row / GROUP) s[i] = __uint_as_float(0xFF800000);
        }
      }
      if (again) {  // raise the reference of each row to this tile's greatest
#pragma unroll
        for (int i = 0; i < N / 4; ++i) {
          float top = most(s[i / 2 * 4 + i % 2], s[i / 2 * 4 + 2 + i % 2]);
#pragma unroll
          for (int far = 4; far < 32; far *= 2) top = most(top, __shfl_xor_sync(~0u, top, far));
          if (p.g == 0) sts(red + (p.warp * N + i / 2 * 8 + 2 * p.t + i % 2) * 4, __float_as_uint(top));
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < N / 4; ++i) {
          u32 at = red + (i / 2 * 8 + 2 * p.t + i % 2) * 4;
          float top = most(most(ldsf(at), ldsf(at + N * 4)), most(ldsf(at + 2 * N * 4), ldsf(at + 3 * N * 4)));
          float raised = most(m[i], top - HEADROOM);
          float shrink = ex2(m[i] - raised);
          m[i] = raised, l[i] *= shrink, z[i] *= shrink;
#pragma unroll
          for (int k = 0; k < TILES_D; ++k) acc[k][i / 2 * 4 + i % 2] *= shrink, acc[k][i / 2 * 4 + 2 + i % 2] *= shrink;
        }
      }
      float top = -1e30f;
#pragma unroll
      for (int i = 0; i < N / 4; ++i) {
        const int a0 = i / 2 * 4 + i % 2, a1 = a0 + 2;
        s[a0] -= m[i], s[a1] -= m[i];
        top = most(top, most(s[a0], s[a1]));
        s[a0] = cut(ex2(s[a0]), sign), s[a1] = cut(ex2(s[a1]), sign);
        sts(p_at + weight_at[i % 2] + i / 2 * 1024, halves(s[a0], s[a1]));
      }
      seen_by_products();
      if (!__syncthreads_or(!again && top > LIMIT)) break;
      again = true;
    }
    const u64 p_matrix = matrix_at(p_at);
    u32 v[4][TILES_D][4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      u32 word[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) word[e] = lds(here + value_at + (16 * k + e % 2 * 8 + e / 2 * 4) * ROW * 4);
#pragma unroll
      for (int pair = 0; pair < 2; ++pair)
#pragma unroll
        for (int half = 0; half < TILES_D / 2; ++half) {
#if D == 256
          u32 x = __byte_perm(word[2 * pair], word[2 * pair + 1], half ? 0x7632 : 0x5410);
#else
          u32 x = __byte_perm(word[2 * pair], word[2 * pair + 1], pick);
#endif
          u32 y = x >> 8;
          v[k][2 * half][2 * pair] = nibbles(x, 0x000F000F, pair);
          v[k][2 * half][2 * pair + 1] = nibbles(x, 0x00F000F0, pair);
          v[k][2 * half + 1][2 * pair] = nibbles(y, 0x000F000F, pair);
          v[k][2 * half + 1][2 * pair + 1] = nibbles(y, 0x00F000F0, pair);
        }
      products_begin();
#pragma unroll
      for (int i = 0; i < TILES_D; ++i) values_product(acc[i], v[k][i], p_matrix + k * 2, 1);
      products_commit();
      if (k > 0) {
        products_wait<1>();
        in_use(v[k - 1]);
      }
    }
    fetch(tile + STAGES - 1, stage == 0 ? STAGES - 1 : stage - 1, next_page);
    next_page = page_of(tile + STAGES);
#pragma unroll
    for (int i = 0; i < N / 4; ++i) {
      const int a0 = i / 2 * 4 + i % 2, a1 = a0 + 2;
      l[i] = fmaf(s[a0], inverse[0], fmaf(s[a1], inverse[1], l[i]));
      z[i] = fmaf(s[a0], zero[0], fmaf(s[a1], zero[1], z[i]));
    }
    products_wait<0>();
    in_use(v[3]);
#pragma unroll
    for (int i = 0; i < TILES_D; ++i) settled(acc[i]);
    if (++stage == STAGES) stage = 0, phase ^= 1;
  }
  wait_copies<0>();

  // Sums: 32 threads hold a part of each row's. Output: through shared memory, so that rows are written whole.
  constexpr int LINE = 33;  // words of a row of parts
  constexpr int OUT_LINE = D * 4 + 16;  // bytes of a row of the output
  const u32 output = q_low, sums = output + N * OUT_LINE;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < N / 4; ++i) {
    const int n = i / 2 * 8 + 2 * p.t + i % 2;
    const u32 at = sums + (n * LINE + p.warp * 8 + p.g) * 4;
    sts(at, __float_as_uint(l[i]));
    sts(at + N * LINE * 4, __float_as_uint(z[i]));
    if (p.warp == 0 && p.g == 0) sts(red + n * 4, __float_as_uint(m[i]));
  }
  __syncthreads();
  const u32 slot = (blockIdx.y * KV_HEADS + head) * N;
  if (threadIdx.x < 2 * N) {
    const u32 at = sums + threadIdx.x * LINE * 4;
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int k = 0; k < 32; ++k) sum[k % 4] += ldsf(at + k * 4);
    sum[0] += sum[1] + (sum[2] + sum[3]);
    sts(at, __float_as_uint(threadIdx.x < N ? rcp(most(sum[0], 1e-30f)) : sum[0]));
    if (threadIdx.x < N)  // of one row, chunk after chunk: the merge reads them so
      lse[((blockIdx.y % PARTED * KV_HEADS + head) * N + threadIdx.x) * splits + blockIdx.y / PARTED] = sum[0] > 0.0f ? ldsf(red + threadIdx.x * 4) + lg2(sum[0]) : __uint_as_float(0xFF800000);
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < N / 4; ++i) {
    const int n = i / 2 * 8 + 2 * p.t + i % 2, a0 = i / 2 * 4 + i % 2, a1 = a0 + 2;
    const float r = ldsf(sums + n * LINE * 4), zeros = ldsf(sums + (N + n) * LINE * 4) * r;
    const float even = r * 16777216.0f, odd = r * 1048576.0f;
#pragma unroll
    for (int k = 0; k < TILES_D / 2; ++k) {
      const int piece = value_word * 2 + (D == 256 ? k : p.g / 4);
      sts4(output + n * OUT_LINE + piece * 16,
           make_float4(fmaf(acc[2 * k][a0], even, zeros), fmaf(acc[2 * k][a1], odd, zeros),
                       fmaf(acc[2 * k + 1][a0], even, zeros), fmaf(acc[2 * k + 1][a1], odd, zeros)));
    }
  }
  seen_by_products();
  __syncthreads();
  const int n = p.lane * 4 + p.warp;
  if (n < N && first_row + n < rows) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(part + (u64)(slot + n) * D),
                 "r"(output + n * OUT_LINE), "n"(D * 4) : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;" ::: "memory");
  }
}

extern "C" __global__ void __launch_bounds__(128, RESIDENT)
hopper(const u16* __restrict__ query, const u32* __restrict__ cache, const int* __restrict__ table,
       const int* __restrict__ lens, const int* __restrict__ starts, float* __restrict__ part, float* __restrict__ lse,
       float scale_log2, int q_stride, int table_stride, int page_words, int batch, int splits, int narrow_to) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const u32 barriers = shared_at(memory) + 2 * ROWS * (D + 128) + STAGES * STAGE_BYTES + 4 * ROWS * 4;  // behind all else
#if BULK
  if (threadIdx.x < STAGES) asm volatile("mbarrier.init.shared::cta.b64 [%0], 4;" ::"r"(barriers + threadIdx.x * 8) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  __syncthreads();
#endif
  // This grid may have been placed before the one ahead has ended; and now the merge may be, which waits for this one's end.
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
  int soon;  // fetched beside the lengths, for it is asked for right after them
  asm volatile("ld.global.nc.b32 %0, [%1];" : "=r"(soon) : "l"(starts + min((int)threadIdx.x % 32, batch)));
  const Cut cut = cut_of(lens, batch, splits, narrow_to);
#if NARROW
  if (cut.narrow) {
    attend<NARROW, 2 * BLOCKS>(memory, query, cache, table, lens, starts, part, lse, scale_log2, q_stride, table_stride,
                               page_words, batch, splits / 2, cut.chunk, barriers);
    return;
  }
#endif
  attend<ROWS, BLOCKS>(memory, query, cache, table, lens, starts, part, lse, scale_log2, q_stride, table_stride,
                       page_words, batch, splits, cut.chunk, barriers);
}
