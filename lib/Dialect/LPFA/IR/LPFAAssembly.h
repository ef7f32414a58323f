//===- LPFAAssembly.h - Custom assembly directives --------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_DIALECT_LPFA_IR_LPFAASSEMBLY_H
#define LPFA_LIB_DIALECT_LPFA_IR_LPFAASSEMBLY_H

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"

using namespace mlir;
using namespace lpfa;

static ParseResult parseSlotTypes(OpAsmParser &parser, Type &channel,
                                  SmallVectorImpl<Type> &buffers) {
  ChannelType type;
  if (parser.parseType(type))
    return failure();
  channel = type;
  llvm::append_range(buffers, type.getBuffers());
  return success();
}

static void printSlotTypes(OpAsmPrinter &printer, Operation *, Type channel,
                           TypeRange) {
  printer << channel;
}

/// The scales of a product are atoms in tensor memory.
static ParseResult parseScaleAtomTypes(OpAsmParser &parser, Type d,
                                       Type &scalesA, Type &scalesB) {
  scalesA = scalesB = BufferType::get(
      parser.getContext(), {32, 4, 4},
      Float8E8M0FNUType::get(parser.getContext()), MemorySpace::Tensor);
  return success();
}

static void printScaleAtomTypes(OpAsmPrinter &, Operation *, Type, Type, Type) {
}

static ParseResult parseRowTypes(OpAsmParser &parser, Type tile, Type &row) {
  if (!isa<TileType>(tile) || cast<TileType>(tile).getRank() == 0)
    return parser.emitError(parser.getCurrentLocation(), "expected a tile");
  row = cast<TileType>(tile).getRow();
  return success();
}
static void printRowTypes(OpAsmPrinter &, Operation *, Type, Type) {}

static ParseResult parseSameType(OpAsmParser &, Type type, Type &same) {
  same = type;
  return success();
}
static void printSameType(OpAsmPrinter &, Operation *, Type, Type) {}

static ParseResult parseSoftmaxTypes(OpAsmParser &parser, Type scores,
                                     Type &maximum, Type &sum, Type &largest,
                                     Type &scales, Type &newMaximum,
                                     Type &newSum, Type &newLargest,
                                     Type &factor) {
  if (parseRowTypes(parser, scores, maximum))
    return failure();
  sum = largest = newMaximum = newSum = newLargest = factor = maximum;
  scales = TileType::getAtom(parser.getContext());
  return success();
}
static void printSoftmaxTypes(OpAsmPrinter &, Operation *, Type, Type, Type,
                              Type, Type, Type, Type, Type, Type) {}

static ParseResult parseSoftmaxMaximumTypes(OpAsmParser &parser, Type scores,
                                            Type &maximum, Type &largest,
                                            Type &newMaximum, Type &newLargest,
                                            Type &factor) {
  if (parseRowTypes(parser, scores, maximum))
    return failure();
  largest = newMaximum = newLargest = factor = maximum;
  return success();
}
static void printSoftmaxMaximumTypes(OpAsmPrinter &, Operation *, Type, Type,
                                     Type, Type, Type, Type) {}

static ParseResult parseSoftmaxProbabilitiesTypes(OpAsmParser &parser,
                                                  Type scores, Type &maximum,
                                                  Type &sum, Type &factor,
                                                  Type &scales, Type &newSum) {
  if (parseRowTypes(parser, scores, maximum))
    return failure();
  sum = factor = newSum = maximum;
  scales = TileType::getAtom(parser.getContext());
  return success();
}
static void printSoftmaxProbabilitiesTypes(OpAsmPrinter &, Operation *, Type,
                                           Type, Type, Type, Type, Type) {}

static ParseResult
parseDotTypes(OpAsmParser &parser, Type result, Type &scalesA, Type &scalesB,
              std::optional<OpAsmParser::UnresolvedOperand> accumulator,
              Type &accumulatorType) {
  scalesA = scalesB = TileType::getAtom(parser.getContext());
  if (accumulator)
    accumulatorType = result;
  return success();
}
static void printDotTypes(OpAsmPrinter &, Operation *, Type, Type, Type, Value,
                          Type) {}

#endif // LPFA_LIB_DIALECT_LPFA_IR_LPFAASSEMBLY_H
