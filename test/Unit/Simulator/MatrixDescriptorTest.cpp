//===- MatrixDescriptorTest.cpp - Shared-memory matrices --------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Simulator/MatrixDescriptor.h"
#include "lpfa/Simulator/TensorMap.h"
#include "gtest/gtest.h"
#include <cstring>
#include <random>
#include <set>
#include <vector>

using namespace lpfa::sim;

namespace {

uint64_t makeBits(uint32_t start, uint32_t leading, uint32_t stride,
                  uint64_t swizzle) {
  return start >> 4 | uint64_t(leading >> 4) << 16 |
         uint64_t(stride >> 4) << 32 | uint64_t(1) << 46 | swizzle << 61;
}

MatrixDescriptor decodeOk(uint64_t bits) {
  llvm::Expected<MatrixDescriptor> result = MatrixDescriptor::decode(bits);
  if (result)
    return *result;
  ADD_FAILURE() << llvm::toString(result.takeError());
  return {};
}

std::string message(llvm::Error error) {
  return error ? llvm::toString(std::move(error)) : "no error";
}

template <typename T> std::string message(llvm::Expected<T> value) {
  return value ? "no error" : llvm::toString(value.takeError());
}

TEST(MatrixDescriptor, Fields) {
  MatrixDescriptor descriptor = decodeOk(makeBits(0x1A400, 0x800, 0x400, 2));
  EXPECT_EQ(descriptor.start, 0x1A400u);
  EXPECT_EQ(descriptor.leadingOffset, 0x800u);
  EXPECT_EQ(descriptor.strideOffset, 0x400u);
  EXPECT_EQ(descriptor.swizzle, MatrixSwizzle::B128);
  EXPECT_EQ(decodeOk(makeBits(0, 0, 0, 0)).swizzle, MatrixSwizzle::None);
  EXPECT_EQ(decodeOk(makeBits(0, 0, 0, 1)).swizzle, MatrixSwizzle::B128Base32);
  EXPECT_EQ(decodeOk(makeBits(0, 0, 0, 4)).swizzle, MatrixSwizzle::B64);
  EXPECT_EQ(decodeOk(makeBits(0, 0, 0, 6)).swizzle, MatrixSwizzle::B32);

  // Without a swizzle the base offset says nothing.
  EXPECT_EQ(decodeOk(makeBits(0, 0, 128, 0) | uint64_t(4) << 49).strideOffset,
            128u);

  llvm::Expected<MatrixDescriptor> hopper = MatrixDescriptor::decode(
      uint64_t(1) << 62 | uint64_t(64) << 32, DescriptorVersion::Hopper);
  ASSERT_TRUE(bool(hopper));
  EXPECT_EQ(hopper->swizzle, MatrixSwizzle::B128);
  EXPECT_EQ(hopper->strideOffset, 1024u);
}

TEST(MatrixDescriptor, Errors) {
  EXPECT_NE(message(MatrixDescriptor::decode(0)).find("bits 46 to 48"),
            std::string::npos);
  EXPECT_NE(message(MatrixDescriptor::decode(makeBits(0, 0, 0, 3)))
                .find("swizzle code 3"),
            std::string::npos);
  EXPECT_NE(message(MatrixDescriptor::decode(makeBits(0, 0, 0, 2) | uint64_t(5)
                                                                        << 49))
                .find("base offset 5"),
            std::string::npos);
  std::vector<uint8_t> shared(1024), dense;
  OperandShape shape{128, 16, ElementFormat::F16, false, false};
  dense.resize(shape.denseBytes());
  EXPECT_NE(
      message(decodeOk(makeBits(0, 0, 1024, 2)).gather(shape, shared, dense))
          .find("outside the 1024 bytes"),
      std::string::npos);
  shape = {128, 32, ElementFormat::E2M1, true, false};
  EXPECT_NE(message(decodeOk(makeBits(0, 0, 0, 2)).gather(shape, shared, dense))
                .find("K-major"),
            std::string::npos);
  shape = {128, 8, ElementFormat::TF32, true, false};
  EXPECT_NE(message(decodeOk(makeBits(0, 0, 0, 2)).gather(shape, shared, dense))
                .find("32-byte atoms"),
            std::string::npos);
}

/// Gathers an operand whose element (row, k) holds row * 4096 + k, written
/// where `offset(row, k)` says.
template <typename Offset>
void checkSixteenBit(const MatrixDescriptor &descriptor, OperandShape shape,
                     Offset offset) {
  std::vector<uint8_t> shared(65536, 0xEE), dense(shape.denseBytes());
  std::set<uint32_t> used;
  for (unsigned row = 0; row != shape.rows; ++row)
    for (unsigned k = 0; k != shape.k; ++k) {
      auto value = static_cast<uint16_t>(row * 64 + k);
      uint32_t address = offset(row, k);
      ASSERT_TRUE(used.insert(address).second) << "two elements in one place";
      std::memcpy(&shared[address], &value, 2);
    }
  EXPECT_EQ(message(descriptor.gather(shape, shared, dense)), "no error");
  for (unsigned row = 0; row != shape.rows; ++row)
    for (unsigned k = 0; k != shape.k; ++k) {
      uint16_t value;
      std::memcpy(&value, &dense[(size_t(row) * shape.k + k) * 2], 2);
      ASSERT_EQ(value, row * 64 + k) << row << " " << k;
    }
}

/// Without swizzle the layout is 8x16-byte core matrices; by hand.
TEST(MatrixDescriptor, CoreMatricesWithoutSwizzle) {
  // K-major: core matrices of 128 bytes; 256 bytes along K, 512 along rows.
  checkSixteenBit(
      decodeOk(makeBits(0x400, 256, 512, 0)),
      {64, 16, ElementFormat::F16, false, false}, [](unsigned row, unsigned k) {
        return 0x400 + row / 8 * 512 + k / 8 * 256 + row % 8 * 16 + k % 8 * 2;
      });
  // MN-major: 16-byte blocks of rows at SBO, groups of 8 k at LBO.
  checkSixteenBit(
      decodeOk(makeBits(0x400, 128, 256, 0)),
      {64, 16, ElementFormat::F16, true, false}, [](unsigned row, unsigned k) {
        return 0x400 + row / 8 * 256 + k / 8 * 128 + k % 8 * 16 + row % 8 * 2;
      });
}

/// MN-major with the 128-byte swizzle: 64 rows a block.
TEST(MatrixDescriptor, MnMajorSwizzled) {
  checkSixteenBit(decodeOk(makeBits(0x400, 4096, 1024, 2)),
                  {128, 16, ElementFormat::BF16, true, false},
                  [](unsigned row, unsigned k) {
                    unsigned chunk = row % 64 / 8 ^ k % 8;
                    return 0x400 + row / 64 * 4096 + k / 8 * 1024 +
                           k % 8 * 128 + chunk * 16 + row % 8 * 2;
                  });
}

/// What a tensor map with a swizzle writes, a descriptor with the same swizzle
/// reads, also where the start is advanced inside the swizzle's atom.
TEST(MatrixDescriptor, ReadsWhatTensorMapsWrite) {
  struct {
    TensorMapSwizzle map;
    unsigned code;
    unsigned span;
  } modes[] = {{TensorMapSwizzle::B32, 6, 32},
               {TensorMapSwizzle::B64, 4, 64},
               {TensorMapSwizzle::B128, 2, 128}};
  for (auto [swizzle, code, span] : modes) {
    constexpr unsigned rows = 128, base = 0x2000;
    TensorMap map;
    map.element = TensorMapElement::U8;
    map.rank = 2;
    map.dims = {span, rows, 1, 1, 1};
    map.strides = {span, 0, 0, 0};
    map.box = {span, rows, 1, 1, 1};
    map.swizzle = swizzle;
    std::mt19937 random(span);
    std::vector<uint8_t> global(size_t(span) * rows), shared(65536);
    for (uint8_t &byte : global)
      byte = static_cast<uint8_t>(random());
    ASSERT_EQ(message(map.forEachRun({0, 0}, base,
                                     [&](const TensorMap::Run &run) {
                                       ASSERT_TRUE(run.inBounds);
                                       std::memcpy(&shared[run.sharedAddress],
                                                   &global[run.globalAddress],
                                                   run.globalBytes);
                                     })),
              "no error");
    OperandShape shape{rows, 32, ElementFormat::E4M3, false, false};
    std::vector<uint8_t> dense(shape.denseBytes());
    for (unsigned step = 0; step != span / 32; ++step) {
      MatrixDescriptor descriptor =
          decodeOk(makeBits(base + step * 32, 0, 8 * span, code));
      ASSERT_EQ(message(descriptor.gather(shape, shared, dense)), "no error");
      for (unsigned row = 0; row != rows; ++row)
        for (unsigned k = 0; k != 32; ++k)
          ASSERT_EQ(dense[row * 32 + k], global[row * span + step * 32 + k])
              << span << " " << step << " " << row << " " << k;
    }
  }
}

TEST(MatrixDescriptor, SubByteContainers) {
  std::vector<uint8_t> shared(8192, 0xEE);
  MatrixDescriptor descriptor = decodeOk(makeBits(0, 0, 1024, 2));
  // Row 9, second 16 bytes: chunk 1 ^ 1 of line 1 in the second group.
  uint8_t *unit = &shared[1024 + 128 + ((1 ^ 1) * 16)];

  OperandShape fp4{16, 32, ElementFormat::E2M1, false, false};
  std::vector<uint8_t> dense(fp4.denseBytes());
  for (unsigned i = 0; i != 8; ++i)
    unit[i] = static_cast<uint8_t>(2 * i | ((2 * i + 1) & 0xF) << 4);
  ASSERT_EQ(message(descriptor.gather(fp4, shared, dense)), "no error");
  for (unsigned k = 0; k != 16; ++k)
    EXPECT_EQ(dense[9 * 32 + 16 + k], k);

  // Packed nibbles: 32 in the same place.
  OperandShape packed{16, 64, ElementFormat::E2M1, false, true};
  dense.resize(packed.denseBytes());
  for (unsigned i = 0; i != 16; ++i)
    unit[i] = static_cast<uint8_t>(i | (15 - i) << 4);
  ASSERT_EQ(message(descriptor.gather(packed, shared, dense)), "no error");
  for (unsigned k = 0; k != 32; ++k)
    EXPECT_EQ(dense[9 * 64 + 32 + k], k % 2 ? 15 - k / 2 : k / 2);

  // Six bits: 0x3F in element 1 sets bits 6 to 11.
  OperandShape fp6{16, 32, ElementFormat::E2M3, false, false};
  dense.resize(fp6.denseBytes());
  std::memset(unit, 0, 16);
  unit[0] = 0xC0;
  unit[1] = 0x0F;
  unit[11] = 0xFC; // element 15
  ASSERT_EQ(message(descriptor.gather(fp6, shared, dense)), "no error");
  for (unsigned k = 0; k != 16; ++k)
    EXPECT_EQ(dense[9 * 32 + 16 + k], k == 1 || k == 15 ? 0x3F : 0);

  // Padding is not read.
  uint64_t bytes = 0;
  ASSERT_EQ(message(descriptor.forEachChunk(
                fp6, [&](const OperandChunk &chunk) { bytes += chunk.bytes; })),
            "no error");
  EXPECT_EQ(bytes, 16u * 32 * 6 / 8);
}

TEST(MatrixDescriptor, MnMajorTF32) {
  MatrixDescriptor descriptor = decodeOk(makeBits(0, 4096, 512, 1));
  OperandShape shape{64, 8, ElementFormat::TF32, true, false};
  std::vector<uint8_t> shared(8192), dense(shape.denseBytes());
  for (unsigned row = 0; row != 64; ++row)
    for (unsigned k = 0; k != 8; ++k) {
      // 32 rows a block; groups of four k; 32-byte atoms change places by line.
      uint32_t line = row / 32 * 4096 + k / 4 * 512 + k % 4 * 128;
      uint32_t address = line + ((row % 32 / 8) ^ (k % 4)) * 32 + row % 8 * 4;
      uint32_t value = row * 8 + k;
      std::memcpy(&shared[address], &value, 4);
    }
  ASSERT_EQ(message(descriptor.gather(shape, shared, dense)), "no error");
  for (unsigned i = 0; i != 64 * 8; ++i) {
    uint32_t value;
    std::memcpy(&value, &dense[i * 4], 4);
    EXPECT_EQ(value, i);
  }
}

} // namespace
