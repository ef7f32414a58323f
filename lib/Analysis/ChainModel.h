//===- ChainModel.h - The roles of attention in time -----------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_ANALYSIS_CHAINMODEL_H
#define LPFA_LIB_ANALYSIS_CHAINMODEL_H

#include "lpfa/Analysis/CostModel.h"

namespace lpfa {

/// Clocks of the parts of a step.
struct ChainStep {
  int64_t tiles, scoreBuffers, ahead;
  /// Parts in which probabilities are handed over, and slots of their rings.
  int64_t parts, probabilityBuffers;
  bool scoresFirst;
  ColumnUse columnUse;
  /// Whether scales of both query tiles share places whose last use must have
  /// ended, and whether products must have ended in whose columns others write.
  bool drainsScales, drainsProducts;
  /// Of the whole step, in however many parts.
  double scores, values, exponentials, issuedBefore, issuedWith, read;
  /// What the tensor core's role takes to order a product and the copies of its
  /// scales, and a product with one more part of the same probabilities.
  double issue, issuePart;
  /// From an arrival to the end of its wait.
  double handOver;
};

/// Clocks a step in the middle of many: the tensor core's role issues in order
/// and stands still where it waits; the softmax roles share issue slots and the
/// exponential unit.
double getStepClocks(const ChainStep &step);

} // namespace lpfa

#endif // LPFA_LIB_ANALYSIS_CHAINMODEL_H
