//===- LPFATensorAssembly.h - Custom assembly of tensor ops -----*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_DIALECT_LPFA_IR_LPFATENSORASSEMBLY_H
#define LPFA_LIB_DIALECT_LPFA_IR_LPFATENSORASSEMBLY_H

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"

/// Parses `rule(floor)`, or nothing for the default rule.
static mlir::ParseResult parseScaleRule(mlir::OpAsmParser &parser,
                                        lpfa::ScaleRuleAttr &attr) {
  lpfa::ScaleRule rule = lpfa::ScaleRule::Rceil;
  if (succeeded(parser.parseOptionalKeyword("rule"))) {
    if (parser.parseLParen())
      return mlir::failure();
    mlir::FailureOr<lpfa::ScaleRule> parsed =
        mlir::FieldParser<lpfa::ScaleRule>::parse(parser);
    if (failed(parsed) || parser.parseRParen())
      return mlir::failure();
    rule = *parsed;
  }
  attr = lpfa::ScaleRuleAttr::get(parser.getContext(), rule);
  return mlir::success();
}

static void printScaleRule(mlir::OpAsmPrinter &printer, mlir::Operation *,
                           lpfa::ScaleRuleAttr attr) {
  if (attr.getValue() != lpfa::ScaleRule::Rceil)
    printer << " rule(" << stringifyScaleRule(attr.getValue()) << ")";
}

#endif // LPFA_LIB_DIALECT_LPFA_IR_LPFATENSORASSEMBLY_H
