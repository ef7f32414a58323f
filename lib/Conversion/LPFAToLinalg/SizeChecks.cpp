//===- SizeChecks.cpp - Sizes that must fit at run time -------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SizeChecks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace lpfa;

void lpfa::emitSizeChecks(OpBuilder &builder, Operation *op, Value tensor,
                          ArrayRef<OpFoldResult> expected, StringRef what) {
  Location loc = op->getLoc();
  std::string place;
  llvm::raw_string_ostream os(place);
  if (auto file = loc->findInstanceOf<FileLineColLoc>())
    os << file.getFilename().getValue() << ":" << file.getLine() << ":"
       << file.getColumn() << ": ";
  os << "'" << op->getName() << "' op expects another size of dimension ";
  for (auto [dim, size] : llvm::enumerate(expected)) {
    OpFoldResult actual = tensor::getMixedSize(builder, loc, tensor, dim);
    if (getConstantIntValue(actual) && getConstantIntValue(size))
      continue;
    Value matches = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::eq,
        getValueOrCreateConstantIndexOp(builder, loc, actual),
        getValueOrCreateConstantIndexOp(builder, loc, size));
    cf::AssertOp::create(builder, loc, matches,
                         place + std::to_string(dim) + " of " + what.str());
  }
}
