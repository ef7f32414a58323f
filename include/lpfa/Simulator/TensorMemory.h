//===- TensorMemory.h - Tensor memory of one CTA ----------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The 128 lanes by 512 columns of 32-bit cells that tcgen05 instructions work
// on (PTX ISA 9.7.16.2), which bytes of them are defined, their allocation,
// and the maps from instructions to cells. An address is lane << 16 | column.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_SIMULATOR_TENSORMEMORY_H
#define LPFA_SIMULATOR_TENSORMEMORY_H

#include "lpfa/Simulator/InstructionDescriptor.h"
#include "lpfa/Simulator/MatrixDescriptor.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <bitset>
#include <cstdint>
#include <optional>
#include <vector>

namespace lpfa::sim {

/// One cell.
struct TensorCell {
  unsigned lane = 0;
  unsigned column = 0;

  friend bool operator==(TensorCell a, TensorCell b) {
    return a.lane == b.lane && a.column == b.column;
  }
};

/// A rectangle of cells that an instruction touches at most.
struct TensorRegion {
  unsigned firstLane = 0;
  unsigned numLanes = 0;
  unsigned firstColumn = 0;
  unsigned numColumns = 0;
};

/// tcgen05.ld and tcgen05.st (PTX ISA 9.7.16.8).
enum class TransferShape : uint8_t {
  S32x32b,
  S16x64b,
  S16x128b,
  S16x256b,
  S16x32bx2,
};

struct TransferSpec {
  TransferShape shape = TransferShape::S32x32b;
  /// `.x1` to `.x128`.
  unsigned repeat = 1;
  /// `.pack::16b` of a load, `.unpack::16b` of a store: a register holds the
  /// low halves of two neighboring columns.
  bool pack16 = false;
  /// `immHalfSplitoff` of 16x32bx2, in columns.
  unsigned halfSplitOffset = 0;

  /// 32-bit registers that each thread gives or gets; at most 128, or the
  /// specification is not valid.
  unsigned numRegisters() const;
};

/// tcgen05.cp (PTX ISA 9.7.16.9).
enum class CopyShape : uint8_t {
  S128x256b,
  S4x256b,
  S128x128b,
  S64x128bWarpx2_02_13,
  S64x128bWarpx2_01_23,
  S32x128bWarpx4,
};

enum class CopyDecompression : uint8_t {
  None,
  B4x16P64, // .b8x16.b4x16_p64
  B6x16P32, // .b8x16.b6x16_p32
};

struct CopySpec {
  CopyShape shape = CopyShape::S128x256b;
  CopyDecompression decompression = CopyDecompression::None;

  /// The source matrix: rows, and bytes a row after decompression (16 or 32).
  unsigned numRows() const;
  unsigned rowBytes() const;
};

/// How the accumulator of an instruction lies in tensor memory; the letters are
/// those of PTX ISA 9.7.16.10.5.
enum class AccumulatorLayout : uint8_t {
  A, // M = 256, two CTAs
  B, // M = 128, two CTAs, dense
  C, // M = 128, two CTAs, sparse
  D, // M = 128
  E, // M = 64, .ws
  F, // M = 64
  G, // M = 32, .ws
};

AccumulatorLayout accumulatorLayout(const InstructionDescriptor &descriptor);

/// Where scales disagree or are missing.
struct ScaleFault {
  enum Kind : uint8_t { Undefined, Mismatch } kind = Undefined;
  /// Row of A or column of B, and number of the scale in its row.
  unsigned row = 0;
  unsigned vector = 0;
  /// The first offending cell.
  TensorCell cell;
};

/// Tensor memory of one CTA. Cells are stored column by column: 128 lanes of a
/// column are contiguous.
class TensorMemory {
public:
  static constexpr unsigned numLanes = 128;
  static constexpr unsigned numColumns = 512;

  /// Fresh cells hold 0xFFFFFFFF and are undefined.
  TensorMemory();

  //===--------------------------------------------------------------------===//
  // Cells
  //===--------------------------------------------------------------------===//

