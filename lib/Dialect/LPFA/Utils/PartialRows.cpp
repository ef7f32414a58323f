//===- PartialRows.cpp - Which rows a partial sum adds --------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Dialect/LPFA/Utils/PartialRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace lpfa;

PartialRows lpfa::getPartialRows(OpBuilder &builder, Location loc,
                                 Value columns) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  // The table in the op's description.
  PartialRows rows = {constant(8), constant(768)};
  auto choose = [&](int64_t width, int64_t neighbors, int64_t groups) {
    Value isWider = builder.createOrFold<arith::CmpIOp>(
        loc, arith::CmpIPredicate::sgt, columns, constant(width));
    rows.neighbors = builder.createOrFold<arith::SelectOp>(
        loc, isWider, constant(neighbors), rows.neighbors);
    rows.groups = builder.createOrFold<arith::SelectOp>(
        loc, isWider, constant(groups), rows.groups);
  };
  choose(512, 8, 384);
  choose(1024, 4, 384);
  choose(2048, 2, 384);
  choose(4096, 1, 384);
  choose(8192, 1, 256);
  choose(16384, 1, 128);
  choose(32768, 1, 56);
  return rows;
}
