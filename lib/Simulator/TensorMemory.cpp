//===- TensorMemory.cpp - Tensor memory of one CTA --------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cells, allocation, and the transfers of tcgen05.ld, st and cp. What
// tcgen05.mma reads and writes is in TensorMemoryOperands.cpp.
//
//===----------------------------------------------------------------------===//

#include "lpfa/Simulator/TensorMemory.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace lpfa::sim;
using llvm::Error;
using llvm::Expected;
using llvm::Twine;

static unsigned laneOf(uint32_t address) { return address >> 16; }
static unsigned columnOf(uint32_t address) { return address & 0xFFFF; }

static Error addressError(uint32_t address, const Twine &what) {
  return llvm::createStringError("tensor memory address 0x" +
                                 llvm::utohexstr(address, true, 8) + ": " +
                                 what);
}

TensorMemory::TensorMemory()
    : cells(numLanes * numColumns, 0xFFFFFFFF),
      defined(numLanes * numColumns, 0) {}

void TensorMemory::poison(unsigned firstColumn, unsigned count) {
  std::fill_n(cells.begin() + size_t(firstColumn) * numLanes,
              size_t(count) * numLanes, 0xFFFFFFFF);
  std::fill_n(defined.begin() + size_t(firstColumn) * numLanes,
              size_t(count) * numLanes, uint8_t(0));
}

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

Expected<std::optional<uint32_t>> TensorMemory::allocate(unsigned columns) {
  if (columns < 32 || columns > numColumns || !llvm::isPowerOf2_32(columns))
    return llvm::createStringError(
        "tcgen05.alloc of " + Twine(columns) +
        " columns: the number must be 32, 64, 128, 256 or 512");
  if (!mayAllocate)
    return llvm::createStringError(
        "tcgen05.alloc after tcgen05.relinquish_alloc_permit");
  auto isFree = [&](unsigned first) {
    for (unsigned column = first; column != first + columns; ++column)
      if (allocatedColumns[column])
        return false;
    return true;
  };
  // Not from column 0 at first, which a kernel might take for granted: aligned
  // places after it, then what is left.
  std::optional<unsigned> found;
  for (unsigned first = columns; !found && first + columns <= numColumns;
       first += columns)
    if (isFree(first))
      found = first;
  for (unsigned first = 0; !found && first + columns <= numColumns; first += 32)
    if (isFree(first))
      found = first;
  if (!found)
    return std::optional<uint32_t>();
  unsigned first = *found;
  allocations.push_back({first, columns});
  for (unsigned column = first; column != first + columns; ++column)
    allocatedColumns.set(column);
  return std::optional<uint32_t>(first);
}

Error TensorMemory::deallocate(uint32_t address, unsigned columns) {
  unsigned first = columnOf(address);
  auto found = llvm::find_if(allocations, [&](const Allocation &allocation) {
    return allocation.column == first && allocation.count == columns;
  });
  if (laneOf(address) != 0 || found == allocations.end())
    return addressError(address, "tcgen05.dealloc of " + Twine(columns) +
                                     " columns that were not allocated so");
  for (unsigned column = first; column != first + columns; ++column)
    allocatedColumns.reset(column);
  allocations.erase(found);
  poison(first, columns);
  return Error::success();
}

Error TensorMemory::checkAllReleased() const {
  if (allocations.empty())
    return Error::success();
  return llvm::createStringError(Twine(allocations.front().count) +
                                 " columns of tensor memory at column " +
                                 Twine(allocations.front().column) +
                                 " are still allocated at exit");
}

Error TensorMemory::checkAllocated(unsigned firstColumn, unsigned count) const {
  if (firstColumn > numColumns || count > numColumns - firstColumn)
    return llvm::createStringError("tensor memory columns " +
                                   Twine(firstColumn) + " to " +
                                   Twine(uint64_t(firstColumn) + count - 1) +
                                   " are outside the 512 columns");
  for (unsigned column = firstColumn; column != firstColumn + count; ++column)
    if (!allocatedColumns[column])
      return llvm::createStringError("tensor memory column " + Twine(column) +
                                     " is not allocated");
  return Error::success();
}

//===----------------------------------------------------------------------===//
// tcgen05.ld and tcgen05.st
//===----------------------------------------------------------------------===//

