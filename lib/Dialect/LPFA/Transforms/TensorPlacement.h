//===- TensorPlacement.h - A kernel's tensor memory -------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_DIALECT_LPFA_TRANSFORMS_TENSORPLACEMENT_H
#define LPFA_LIB_DIALECT_LPFA_TRANSFORMS_TENSORPLACEMENT_H

#include "PlacementSearch.h"
#include "lpfa/Analysis/Trace.h"

namespace lpfa {

/// Finds places for what a kernel keeps in tensor memory.
class TensorPlacement {
public:
  TensorPlacement(KernelOp kernel, int64_t columns);

  /// Without overlap. False where that takes too many columns.
  bool placeApart();

  /// Wherever tiles can share columns, given what the kernel's roles do. Loops
  /// over steps are peeled where that spares a wait in every step, with
  /// `peelPrologue` also where it spares one before the first. Fails with a
  /// diagnostic where nothing fits.
  mlir::LogicalResult placeShared(
      llvm::function_ref<mlir::FailureOr<std::vector<Trace>> &()> getTraces,
      bool peelPrologue);

  llvm::ArrayRef<Tile> getTiles() const { return tiles; }

  /// Whether scratch buffers were split for their uses: the kernel's body is
  /// another then.
  bool isSplit() const { return split; }

  /// How many placements the searches took up to the end.
  unsigned getTried() const { return tried; }

private:
  enum class Peel { None, ForSteps, Always };
  bool splitUses(Peel peel);

  KernelOp kernel;
  int64_t columns;
  std::vector<Tile> tiles;
  bool split = false;
  unsigned tried = 0;
};

} // namespace lpfa

#endif // LPFA_LIB_DIALECT_LPFA_TRANSFORMS_TENSORPLACEMENT_H
