//===- Reduction.h - Reductions of bulk copies ------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The element-wise reductions of cp.reduce.async.bulk and its tensor form (PTX
// ISA 9.7.9.25).
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_SIMULATOR_REDUCTION_H
#define LPFA_SIMULATOR_REDUCTION_H

#include "lpfa/Simulator/TensorMap.h"

namespace lpfa::sim {

/// `.add`, `.min`, ... of cp.reduce.async.bulk.
enum class ReduceOp : uint8_t { Add, Min, Max, Inc, Dec, And, Or, Xor };

/// The element type of a reduction. Tensor maps say it by their element type,
/// bulk reductions by their `.type`.
enum class ReduceType : uint8_t {
  U32,
  S32,
  U64,
  S64,
  F16,
  BF16,
  F32,
  F64,
};

/// The type in which cp.reduce.async.bulk.tensor reduces elements of a tensor
/// map, if any.
std::optional<ReduceType> reduceType(TensorMapElement element);
unsigned reduceTypeBytes(ReduceType type);

/// Whether PTX has the combination (PTX ISA 9.7.9.25).
bool isLegalReduction(ReduceOp op, ReduceType type);

/// destination[i] = destination[i] op source[i] for the elements in the bytes.
/// Floating-point additions round to nearest even; F32 flushes subnormal
/// inputs and results to zero, F16 and BF16 keep them (`.noftz`). The sizes
/// are equal multiples of the element's size.
void reduce(ReduceOp op, ReduceType type,
            llvm::MutableArrayRef<uint8_t> destination,
            llvm::ArrayRef<uint8_t> source);

} // namespace lpfa::sim

#endif // LPFA_SIMULATOR_REDUCTION_H
