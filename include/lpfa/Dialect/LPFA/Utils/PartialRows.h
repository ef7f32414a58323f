//===- PartialRows.h - Which rows a partial sum adds ------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_UTILS_PARTIALROWS_H
#define LPFA_DIALECT_LPFA_UTILS_PARTIALROWS_H

#include "mlir/IR/Builders.h"

namespace lpfa {

/// T and N of `lpfa.rms_norm_backward`: rows in groups of `neighbors`, and
/// every `groups` groups the same partial sums again.
struct PartialRows {
  mlir::Value neighbors, groups;
};

/// By the number of columns, an index; constants where that is one.
PartialRows getPartialRows(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value columns);

} // namespace lpfa

#endif // LPFA_DIALECT_LPFA_UTILS_PARTIALROWS_H