  uint32_t read(unsigned lane, unsigned column) const {
    return cells[column * numLanes + lane];
  }
  /// Bit b is set if byte b of the cell is defined.
  uint8_t definedBytes(unsigned lane, unsigned column) const {
    return defined[column * numLanes + lane];
  }
  void write(unsigned lane, unsigned column, uint32_t value,
             uint8_t definedMask = 0xF) {
    cells[column * numLanes + lane] = value;
    defined[column * numLanes + lane] = definedMask;
  }
  /// The 128 cells of a column and their masks of defined bytes.
  uint32_t *columnCells(unsigned column) { return &cells[column * numLanes]; }
  const uint32_t *columnCells(unsigned column) const {
    return &cells[column * numLanes];
  }
  uint8_t *columnDefined(unsigned column) {
    return &defined[column * numLanes];
  }
  const uint8_t *columnDefined(unsigned column) const {
    return &defined[column * numLanes];
  }

  //===--------------------------------------------------------------------===//
  // Allocation (PTX ISA 9.7.16.7)
  //===--------------------------------------------------------------------===//

  /// tcgen05.alloc: the address of `columns` columns, or nothing if the caller
  /// has to wait for a deallocation. The first allocation of less than 512
  /// columns does not start at column 0, so that kernels which assume it fail.
  /// Error: a size that is not a power of two in 32..512, or an allocation
  /// after `relinquishPermit`.
  llvm::Expected<std::optional<uint32_t>> allocate(unsigned columns);

  /// tcgen05.dealloc. The cells become undefined again. Error if exactly this
  /// allocation does not exist.
  llvm::Error deallocate(uint32_t address, unsigned columns);

  /// tcgen05.relinquish_alloc_permit.
  void relinquishPermit() { mayAllocate = false; }

  /// Error, naming the first leak, if anything is still allocated: what a CTA
  /// must not leave behind.
  llvm::Error checkAllReleased() const;

  /// Error, naming the column, if the columns are not all allocated or leave
  /// tensor memory.
  llvm::Error checkAllocated(unsigned firstColumn, unsigned count) const;

  //===--------------------------------------------------------------------===//
  // tcgen05.ld and tcgen05.st
  //===--------------------------------------------------------------------===//

  /// The rules of access: a legal shape and repetition, the lane of the address
  /// fits the shape and the quarter of the executing warp (`warp` is its number
  /// in the CTA; it may touch lanes 32 * (warp % 4) to + 31), columns inside
  /// the memory and allocated.
  llvm::Error checkTransfer(const TransferSpec &spec, uint32_t address,
                            unsigned warp) const;

  /// The cells that the transfer touches at most.
  static TensorRegion transferRegion(const TransferSpec &spec,
                                     uint32_t address);

  /// tcgen05.ld: registers[i * 32 + t] is register i of thread t, and
  /// registerDefined the mask of its defined bytes (may be null). The access
  /// must have passed checkTransfer.
  void load(const TransferSpec &spec, uint32_t address, uint32_t *registers,
            uint8_t *registerDefined) const;

  /// tcgen05.st, the same way; null registerDefined means all defined. With
  /// `pack16` the upper half of each cell becomes zero and undefined.
  void store(const TransferSpec &spec, uint32_t address,
             const uint32_t *registers, const uint8_t *registerDefined);

  //===--------------------------------------------------------------------===//
  // tcgen05.cp
  //===--------------------------------------------------------------------===//

  /// Reads the source of a copy, decompressed, into numRows x rowBytes bytes.
  static llvm::Error readCopySource(const CopySpec &spec,
                                    const MatrixDescriptor &descriptor,
                                    llvm::ArrayRef<uint8_t> shared,
                                    llvm::MutableArrayRef<uint8_t> dense,
                                    uint32_t windowBase = 0);

  /// Calls `visit` for every piece of the source that is read, at most 16
  /// bytes, and the offset of its (decompressed, 16-byte) unit in the dense
  /// bytes.
  static void
  forEachCopyChunk(const CopySpec &spec, const MatrixDescriptor &descriptor,
                   llvm::function_ref<void(uint32_t address, unsigned bytes,
                                           unsigned denseOffset)>
                       visit);

