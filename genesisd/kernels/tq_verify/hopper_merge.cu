// The chunks' outputs weighed into one: a block a (query token, head, part of the columns), its threads in groups that
// take every so many chunks.
//
// Placed while hopper.cu's grid runs; what that grid writes is read after its end. Defined by the caller: D (128, 256),
// HEADS, GROUP, ROWS, NARROW, BLOCKS (as there), MAX_QUERY, PARTS (of the columns), HALF (the output is float16).

typedef unsigned short u16;

constexpr int THREADS = 256;
constexpr int COLUMNS = D / PARTS;
constexpr int WIDE = COLUMNS / 4;  // threads of a group
constexpr int GROUPS = THREADS / WIDE;
constexpr int AHEAD = 4;  // chunks whose outputs a thread asks for before it knows their weights
static_assert(AHEAD * GROUPS <= THREADS);

__device__ __forceinline__ float ex2(float x) { float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }

__device__ __forceinline__ u16 narrowed(float x) {
  u16 y;
#if HALF
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
#else
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));
#endif
  return y;
}

__device__ __forceinline__ void add(float4& sum, float w, float4 v) {
  sum.x = fmaf(w, v.x, sum.x), sum.y = fmaf(w, v.y, sum.y), sum.z = fmaf(w, v.z, sum.z), sum.w = fmaf(w, v.w, sum.w);
}

template <class Join> __device__ __forceinline__ float joined(float x, float* shared, Join join) {
#pragma unroll
  for (int far = 16; far; far >>= 1) x = join(x, __shfl_xor_sync(~0u, x, far));
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = x;
  __syncthreads();
  x = shared[0];
#pragma unroll
  for (int i = 1; i < THREADS / 32; ++i) x = join(x, shared[i]);
  return x;
}

extern "C" __global__ void __launch_bounds__(THREADS)
hopper_merge(const float* part, const float* lse, const int* __restrict__ lens, const int* __restrict__ starts, u16* out,
             int out_stride, int batch, int splits, int narrow_to) {
  __shared__ float4 sums[GROUPS][WIDE];
  __shared__ float weights[THREADS], tops[THREADS / 32], totals[THREADS / 32];
  constexpr int KV_HEADS = HEADS / GROUP;
  const int seq = blockIdx.x / MAX_QUERY, j = blockIdx.x % MAX_QUERY, head = blockIdx.y;
  const int group = threadIdx.x / WIDE, column = threadIdx.x % WIDE;
  const int length = lens[seq], q0 = starts[seq], count = starts[seq + 1] - q0;
  const Cut cut = cut_of(lens, batch, splits, narrow_to);
  const int n = cut.narrow ? NARROW : ROWS, blocks = cut.narrow ? 2 * BLOCKS : BLOCKS;
  const int before = chunks_before(lens, seq, cut.chunk);
  const int active = (length + cut.chunk - 1) / cut.chunk;
  const int stride = blocks * KV_HEADS * n;  // rows of part from chunk to chunk
  const int place = j * GROUP + head % GROUP;  // among the rows of a sequence and KV head
  const int row = (place / n * KV_HEADS + head / GROUP) * n + place % n;
  const float* logs = lse + (long long)row * (cut.narrow ? splits / 2 : splits) + before;
  const float4* from = (const float4*)(part + ((long long)before * stride + row) * D) + blockIdx.z * WIDE + column;
  const long long step = (long long)stride * (D / 4);
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (j >= count) return;

  float4 soon[AHEAD];
#pragma unroll
  for (int k = 0; k < AHEAD; ++k) {
    const int s = group + k * GROUPS;
    soon[k] = s < active ? __ldcg(from + s * step) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  }
  float top = -1e30f, total = 0.0f;
#pragma unroll 1
  for (int s = threadIdx.x; s < active; s += THREADS) top = fmaxf(top, logs[s]);
  top = joined(top, tops, [](float a, float b) { return fmaxf(a, b); });
  float4 acc = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 1
  for (int first = 0; first < active; first += THREADS) {
    const int left = min(active - first, THREADS);
    const float weight = threadIdx.x < left ? ex2(logs[first + threadIdx.x] - top) : 0.0f;
    weights[threadIdx.x] = weight;
    total += weight;
    __syncthreads();
    int s = group;
    if (first == 0) {
#pragma unroll
      for (int k = 0; k < AHEAD; ++k, s += GROUPS) add(acc, weights[s], soon[k]);
    }
#pragma unroll 8
    for (; s < left; s += GROUPS) add(acc, weights[s], from[(first + s) * step]);
    __syncthreads();
  }
  sums[group][column] = acc;
  total = joined(total, totals, [](float a, float b) { return a + b; });
  if (threadIdx.x < COLUMNS) {
    float sum = 0.0f;
#pragma unroll
    for (int g = 0; g < GROUPS; ++g) sum += ((const float*)sums[g])[threadIdx.x];
    out[(long long)(q0 + j) * out_stride + head * D + blockIdx.z * COLUMNS + threadIdx.x] =
        narrowed(total > 0.0f ? sum / total : 0.0f);
  }
}
