//===- kernels.cu - Kernels in CUDA C++ for the simulator -----------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A TMA ring, multicast in a cluster, f16 products by tcgen05 on one CTA and on
// a pair, and TMA reductions. kernels.ptx is made of it, and kept so that the
// tests need no compiler:
//
//   nvcc -std=c++17 -arch=sm_100a -ptx kernels.cu -o kernels.ptx
//
//===----------------------------------------------------------------------===//

#include <cstdint>
#include <cuda.h>
#include <cuda_fp16.h>

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

using Barrier = uint64_t;

__device__ uint32_t shared(const void *pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ void init(Barrier &barrier, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared(&barrier)),
               "r"(count)
               : "memory");
}

__device__ void fenceInit() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ void arrive(Barrier &barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared(&barrier))
               : "memory");
}

/// Arrives at the barrier in the same place of another CTA of the cluster.
__device__ void arriveAt(Barrier &barrier, uint32_t rank) {
  asm volatile("{\n\t.reg .b32 remote;\n\t"
               "mapa.shared::cluster.u32 remote, %0, %1;\n\t"
               "mbarrier.arrive.release.cluster.shared::cluster.b64 _, "
               "[remote];\n\t}" ::"r"(shared(&barrier)),
               "r"(rank)
               : "memory");
}

__device__ void expect(Barrier &barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   shared(&barrier)),
               "r"(bytes)
               : "memory");
}

__device__ void wait(Barrier &barrier, uint32_t parity) {
  asm volatile("{\n\t.reg .pred done;\n\t"
               "again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 "
               "done, [%0], %1;\n\t"
               "@!done bra again;\n\t}" ::"r"(shared(&barrier)),
               "r"(parity)
               : "memory");
}

__device__ void clusterSync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n\t"
               "barrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
}

__device__ uint32_t clusterRank() {
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

__device__ bool elect() {
  uint32_t elected;
  asm volatile("{\n\t.reg .pred p;\n\telect.sync _|p, 0xffffffff;\n\t"
               "selp.u32 %0, 1, 0, p;\n\t}"
               : "=r"(elected));
  return elected;
}

__device__ void load(void *to, const CUtensorMap &map, int column, int row,
                     Barrier &barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::"
               "complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(shared(to)),
               "l"(&map), "r"(column), "r"(row), "r"(shared(&barrier))
               : "memory");
}

__device__ void loadMulticast(void *to, const CUtensorMap &map, int column,
                              int row, Barrier &barrier, uint16_t mask) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::"
               "complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], "
               "[%4], %5;" ::"r"(shared(to)),
               "l"(&map), "r"(column), "r"(row), "r"(shared(&barrier)), "h"(mask)
               : "memory");
}

/// Signals the barrier of the pair's first CTA.
__device__ void loadPair(void *to, const CUtensorMap &map, int column, int row,
                         Barrier &barrier) {
  asm volatile("cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.tile"
               ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                   shared(to)),
               "l"(&map), "r"(column), "r"(row),
               "r"(shared(&barrier) & 0xFEFFFFFF)
               : "memory");
}

__device__ void fenceProxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// K-major, rows of 128 bytes under the 128-byte swizzle.
__device__ uint64_t matrix(const void *tile) {
  return (shared(tile) & 0x3FFFF) >> 4 | uint64_t(1) << 16 |
         uint64_t(1024 >> 4) << 32 | uint64_t(1) << 46 | uint64_t(2) << 61;
}

/// f16 times f16 to f32.
__device__ constexpr uint32_t instruction(uint32_t m, uint32_t n) {
  return 1u << 4 | n >> 3 << 17 | m >> 4 << 24;
}

//===----------------------------------------------------------------------===//
// Sums of rows through a TMA ring
//===----------------------------------------------------------------------===//

/// y[r] is the sum of row r of x, whose map has boxes of 64 rows and 32 columns.
/// Warp 2 loads, the threads of warps 0 and 1 have a row each.
extern "C" __global__ void __launch_bounds__(96)
    tma_ring(const __grid_constant__ CUtensorMap x, float *y, int rows,
             int columns) {
  constexpr int stages = 4, tileRows = 64, tileColumns = 32;
  __shared__ alignas(128) float tiles[stages][tileRows][tileColumns];
  __shared__ Barrier full[stages], empty[stages];
  if (threadIdx.x == 0)
    for (int s = 0; s != stages; ++s) {
      init(full[s], 1);
      init(empty[s], 64);
    }
  fenceInit();
  __syncthreads();
  int first = blockIdx.x * tileRows;
  int steps = (columns + tileColumns - 1) / tileColumns;
  if (threadIdx.x == 64) {
    for (int i = 0; i != steps; ++i) {
      int s = i % stages;
      if (i >= stages)
        wait(empty[s], (i / stages - 1) & 1);
      expect(full[s], sizeof(tiles[s]));
      load(tiles[s], x, i * tileColumns, first, full[s]);
    }
  } else if (threadIdx.x < 64) {
    float sum = 0;
    for (int i = 0; i != steps; ++i) {
      int s = i % stages;
      wait(full[s], i / stages & 1);
      for (int c = 0; c != tileColumns; ++c)
        sum += tiles[s][threadIdx.x][(c + threadIdx.x) % tileColumns];
      arrive(empty[s]);
    }
    if (first + int(threadIdx.x) < rows)
      y[first + threadIdx.x] = sum;
  }
}

