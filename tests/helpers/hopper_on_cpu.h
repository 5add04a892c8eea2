// What hopper.cu asks of a device, on a CPU: a block of 128 threads as fibers that take turns, shared memory as an array,
// copies done at once, and the units' products with their sums cut as the units cut them.
//
// Fibers meet at barriers and at whatever a warp or a block does together, and run one after the other between these. This
// shows what is computed; it cannot show races, nor the order of copies, products and memory on a device.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <ucontext.h>
#include <vector>

using std::max;
using std::min;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(threads, blocks)

struct uint4 { u32 x, y, z, w; };
struct float4 { float x, y, z, w; };
inline uint4 make_uint4(u32 a, u32 b, u32 c, u32 d) { return {a, b, c, d}; }
inline float4 make_float4(float a, float b, float c, float d) { return {a, b, c, d}; }
template <class T> T __ldg(const T* p) { return *p; }
inline float __uint_as_float(u32 u) { float f; memcpy(&f, &u, 4); return f; }
inline u32 __float_as_uint(float f) { u32 u; memcpy(&u, &f, 4); return u; }
inline int __ffs(u32 x) { return __builtin_ffs(x); }
inline u32 __byte_perm(u32 a, u32 b, u32 picks) {
  const u64 both = (u64)b << 32 | a;
  u32 out = 0;
  for (int i = 0; i < 4; ++i) out |= (u32)(both >> 8 * (picks >> 4 * i & 7) & 255) << 8 * i;
  return out;
}

// Fibers.

constexpr int THREADS = 128;
struct Index { u32 x, y, z; };
static Index indices[THREADS], blockIdx;
static int now;
#define threadIdx indices[now]
static ucontext_t scheduler, fibers[THREADS];
static bool ended[THREADS];

static void others() {
  static long turns = 0;
  if (++turns > 2000000000L) fprintf(stderr, "the block's threads wait for each other\n"), abort();
  swapcontext(&fibers[now], &scheduler);
}

struct Barrier { int count, all; long generation; };
static Barrier warps[THREADS / 32], block;
static void meet(Barrier& at, const std::function<void()>& last = [] {}) {
  const long generation = at.generation;
  if (++at.count == at.all) {
    last(), at.count = 0, ++at.generation;
    return;
  }
  while (at.generation == generation) others();
}

static u32 said[THREADS];
static void __syncthreads() { meet(block); }
static void __syncwarp() { meet(warps[now / 32]); }
static int __syncthreads_or(int mine) {
  said[now] = mine != 0;
  meet(block);
  const int any = std::any_of(said, said + THREADS, [](u32 one) { return one; });
  meet(block);
  return any;
}
template <class Of> static u32 together(u32 mine, Of of) {
  Barrier& at = warps[now / 32];
  said[now] = mine;
  meet(at);
  const u32 found = of(said + now / 32 * 32, now % 32);
  meet(at);
  return found;
}
static float __shfl_xor_sync(u32, float mine, int far) {
  return __uint_as_float(together(__float_as_uint(mine), [=](u32* all, int lane) { return all[lane ^ far]; }));
}
static int __shfl_up_sync(u32, int mine, int far) {
  return together(mine, [=](u32* all, int lane) { return all[lane >= far ? lane - far : lane]; });
}
static int __reduce_add_sync(u32, int mine) {
  return together(mine, [](u32* all, int) { u32 sum = 0; for (int i = 0; i < 32; ++i) sum += all[i]; return sum; });
}
static u32 __ballot_sync(u32, int mine) {
  return together(mine != 0, [](u32* all, int) { u32 bits = 0; for (int i = 0; i < 32; ++i) bits |= all[i] << i; return bits; });
}

// Numbers.

