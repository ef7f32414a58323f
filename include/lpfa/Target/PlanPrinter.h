//===- PlanPrinter.h - Plans as text ----------------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_TARGET_PLANPRINTER_H
#define LPFA_TARGET_PLANPRINTER_H

#include "lpfa/Runtime/LaunchPlan.h"

namespace lpfa {

/// What plan.json holds, indented, with a newline at the end; `parsePlan` reads
/// it back.
std::string printPlan(const ModulePlan &plan);

} // namespace lpfa

#endif // LPFA_TARGET_PLANPRINTER_H
