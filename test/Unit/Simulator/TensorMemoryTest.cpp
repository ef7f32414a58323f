//===- TensorMemoryTest.cpp - Tensor memory ---------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Simulator/TensorMemory.h"
#include "gtest/gtest.h"
#include <cstring>
#include <map>
#include <set>
#include <vector>

using namespace lpfa::sim;

namespace {

std::string message(llvm::Error error) {
  return error ? llvm::toString(std::move(error)) : "no error";
}

template <typename T> std::string message(llvm::Expected<T> value) {
  return value ? "no error" : llvm::toString(value.takeError());
}

uint32_t allocateOk(TensorMemory &memory, unsigned columns) {
  llvm::Expected<std::optional<uint32_t>> result = memory.allocate(columns);
  if (result && *result)
    return **result;
  ADD_FAILURE() << "no allocation";
  if (!result)
    llvm::consumeError(result.takeError());
  return 0;
}

/// A value that tells its cell.
uint32_t tag(unsigned lane, unsigned column) { return lane << 16 | column; }

/// Memory with all columns allocated and every cell tagged and defined.
TensorMemory makeTagged() {
  TensorMemory memory;
  EXPECT_EQ(allocateOk(memory, 512), 0u);
  for (unsigned lane = 0; lane != 128; ++lane)
    for (unsigned column = 0; column != 512; ++column)
      memory.write(lane, column, tag(lane, column));
  return memory;
}

TEST(TensorMemory, Allocation) {
  TensorMemory memory;
  EXPECT_EQ(memory.read(5, 7), 0xFFFFFFFFu);
  EXPECT_EQ(memory.definedBytes(5, 7), 0);
  EXPECT_NE(message(memory.allocate(96)), "no error");
  EXPECT_NE(message(memory.allocate(16)), "no error");

  uint32_t first = allocateOk(memory, 128);
  EXPECT_NE(first, 0u);
  uint32_t second = allocateOk(memory, 256);
  uint32_t third = allocateOk(memory, 128);
  std::set<uint32_t> columns;
  for (auto [base, count] : {std::pair(first, 128u), std::pair(second, 256u),
                             std::pair(third, 128u)})
    for (unsigned i = 0; i != count; ++i)
      EXPECT_TRUE(columns.insert(base + i).second);
  EXPECT_EQ(columns.size(), 512u);
  EXPECT_EQ(*columns.rbegin(), 511u);

  // Full: the caller has to wait.
  llvm::Expected<std::optional<uint32_t>> none = memory.allocate(32);
  ASSERT_TRUE(bool(none));
  EXPECT_FALSE(*none);

  memory.write(3, second, 42);
  EXPECT_NE(message(memory.deallocate(second, 128)), "no error");
  EXPECT_EQ(message(memory.deallocate(second, 256)), "no error");
  EXPECT_EQ(memory.read(3, second), 0xFFFFFFFFu);
  EXPECT_EQ(memory.definedBytes(3, second), 0);
  EXPECT_NE(message(memory.deallocate(second, 256)), "no error");
  EXPECT_NE(message(memory.checkAllocated(second, 1)), "no error");
  EXPECT_EQ(message(memory.checkAllocated(first, 128)), "no error");
  EXPECT_NE(message(memory.checkAllocated(500, 20)), "no error");

  EXPECT_NE(message(memory.checkAllReleased()), "no error");
  memory.relinquishPermit();
  EXPECT_NE(message(memory.allocate(32)), "no error");
  EXPECT_EQ(message(memory.deallocate(first, 128)), "no error");
  EXPECT_EQ(message(memory.deallocate(third, 128)), "no error");
  EXPECT_EQ(message(memory.checkAllReleased()), "no error");
}

TEST(TensorMemory, AllColumnsStartAtZero) {
  TensorMemory memory;
  EXPECT_EQ(allocateOk(memory, 512), 0u);
}

TEST(TensorMemory, LaneRules) {
  TensorMemory memory = makeTagged();
  TransferSpec full{TransferShape::S32x32b, 4, false, 0};
  EXPECT_EQ(message(memory.checkTransfer(full, tag(32, 0), 5)), "no error");
  EXPECT_NE(message(memory.checkTransfer(full, tag(32, 0), 4)), "no error");
  EXPECT_NE(message(memory.checkTransfer(full, tag(48, 0), 1)), "no error");
  EXPECT_NE(message(memory.checkTransfer(full, tag(0, 509), 0)), "no error");
  TransferSpec half{TransferShape::S16x256b, 1, false, 0};
  EXPECT_EQ(message(memory.checkTransfer(half, tag(112, 0), 3)), "no error");
  EXPECT_NE(message(memory.checkTransfer(half, tag(104, 0), 3)), "no error");
  TransferSpec tooLong{TransferShape::S16x256b, 64, false, 0};
  EXPECT_NE(message(memory.checkTransfer(tooLong, tag(0, 0), 0)), "no error");
  TransferSpec notPower{TransferShape::S32x32b, 3, false, 0};
  EXPECT_NE(message(memory.checkTransfer(notPower, tag(0, 0), 0)), "no error");
}

/// Spot values of each shape from the manual's figures, and that a load sees
/// each cell of its rectangle once.
TEST(TensorMemory, LoadShapes) {
  TensorMemory memory = makeTagged();
  struct {
    TransferShape shape;
    unsigned lanes, columns;
    // (thread, register) and its lane and column.
    unsigned thread, reg, lane, column;
  } shapes[] = {
      {TransferShape::S32x32b, 32, 1, 17, 1, 17, 1},
      {TransferShape::S16x64b, 16, 2, 7, 1, 9, 3},
      {TransferShape::S16x128b, 16, 4, 6, 3, 9, 6},
      {TransferShape::S16x256b, 16, 8, 5, 6, 9, 10},
  };
  for (auto [shape, lanes, columns, thread, reg, lane, column] : shapes)
    for (unsigned repeat : {2u, 4u}) {
      TransferSpec spec{shape, repeat, false, 0};
      EXPECT_EQ(spec.numRegisters() * 32, lanes * columns * repeat);
      uint32_t base = tag(64, 10);
      std::vector<uint32_t> registers(spec.numRegisters() * 32);
      std::vector<uint8_t> defined(registers.size());
      memory.load(spec, base, registers.data(), defined.data());
      std::set<uint32_t> cells(registers.begin(), registers.end());
      EXPECT_EQ(cells.size(), registers.size());
      for (uint32_t cell : cells) {
        EXPECT_LT((cell >> 16) - 64, lanes);
        EXPECT_LT((cell & 0xFFFF) - 10, columns * repeat);
      }
      EXPECT_EQ(registers[reg * 32 + thread], tag(64 + lane, 10 + column));
      for (uint8_t mask : defined)
        EXPECT_EQ(mask, 0xF);

      // A store of the same shape puts everything back.
      TensorMemory other;
      other.store(spec, base, registers.data(), nullptr);
      for (uint32_t cell : cells) {
        EXPECT_EQ(other.read(cell >> 16, cell & 0xFFFF), cell);
        EXPECT_EQ(other.definedBytes(cell >> 16, cell & 0xFFFF), 0xF);
      }
    }
}

TEST(TensorMemory, SplitShape) {
  TensorMemory memory = makeTagged();
  TransferSpec spec{TransferShape::S16x32bx2, 2, false, 40};
  std::vector<uint32_t> registers(spec.numRegisters() * 32);
  memory.load(spec, tag(16, 8), registers.data(), nullptr);
  EXPECT_EQ(registers[3], tag(19, 8));
  EXPECT_EQ(registers[32 + 19], tag(19, 49));
  EXPECT_EQ(TensorMemory::transferRegion(spec, tag(16, 8)).numColumns, 42u);
  EXPECT_NE(message(memory.checkTransfer(spec, tag(0, 471), 0)), "no error");
  EXPECT_EQ(message(memory.checkTransfer(spec, tag(0, 470), 0)), "no error");
}

TEST(TensorMemory, PackedHalves) {
  TensorMemory memory = makeTagged();
  memory.write(5, 21, 0xABCD1234, 0x5);
  TransferSpec spec{TransferShape::S32x32b, 2, true, 0};
  EXPECT_EQ(TensorMemory::transferRegion(spec, 20).numColumns, 4u);
  std::vector<uint32_t> registers(64);
  std::vector<uint8_t> defined(64);
  memory.load(spec, tag(0, 20), registers.data(), defined.data());
  EXPECT_EQ(registers[5], 0x12340014u);
  EXPECT_EQ(defined[5], 0x7);
  EXPECT_EQ(registers[32 + 5], 0x00170016u);

  TensorMemory other;
  other.store(spec, tag(0, 20), registers.data(), defined.data());
  EXPECT_EQ(other.read(5, 21), 0x1234u);
  EXPECT_EQ(other.definedBytes(5, 20), 0x3);
  EXPECT_EQ(other.definedBytes(5, 21), 0x1);
}

//===----------------------------------------------------------------------===//
// tcgen05.cp
//===----------------------------------------------------------------------===//

MatrixDescriptor plainDescriptor(uint32_t leading, uint32_t stride) {
  MatrixDescriptor descriptor;
  descriptor.leadingOffset = leading;
  descriptor.strideOffset = stride;
  return descriptor;
}

TEST(TensorMemory, CopyLanes) {
  struct {
    CopyShape shape;
    unsigned rows, rowBytes;
    std::vector<std::vector<unsigned>>
        lanes; // of the first, a middle, last row
    std::vector<unsigned> sampleRows;
  } shapes[] = {
      {CopyShape::S32x128bWarpx4,
       32,
       16,
       {{0, 32, 64, 96}, {31, 63, 95, 127}},
       {0, 31}},
      {CopyShape::S64x128bWarpx2_02_13, 64, 16, {{0, 64}, {63, 127}}, {0, 63}},
      {CopyShape::S64x128bWarpx2_01_23,
       64,
       16,
       {{0, 32}, {31, 63}, {64, 96}, {95, 127}},
       {0, 31, 32, 63}},
      {CopyShape::S128x128b, 128, 16, {{0}, {127}}, {0, 127}},
      {CopyShape::S128x256b, 128, 32, {{0}, {127}}, {0, 127}},
      {CopyShape::S4x256b, 4, 32, {{0}, {96}}, {0, 3}},
  };
  for (auto &[shape, rows, rowBytes, lanes, sampleRows] : shapes) {
    CopySpec spec{shape, CopyDecompression::None};
    EXPECT_EQ(spec.numRows(), rows);
    EXPECT_EQ(spec.rowBytes(), rowBytes);
    // Core matrices of eight rows: 128 bytes; the second half 4096 later.
    std::vector<uint8_t> shared(8192), dense(rows * rowBytes);
    for (unsigned row = 0; row != rows; ++row)
      for (unsigned word = 0; word != rowBytes / 4; ++word) {
        uint32_t value = tag(row, word);
        std::memcpy(&shared[row * 16 + word / 4 * 4096 + word % 4 * 4], &value,
                    4);
      }
    ASSERT_EQ(message(TensorMemory::readCopySource(
                  spec, plainDescriptor(4096, 128), shared, dense)),
              "no error");
    TensorMemory memory;
    allocateOk(memory, 512);
    EXPECT_EQ(message(memory.checkCopy(spec, 100)), "no error");
    memory.writeCopy(spec, 100, dense, {});
    for (unsigned i = 0; i != sampleRows.size(); ++i)
      for (unsigned lane : lanes[i])
        for (unsigned word = 0; word != rowBytes / 4; ++word)
          EXPECT_EQ(memory.read(lane, 100 + word), tag(sampleRows[i], word));
    unsigned written = 0;
    for (unsigned lane = 0; lane != 128; ++lane)
      written += memory.definedBytes(lane, 100) == 0xF;
    EXPECT_EQ(written, shape == CopyShape::S4x256b ? 4u : 128u);
  }
}

TEST(TensorMemory, CopyErrors) {
  TensorMemory memory;
  allocateOk(memory, 512);
  CopySpec spec{CopyShape::S32x128bWarpx4, CopyDecompression::None};
  EXPECT_NE(message(memory.checkCopy(spec, 509)), "no error");
  EXPECT_NE(message(memory.checkCopy(spec, tag(32, 0))), "no error");
  std::vector<uint8_t> shared(511), dense(512, 0xAA);
  EXPECT_NE(message(TensorMemory::readCopySource(spec, plainDescriptor(0, 128),
                                                 shared, dense)),
            "no error");
  EXPECT_EQ(dense[0], 0xAA);
}

TEST(TensorMemory, CopyDecompresses) {
  std::vector<uint8_t> shared(512), dense(512);
  shared[0] = 0x21;
  shared[7] = 0xF3;
  CopySpec four{CopyShape::S32x128bWarpx4, CopyDecompression::B4x16P64};
  ASSERT_EQ(message(TensorMemory::readCopySource(four, plainDescriptor(0, 128),
                                                 shared, dense)),
            "no error");
  EXPECT_EQ(dense[0], 1 << 2);
  EXPECT_EQ(dense[1], 2 << 2);
  EXPECT_EQ(dense[14], 3 << 2);
  EXPECT_EQ(dense[15], 15 << 2);
  CopySpec six{CopyShape::S32x128bWarpx4, CopyDecompression::B6x16P32};
  std::fill(shared.begin(), shared.end(), 0);
  shared[1] = 0xF0;  // bits 12 to 15: element 2
  shared[2] = 0x03;  // bits 16 and 17
  shared[11] = 0x04; // bit 90: element 15
  ASSERT_EQ(message(TensorMemory::readCopySource(six, plainDescriptor(0, 128),
                                                 shared, dense)),
            "no error");
  for (unsigned i = 0; i != 16; ++i)
    EXPECT_EQ(dense[i], i == 2 ? 0x3F : i == 15 ? 0x01 : 0);
  unsigned bytes = 0;
  TensorMemory::forEachCopyChunk(
      six, plainDescriptor(0, 128),
      [&](uint32_t, unsigned count, unsigned) { bytes += count; });
  EXPECT_EQ(bytes, 32u * 12);
}

TEST(TensorMemory, CopyCarriesUndefinedBytes) {
  TensorMemory memory;
  allocateOk(memory, 512);
  CopySpec spec{CopyShape::S32x128bWarpx4, CopyDecompression::None};
  std::vector<uint8_t> dense(512, 1), defined(512, 1);
  defined[2] = 0;
  memory.writeCopy(spec, 0, dense, defined);
  EXPECT_EQ(memory.definedBytes(64, 0), 0xB);
  EXPECT_EQ(memory.definedBytes(1, 0), 0xF);
}

//===----------------------------------------------------------------------===//
// Operands of tcgen05.mma
//===----------------------------------------------------------------------===//

InstructionDescriptor makeDescriptor(unsigned m, unsigned n, unsigned ctaGroup,
                                     bool ws = false) {
  InstructionDescriptor descriptor;
  descriptor.kind = MmaKind::F16;
  descriptor.m = m;
  descriptor.n = n;
  descriptor.k = 16;
  descriptor.ctaGroup = ctaGroup;
  descriptor.warpSpecialized = ws;
  return descriptor;
}

/// Every layout of D, by the manual's figures.
TEST(TensorMemory, AccumulatorLayouts) {
  struct {
    InstructionDescriptor descriptor;
    AccumulatorLayout layout;
    // Element (row, column) of the CTA and its lane and column.
    unsigned row, column, lane, cellColumn;
  } cases[] = {
      {makeDescriptor(128, 64, 1), AccumulatorLayout::D, 77, 63, 77, 63},
      {makeDescriptor(256, 64, 2), AccumulatorLayout::A, 77, 63, 77, 63},
      {makeDescriptor(128, 64, 2), AccumulatorLayout::B, 10, 33, 74, 1},
      {makeDescriptor(64, 64, 1), AccumulatorLayout::F, 35, 9, 67, 9},
      {makeDescriptor(64, 64, 1, true), AccumulatorLayout::E, 35, 40, 99, 8},
      {makeDescriptor(32, 64, 1, true), AccumulatorLayout::G, 5, 35, 69, 3},
  };
  for (auto &[descriptor, layout, row, column, lane, cellColumn] : cases) {
    EXPECT_EQ(accumulatorLayout(descriptor), layout);
    TensorCell cell =
        TensorMemory::accumulatorCell(descriptor, 100, row, column);
    EXPECT_EQ(cell.lane, lane);
    EXPECT_EQ(cell.column, 100 + cellColumn);

    // Written and read back; no two elements in a cell.
    TensorMemory memory;
    allocateOk(memory, 512);
    EXPECT_EQ(message(memory.checkAccumulator(descriptor, 100)), "no error");
    unsigned rows = descriptor.rowsPerCta();
    std::vector<uint32_t> d(size_t(rows) * descriptor.n), copy(d.size());
    for (size_t i = 0; i != d.size(); ++i)
      d[i] = static_cast<uint32_t>(i);
    EXPECT_TRUE(memory.readAccumulator(descriptor, 100, copy).has_value());
    memory.writeAccumulator(descriptor, 100, d);
    EXPECT_FALSE(memory.readAccumulator(descriptor, 100, copy).has_value());
    EXPECT_EQ(copy, d);
    EXPECT_EQ(memory.read(lane, 100 + cellColumn), column * rows + row);
    TensorRegion region = TensorMemory::accumulatorRegion(descriptor, 100);
    EXPECT_EQ(region.numColumns,
              layout == AccumulatorLayout::G ? 16u
              : layout == AccumulatorLayout::B || layout == AccumulatorLayout::E
                  ? 32u
                  : 64u);
  }
  InstructionDescriptor sparse = makeDescriptor(128, 64, 2);
  sparse.sparse = true;
  EXPECT_EQ(accumulatorLayout(sparse), AccumulatorLayout::C);
}

TEST(TensorMemory, AccumulatorInUpperHalves) {
  TensorMemory memory;
  allocateOk(memory, 512);
  InstructionDescriptor descriptor = makeDescriptor(64, 8, 1);
  EXPECT_EQ(message(memory.checkAccumulator(descriptor, tag(16, 0))),
            "no error");
  EXPECT_NE(message(memory.checkAccumulator(descriptor, tag(32, 0))),
            "no error");
  EXPECT_NE(
      message(memory.checkAccumulator(makeDescriptor(128, 8, 1), tag(16, 0))),
      "no error");
  EXPECT_EQ(TensorMemory::accumulatorCell(descriptor, tag(16, 0), 17, 0).lane,
            49u);
}

TEST(TensorMemory, DisabledLanesKeepTheirContent) {
  TensorMemory memory = makeTagged();
  InstructionDescriptor descriptor = makeDescriptor(128, 8, 1);
  std::bitset<128> disabled;
  disabled.set(3);
  memory.writeAccumulator(descriptor, 0, std::vector<uint32_t>(1024, 9),
                          disabled);
  EXPECT_EQ(memory.read(3, 2), tag(3, 2));
  EXPECT_EQ(memory.read(4, 2), 9u);
}

TEST(TensorMemory, OperandA) {
  TensorMemory memory = makeTagged();
  InstructionDescriptor descriptor = makeDescriptor(128, 8, 1);
  memory.write(70, 33, 0x56781234);
  std::vector<uint8_t> dense(128 * 16 * 2);
  auto read = [&] {
    llvm::Expected<std::optional<TensorCell>> result =
        memory.readOperandA(descriptor, 32, dense);
    EXPECT_TRUE(bool(result));
    return *result;
  };
  EXPECT_FALSE(read());
  // Column 1 holds k = 2 and 3.
  uint16_t code;
  std::memcpy(&code, &dense[(70 * 16 + 2) * 2], 2);
  EXPECT_EQ(code, 0x1234);
  std::memcpy(&code, &dense[(70 * 16 + 3) * 2], 2);
  EXPECT_EQ(code, 0x5678);

  descriptor.kind = MmaKind::MXF8F6F4;
  descriptor.k = 32;
  descriptor.aFormat = ElementFormat::E4M3;
  dense.resize(128 * 32);
  EXPECT_FALSE(read());
  EXPECT_EQ(dense[70 * 32 + 5], 0x12);

  // FP4 in bits 2 to 5, FP6 in bits 0 to 5.
  memory.write(70, 33, 0x3C040800);
  descriptor.aFormat = ElementFormat::E2M1;
  read();
  EXPECT_EQ(dense[70 * 32 + 5], 2);
  EXPECT_EQ(dense[70 * 32 + 6], 1);
  EXPECT_EQ(dense[70 * 32 + 7], 15);
  descriptor.aFormat = ElementFormat::E3M2;
  read();
  EXPECT_EQ(dense[70 * 32 + 7], 0x3C);

  descriptor.kind = MmaKind::MXF4;
  descriptor.aFormat = ElementFormat::E2M1;
  descriptor.k = 64;
  dense.resize(128 * 64);
  read();
  EXPECT_EQ(dense[70 * 64 + 8 + 7], 0x3);
  EXPECT_EQ(dense[70 * 64 + 8 + 2], 0x8);

  memory.write(9, 35, 0, 0x7);
  EXPECT_EQ(read(), (TensorCell{9, 35}));
  EXPECT_NE(message(memory.readOperandA(descriptor, 508, dense)), "no error");
}

/// The 512-byte atom of block scales, copied and then read as an instruction
/// reads it: byte (r % 32) * 16 + r / 32 * 4 + k is the scale of row r.
TEST(TensorMemory, ScalesFromTheAtom) {
  TensorMemory memory;
  allocateOk(memory, 512);
  std::vector<uint8_t> atom(512), dense(512);
  auto scale = [](unsigned row, unsigned k) {
    return static_cast<uint8_t>(row * 3 + k * 71);
  };
  for (unsigned row = 0; row != 128; ++row)
    for (unsigned k = 0; k != 4; ++k)
      atom[row % 32 * 16 + row / 32 * 4 + k] = scale(row, k);
  CopySpec spec{CopyShape::S32x128bWarpx4, CopyDecompression::None};
  ASSERT_EQ(message(TensorMemory::readCopySource(spec, plainDescriptor(0, 128),
                                                 atom, dense)),
            "no error");
  memory.writeCopy(spec, 40, dense, {});
  for (unsigned id = 0; id != 4; ++id) {
    std::vector<uint8_t> scales(128);
    std::optional<ScaleFault> fault;
    // The upper bits of the address do not count.
    EXPECT_EQ(
        message(memory.readScales(40 | 0x80000000, 128, id, 1, scales, fault)),
        "no error");
    EXPECT_FALSE(fault);
    for (unsigned row = 0; row != 128; ++row)
      EXPECT_EQ(scales[row], scale(row, id));
  }
  std::vector<uint8_t> pairs(256);
  std::optional<ScaleFault> fault;
  EXPECT_EQ(message(memory.readScales(40, 128, 2, 2, pairs, fault)),
            "no error");
  EXPECT_EQ(pairs[2 * 77 + 1], scale(77, 3));
}

TEST(TensorMemory, ScaleFaults) {
  TensorMemory memory = makeTagged();
  for (unsigned quarter = 0; quarter != 4; ++quarter)
    for (unsigned lane = 0; lane != 32; ++lane)
      memory.write(32 * quarter + lane, 0, lane);
  std::vector<uint8_t> scales(32);
  std::optional<ScaleFault> fault;
  EXPECT_EQ(message(memory.readScales(0, 32, 0, 1, scales, fault)), "no error");
  EXPECT_FALSE(fault);

  // Another byte of the cell does not matter, the selected one does.
  memory.write(64 + 5, 0, 5 | 0x900);
  (void)message(memory.readScales(0, 32, 0, 1, scales, fault));
  EXPECT_FALSE(fault);
  (void)message(memory.readScales(0, 32, 1, 1, scales, fault));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, ScaleFault::Mismatch);
  EXPECT_EQ(fault->row, 5u);
  EXPECT_EQ(fault->cell, (TensorCell{69, 0}));

  fault.reset();
  memory.write(7, 0, 7, 0xE);
  (void)message(memory.readScales(0, 32, 0, 1, scales, fault));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, ScaleFault::Undefined);
  EXPECT_EQ(fault->cell, (TensorCell{7, 0}));

  // Only the quarters that are read count.
  fault.reset();
  (void)message(memory.readScales(0, 32, 0, 1, scales, fault, 0xC));
  EXPECT_FALSE(fault);
  EXPECT_NE(message(memory.readScales(510, 128, 0, 1, scales, fault)),
            "no error");
}

} // namespace