inline float of_half(u16 bits) { _Float16 half; memcpy(&half, &bits, 2); return (float)half; }
inline u16 to_half(float x) { const _Float16 half = (_Float16)x; u16 bits; memcpy(&bits, &half, 2); return bits; }
inline u32 halves(float low, float high) { return to_half(low) | (u32)to_half(high) << 16; }
inline float half_to_float(u32 bits) { return of_half(bits & 0xFFFF); }
inline float of_e4m3(u8 b) {
  const int exponent = b >> 3 & 15, rest = b & 7;
  const float size = exponent == 15 && rest == 7 ? NAN : exponent ? ldexpf(8 + rest, exponent - 10) : ldexpf(rest, -9);
  return b & 128 ? -size : size;
}
inline u8 to_e4m3(float x) {  // the nearest, halfway to the even one; beyond the greatest it
  u8 best = 0;
  for (int i = 1; i < 127; ++i) {
    const float far = fabsf(of_e4m3(i) - fabsf(x)), least = fabsf(of_e4m3(best) - fabsf(x));
    if (far < least || (far == least && i % 2 == 0)) best = i;
  }
  return best | (std::signbit(x) ? 128 : 0);
}
inline u16 to_e4m3x2(u32 x) { return to_e4m3(half_to_float(x)) | to_e4m3(half_to_float(x >> 16)) << 8; }
inline u32 less_e4m3x2(u32 x, u16 y) {
  return halves(half_to_float(x) - of_e4m3(y & 255), half_to_float(x >> 16) - of_e4m3(y >> 8));
}
inline u32 most2(u32 a, u32 b) { return max(a & 0xFFFF, b & 0xFFFF) | max(a >> 16, b >> 16) << 16; }
inline float ex2(float x) { const float y = exp2f(x); return y < 1.17549435e-38f ? 0.0f : y; }
inline float lg2(float x) { return log2f(x); }
inline float rcp(float x) { return 1.0f / x; }

// Shared memory and the copies to it.

alignas(1024) static u8 memory[232448];
inline u64 __cvta_generic_to_shared(const void* p) { return (const u8*)p - memory; }
inline u32 lds(u32 at) { u32 v; memcpy(&v, memory + at, 4); return v; }
inline void sts(u32 at, u32 v) { memcpy(memory + at, &v, 4); }
inline void sts4(u32 at, float4 v) { memcpy(memory + at, &v, 16); }
inline void copy4(u32 to, const u32* from) { memcpy(memory + to, from, 4); }
struct Run { int arrived, phases; long left; };
static Run runs[8];
static u32 barriers_at;
static Run& run_of(u32 barrier) { return runs[(barrier - barriers_at) / 8]; }
static void landed(Run& run) { if (run.arrived == 4 && run.left == 0) run.arrived = 0, ++run.phases; }
static void expect_run(u32 barrier, u32 bytes) { Run& run = run_of(barrier); ++run.arrived, run.left += bytes, landed(run); }
static void copy_run(u32 to, const u32* from, u32 bytes, u32 barrier) {
  if (((u64)from | to | bytes) % 16) fprintf(stderr, "a run that is not aligned to 16\n"), abort();
  memcpy(memory + to, from, bytes), run_of(barrier).left -= bytes, landed(run_of(barrier));
}
static void wait_run(u32 barrier, u32 phase) { while ((run_of(barrier).phases & 1) == (int)phase) others(); }
inline void commit_copies() {}
template <int LEFT> void wait_copies() {}

// Products: 64 rows out of all threads' registers times N columns out of shared memory.

inline void products_begin() {}
inline void products_commit() {}
template <int LEFT> void products_wait() {}
inline void seen_by_products() {}
template <int COUNT> void settled(float (&)[COUNT]) {}
template <int COUNT> void in_use(u32 (&)[COUNT][4]) {}