namespace {

/// What a shape does at `.x1` (PTX ISA 9.7.16.2.3).
struct TransferGeometry {
  unsigned lanes;
  unsigned registers;
  unsigned columns;
  unsigned maxRepeat;
};

TransferGeometry geometry(TransferShape shape) {
  switch (shape) {
  case TransferShape::S32x32b:
    return {32, 1, 1, 128};
  case TransferShape::S16x64b:
    return {16, 1, 2, 128};
  case TransferShape::S16x128b:
    return {16, 2, 4, 64};
  case TransferShape::S16x256b:
    return {16, 4, 8, 32};
  case TransferShape::S16x32bx2:
    return {16, 1, 1, 128};
  }
  return {};
}

/// Where 32-bit word `word` of thread `thread` lies, relative to the address
/// (PTX ISA 9.7.16.2.3, Figures for the shapes).
TensorCell transferCell(const TransferSpec &spec, unsigned thread,
                        unsigned word) {
  switch (spec.shape) {
  case TransferShape::S32x32b:
    return {thread, word};
  case TransferShape::S16x64b:
    return {thread / 4 + 8 * (thread & 1), (thread / 2 & 1) + 2 * word};
  case TransferShape::S16x128b:
    return {thread / 4 + 8 * (word & 1), thread % 4 + 4 * (word / 2)};
  case TransferShape::S16x256b:
    return {thread / 4 + 8 * (word / 2 & 1),
            (word & 1) + 2 * (thread % 4) + 8 * (word / 4)};
  case TransferShape::S16x32bx2:
    return {thread % 16, word + thread / 16 * spec.halfSplitOffset};
  }
  return {};
}

} // namespace

unsigned TransferSpec::numRegisters() const {
  return geometry(shape).registers * repeat;
}

TensorRegion TensorMemory::transferRegion(const TransferSpec &spec,
                                          uint32_t address) {
  TransferGeometry shape = geometry(spec.shape);
  unsigned columns = shape.columns * spec.repeat * (spec.pack16 ? 2 : 1);
  if (spec.shape == TransferShape::S16x32bx2)
    columns += spec.halfSplitOffset;
  return {laneOf(address), shape.lanes, columnOf(address), columns};
}

Error TensorMemory::checkTransfer(const TransferSpec &spec, uint32_t address,
                                  unsigned warp) const {
  TransferGeometry shape = geometry(spec.shape);
  if (!llvm::isPowerOf2_32(spec.repeat) || spec.repeat > shape.maxRepeat)
    return llvm::createStringError("the shape has no repetition .x" +
                                   Twine(spec.repeat));
  // PTX ISA 9.7.16.2.3.1: a warp reaches the 32 lanes of its quarter.
  unsigned lane = laneOf(address);
  unsigned quarter = warp % 4 * 32;
  bool mayBeUpperHalf = shape.lanes == 16;
  if (lane != quarter && !(mayBeUpperHalf && lane == quarter + 16))
    return addressError(
        address, "lane " + Twine(lane) + " in warp " + Twine(warp) +
                     ", which must pass lane " + Twine(quarter) +
                     (mayBeUpperHalf ? " or " + Twine(quarter + 16) : Twine()));
  TensorRegion region = transferRegion(spec, address);
  return checkAllocated(region.firstColumn, region.numColumns);
}

void TensorMemory::load(const TransferSpec &spec, uint32_t address,
                        uint32_t *registers, uint8_t *registerDefined) const {
  unsigned lane = laneOf(address), column = columnOf(address);
  unsigned count = spec.numRegisters();
  if (spec.shape == TransferShape::S32x32b && !spec.pack16) {
    for (unsigned i = 0; i != count; ++i) {
      std::copy_n(columnCells(column + i) + lane, 32, registers + i * 32);
      if (registerDefined)
        std::copy_n(columnDefined(column + i) + lane, 32,
                    registerDefined + i * 32);
    }
    return;
  }
  for (unsigned i = 0; i != count; ++i)
    for (unsigned thread = 0; thread != 32; ++thread) {
      unsigned index = i * 32 + thread;
      TensorCell cell = transferCell(spec, thread, i);
      unsigned cellLane = lane + cell.lane;
      if (!spec.pack16) {
        registers[index] = read(cellLane, column + cell.column);
        if (registerDefined)
          registerDefined[index] = definedBytes(cellLane, column + cell.column);
        continue;
      }
      unsigned first = column + 2 * cell.column;
      registers[index] =
          (read(cellLane, first) & 0xFFFF) | read(cellLane, first + 1) << 16;
      if (registerDefined)
        registerDefined[index] = (definedBytes(cellLane, first) & 3) |
                                 (definedBytes(cellLane, first + 1) & 3) << 2;
    }
}