  llvm::Error checkCopy(const CopySpec &spec, uint32_t address) const;
  static TensorRegion copyRegion(const CopySpec &spec, uint32_t address);

  /// Writes what readCopySource gave. `byteDefined` holds one flag (0 or 1) for
  /// each byte of `dense`; empty means all defined.
  void writeCopy(const CopySpec &spec, uint32_t address,
                 llvm::ArrayRef<uint8_t> dense,
                 llvm::ArrayRef<uint8_t> byteDefined);

  //===--------------------------------------------------------------------===//
  // tcgen05.shift
  //===--------------------------------------------------------------------===//

  /// 32 lanes of 32 bytes.
  static TensorRegion shiftRegion(uint32_t address);
  llvm::Error checkShift(uint32_t address) const;
  /// Each lane but the last gets what the next one holds. PTX names the shape
  /// 31x256b and a last row that stays (PTX ISA 9.7.16.2.3 and 9.7.16.9.3);
  /// that rows move to the lane below follows from tcgen05.cp.4x256b, which is
  /// ordered behind a shift to refill the last one.
  void shiftDown(uint32_t address);

  //===--------------------------------------------------------------------===//
  // Operands of tcgen05.mma
  //===--------------------------------------------------------------------===//

  /// Checks that an accumulator at `address` is inside the memory, allocated
  /// and at a legal lane.
  llvm::Error checkAccumulator(const InstructionDescriptor &descriptor,
                               uint32_t address) const;
  static TensorRegion accumulatorRegion(const InstructionDescriptor &descriptor,
                                        uint32_t address);

  /// The cell of D's element (row, column) in the CTA that holds the row.
  /// `row` counts in the CTA: 0 to descriptor.rowsPerCta() - 1.
  static TensorCell accumulatorCell(const InstructionDescriptor &descriptor,
                                    uint32_t address, unsigned row,
                                    unsigned column);

  /// Copies this CTA's rows of D into `d`, rowsPerCta() x N cells with element
  /// (r, n) at d[n * rowsPerCta() + r]. Returns the first undefined cell.
  std::optional<TensorCell>
  readAccumulator(const InstructionDescriptor &descriptor, uint32_t address,
                  llvm::MutableArrayRef<uint32_t> d) const;

  /// Writes what is laid out the same way, but not to lanes whose bit is set in
  /// `disabledLanes`. Everything written is defined.
  void writeAccumulator(const InstructionDescriptor &descriptor,
                        uint32_t address, llvm::ArrayRef<uint32_t> d,
                        const std::bitset<numLanes> &disabledLanes = {});

  /// Reads this CTA's rows of an A operand in tensor memory into rowsPerCta() x
  /// K codes, as TensorCore takes them. Returns the first undefined cell.
  /// Error: outside the memory or not allocated.
  llvm::Expected<std::optional<TensorCell>>
  readOperandA(const InstructionDescriptor &descriptor, uint32_t address,
               llvm::MutableArrayRef<uint8_t> dense) const;

  /// Reads `rows` x scaleVectors scale bytes. `address` is masked of its upper
  /// two bits, the byte comes from `scaleId`. Row r is read from the four
  /// lanes 32 * p + r % 32, which must agree and be defined: `fault` gets the
  /// first that does not. `quarters` is the set of lane quarters that the
  /// hardware reads (bit p), all four unless the instruction spans two CTAs
  /// with M = 128. Error: outside the memory or not allocated.
  llvm::Error readScales(uint32_t address, unsigned rows, unsigned scaleId,
                         unsigned scaleVectors,
                         llvm::MutableArrayRef<uint8_t> scales,
                         std::optional<ScaleFault> &fault,
                         unsigned quarters = 0xF) const;

private:
  struct Allocation {
    unsigned column;
    unsigned count;
  };

  void poison(unsigned firstColumn, unsigned count);

  std::vector<uint32_t> cells;
  std::vector<uint8_t> defined;
  std::bitset<numColumns> allocatedColumns;
  std::vector<Allocation> allocations;
  bool mayAllocate = true;
};

} // namespace lpfa::sim

#endif // LPFA_SIMULATOR_TENSORMEMORY_H
