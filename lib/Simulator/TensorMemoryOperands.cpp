//===- TensorMemoryOperands.cpp - What tcgen05.mma touches ------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Accumulators, A operands and scales of tcgen05.mma in tensor memory (PTX ISA
// 9.7.16.10.4, .5 and .7).
//
//===----------------------------------------------------------------------===//

#include "lpfa/Simulator/TensorMemory.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include <cstring>

using namespace lpfa::sim;
using llvm::Error;
using llvm::Expected;
using llvm::Twine;

static unsigned laneOf(uint32_t address) { return address >> 16; }
static unsigned columnOf(uint32_t address) { return address & 0xFFFF; }

AccumulatorLayout
lpfa::sim::accumulatorLayout(const InstructionDescriptor &descriptor) {
  if (descriptor.ctaGroup == 2) {
    if (descriptor.m == 256)
      return AccumulatorLayout::A;
    return descriptor.sparse ? AccumulatorLayout::C : AccumulatorLayout::B;
  }
  if (descriptor.warpSpecialized && descriptor.m == 64)
    return AccumulatorLayout::E;
  if (descriptor.warpSpecialized && descriptor.m == 32)
    return AccumulatorLayout::G;
  return descriptor.m == 64 ? AccumulatorLayout::F : AccumulatorLayout::D;
}

namespace {

/// How the columns of D are folded: N / folds columns of cells, and fold f lies
/// 128 / folds lanes further.
unsigned numFolds(AccumulatorLayout layout) {
  switch (layout) {
  case AccumulatorLayout::B:
  case AccumulatorLayout::E:
    return 2;
  case AccumulatorLayout::G:
    return 4;
  default:
    return 1;
  }
}

bool isSpread(AccumulatorLayout layout) {
  return layout == AccumulatorLayout::C || layout == AccumulatorLayout::F;
}

/// Lane of row `row` of the first fold, relative to the address. 64 rows of an
/// unfolded accumulator take 16 lanes of each quarter.
unsigned rowLane(AccumulatorLayout layout, unsigned row) {
  return isSpread(layout) ? row / 16 * 32 + row % 16 : row;
}

} // namespace

Error TensorMemory::checkAccumulator(const InstructionDescriptor &descriptor,
                                     uint32_t address) const {
  AccumulatorLayout layout = accumulatorLayout(descriptor);
  unsigned lane = laneOf(address);
  if (lane != 0 && !(isSpread(layout) && lane == 16))
    return llvm::createStringError("accumulator at tensor memory address 0x" +
                                   llvm::utohexstr(address, true, 8) +
                                   ": lane " + Twine(lane) + " instead of 0" +
                                   (isSpread(layout) ? " or 16" : ""));
  return checkAllocated(columnOf(address), descriptor.n / numFolds(layout));
}

TensorRegion
TensorMemory::accumulatorRegion(const InstructionDescriptor &descriptor,
                                uint32_t address) {
  AccumulatorLayout layout = accumulatorLayout(descriptor);
  return {laneOf(address), isSpread(layout) ? 112u : 128u, columnOf(address),
          descriptor.n / numFolds(layout)};
}

TensorCell
TensorMemory::accumulatorCell(const InstructionDescriptor &descriptor,
                              uint32_t address, unsigned row, unsigned column) {
  AccumulatorLayout layout = accumulatorLayout(descriptor);
  unsigned folds = numFolds(layout);
  unsigned width = descriptor.n / folds;
  return {laneOf(address) + rowLane(layout, row) +
              column / width * (numLanes / folds),
          columnOf(address) + column % width};
}

/// Calls `visit(n, row, count, cell)` for runs of rows of column n of D that
/// lie in neighboring lanes, `cell` being the first one's.
template <typename Visitor>
static void forEachRowRun(const InstructionDescriptor &descriptor,
                          uint32_t address, Visitor visit) {
  unsigned rows = descriptor.rowsPerCta();
  unsigned step = isSpread(accumulatorLayout(descriptor)) ? 16 : rows;
  for (unsigned n = 0; n != descriptor.n; ++n)
    for (unsigned row = 0; row != rows; row += step)
      visit(n, row, step,
            TensorMemory::accumulatorCell(descriptor, address, row, n));
}

std::optional<TensorCell>
TensorMemory::readAccumulator(const InstructionDescriptor &descriptor,
                              uint32_t address,
                              llvm::MutableArrayRef<uint32_t> d) const {
  std::optional<TensorCell> undefined;
  unsigned rows = descriptor.rowsPerCta();
  uint8_t needed = descriptor.dFormat == ElementFormat::F16 ? 0x3 : 0xF;
  forEachRowRun(descriptor, address,
                [&](unsigned n, unsigned row, unsigned count, TensorCell cell) {
                  std::copy_n(columnCells(cell.column) + cell.lane, count,
                              &d[size_t(n) * rows + row]);
                  const uint8_t *masks = columnDefined(cell.column) + cell.lane;
                  for (unsigned i = 0; !undefined && i != count; ++i)
                    if ((masks[i] & needed) != needed)
                      undefined = TensorCell{cell.lane + i, cell.column};
                });
  return undefined;
}

