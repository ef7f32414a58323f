//===- TargetModel.h - What the hardware is ---------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place that knows the numbers of the machine. PTX n is section n of
// the PTX ISA manual, version 9.0; "guide" is the compute capabilities table of
// the CUDA C++ Programming Guide.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_TARGET_TARGETMODEL_H
#define LPFA_TARGET_TARGETMODEL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace lpfa {

/// Which orders of asynchronous operations count: those that the manual
/// promises, or also those that every known kernel relies on.
enum class Ordering { Documented, Practice };

class TargetModel {
public:
  /// The model of `chip`, `sm_90a`, `sm_100a` or `sm_103a`; nothing for others.
  static std::optional<TargetModel> get(llvm::StringRef chip);

  /// The names that `get` knows, in order.
  static llvm::ArrayRef<llvm::StringRef> getChips();

  /// The chip as compilers name it, for example `sm_100a`.
  llvm::StringRef getChip() const { return chip; }

  /// What LLVM's NVPTX back end is asked for beyond the chip: the version of
  /// PTX, the lowest that has every instruction that lpfa emits for the chip.
  llvm::StringRef getFeatures() const { return features; }

  /// Whether the chip has tensor memory and the tcgen05 instructions.
  bool hasTensorMemory() const { return tensorMemory; }

  /// Whether the chip has `tcgen05.ld.red` (PTX 9.7.16.8).
  bool hasTensorMemoryReduction() const { return tensorMemoryReduction; }

  /// Whether the chip converts to and from f8E8M0FNU and elements of six and
  /// four bits (PTX 9.7.9.21).
  bool hasNarrowFloatConversions() const { return narrowFloatConversions; }

  /// The widest access of a thread to global memory (PTX 9.7.9.8: 256 bits from
  /// sm_100 on).
  int64_t getAccessBytes() const { return accessBytes; }

  /// Streaming multiprocessors of the product that the chip is best known in
  /// (H200, B200, B300), the default size of a persistent grid.
  int64_t getMultiprocessors() const { return multiprocessors; }

  /// Exponentials (`ex2.approx`) a multiprocessor starts each clock.
  int64_t getExponentialsPerClock() const { return exponentialsPerClock; }

  //===--------------------------------------------------------------------===//
  // Threads and registers (guide)
  //===--------------------------------------------------------------------===//

  static constexpr int64_t warpThreads = 32;
  static constexpr int64_t warpgroupWarps = 4;
  static constexpr int64_t maxThreadsPerCTA = 1024;
  static constexpr int64_t registersPerMultiprocessor = 65536;
  static constexpr int64_t maxRegistersPerThread = 255;

  /// Limits and granularity of `setmaxnreg` (PTX 9.7.19.5).
  static constexpr int64_t minRegisterBudget = 24;
  static constexpr int64_t maxRegisterBudget = 256;
  static constexpr int64_t registerBudgetStep = 8;

  //===--------------------------------------------------------------------===//
  // Shared memory and barriers
  //===--------------------------------------------------------------------===//

  /// The most dynamic shared memory of a CTA, 227 KiB (guide).
  static constexpr int64_t sharedMemoryBytes = 232448;

  /// That of a multiprocessor, 228 KiB, of which each CTA takes 1 KiB more than
  /// it has (guide).
  static constexpr int64_t sharedMemoryPerMultiprocessor = 233472;
  static constexpr int64_t reservedSharedBytes = 1024;

  /// Where the pattern of the 128-byte swizzle repeats (PTX 5.5.6).
  static constexpr int64_t sharedMemoryAlignment = 1024;

  /// Named barriers of a CTA (PTX 9.7.13.1); number 0 is `gpu.barrier`'s.
  static constexpr int64_t namedBarriers = 16;

  /// An mbarrier object, and its alignment (PTX 9.7.13.15.1).
  static constexpr int64_t mbarrierBytes = 8;
  static constexpr int64_t maxMBarrierCount = (1 << 20) - 1;

  /// The most bytes that one phase can wait for (PTX 9.7.13.15.2).
  static constexpr int64_t maxTransactionCount = (1 << 20) - 1;

  //===--------------------------------------------------------------------===//
  // Bulk copies (PTX 5.5, 9.7.9.25)
  //===--------------------------------------------------------------------===//

  static constexpr int64_t tensorMapBytes = 128;
  static constexpr int64_t tensorMapAlignment = 64;
  static constexpr int64_t maxTensorMapRank = 5;
  static constexpr int64_t maxBoxSize = 256;
  static constexpr int64_t bulkCopyAlignment = 16;
  static constexpr int64_t bulkTensorAlignment = 128;

