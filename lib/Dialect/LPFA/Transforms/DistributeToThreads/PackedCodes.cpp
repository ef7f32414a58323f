//===- PackedCodes.cpp - Codes as they lie in memory ----------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions have a code of six bits in each byte; in memory four of them are
// three bytes.
//
//===----------------------------------------------------------------------===//

#include "KernelDistribution.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lpfa;

/// Four codes of six bits from the bytes of a word, in its lowest 24 bits.
static Value closeGaps(ThreadBuilder &b, Value word) {
  Value packed = b.bitAnd(word, b.i32(0x3f));
  for (int64_t i = 1; i < 4; ++i)
    packed = b.bitOr(packed,
                     b.shiftRight(b.bitAnd(word, b.i32(0x3f << 8 * i)), 2 * i));
  return packed;
}

/// The inverse.
static Value openGaps(ThreadBuilder &b, Value packed) {
  Value word = b.bitAnd(packed, b.i32(0x3f));
  for (int64_t i = 1; i < 4; ++i)
    word = b.bitOr(word,
                   b.shiftLeft(b.bitAnd(packed, b.i32(0x3f << 6 * i)), 2 * i));
  return word;
}

SmallVector<Value> lpfa::getElements(ThreadBuilder &b, Value vector) {
  SmallVector<Value> elements;
  for (int64_t i = 0, e = cast<VectorType>(vector.getType()).getNumElements();
       i < e; ++i)
    elements.push_back(vector::ExtractOp::create(b, vector, i));
  return elements;
}

Value lpfa::makeWords(ThreadBuilder &b, ArrayRef<Value> words) {
  return vector::FromElementsOp::create(
      b, VectorType::get(words.size(), b.getI32Type()), words);
}

Value lpfa::packCodes(ThreadBuilder &b, Value words, FloatType element,
                      VectorType type) {
  if (element.getWidth() != 6)
    return words;
  // Runs of 24 bits, end to end.
  SmallVector<Value> runs;
  for (Value word : getElements(b, words))
    runs.push_back(closeGaps(b, word));
  SmallVector<Value> dense;
  for (size_t i = 0; 32 * i < 24 * runs.size(); ++i) {
    size_t run = 32 * i / 24, shift = 32 * i % 24;
    Value word = shift ? b.shiftRight(runs[run], shift) : runs[run];
    if (run + 1 < runs.size())
      word = b.bitOr(word, b.shiftLeft(runs[run + 1], 24 - shift));
    dense.push_back(word);
  }
  if (type.getElementType().isInteger(32))
    return makeWords(b, dense);
  Value halves = vector::BitCastOp::create(
      b, VectorType::get(2 * dense.size(), type.getElementType()),
      makeWords(b, dense));
  return vector::ExtractStridedSliceOp::create(
      b, halves, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{type.getNumElements()},
      ArrayRef<int64_t>{1});
}

Value lpfa::unpackCodes(ThreadBuilder &b, Value piece, FloatType element,
                        int64_t count) {
  auto type = cast<VectorType>(piece.getType());
  if (element.getWidth() != 6) {
    int64_t words = count * element.getWidth() / 32;
    return vector::BitCastOp::create(b, VectorType::get(words, b.getI32Type()),
                                     piece);
  }
  SmallVector<Value> dense;
  if (type.getElementType().isInteger(32)) {
    dense = getElements(b, piece);
  } else {
    SmallVector<Value> halves;
    for (Value half : getElements(b, piece))
      halves.push_back(arith::ExtUIOp::create(b, b.getI32Type(), half));
    for (size_t i = 0; i < halves.size(); i += 2)
      dense.push_back(i + 1 < halves.size()
                          ? b.bitOr(halves[i], b.shiftLeft(halves[i + 1], 16))
                          : halves[i]);
  }
  SmallVector<Value> words;
  for (int64_t i = 0; i < count / 4; ++i) {
    int64_t word = 24 * i / 32, shift = 24 * i % 32;
    Value run = shift ? b.shiftRight(dense[word], shift) : dense[word];
    if (shift > 8)
      run = b.bitOr(run, b.shiftLeft(dense[word + 1], 32 - shift));
    words.push_back(openGaps(b, run));
  }
  return makeWords(b, words);
}