void TensorMemory::writeAccumulator(
    const InstructionDescriptor &descriptor, uint32_t address,
    llvm::ArrayRef<uint32_t> d, const std::bitset<numLanes> &disabledLanes) {
  unsigned rows = descriptor.rowsPerCta();
  bool anyDisabled = disabledLanes.any();
  forEachRowRun(descriptor, address,
                [&](unsigned n, unsigned row, unsigned count, TensorCell cell) {
                  const uint32_t *source = &d[size_t(n) * rows + row];
                  if (!anyDisabled) {
                    std::copy_n(source, count,
                                columnCells(cell.column) + cell.lane);
                    std::fill_n(columnDefined(cell.column) + cell.lane, count,
                                uint8_t(0xF));
                    return;
                  }
                  for (unsigned i = 0; i != count; ++i)
                    if (!disabledLanes[cell.lane + i])
                      write(cell.lane + i, cell.column, source[i]);
                });
}

Expected<std::optional<TensorCell>>
TensorMemory::readOperandA(const InstructionDescriptor &descriptor,
                           uint32_t address,
                           llvm::MutableArrayRef<uint8_t> dense) const {
  // Elements of a cell: one byte each, except for nibbles and wide formats.
  ElementFormat format = descriptor.aFormat;
  unsigned containerBits = descriptor.packsNibbles() ? 4
                           : formatBits(format) <= 8 ? 8
                                                     : formatBits(format);
  unsigned perCell = 32 / containerBits;
  unsigned columns = descriptor.k / perCell;
  unsigned bytes = containerBytes(format);
  unsigned rows = descriptor.rowsPerCta();
  AccumulatorLayout layout = accumulatorLayout(descriptor);

  unsigned lane = laneOf(address), column = columnOf(address);
  if (lane != 0 && !(isSpread(layout) && lane == 16))
    return llvm::createStringError("operand A at tensor memory address 0x" +
                                   llvm::utohexstr(address, true, 8) +
                                   ": lane " + Twine(lane));
  if (Error error = checkAllocated(column, columns))
    return std::move(error);

  // FP4 lies in bits 2 to 5 of its byte, FP6 in bits 0 to 5.
  unsigned shift =
      format == ElementFormat::E2M1 && !descriptor.packsNibbles() ? 2 : 0;
  uint32_t elementMask =
      formatBits(format) == 32 ? ~uint32_t(0) : (1u << formatBits(format)) - 1;
  std::optional<TensorCell> undefined;
  for (unsigned row = 0; row != rows; ++row) {
    TensorCell cell{lane + rowLane(layout, row), 0};
    uint8_t *target = &dense[size_t(row) * descriptor.k * bytes];
    for (unsigned c = 0; c != columns; ++c) {
      cell.column = column + c;
      if (!undefined && definedBytes(cell.lane, cell.column) != 0xF)
        undefined = cell;
      uint32_t word = read(cell.lane, cell.column);
      for (unsigned i = 0; i != perCell; ++i) {
        uint32_t code = word >> (i * containerBits) >> shift & elementMask;
        for (unsigned byte = 0; byte != bytes; ++byte)
          *target++ = static_cast<uint8_t>(code >> (8 * byte));
      }
    }
  }
  return undefined;
}

Error TensorMemory::readScales(uint32_t address, unsigned rows,
                               unsigned scaleId, unsigned scaleVectors,
                               llvm::MutableArrayRef<uint8_t> scales,
                               std::optional<ScaleFault> &fault,
                               unsigned quarters) const {
  // The upper two bits may hold the scale id for software; hardware takes it
  // from the instruction descriptor.
  address &= 0x3FFFFFFF;
  if (laneOf(address) != 0)
    return llvm::createStringError("scales at tensor memory address 0x" +
                                   llvm::utohexstr(address, true, 8) +
                                   ": lane " + Twine(laneOf(address)) +
                                   " instead of 0");
  if (Error error = checkAllocated(columnOf(address), (rows + 31) / 32))
    return error;

  auto report = [&](ScaleFault::Kind kind, unsigned row, unsigned vector,
                    TensorCell cell) {
    if (!fault)
      fault = ScaleFault{kind, row, vector, cell};
  };
  for (unsigned row = 0; row != rows; ++row)
    for (unsigned vector = 0; vector != scaleVectors; ++vector) {
      unsigned byte = scaleId + vector;
      uint8_t &scale = scales[size_t(row) * scaleVectors + vector];
      bool isFirst = true;
      for (unsigned quarter = 0; quarter != 4; ++quarter) {
        if (!(quarters >> quarter & 1))
          continue;
        TensorCell cell{32 * quarter + row % 32, columnOf(address) + row / 32};
        auto value =
            static_cast<uint8_t>(read(cell.lane, cell.column) >> (8 * byte));
        if (!(definedBytes(cell.lane, cell.column) >> byte & 1))
          report(ScaleFault::Undefined, row, vector, cell);
        else if (!isFirst && value != scale)
          report(ScaleFault::Mismatch, row, vector, cell);
        if (isFirst)
          scale = value;
        isFirst = false;
      }
    }
  return Error::success();
}
