// How the batch's tokens are shared out, computed alike by both kernels from the lengths: nothing depends on them outside
// the device, and a batch whose lengths differ a hundredfold keeps every program busy alike.
//
// All sequences are cut into chunks of one size, so chosen that there are at most `splits` of them. Defined by the caller:
// CHUNK (fewest tokens worth a program), NARROW (rows of a program where a batch is short; 0 if never).

constexpr int TILE = 64;

__device__ __forceinline__ int summed(int x) { return __reduce_add_sync(~0u, x); }

// How a batch is cut. Where it is short, what each program does once costs more than its tokens do: then programs have
// half of the rows and there are twice as many blocks of them, of which each reads the cache.
struct Cut {
  int chunk;
  bool narrow;
};

// Every sequence's last chunk may be short: as many chunks are set aside as there are sequences.
__device__ __forceinline__ int sized(int total, int room) {
  const int fair = (total + room - 1) / room;
  return max((fair + TILE - 1) / TILE * TILE, CHUNK);
}

// Narrow where chunks of all rows would have no more than so many tokens.
__device__ __forceinline__ Cut cut_of(const int* lens, int batch, int splits, int narrow_to) {
  int total = 0;
#pragma unroll 1
  for (int i = threadIdx.x % 32; i < batch; i += 32) total += lens[i];
  total = summed(total);
  const int chunk = sized(total, splits - batch);
  if (NARROW == 0 || chunk > narrow_to) return {chunk, false};
  return {sized(total, splits / 2 - batch), true};
}

// Chunks of all sequences before this one.
__device__ __forceinline__ int chunks_before(const int* lens, int seq, int chunk) {
  int total = 0;
#pragma unroll 1
  for (int i = threadIdx.x % 32; i < seq; i += 32) total += (lens[i] + chunk - 1) / chunk;
  return summed(total);
}

struct Share {
  int seq, split;  // seq is -1 where there is none
};

__device__ __forceinline__ Share share_of(const int* lens, int batch, int chunk, int item) {
  const int lane = threadIdx.x % 32;
  int before = 0;
#pragma unroll 1
  for (int i = 0; i < batch; i += 32) {
    const int mine = i + lane < batch ? (lens[i + lane] + chunk - 1) / chunk : 0;
    int upto = mine;
#pragma unroll
    for (int far = 1; far < 32; far *= 2) {
      const int left = __shfl_up_sync(~0u, upto, far);
      if (lane >= far) upto += left;
    }
    const unsigned found = __ballot_sync(~0u, before + upto > item);
    if (found) {
      const int who = __ffs(found) - 1;
      return {i + who, item - before - summed(lane == who ? upto - mine : 0)};
    }
    before += summed(mine);
  }
  return {-1, 0};
}