struct Term { double value; int exponent; };
// The sum of a step: terms are cut at so many bits below the greatest exponent (of a product: its factors'), their sum to
// float32, both toward zero.
static float summed_up(const std::vector<Term>& terms, float before, int bits) {
  int top = before != 0 ? std::ilogb(before) : -1000;
  for (const Term& one : terms)
    if (std::isnan(one.value)) return NAN;
    else if (one.value != 0) top = max(top, one.exponent);
  if (top == -1000) return 0;
  const double last = ldexp(1, top - bits);
  double sum = trunc(before / last);
  for (const Term& one : terms) sum += trunc(one.value / last);
  if (sum == 0) return 0;
  const double place = ldexp(1, std::ilogb(sum) - 23);
  return (float)(trunc(sum / place) * place * last);
}

static u8 swizzled(u32 at) { return memory[at ^ (at >> 7 & 7) << 4]; }
static float* sums_of[THREADS];
static u32 rows_of[THREADS][4];
template <bool FP8, int COLUMNS> static void product(float* sums, const u32* rows, u64 matrix, int add) {
  static constexpr int DEPTH = FP8 ? 32 : 16, WIDE = DEPTH / 2, LOWEST = FP8 ? -6 : -14, BITS = FP8 ? 13 : 25;
  sums_of[now] = sums, memcpy(rows_of[now], rows, 16);
  meet(block, [=] {
    const auto exponent = [](float x) { return x == 0 || std::isnan(x) ? LOWEST : max(LOWEST, std::ilogb(x)); };
    std::vector<float> b(COLUMNS * DEPTH);
    for (int n = 0; n < COLUMNS; ++n)
      for (int k = 0; k < DEPTH; ++k) {
        const u32 at = ((matrix & 0x3FFF) << 4) + n * 128 + k * 32 / DEPTH;
        b[n * DEPTH + k] = FP8 ? of_e4m3(swizzled(at)) : of_half(swizzled(at) | swizzled(at + 1) << 8);
      }
    for (int m = 0; m < 64; ++m) {
      float a[DEPTH];
      for (int k = 0; k < DEPTH; ++k) {
        const int lane = m % 8 * 4 + k % WIDE / (WIDE / 4);
        const u32 word = rows_of[m / 16 * 32 + lane][k / WIDE * 2 + m % 16 / 8];
        a[k] = FP8 ? of_e4m3(word >> 8 * (k % 4) & 255) : half_to_float(word >> 16 * (k % 2));
      }
      for (int n = 0; n < COLUMNS; ++n) {
        float& sum = sums_of[m / 16 * 32 + m % 8 * 4 + n % 8 / 2][n / 8 * 4 + m % 16 / 8 * 2 + n % 2];
        std::vector<Term> terms;
        for (int k = 0; k < DEPTH; ++k)
          terms.push_back({(double)a[k] * b[n * DEPTH + k], exponent(a[k]) + exponent(b[n * DEPTH + k])});
        sum = summed_up(terms, add ? sum : 0.0f, BITS);
      }
    }
  });
  meet(block);
}

// A grid, block after block. What shared memory held before is no number.
static std::function<void()> kernel;
static void fiber() { kernel(), ended[now] = true, swapcontext(&fibers[now], &scheduler); }
static void run_grid(u32 columns, u32 rows) {
  static std::vector<std::vector<char>> stacks(THREADS, std::vector<char>(1 << 18));
  for (u32 y = 0; y < rows; ++y)
    for (u32 x = 0; x < columns; ++x) {
      blockIdx = {x, y, 0}, block = {0, THREADS, 0}, memset(memory, 0xFF, sizeof memory);
      for (Barrier& one : warps) one = {0, 32, 0};
      for (u32 i = 0; i < THREADS; ++i) {
        indices[i] = {i, 0, 0}, ended[i] = false, getcontext(&fibers[i]);
        fibers[i].uc_stack = {stacks[i].data(), 0, stacks[i].size()};
        makecontext(&fibers[i], fiber, 0);
      }
      while (!std::all_of(ended, ended + THREADS, [](bool one) { return one; }))
        for (now = 0; now < THREADS; ++now)
          if (!ended[now]) swapcontext(&scheduler, &fibers[now]);
    }
}