  //===--------------------------------------------------------------------===//
  // Tensor memory (PTX 9.7.16.1)
  //===--------------------------------------------------------------------===//

  /// Columns are 32 bits wide. Zero on chips without tensor memory.
  int64_t getTensorMemoryColumns() const { return tensorMemory ? 512 : 0; }
  static constexpr int64_t tensorMemoryLanes = 128;

  /// A warp of index w accesses lanes 32 (w mod 4) to 32 (w mod 4) + 31.
  static constexpr int64_t lanesPerWarp = 32;

  /// Allocations are powers of two from this number of columns.
  static constexpr int64_t minTensorMemoryAllocation = 32;

  /// One `tcgen05.cp.32x128b` copies a scale atom of this many bytes, 128 rows
  /// by four scales, to this many columns (PTX 9.7.16.9).
  static constexpr int64_t scaleAtomBytes = 512;
  static constexpr int64_t scaleAtomColumns = 4;

  //===--------------------------------------------------------------------===//
  // Block-scaled MMA, kind mxf8f6f4, one CTA (PTX 9.7.16.2.1)
  //===--------------------------------------------------------------------===//

  static constexpr int64_t mmaRows = 128;
  static constexpr int64_t mmaDepth = 32;
  static constexpr int64_t maxMMAColumns = 256;

  /// Whether an MMA may have `columns` columns (its N). Texts of PTX differ
  /// between steps of 8 and 16: this takes the stricter.
  static constexpr bool isLegalMMAColumns(int64_t columns) {
    return columns >= 16 && columns <= maxMMAColumns && columns % 16 == 0;
  }

  //===--------------------------------------------------------------------===//
  // Order of the tensor core's operations (PTX 9.7.16.6.2)
  //===--------------------------------------------------------------------===//

  /// An operation that a thread issues to the tensor core.
  enum class PipeOp { MMA, Copy };

  /// Why two operations of one thread execute in the order of their issue.
  enum class PipeOrder {
    /// The manual promises a copy before an MMA, and an MMA before an MMA of
    /// the same accumulator and shape.
    Documented,
    /// CUTLASS's block-scaled main loop copies scales over those of earlier
    /// MMAs without a wait
    /// (collective/sm100_blockscaled_mma_warpspecialized.hpp).
    CopyAfterMMA,
    /// FlashAttention kernels for sm_100 issue MMAs of several accumulators,
    /// one operand of which lies in the columns of another's result.
    MMAAfterMMA,
    /// Not relied on by itself: an MMA mostly stands in between.
    CopyAfterCopy
  };
  static constexpr PipeOrder getPipeOrder(PipeOp first, PipeOp second,
                                          bool sameAccumulator) {
    if (second == PipeOp::MMA)
      return first == PipeOp::Copy || sameAccumulator ? PipeOrder::Documented
                                                      : PipeOrder::MMAAfterMMA;
    return first == PipeOp::MMA ? PipeOrder::CopyAfterMMA
                                : PipeOrder::CopyAfterCopy;
  }

  //===--------------------------------------------------------------------===//
  // Rates of a multiprocessor, for models of cost: published measurements on
  // B200 and B300 (SemiAnalysisAI/microbench-blackwell for the tensor core,
  // ademeure/QuickRunCUDA for the rest)
  //===--------------------------------------------------------------------===//

  static constexpr int64_t issuedWarpsPerClock = 4;
  static constexpr int64_t fmaPerClock = 128;
  static constexpr int64_t aluPerClock = 64;
  /// `cvt.rn.satfinite.e4m3x2.f32`, of two elements each.
  static constexpr int64_t conversionsPerClock = 32;

  /// Bytes of shared memory that MMAs read and copies write each clock.
  static constexpr int64_t sharedBytesPerClock = 128;

  /// Clocks between MMAs of 128 rows, 32 bytes deep: the tensor core's, or
  /// those that it takes to read A and B from shared memory.
  static constexpr double getMMAClocks(int64_t columns, bool isATensor) {
    double compute = columns / 2.0, read = columns / 4.0 + 32;
    return isATensor || compute > read ? compute : read;
  }

private:
  llvm::StringRef chip;
  llvm::StringRef features;
  bool tensorMemory;
  bool tensorMemoryReduction;
  bool narrowFloatConversions;
  int64_t accessBytes;
  int64_t multiprocessors;
  int64_t exponentialsPerClock;
};

} // namespace lpfa

#endif // LPFA_TARGET_TARGETMODEL_H