//===----------------------------------------------------------------------===//
// A product whose second operand a cluster shares
//===----------------------------------------------------------------------===//

/// c = a b^T for 32 rows of b. Four CTAs have 64 rows of a each, and each loads
/// a quarter of b's tile into all four. Boxes: 64 x 32 of a, 8 x 32 of b.
extern "C" __global__ void __cluster_dims__(4) __launch_bounds__(96)
    cluster_multicast(const __grid_constant__ CUtensorMap a,
                      const __grid_constant__ CUtensorMap b, float *c, int rows,
                      int depth) {
  constexpr int stages = 2, tile = 32;
  __shared__ alignas(128) float tilesA[stages][64][tile];
  __shared__ alignas(128) float tilesB[stages][tile][tile];
  __shared__ Barrier full[stages], empty[stages];
  uint32_t rank = clusterRank();
  if (threadIdx.x == 0)
    for (int s = 0; s != stages; ++s) {
      init(full[s], 1);
      init(empty[s], 4 * 2);
    }
  fenceInit();
  clusterSync();
  int first = blockIdx.x * 64;
  int steps = (depth + tile - 1) / tile;
  if (threadIdx.x == 64) {
    for (int i = 0; i != steps; ++i) {
      int s = i % stages;
      // The slot is empty in all four CTAs.
      if (i >= stages)
        wait(empty[s], (i / stages - 1) & 1);
      expect(full[s], sizeof(tilesA[s]) + sizeof(tilesB[s]));
      load(tilesA[s], a, i * tile, first, full[s]);
      loadMulticast(tilesB[s][8 * rank], b, i * tile, 8 * rank, full[s], 0xF);
    }
  } else if (threadIdx.x < 64) {
    float sums[tile] = {};
    for (int i = 0; i != steps; ++i) {
      int s = i % stages;
      wait(full[s], i / stages & 1);
      for (int k = 0; k != tile; ++k)
        for (int n = 0; n != tile; ++n)
          sums[n] += tilesA[s][threadIdx.x][k] * tilesB[s][n][k];
      __syncwarp();
      if (threadIdx.x % 32 == 0)
        for (int r = 0; r != 4; ++r)
          arriveAt(empty[s], r);
    }
    if (first + int(threadIdx.x) < rows)
      for (int n = 0; n != tile; ++n)
        c[size_t(first + threadIdx.x) * tile + n] = sums[n];
  }
  // Others write into this CTA's memory.
  clusterSync();
}

//===----------------------------------------------------------------------===//
// f16 products by tcgen05
//===----------------------------------------------------------------------===//

template <int pair> struct Product {
  static constexpr int stages = 3, depth = 64, rows = 128,
                       columns = 128; // of a CTA's A, and of C
  struct Storage {
    alignas(1024) __half a[stages][rows][depth];
    alignas(1024) __half b[stages][columns / pair][depth];
    Barrier full[stages], empty[stages], done;
    uint32_t columnBase;
  };
};