void TensorMemory::store(const TransferSpec &spec, uint32_t address,
                         const uint32_t *registers,
                         const uint8_t *registerDefined) {
  unsigned lane = laneOf(address), column = columnOf(address);
  unsigned count = spec.numRegisters();
  for (unsigned i = 0; i != count; ++i)
    for (unsigned thread = 0; thread != 32; ++thread) {
      unsigned index = i * 32 + thread;
      uint8_t mask = registerDefined ? registerDefined[index] : 0xF;
      TensorCell cell = transferCell(spec, thread, i);
      unsigned cellLane = lane + cell.lane;
      if (!spec.pack16) {
        write(cellLane, column + cell.column, registers[index], mask);
        continue;
      }
      unsigned first = column + 2 * cell.column;
      write(cellLane, first, registers[index] & 0xFFFF, mask & 3);
      write(cellLane, first + 1, registers[index] >> 16, mask >> 2 & 3);
    }
}

//===----------------------------------------------------------------------===//
// tcgen05.cp
//===----------------------------------------------------------------------===//

unsigned CopySpec::numRows() const {
  switch (shape) {
  case CopyShape::S128x256b:
  case CopyShape::S128x128b:
    return 128;
  case CopyShape::S4x256b:
    return 4;
  case CopyShape::S64x128bWarpx2_02_13:
  case CopyShape::S64x128bWarpx2_01_23:
    return 64;
  case CopyShape::S32x128bWarpx4:
    return 32;
  }
  return 0;
}

unsigned CopySpec::rowBytes() const {
  return shape == CopyShape::S128x256b || shape == CopyShape::S4x256b ? 32 : 16;
}

/// How often a row is written, and the lane of copy `copy` of row `row` (PTX
/// ISA 9.7.16.9.1).
static unsigned numCopies(CopyShape shape) {
  switch (shape) {
  case CopyShape::S64x128bWarpx2_02_13:
  case CopyShape::S64x128bWarpx2_01_23:
    return 2;
  case CopyShape::S32x128bWarpx4:
    return 4;
  default:
    return 1;
  }
}

static unsigned copyLane(CopyShape shape, unsigned row, unsigned copy) {
  switch (shape) {
  case CopyShape::S4x256b:
    return 32 * row;
  case CopyShape::S64x128bWarpx2_02_13:
    return row + 64 * copy;
  case CopyShape::S64x128bWarpx2_01_23:
    return row % 32 + row / 32 * 64 + 32 * copy;
  case CopyShape::S32x128bWarpx4:
    return row + 32 * copy;
  default:
    return row;
  }
}

/// Bytes of data in 16 bytes of the source.
static unsigned copyUnitBytes(CopyDecompression decompression) {
  switch (decompression) {
  case CopyDecompression::None:
    return 16;
  case CopyDecompression::B4x16P64:
    return 8;
  case CopyDecompression::B6x16P32:
    return 12;
  }
  return 0;
}

void TensorMemory::forEachCopyChunk(
    const CopySpec &spec, const MatrixDescriptor &descriptor,
    llvm::function_ref<void(uint32_t, unsigned, unsigned)> visit) {
  unsigned rowBytes = spec.rowBytes();
  for (unsigned row = 0; row != spec.numRows(); ++row)
    for (unsigned column = 0; column != rowBytes; column += 16)
      visit(descriptor.byteAddress(row, column),
            copyUnitBytes(spec.decompression), row * rowBytes + column);
}

