//===- ScheduleReport.h - What a schedule rests on --------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_ANALYSIS_SCHEDULEREPORT_H
#define LPFA_ANALYSIS_SCHEDULEREPORT_H

#include "lpfa/Analysis/Buffers.h"

namespace lpfa {

/// Why content of one tile may be followed by content of another in the same
/// memory: a chain of ops from an access of the one to a write of the other,
/// each of which happens before the next.
struct OverlapProof {
  BufferId first, second;
  /// What the two share.
  MemoryRange range;
  std::vector<std::string> chain;
};

/// The proofs for all tiles of a synchronized kernel that share memory, two a
/// pair, of steps in the middle of a work tile. Fails with a diagnostic where
/// the kernel is outside the model.
mlir::FailureOr<std::vector<OverlapProof>> explainOverlaps(KernelOp kernel);

} // namespace lpfa

#endif // LPFA_ANALYSIS_SCHEDULEREPORT_H
