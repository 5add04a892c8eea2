// The chunks' outputs weighed into one: a block a (query token, head, part of the columns), its threads in groups that
// take every so many chunks.
//
// Placed while hopper.cu's grid runs; what that grid writes is read after its end. Defined by the caller: D (128, 256),
// HEADS, GROUP, N, BLOCKS (as there), MAX_QUERY, PARTS (of the columns), HALF (the output is float16).

typedef unsigned short u16;

constexpr int THREADS = 256;
constexpr int COLUMNS = D / PARTS;
constexpr int WIDE = COLUMNS / 4;  // threads of a group
constexpr int GROUPS = THREADS / WIDE;

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

extern "C" __global__ void __launch_bounds__(THREADS)
hopper_merge(const float* part, const float* lse, const int* __restrict__ lens, const int* __restrict__ starts, u16* out,
             int out_stride, int batch, int splits) {
  __shared__ float4 sums[GROUPS][WIDE];
  const int seq = blockIdx.x / MAX_QUERY, j = blockIdx.x % MAX_QUERY, head = blockIdx.y;
  const int lane = threadIdx.x % 32, group = threadIdx.x / WIDE, column = threadIdx.x % WIDE;
  const int length = lens[seq], q0 = starts[seq], count = starts[seq + 1] - q0;
  const int chunk = chunk_of(lens, batch, splits), before = chunks_before(lens, seq, chunk);
  const int active = (length + chunk - 1) / chunk;
  const int place = j * GROUP + head % GROUP;  // among the rows of a sequence and KV head
  constexpr int STRIDE = BLOCKS * (HEADS / GROUP) * N;  // rows from chunk to chunk
  const long long row = ((before * BLOCKS + place / N) * (HEADS / GROUP) + head / GROUP) * N + place % N;
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (j >= count) return;

  float top = -1e30f, total = 0.0f;
#pragma unroll 4
  for (int s = lane; s < active; s += 32) top = fmaxf(top, lse[row + s * STRIDE]);
#pragma unroll
  for (int far = 16; far; far >>= 1) top = fmaxf(top, __shfl_xor_sync(~0u, top, far));
#pragma unroll 4
  for (int s = lane; s < active; s += 32) total += ex2(lse[row + s * STRIDE] - top);
#pragma unroll
  for (int far = 16; far; far >>= 1) total += __shfl_xor_sync(~0u, total, far);

  const float4* from = (const float4*)(part + row * D) + blockIdx.z * WIDE + column;
  float4 acc = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 8
  for (int s = group; s < active; s += GROUPS) {
    const float weight = ex2(lse[row + s * STRIDE] - top);
    const float4 v = from[(long long)s * STRIDE * (D / 4)];
    acc.x = fmaf(weight, v.x, acc.x), acc.y = fmaf(weight, v.y, acc.y);
    acc.z = fmaf(weight, v.z, acc.z), acc.w = fmaf(weight, v.w, acc.w);
  }
  sums[group][column] = acc;
  __syncthreads();
  if (threadIdx.x < COLUMNS) {
    float sum = 0.0f;
#pragma unroll
    for (int g = 0; g < GROUPS; ++g) sum += ((const float*)sums[g])[threadIdx.x];
    out[(long long)(q0 + j) * out_stride + head * D + blockIdx.z * COLUMNS + threadIdx.x] =
        narrowed(total > 0.0f ? sum / total : 0.0f);
  }
}
