//===- ScheduleOrder.h - Which access comes first --------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the barriers, fences and engines of one run of a kernel order.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_ANALYSIS_SCHEDULEORDER_H
#define LPFA_LIB_ANALYSIS_SCHEDULEORDER_H

#include "ScheduleExecution.h"

namespace lpfa {

class ScheduleOrder {
public:
  using Access = ScheduleExecution::Access;

  /// The order of an execution's events, where these orders of the tensor core
  /// count.
  ScheduleOrder(const ScheduleExecution &execution,
                llvm::ArrayRef<TargetModel::PipeOrder> orders);

  bool isCyclic() const { return order.isCyclic(); }
  bool isReached(unsigned event) const { return order.isReached(event); }
  bool isBefore(unsigned a, unsigned b) const { return order.isBefore(a, b); }
  bool isBeforeOrAt(unsigned a, unsigned b) const {
    constexpr unsigned none = ScheduleExecution::none;
    return a == b || (a != none && b != none && isBefore(a, b));
  }

  /// Whether `a` happens before `b` and is seen by it.
  bool isOrdered(const Access &a, const Access &b) const;

private:
  /// Both by the tensor core, issued by one thread and kept in order.
  bool isPiped(const Access &a, const Access &b) const;

  /// The order of everything, and of the tensor core's operations alone.
  HappensBefore order, pipeOrder;
  llvm::DenseMap<unsigned, unsigned> pipeIndex;
};

} // namespace lpfa

#endif // LPFA_LIB_ANALYSIS_SCHEDULEORDER_H
