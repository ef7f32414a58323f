//===- Quantization.cpp - Blocks, their scales and codes by thread --------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every block lies within a warp. Maxima are taken of magnitudes in the input's
// own type, two at a time where it has 16 bits, first of what a thread has,
// then across lanes; NaN is the largest. Scales are exponent bits.
//
//===----------------------------------------------------------------------===//

#include "KernelDistribution.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lpfa;

namespace {
/// Maxima of the blocks of one thread's pieces.
class BlockMaxima {
public:
  BlockMaxima(ThreadBuilder &b, const ElementLayout &layout,
              ArrayRef<Value> pieces)
      : b(b), layout(layout), pieces(pieces),
        element(cast<VectorType>(pieces.front().getType()).getElementType()),
        perWord(32 / element.getIntOrFloatBitWidth()) {}

  /// The maximum of each piece's block along its row.
  SmallVector<Value> getOfRows(int64_t block);
  /// The maximum of each column of the pieces, 32 rows high.
  SmallVector<Value> getOfColumns();
  /// The maximum of the pieces' square.
  Value getOfSquare();

private:
  Value max(Value x, Value y) { return arith::MaximumFOp::create(b, x, y); }
  Value getMagnitude(Value piece);
  Value slice(Value vector, int64_t first, int64_t size) {
    return vector::ExtractStridedSliceOp::create(
        b, vector, ArrayRef<int64_t>{first}, ArrayRef<int64_t>{size},
        ArrayRef<int64_t>{1});
  }
  /// Halves a vector until it fills a word.
  Value reduceToWord(Value vector);
  /// A word with the maxima of the elements of `x`, then of those of `y`.
  Value reducePair(Value x, Value y);
  /// The maximum of a word over lanes whose numbers differ in bits from `first`
  /// to below `end`.
  Value reduceLanes(Value word, int64_t first, int64_t end);
  Value getElement(Value word, int64_t i);
  Value getColumnMaxima();

  ThreadBuilder &b;
  const ElementLayout &layout;
  ArrayRef<Value> pieces;
  Type element;
  int64_t perWord;
};
} // namespace

Value BlockMaxima::getMagnitude(Value piece) {
  auto type = VectorType::get(layout.vector / perWord, b.getI32Type());
  Value words = vector::BitCastOp::create(b, type, piece);
  Value mask = b.i32(perWord == 1 ? 0x7fffffff : 0x7fff7fff);
  Value magnitudes =
      b.bitAnd(words, vector::BroadcastOp::create(b, type, mask));
  return vector::BitCastOp::create(b, piece.getType(), magnitudes);
}

Value BlockMaxima::reduceToWord(Value vector) {
  int64_t size = cast<VectorType>(vector.getType()).getNumElements();
  for (; size > perWord; size /= 2)
    vector = max(slice(vector, 0, size / 2), slice(vector, size / 2, size / 2));
  return vector;
}

Value BlockMaxima::reducePair(Value x, Value y) {
  if (perWord == 1)
    return x;
  Value first = vector::ShuffleOp::create(b, x, y, ArrayRef<int64_t>{0, 2});
  Value second = vector::ShuffleOp::create(b, x, y, ArrayRef<int64_t>{1, 3});
  return max(first, second);
}

Value BlockMaxima::reduceLanes(Value word, int64_t first, int64_t end) {
  auto bitsType = VectorType::get(1, b.getI32Type());
  for (int64_t mask = first; mask < end; mask *= 2) {
    Value bits = vector::ExtractOp::create(
        b, vector::BitCastOp::create(b, bitsType, word), 0);
    Value other =
        gpu::ShuffleOp::create(b, bits, static_cast<int32_t>(mask),
                               TargetModel::warpThreads, gpu::ShuffleMode::XOR)
            .getShuffleResult();
    Value vector = vector::FromElementsOp::create(b, bitsType, other);
    word = max(word, vector::BitCastOp::create(b, word.getType(), vector));
  }
  return word;
}

Value BlockMaxima::getElement(Value word, int64_t i) {
  Value value = vector::ExtractOp::create(b, word, i);
  if (element.isF32())
    return value;
  return arith::ExtFOp::create(b, b.getF32Type(), value);
}

SmallVector<Value> BlockMaxima::getOfRows(int64_t block) {
  SmallVector<Value> maxima;
  int64_t lanes = block / layout.vector;
  for (size_t i = 0; i < pieces.size(); i += perWord) {
    Value x = reduceToWord(getMagnitude(pieces[i])), y = x;
    if (perWord == 2 && i + 1 < pieces.size())
      y = reduceToWord(getMagnitude(pieces[i + 1]));
    Value word = reduceLanes(reducePair(x, y), 1, lanes);
    for (int64_t k = 0; k < perWord && i + k < pieces.size(); ++k)
      maxima.push_back(getElement(word, k));
  }
  return maxima;
}

