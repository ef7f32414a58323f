//===- LPFAKernelOps.cpp - Verifiers and helpers of the kernel level -----------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"

using namespace mlir;
using namespace lpfa;