/// A CTA has 128 rows of C and 128 columns; of a pair, each has half of the
/// rows of A and of B. Warp 4 loads, warp 5 multiplies, warps 0 to 3 write.
template <int pair>
__device__ void product(const CUtensorMap &mapA, const CUtensorMap &mapB,
                        float *c, int m, int n, int k) {
  using P = Product<pair>;
  extern __shared__ __align__(1024) uint8_t memory[];
  auto &s = *reinterpret_cast<typename P::Storage *>(memory);
  int warp = threadIdx.x / 32;
  uint32_t rank = pair == 2 ? clusterRank() : 0;
  if (threadIdx.x == 0) {
    for (int i = 0; i != P::stages; ++i) {
      init(s.full[i], 1);
      init(s.empty[i], 1);
    }
    init(s.done, 1);
  }
  if (warp == 4) {
    if constexpr (pair == 1)
      asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 "
                   "[%0], 128;\n\t"
                   "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::
                       "r"(shared(&s.columnBase))
                   : "memory");
    else
      asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 "
                   "[%0], 128;\n\t"
                   "tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;" ::
                       "r"(shared(&s.columnBase))
                   : "memory");
  }
  fenceInit();
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  if (pair == 2)
    clusterSync();
  else
    __syncthreads();
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  uint32_t accumulator = s.columnBase;
  int row = blockIdx.x * P::rows, column = blockIdx.y * P::columns;
  int steps = (k + P::depth - 1) / P::depth;

  if (warp == 4 && elect()) {
    for (int i = 0; i != steps; ++i) {
      int stage = i % P::stages;
      if (i >= P::stages)
        wait(s.empty[stage], (i / P::stages - 1) & 1);
      if (rank == 0)
        expect(s.full[stage], pair * (sizeof(s.a[0]) + sizeof(s.b[0])));
      int rowB = column + rank * (P::columns / pair);
      if constexpr (pair == 1) {
        load(s.a[stage], mapA, i * P::depth, row, s.full[stage]);
        load(s.b[stage], mapB, i * P::depth, rowB, s.full[stage]);
      } else {
        loadPair(s.a[stage], mapA, i * P::depth, row, s.full[stage]);
        loadPair(s.b[stage], mapB, i * P::depth, rowB, s.full[stage]);
      }
    }
  } else if (warp == 5 && rank == 0 && elect()) {
    for (int i = 0; i != steps; ++i) {
      int stage = i % P::stages;
      wait(s.full[stage], i / P::stages & 1);
      asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
      uint64_t a = matrix(s.a[stage]), b = matrix(s.b[stage]);
      for (int j = 0; j != P::depth / 16; ++j) {
        uint32_t accumulate = i || j;
        if constexpr (pair == 1)
          asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %4, 0;\n\t"
                       "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, "
                       "p;\n\t}" ::"r"(accumulator),
                       "l"(a + 2 * j), "l"(b + 2 * j),
                       "r"(instruction(128, 128)), "r"(accumulate)
                       : "memory");
        else
          asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %4, 0;\n\t"
                       "tcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, "
                       "p;\n\t}" ::"r"(accumulator),
                       "l"(a + 2 * j), "l"(b + 2 * j),
                       "r"(instruction(256, 128)), "r"(accumulate)
                       : "memory");
      }
      Barrier *signals[2] = {&s.empty[stage], i + 1 == steps ? &s.done : nullptr};
      for (Barrier *barrier : signals) {
        if (!barrier)
          continue;
        if constexpr (pair == 1)
          asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one."
                       "shared::cluster.b64 [%0];" ::"r"(shared(barrier))
                       : "memory");
        else
          asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one."
                       "shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
                           shared(barrier)),
                       "h"(uint16_t(3))
                       : "memory");
      }
    }
  } else if (warp < 4) {
    wait(s.done, 0);
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    int r = row + threadIdx.x;
    for (int j = 0; j != P::columns; j += 8) {
      uint32_t v[8];
      asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0, %1, %2, %3, %4, "
                   "%5, %6, %7}, [%8];\n\ttcgen05.wait::ld.sync.aligned;"
                   : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]), "=r"(v[4]),
                     "=r"(v[5]), "=r"(v[6]), "=r"(v[7])
                   : "r"(accumulator + (uint32_t(warp) << 21) + j)
                   : "memory");
      for (int i = 0; i != 8; ++i)
        if (r < m && column + j + i < n)
          c[size_t(r) * n + column + j + i] = __uint_as_float(v[i]);
    }
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  }
  if (pair == 2)
    clusterSync();
  else
    __syncthreads();
  if (warp == 4) {
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    if constexpr (pair == 1)
      asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 128;" ::"r"(
          accumulator));
    else
      asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, 128;" ::"r"(
          accumulator));
  }
}

/// c = a b^T with boxes of 128 x 64 of both.
extern "C" __global__ void __launch_bounds__(192)
    mma_f16(const __grid_constant__ CUtensorMap a,
            const __grid_constant__ CUtensorMap b, float *c, int m, int n,
            int k) {
  product<1>(a, b, c, m, n, k);
}

/// The same on pairs of CTAs, with boxes of 128 x 64 of a and 64 x 64 of b.
extern "C" __global__ void __cluster_dims__(2) __launch_bounds__(192)
    mma_f16_pair(const __grid_constant__ CUtensorMap a,
                 const __grid_constant__ CUtensorMap b, float *c, int m, int n,
                 int k) {
  product<2>(a, b, c, m, n, k);
}

//===----------------------------------------------------------------------===//
// Sums over CTAs by TMA
//===----------------------------------------------------------------------===//

/// y += the sum over CTAs of x's slices: CTA (i, j) adds rows 32 j of slice i,
/// squared. Boxes of 32 x 32 of both.
extern "C" __global__ void __launch_bounds__(32)
    tma_reduce(const __grid_constant__ CUtensorMap x,
               const __grid_constant__ CUtensorMap y, int rows) {
  __shared__ alignas(128) float tile[32][32];
  __shared__ Barrier full;
  if (threadIdx.x == 0) {
    init(full, 1);
    fenceInit();
    expect(full, sizeof(tile));
    load(tile, x, 32 * blockIdx.z, blockIdx.x * rows + 32 * blockIdx.y, full);
  }
  __syncwarp();
  wait(full, 0);
  // Rows of the next slice, which the box may reach into, add nothing.
  for (int r = 0; r != 32; ++r) {
    float value = tile[r][threadIdx.x];
    tile[r][threadIdx.x] = 32 * int(blockIdx.y) + r < rows ? value * value : 0;
  }
  fenceProxy();
  __syncwarp();
  if (threadIdx.x == 0)
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile."
                 "bulk_group [%0, {%1, %2}], [%3];\n\t"
                 "cp.async.bulk.commit_group;\n\t"
                 "cp.async.bulk.wait_group 0;" ::"l"(&y),
                 "r"(32 * blockIdx.z), "r"(32 * blockIdx.y), "r"(shared(tile))
                 : "memory");
}
