//===- LPFADialect.cpp - The lpfa dialect ---------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Dialect/LPFA/IR/LPFADialect.h"
#include "LPFAAssembly.h"
#include "LPFATensorAssembly.h"
#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace lpfa;

#include "lpfa/Dialect/LPFA/IR/LPFADialect.cpp.inc"
#include "lpfa/Dialect/LPFA/IR/LPFAEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "lpfa/Dialect/LPFA/IR/LPFAAttributes.cpp.inc"

#define GET_OP_CLASSES
#include "lpfa/Dialect/LPFA/IR/LPFAOps.cpp.inc"

void LPFADialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "lpfa/Dialect/LPFA/IR/LPFAAttributes.cpp.inc"
      >();
}

namespace {
// Tensor-level ops compute values and may move between functions.
struct LPFAInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *op, Region *, bool,
                       IRMapping &) const override {
    return isMemoryEffectFree(op);
  }
};
} // namespace

void LPFADialect::initialize() {
  addInterfaces<LPFAInlinerInterface>();
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "lpfa/Dialect/LPFA/IR/LPFAOps.cpp.inc"
      >();
}
