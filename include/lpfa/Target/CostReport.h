//===- CostReport.h - What a step of each role costs ------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_TARGET_COSTREPORT_H
#define LPFA_TARGET_COSTREPORT_H

#include "lpfa/Target/Listing.h"
#include "lpfa/Target/TargetModel.h"

namespace lpfa {

/// Prints the loops of each kernel in a table: instructions by pipe and waits
/// of a pass, from PTX and, where `machineCode` has the same kernels, from
/// that. Where all roles of a kernel are known, the clocks that a step keeps
/// each unit busy, with `tensorClocks` of the tensor core, and which of them is
/// the limit. Clocks are modelled, with the rates of `target`.
std::string printCost(llvm::ArrayRef<Listing> ptx,
                      llvm::ArrayRef<Listing> machineCode,
                      const TargetModel &target,
                      llvm::ArrayRef<double> tensorClocks);

} // namespace lpfa

#endif // LPFA_TARGET_COSTREPORT_H
