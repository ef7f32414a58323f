//===- Reduction.cpp - Reductions of bulk copies ----------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Simulator/Reduction.h"
#include "lpfa/Simulator/NarrowFloat.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace lpfa::sim;

std::optional<ReduceType> lpfa::sim::reduceType(TensorMapElement element) {
  switch (element) {
  case TensorMapElement::U32:
    return ReduceType::U32;
  case TensorMapElement::S32:
    return ReduceType::S32;
  case TensorMapElement::U64:
    return ReduceType::U64;
  case TensorMapElement::S64:
    return ReduceType::S64;
  case TensorMapElement::F16:
    return ReduceType::F16;
  case TensorMapElement::BF16:
    return ReduceType::BF16;
  case TensorMapElement::F32:
  case TensorMapElement::F32Ftz:
    return ReduceType::F32;
  case TensorMapElement::F64:
    return ReduceType::F64;
  default:
    return std::nullopt;
  }
}

unsigned lpfa::sim::reduceTypeBytes(ReduceType type) {
  switch (type) {
  case ReduceType::F16:
  case ReduceType::BF16:
    return 2;
  case ReduceType::U32:
  case ReduceType::S32:
  case ReduceType::F32:
    return 4;
  default:
    return 8;
  }
}

bool lpfa::sim::isLegalReduction(ReduceOp op, ReduceType type) {
  bool isInteger = type == ReduceType::U32 || type == ReduceType::S32 ||
                   type == ReduceType::U64 || type == ReduceType::S64;
  switch (op) {
  case ReduceOp::Add:
    return type != ReduceType::S64;
  case ReduceOp::Min:
  case ReduceOp::Max:
    return isInteger || type == ReduceType::F16 || type == ReduceType::BF16;
  case ReduceOp::Inc:
  case ReduceOp::Dec:
    return type == ReduceType::U32;
  case ReduceOp::And:
  case ReduceOp::Or:
  case ReduceOp::Xor:
    return isInteger;
  }
  return false;
}

namespace {

template <typename T> T combineIntegers(ReduceOp op, T old, T operand) {
  switch (op) {
  case ReduceOp::Add: {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(old) +
                          static_cast<Unsigned>(operand));
  }
  case ReduceOp::Min:
    return std::min(old, operand);
  case ReduceOp::Max:
    return std::max(old, operand);
  case ReduceOp::Inc:
    return old >= operand ? 0 : old + 1;
  case ReduceOp::Dec:
    return old == 0 || old > operand ? operand : old - 1;
  case ReduceOp::And:
    return old & operand;
  case ReduceOp::Or:
    return old | operand;
  case ReduceOp::Xor:
    return old ^ operand;
  }
  return old;
}

/// PTX's min and max: a NaN gives way to a number, -0 is below +0.
double combineExtrema(ReduceOp op, double old, double operand) {
  if (std::isnan(old))
    return operand;
  if (std::isnan(operand))
    return old;
  bool isLess = old < operand || (old == operand && std::signbit(old));
  return (op == ReduceOp::Min) == isLess ? old : operand;
}

/// 16-bit formats are exact in double, and so are their sums for BF16 and F16
/// up to a rounding that a second one cannot see.
uint16_t combineNarrow(ReduceOp op, ElementFormat format, uint16_t old,
                       uint16_t operand) {
  double a = decode(format, old), b = decode(format, operand);
  double result = op == ReduceOp::Add ? a + b : combineExtrema(op, a, b);
  return static_cast<uint16_t>(encode(format, result));
}

float flushSubnormal(float value) {
  return std::fabs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value;
}

template <typename T, typename Combine>
void combineAll(llvm::MutableArrayRef<uint8_t> destination,
                llvm::ArrayRef<uint8_t> source, Combine combine) {
  for (size_t offset = 0; offset + sizeof(T) <= destination.size();
       offset += sizeof(T)) {
    T old, operand;
    std::memcpy(&old, &destination[offset], sizeof(T));
    std::memcpy(&operand, &source[offset], sizeof(T));
    old = combine(old, operand);
    std::memcpy(&destination[offset], &old, sizeof(T));
  }
}

} // namespace

void lpfa::sim::reduce(ReduceOp op, ReduceType type,
                       llvm::MutableArrayRef<uint8_t> destination,
                       llvm::ArrayRef<uint8_t> source) {
  switch (type) {
  case ReduceType::U32:
    return combineAll<uint32_t>(
        destination, source,
        [&](uint32_t a, uint32_t b) { return combineIntegers(op, a, b); });
  case ReduceType::S32:
    return combineAll<int32_t>(destination, source, [&](int32_t a, int32_t b) {
      return combineIntegers(op, a, b);
    });
  case ReduceType::U64:
    return combineAll<uint64_t>(
        destination, source,
        [&](uint64_t a, uint64_t b) { return combineIntegers(op, a, b); });
  case ReduceType::S64:
    return combineAll<int64_t>(destination, source, [&](int64_t a, int64_t b) {
      return combineIntegers(op, a, b);
    });
  case ReduceType::F16:
  case ReduceType::BF16: {
    ElementFormat format =
        type == ReduceType::F16 ? ElementFormat::F16 : ElementFormat::BF16;
    return combineAll<uint16_t>(destination, source,
                                [&](uint16_t a, uint16_t b) {
                                  return combineNarrow(op, format, a, b);
                                });
  }
  case ReduceType::F32:
    return combineAll<float>(destination, source, [](float a, float b) {
      float sum = flushSubnormal(flushSubnormal(a) + flushSubnormal(b));
      return std::isnan(sum) ? decode(ElementFormat::F32, 0x7FFFFFFF) : sum;
    });
  case ReduceType::F64:
    return combineAll<double>(destination, source,
                              [](double a, double b) { return a + b; });
  }
}
