//===- Lanes.h - Functions applied to 32 lanes ------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Execute functions made of a scalar operation. The loops over lanes have no
// branch but the mask's, so that the compiler turns them into SIMD code.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_SIMULATOR_LANES_H
#define LPFA_LIB_SIMULATOR_LANES_H

#include "Machine.h"
#include "llvm/ADT/bit.h"
#include <type_traits>

namespace lpfa::sim {

/// How predicates are combined.
enum Logic : uint8_t { LogicAnd, LogicOr, LogicXor, LogicNot, LogicMove };

/// How the register file stores a T: narrow types zero-extended.
template <typename T>
using Slot = std::conditional_t<(sizeof(T) > 4), uint64_t, uint32_t>;

template <typename T> inline T fromSlot(Slot<T> s) {
  if constexpr (sizeof(T) == sizeof(Slot<T>))
    return llvm::bit_cast<T>(s);
  else
    return T(s);
}

template <typename T> inline Slot<T> toSlot(T value) {
  if constexpr (sizeof(T) == sizeof(Slot<T>))
    return llvm::bit_cast<Slot<T>>(value);
  else
    return Slot<T>(std::make_unsigned_t<T>(value));
}

template <typename T> inline Slot<T> *slots(Warp &w, const Operand &o) {
  if constexpr (sizeof(T) > 4)
    return w.doubleWords(o);
  else
    return w.words(o);
}

template <typename D, typename F>
inline void forLanes(Slot<D> *d, LaneMask mask, F f) {
  if (mask == allLanes) {
    for (unsigned l = 0; l != warpSize; ++l)
      d[l] = toSlot<D>(f(l));
    return;
  }
  for (unsigned l = 0; l != warpSize; ++l)
    if ((mask >> l) & 1)
      d[l] = toSlot<D>(f(l));
}

template <typename Op, typename D, typename A>
Status unary(Warp &w, const Instruction &i, LaneMask mask) {
  const Slot<A> *a = slots<A>(w, i[1]);
  forLanes<D>(slots<D>(w, i[0]), mask, [=](unsigned l) {
    return Op::template apply<D>(fromSlot<A>(a[l]));
  });
  return Status::Next;
}

template <typename Op, typename D, typename A, typename B>
Status binary(Warp &w, const Instruction &i, LaneMask mask) {
  const Slot<A> *a = slots<A>(w, i[1]);
  const Slot<B> *b = slots<B>(w, i[2]);
  forLanes<D>(slots<D>(w, i[0]), mask, [=](unsigned l) {
    return Op::template apply<D>(fromSlot<A>(a[l]), fromSlot<B>(b[l]));
  });
  return Status::Next;
}

template <typename Op, typename D, typename A, typename B, typename C>
Status ternary(Warp &w, const Instruction &i, LaneMask mask) {
  const Slot<A> *a = slots<A>(w, i[1]);
  const Slot<B> *b = slots<B>(w, i[2]);
  const Slot<C> *c = slots<C>(w, i[3]);
  forLanes<D>(slots<D>(w, i[0]), mask, [=](unsigned l) {
    return Op::template apply<D>(fromSlot<A>(a[l]), fromSlot<B>(b[l]),
                                 fromSlot<C>(c[l]));
  });
  return Status::Next;
}

/// The function for an integer type, signed where the type is.
template <typename Op> ExecuteFn integerUnary(Type type) {
  switch (type) {
  case Type::U16:
  case Type::B16:
    return unary<Op, uint16_t, uint16_t>;
  case Type::U32:
  case Type::B32:
    return unary<Op, uint32_t, uint32_t>;
  case Type::U64:
  case Type::B64:
    return unary<Op, uint64_t, uint64_t>;
  case Type::S16:
    return unary<Op, int16_t, int16_t>;
  case Type::S32:
    return unary<Op, int32_t, int32_t>;
  case Type::S64:
    return unary<Op, int64_t, int64_t>;
  default:
    return nullptr;
  }
}

template <typename Op> ExecuteFn integerBinary(Type type) {
  switch (type) {
  case Type::U16:
  case Type::B16:
    return binary<Op, uint16_t, uint16_t, uint16_t>;
  case Type::U32:
  case Type::B32:
    return binary<Op, uint32_t, uint32_t, uint32_t>;
  case Type::U64:
  case Type::B64:
    return binary<Op, uint64_t, uint64_t, uint64_t>;
  case Type::S16:
    return binary<Op, int16_t, int16_t, int16_t>;
  case Type::S32:
    return binary<Op, int32_t, int32_t, int32_t>;
  case Type::S64:
    return binary<Op, int64_t, int64_t, int64_t>;
  default:
    return nullptr;
  }
}

template <typename Op> ExecuteFn integerTernary(Type type) {
  switch (type) {
  case Type::U16:
  case Type::B16:
    return ternary<Op, uint16_t, uint16_t, uint16_t, uint16_t>;
  case Type::U32:
  case Type::B32:
    return ternary<Op, uint32_t, uint32_t, uint32_t, uint32_t>;
  case Type::U64:
  case Type::B64:
    return ternary<Op, uint64_t, uint64_t, uint64_t, uint64_t>;
  case Type::S16:
    return ternary<Op, int16_t, int16_t, int16_t, int16_t>;
  case Type::S32:
    return ternary<Op, int32_t, int32_t, int32_t, int32_t>;
  case Type::S64:
    return ternary<Op, int64_t, int64_t, int64_t, int64_t>;
  default:
    return nullptr;
  }
}

} // namespace lpfa::sim

#endif // LPFA_LIB_SIMULATOR_LANES_H
