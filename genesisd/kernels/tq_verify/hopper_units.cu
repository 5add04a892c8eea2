// Shapes of hopper.cu, and the instructions that the language has no words for.

typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;

constexpr int WORDS = (D + D / 2 + 4) / 4;
constexpr int STEPS = D / 32;  // products of 32 dimensions
constexpr int TILES_D = D / 64;  // rows of 64 dimensions of the output
// With one KV head a page's slots follow each other and come as one run, else row by row, ROW words apart. A row begins
// where its 16 bytes begin, so it stands up to three words further on: where, depends on the head and on the token's
// number modulo 4.
constexpr bool RUN = BULK && KV_HEADS == 1 && POS == WORDS;
constexpr int ROW = RUN ? WORDS : D == 256 ? 100 : 52;
__device__ __forceinline__ int shift_of(int head, int token) { return BULK ? (head * HEAD + token * POS) % 4 * !RUN : 0; }
constexpr int STAGE_BYTES = TILE * ROW * 4;
constexpr float LIMIT = 15.5f;  // float16 ends below 2^16
constexpr float HEADROOM = 8.0f;  // a new maximum weighs 2^8

__device__ __forceinline__ u32 shared_at(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ u32 lds(u32 at) { u32 v; asm volatile("ld.shared.b32 %0, [%1];" : "=r"(v) : "r"(at)); return v; }
__device__ __forceinline__ float ldsf(u32 at) { return __uint_as_float(lds(at)); }
__device__ __forceinline__ void sts(u32 at, u32 v) { asm volatile("st.shared.b32 [%0], %1;" ::"r"(at), "r"(v) : "memory"); }
__device__ __forceinline__ void copy4(u32 to, const u32* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void expect_run(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void copy_run(u32 to, const u32* from, u32 bytes, u32 barrier) {  // one thread, aligned to 16
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from),
               "r"(bytes), "r"(barrier) : "memory");
}
__device__ __forceinline__ void wait_run(u32 barrier, u32 phase) {
  asm volatile("{.reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again;}" ::"r"(barrier),
               "r"(phase) : "memory");
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT> __device__ __forceinline__ void wait_copies() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory"); }
__device__ __forceinline__ void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void products_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int LEFT> __device__ __forceinline__ void products_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory"); }
__device__ __forceinline__ void seen_by_products() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ __forceinline__ float ex2(float x) { float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
__device__ __forceinline__ float lg2(float x) { float y; asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
__device__ __forceinline__ float rcp(float x) { float y; asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
__device__ __forceinline__ float half_to_float(u32 h) { float y; asm("{.reg .b16 h; cvt.u16.u32 h, %1; cvt.f32.f16 %0, h;}" : "=f"(y) : "r"(h)); return y; }
__device__ __forceinline__ u32 halves(float low, float high) { u32 r; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low)); return r; }
// What a float16 keeps of a weight, so that sums take what the products take. Cut, not rounded: one instruction, and what
// all weights lose on average falls out of the quotient.
__device__ __forceinline__ float cut(float x, u32 sign) { return __uint_as_float((__float_as_uint(x) & 0xFFFFE000) | sign); }
__device__ __forceinline__ float most(float a, float b) { return fmaxf(a, b); }
__device__ __forceinline__ u32 most2(u32 a, u32 b) { u32 r; asm("max.u16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); return r; }
__device__ __forceinline__ void sts4(u32 at, float4 v) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(at), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
}
// Products read and write registers until they are waited for: the compiler must not move what stands on either side.
template <int COUNT> __device__ __forceinline__ void settled(float (&d)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
template <int COUNT> __device__ __forceinline__ void in_use(u32 (&a)[COUNT][4]) {
#pragma unroll
  for (int i = 0; i < COUNT; ++i) asm volatile("" ::"r"(a[i][0]), "r"(a[i][1]), "r"(a[i][2]), "r"(a[i][3]) : "memory");
}

// A matrix in shared memory whose rows are 128 bytes, swizzled by 128 bytes: 8 rows are 1024 bytes.
__device__ __forceinline__ u64 matrix_at(u32 at) { return (u64)((at & 0x3FFFF) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62); }

__device__ __forceinline__ float widened(u32 bits) {
#if HALF
  return half_to_float(bits);
#else
  return __uint_as_float(bits << 16);
#endif
}

__device__ __forceinline__ u32 nibbles(u32 x, u32 mask, bool from_15) { return (from_15 ? ~x : x) & mask; }

struct Place {  // of this thread
  int warp, lane, g, t;
};
