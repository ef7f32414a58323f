//===- Undefined.h - Undefined register bytes -------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_SIMULATOR_UNDEFINED_H
#define LPFA_LIB_SIMULATOR_UNDEFINED_H

#include "Program.h"
#include "llvm/ADT/SmallVector.h"

namespace lpfa::sim {

class Warp;

/// Which bytes of an instruction's destinations become undefined because bytes
/// of its sources are. Computed before the instruction runs, applied after it.
/// Undefined values may be moved and computed with; reports come where they
/// decide something: an address, a predicate, an operand of the tensor pipe,
/// a result.
class UndefinedResult {
public:
  UndefinedResult(Warp &warp, const Instruction &instruction, LaneMask mask,
                  LaneMask undefined);
  void apply();

private:
  void all(LaneMask undefined);
  void copy();
  void bitwise();
  void shift();
  void extract();
  void permute();
  void select();
  bool isUniform(const Operand &o) const;
  /// The undefined lanes of a byte of a source.
  LaneMask source(const Operand &o, unsigned byte) const;
  void add(const Operand &destination, unsigned byte, LaneMask lanes);

  struct Byte {
    Operand destination;
    unsigned byte;
    LaneMask lanes;
  };
  Warp &warp;
  const Instruction &instruction;
  LaneMask mask;
  llvm::SmallVector<Byte, 16> bytes;
};

} // namespace lpfa::sim

#endif // LPFA_LIB_SIMULATOR_UNDEFINED_H