Error TensorMemory::readCopySource(const CopySpec &spec,
                                   const MatrixDescriptor &descriptor,
                                   llvm::ArrayRef<uint8_t> shared,
                                   llvm::MutableArrayRef<uint8_t> dense,
                                   uint32_t windowBase) {
  std::optional<uint32_t> outside;
  forEachCopyChunk(
      spec, descriptor, [&](uint32_t address, unsigned bytes, unsigned) {
        if (!outside &&
            (address < windowBase ||
             uint64_t(address) - windowBase + bytes > shared.size()))
          outside = address;
      });
  if (outside)
    return llvm::createStringError(
        "tcgen05.cp reads shared address 0x" + llvm::utohexstr(*outside, true) +
        ", outside the " + Twine(shared.size()) + " bytes of the CTA");
  if (dense.size() != size_t(spec.numRows()) * spec.rowBytes())
    return llvm::createStringError("tcgen05.cp moves " +
                                   Twine(spec.numRows() * spec.rowBytes()) +
                                   " bytes, not " + Twine(dense.size()));
  forEachCopyChunk(spec, descriptor,
                   [&](uint32_t address, unsigned bytes, unsigned offset) {
                     const uint8_t *source = &shared[address - windowBase];
                     uint8_t *target = &dense[offset];
                     switch (spec.decompression) {
                     case CopyDecompression::None:
                       std::copy_n(source, bytes, target);
                       break;
                     case CopyDecompression::B4x16P64:
                       // A four-bit element lies in bits 2 to 5 of its byte.
                       for (unsigned i = 0; i != 16; ++i)
                         target[i] = (source[i / 2] >> (i % 2 * 4) & 0xF) << 2;
                       break;
                     case CopyDecompression::B6x16P32:
                       for (unsigned i = 0; i != 16; ++i) {
                         unsigned bit = 6 * i;
                         unsigned word = source[bit / 8];
                         if (bit % 8 > 2)
                           word |= source[bit / 8 + 1] << 8;
                         target[i] = word >> (bit % 8) & 0x3F;
                       }
                       break;
                     }
                   });
  return Error::success();
}

TensorRegion TensorMemory::copyRegion(const CopySpec &spec, uint32_t address) {
  unsigned lanes = spec.shape == CopyShape::S4x256b ? 97 : numLanes;
  return {laneOf(address), lanes, columnOf(address), spec.rowBytes() / 4};
}

Error TensorMemory::checkCopy(const CopySpec &spec, uint32_t address) const {
  // The lane of the four rows with a nonzero base is not documented.
  if (laneOf(address) != 0)
    return addressError(address, "tcgen05.cp must start at lane 0");
  return checkAllocated(columnOf(address), spec.rowBytes() / 4);
}

void TensorMemory::writeCopy(const CopySpec &spec, uint32_t address,
                             llvm::ArrayRef<uint8_t> dense,
                             llvm::ArrayRef<uint8_t> byteDefined) {
  unsigned column = columnOf(address), rowBytes = spec.rowBytes();
  for (unsigned row = 0; row != spec.numRows(); ++row)
    for (unsigned word = 0; word != rowBytes / 4; ++word) {
      size_t offset = row * rowBytes + word * 4;
      uint32_t value = 0;
      uint8_t mask = 0;
      for (unsigned byte = 0; byte != 4; ++byte) {
        value |= uint32_t(dense[offset + byte]) << (8 * byte);
        if (byteDefined.empty() || byteDefined[offset + byte])
          mask |= 1 << byte;
      }
      for (unsigned copy = 0; copy != numCopies(spec.shape); ++copy)
        write(copyLane(spec.shape, row, copy), column + word, value, mask);
    }
}

//===----------------------------------------------------------------------===//
// tcgen05.shift
//===----------------------------------------------------------------------===//

TensorRegion TensorMemory::shiftRegion(uint32_t address) {
  return {laneOf(address), 32, columnOf(address), 8};
}

Error TensorMemory::checkShift(uint32_t address) const {
  if (laneOf(address) % 32 || laneOf(address) >= numLanes)
    return addressError(address, "tcgen05.shift must start at a lane that is a "
                                 "multiple of 32");
  return checkAllocated(columnOf(address), 8);
}

void TensorMemory::shiftDown(uint32_t address) {
  TensorRegion region = shiftRegion(address);
  for (unsigned c = 0; c != region.numColumns; ++c) {
    uint32_t *values = columnCells(region.firstColumn + c) + region.firstLane;
    uint8_t *marks = columnDefined(region.firstColumn + c) + region.firstLane;
    std::copy(values + 1, values + region.numLanes, values);
    std::copy(marks + 1, marks + region.numLanes, marks);
  }
}