/// A vector of the maxima of a thread's columns.
Value BlockMaxima::getColumnMaxima() {
  Value maxima = getMagnitude(pieces.front());
  for (Value piece : pieces.drop_front())
    maxima = max(maxima, getMagnitude(piece));
  return maxima;
}

SmallVector<Value> BlockMaxima::getOfColumns() {
  Value columns = getColumnMaxima();
  SmallVector<Value> maxima;
  for (int64_t i = 0; i < layout.vector; i += perWord) {
    Value word = reduceLanes(slice(columns, i, perWord), layout.lanes,
                             TargetModel::warpThreads);
    for (int64_t k = 0; k < perWord; ++k)
      maxima.push_back(getElement(word, k));
  }
  return maxima;
}

Value BlockMaxima::getOfSquare() {
  Value word = reduceToWord(getColumnMaxima());
  word = reducePair(word, word);
  word = reduceLanes(word, 1, kBlockSize / layout.vector);
  word = reduceLanes(word, layout.lanes, TargetModel::warpThreads);
  return getElement(word, 0);
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

static Value select(ThreadBuilder &b, Value x, arith::CmpFPredicate predicate,
                    float limit, Value then, Value otherwise) {
  return b.select(b.compare(predicate, x, b.f32(limit)), then, otherwise);
}

/// What is rounded to the scale of a block with the maximum `amax`: not finite
/// where that is not.
static Value getRatio(ThreadBuilder &b, Value amax, FloatType element,
                      ScaleRule rule, Value globalScale) {
  APFloat maxNorm = APFloat::getLargest(element.getFloatSemantics());
  Value base = amax;
  float factor = 1.0f / maxNorm.convertToFloat();
  if (globalScale) {
    base = b.toFloat(
        b.bitAnd(b.toBits(b.mul(amax, globalScale)), b.i32(0x7fffffff)));
  } else if (rule == ScaleRule::Floor) {
    // The power of two below: without the mantissa.
    base = b.toFloat(b.bitAnd(b.toBits(amax), b.i32(0x7f800000)));
    factor = std::ldexp(1.0f, -ilogb(maxNorm));
  }
  return b.mul(base, b.f32(factor));
}

/// Conversions would make the largest scale of infinity.
static Value makeNaN(ThreadBuilder &b, Value ratio, Value amax) {
  const float infinity = std::numeric_limits<float>::infinity();
  return select(b, amax, arith::CmpFPredicate::OLT, infinity, ratio,
                b.f32(std::numeric_limits<float>::quiet_NaN()));
}

/// The bytes of scales, four a word. The last word repeats the last one.
static SmallVector<Value> getScaleWords(ThreadBuilder &b,
                                        ArrayRef<Value> ratios, Type type) {
  SmallVector<Value> words;
  for (size_t i = 0; i < ratios.size(); i += 4) {
    SmallVector<Value> four;
    for (size_t k = i; k < i + 4; ++k)
      four.push_back(ratios[std::min(k, ratios.size() - 1)]);
    Value vector = vector::FromElementsOp::create(
        b, VectorType::get(4, b.getF32Type()), four);
    Value word = ConvertPackedOp::create(
        b, VectorType::get(1, b.getI32Type()), vector, type,
        isa<Float8E8M0FNUType>(type) ? FloatRounding::Up
                                     : FloatRounding::Nearest);
    words.push_back(vector::ExtractOp::create(b, word, 0));
  }
  return words;
}

/// The same of f8E8M0FNU by integers, where no instruction rounds to it: the
/// exponent, one more where there is a mantissa. Those of infinity and NaN come
/// to 255 or more.
static SmallVector<Value> getExponentWords(ThreadBuilder &b,
                                           ArrayRef<Value> ratios) {
  SmallVector<Value> bytes, words;
  for (Value ratio : ratios) {
    Value bits = b.toBits(ratio);
    // A subnormal number above 2^-127 is nearer to 2^-126.
    Value isNormal =
        b.compare(arith::CmpIPredicate::ugt, bits, b.i32(0x7fffff));
    Value almostOne = b.select(isNormal, b.i32(0x7fffff), b.i32(0x3fffff));
    bytes.push_back(arith::MinUIOp::create(
        b, b.shiftRight(b.add(bits, almostOne), 23), b.i32(255)));
  }
  for (size_t i = 0; i < bytes.size(); i += 4) {
    Value word = bytes[i];
    for (size_t k = 1; k < 4; ++k)
      word = b.bitOr(
          word, b.shiftLeft(bytes[std::min(i + k, bytes.size() - 1)], 8 * k));
    words.push_back(word);
  }
  return words;
}

Value lpfa::getByte(ThreadBuilder &b, ArrayRef<Value> words, int64_t i) {
  Value shifted = words[i / 4];
  if (i % 4)
    shifted = b.shiftRight(shifted, 8 * (i % 4));
  return b.bitAnd(shifted, b.i32(0xff));
}

Value lpfa::getInverse(ThreadBuilder &b, Value byte) {
  Value power = b.sub(b.i32(254 << 23), b.shiftLeft(byte, 23));
  // Of byte 254, a subnormal number.
  power = arith::MaxUIOp::create(b, power, b.i32(1 << 22));
  Value isNaN = b.compare(arith::CmpIPredicate::eq, byte, b.i32(255));
  return b.toFloat(b.select(isNaN, b.i32(0x7fc00000), power));
}

/// 2^(byte - 127), NaN for byte 255.
static Value getPower(ThreadBuilder &b, Value byte) {
  Value power =
      arith::MaxUIOp::create(b, b.shiftLeft(byte, 23), b.i32(1 << 22));
  Value isNaN = b.compare(arith::CmpIPredicate::eq, byte, b.i32(255));
  return b.toFloat(b.select(isNaN, b.i32(0x7fc00000), power));
}

/// The value of an f8E4M3FN scale.
static Value getE4M3(ThreadBuilder &b, Value byte) {
  Value word = vector::FromElementsOp::create(
      b, VectorType::get(1, b.getI32Type()), byte);
  Value values =
      ExtendPackedOp::create(b, VectorType::get(4, b.getF32Type()), word,
                             Float8E4M3FNType::get(b.getContext()));
  return vector::ExtractOp::create(b, values, 0);
}

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

/// x / scale of NVFP4, correctly rounded: a quotient and one step of Newton's
/// method, whose remainder is exact. A scale of 0 gives zeros.
static Value divideByScale(ThreadBuilder &b, Value x, Value scale,
                           VectorType type) {
  auto broadcast = [&](Value value) -> Value {
    return vector::BroadcastOp::create(b, type, value);
  };
  Value reciprocal =
      select(b, scale, arith::CmpFPredicate::OEQ, 0.0f, b.f32(0.0f),
             arith::DivFOp::create(b, b.f32(1.0f), scale));
  // No infinity: its remainder would be NaN.
  const float largest = std::numeric_limits<float>::max();
  x = arith::MaximumFOp::create(
      b, arith::MinimumFOp::create(b, x, broadcast(b.f32(largest))),
      broadcast(b.f32(-largest)));
  Value reciprocals = broadcast(reciprocal);
  Value quotient = b.mul(x, reciprocals);
  Value negated = arith::NegFOp::create(b, quotient);
  Value remainder =
      FmaOp::create(b, FloatRounding::Nearest, negated, broadcast(scale), x);
  Value refined = FmaOp::create(b, FloatRounding::Nearest, remainder,
                                reciprocals, quotient);
  // Its zeros have lost their signs.
  auto bitsType = VectorType::get(type.getShape(), b.getI32Type());
  Value sign = b.bitAnd(
      vector::BitCastOp::create(b, bitsType, x),
      vector::BroadcastOp::create(b, bitsType, b.i32(int64_t(1) << 31)));
  return vector::BitCastOp::create(
      b, type, b.bitOr(vector::BitCastOp::create(b, bitsType, refined), sign));
}

//===----------------------------------------------------------------------===//
// The ops
//===----------------------------------------------------------------------===//

bool lpfa::isAlongColumns(QuantizeTileOp op) {
  return op.getInput().getType().getRank() == 2 && op.getAxis() == 0;
}

/// The scales of all quantizations of a tile, before any of its codes: then the
/// magnitudes are not needed any more.
void KernelDistribution::computeScales(Value input) {
  SmallVector<Value> tile = pieces.lookup(input);
  BlockMaxima maxima(b, *layout, tile);
  Value square;
  for (Operation *user : input.getUsers()) {
    auto op = dyn_cast<QuantizeTileOp>(user);
    if (!op || (op.getGlobalScale() && !values.contains(op.getGlobalScale())))
      continue;
    auto element = cast<FloatType>(op.getElements().getType().getElementType());
    Type scaleType = op.getScales().getType().getElementType();
    Value globalScale;
    if (op.getGlobalScale())
      globalScale = values.lookup(op.getGlobalScale());
    SmallVector<Value> blocks;
    if (op.getSquare()) {
      if (!square)
        square = maxima.getOfSquare();
      blocks = {square};
    } else {
      blocks = isAlongColumns(op) ? maxima.getOfColumns()
                                  : maxima.getOfRows(getBlockSize(scaleType));
    }
    scaleWords[op] =
        scaleBlocks(blocks, element, scaleType, op.getRule(), globalScale);
  }
}

SmallVector<Value> KernelDistribution::scaleBlocks(ArrayRef<Value> maxima,
                                                   FloatType element,
                                                   Type scale, ScaleRule rule,
                                                   Value globalScale) {
  bool byIntegers =
      isa<Float8E8M0FNUType>(scale) && !target.hasNarrowFloatConversions();
  SmallVector<Value> ratios;
  for (Value amax : maxima) {
    Value ratio = getRatio(b, amax, element, rule, globalScale);
    ratios.push_back(byIntegers ? ratio : makeNaN(b, ratio, amax));
  }
  return byIntegers ? getExponentWords(b, ratios)
                    : getScaleWords(b, ratios, scale);
}

LogicalResult KernelDistribution::lower(QuantizeTileOp op) {
  if (kernel.getStage() != Stage::Tile)
    return quantizeRows(op);
  SmallVector<Value> input = pieces.lookup(op.getInput());
  auto element = cast<FloatType>(op.getElements().getType().getElementType());
  Type scaleType = op.getScales().getType().getElementType();
  bool isColumn = isAlongColumns(op);
  int64_t block = getBlockSize(scaleType);
  Value globalScale;
  if (op.getGlobalScale())
    globalScale = values.lookup(op.getGlobalScale());
  if (globalScale && isColumn)
    return op.emitOpError("with a global scale runs along rows only");
  if (!scaleWords.contains(op))
    computeScales(op.getInput());
  SmallVector<Value> words = scaleWords.lookup(op);
  size_t count = op.getSquare() ? 1 : isColumn ? layout->vector : layout->steps;

  if (!op.getScales().use_empty()) {
    ScaleTile tile = scaleTiles.lookup(op.getScales());
    // All lanes of a block have its scale: they share the pieces, or the first
    // of them writes the columns.
    if (isColumn) {
      SmallVector<Value> bytes = words;
      bytes.resize(layout->vector / 4, words.front());
      b.when(b.compare(arith::CmpIPredicate::eq, laneRow, b.i32(0)), [&] {
        LLVM::StoreOp::create(b, makeWords(b, bytes),
                              getScaleAddress(tile, warpRow, threadColumn),
                              /*alignment=*/layout->vector);
      });
    } else {
      int64_t lanes = std::max<int64_t>(1, block / layout->vector);
      Value lane = b.rem(laneColumn, b.i32(lanes));
      for (int64_t i = 0; i < layout->steps; i += lanes) {
        // Pieces i to i + lanes - 1, one a lane. Squares have one scale.
        int64_t first = op.getSquare() ? 0 : i;
        Value shift = b.shiftLeft(b.add(lane, b.i32(first % 4)), 3);
        Value byte = arith::TruncIOp::create(
            b, b.getI8Type(),
            arith::ShRUIOp::create(b, words[first / 4], shift));
        Value piece = b.add(lane, b.i32(i));
        Value row = threadRow, column = threadColumn;
        if (layout->across < layout->steps)
          row = b.add(row, b.mul(b.div(piece, b.i32(layout->across)),
                                 b.i32(layout->getRowsPerStep())));
        if (layout->across > 1)
          column = b.add(column, b.mul(b.rem(piece, b.i32(layout->across)),
                                       b.i32(layout->getColumnsPerStep())));
        Value group = b.div(column, b.i32(block));
        auto store = [&] {
          LLVM::StoreOp::create(b, byte, getScaleAddress(tile, row, group));
        };
        if (i + lanes <= layout->steps)
          store();
        else
          b.when(
              b.compare(arith::CmpIPredicate::ult, piece, b.i32(layout->steps)),
              store);
      }
    }
    scalesAreNew = true;
  }
  if (op.getElements().use_empty())
    return success();

  auto vectorType = VectorType::get(layout->vector, b.getF32Type());
  auto inputType = cast<VectorType>(input.front().getType());
  // A bf16 times a power of two is a bf16, or too small for any code but 0. To
  // multiply before widening also keeps LLVM from widening once for all
  // quantizations of the tile, which would take twice the registers.
  bool inBF16 = !globalScale && inputType.getElementType().isBF16();
  SmallVector<Value> factors;
  for (size_t i = 0; i < count; ++i) {
    Value byte = getByte(b, words, i);
    Value factor = globalScale ? getE4M3(b, byte) : getInverse(b, byte);
    if (inBF16) {
      Value bits = arith::TruncIOp::create(b, b.getI16Type(),
                                           b.shiftRight(b.toBits(factor), 16));
      factor = arith::BitcastOp::create(b, b.getBF16Type(), bits);
    }
    factors.push_back(factor);
  }
  VectorType productType = inBF16 ? inputType : vectorType;
  Value columnFactors;
  if (isColumn && !op.getSquare())
    columnFactors = vector::FromElementsOp::create(b, productType, factors);
  int64_t perWord = element.getWidth() == 4 ? 8 : 4;
  auto wordsType = VectorType::get(layout->vector / perWord, b.getI32Type());
  SmallVector<Value> codes;
  for (auto [i, piece] : llvm::enumerate(input)) {
    Value x = piece;
    if (x.getType() != productType)
      x = widen(b, x);
    Value factor = factors[std::min(i, factors.size() - 1)];
    if (globalScale) {
      x = b.mul(x, vector::BroadcastOp::create(b, vectorType, globalScale));
      x = divideByScale(b, x, factor, vectorType);
    } else {
      x = b.mul(x, columnFactors ? columnFactors
                                 : Value(vector::BroadcastOp::create(
                                       b, productType, factor)));
    }
    if (inBF16)
      x = widen(b, x);
    Value packed = ConvertPackedOp::create(b, wordsType, x, element,
                                           FloatRounding::Nearest);
    codes.push_back(packCodes(b, packed, element, getPieceType(element)));
  }
  pieces[op.getElements()] = std::move(codes);
  return success();
}

LogicalResult KernelDistribution::lower(DequantizeTileOp op) {
  SmallVector<Value> codes = pieces.lookup(op.getElements());
  auto element = cast<FloatType>(op.getElements().getType().getElementType());
  Type scaleType = op.getScales().getType().getElementType();
  Type output = op.getOutput().getType().getElementType();
  bool isColumn =
      op.getElements().getType().getRank() == 2 && op.getAxis() == 0;
  int64_t block = getBlockSize(scaleType);
  Value globalScale;
  if (op.getGlobalScale())
    globalScale = values.lookup(op.getGlobalScale());
  if (globalScale && isColumn)
    return op.emitOpError("with a global scale runs along rows only");
  synchronizeScales();
  ScaleTile tile = scaleTiles.lookup(op.getScales());

  auto getValue = [&](Value byte) {
    return globalScale ? getE4M3(b, byte) : getPower(b, byte);
  };
  auto vectorType = VectorType::get(layout->vector, b.getF32Type());
  Value columnScales;
  if (isColumn) {
    Value words = LLVM::LoadOp::create(
        b, VectorType::get(layout->vector / 4, b.getI32Type()),
        getScaleAddress(tile, warpRow, threadColumn),
        /*alignment=*/layout->vector);
    SmallVector<Value> scales, all = getElements(b, words);
    for (int64_t i = 0; i < layout->vector; ++i)
      scales.push_back(getValue(getByte(b, all, i)));
    columnScales = vector::FromElementsOp::create(b, vectorType, scales);
  }
  SmallVector<Value> results;
  for (auto [i, piece] : llvm::enumerate(codes)) {
    Value words = unpackCodes(b, piece, element, layout->vector);
    Value x = ExtendPackedOp::create(b, vectorType, words, element);
    Value scales = columnScales;
    if (!isColumn) {
      Value row = b.add(threadRow, b.i32(layout->getRow(i)));
      Value column = b.add(threadColumn, b.i32(layout->getColumn(i)));
      Value group = b.div(column, b.i32(block));
      Value byte = LLVM::LoadOp::create(b, b.getI8Type(),
                                        getScaleAddress(tile, row, group));
      Value scale = getValue(arith::ExtUIOp::create(b, b.getI32Type(), byte));
      scales = vector::BroadcastOp::create(b, vectorType, scale);
    }
    x = b.mul(x, scales);
    if (globalScale)
      x = arith::DivFOp::create(
          b, x, vector::BroadcastOp::create(b, vectorType, globalScale));
    if (!output.isF32())
      x = arith::TruncFOp::create(b, VectorType::get(layout->vector, output),
                                  x);
    results.push_back(x);
  }
  pieces[op.getOutput()] = std::move(results);
  return success();
}
