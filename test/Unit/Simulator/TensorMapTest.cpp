//===- TensorMapTest.cpp - Tensor maps and boxes ----------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Simulator/TensorMap.h"
#include "lpfa/Simulator/Reduction.h"
#include "gtest/gtest.h"
#include <cstring>
#include <vector>

using namespace lpfa::sim;

namespace {

std::string message(llvm::Error error) {
  return error ? llvm::toString(std::move(error)) : "no error";
}

#define EXPECT_INVALID(map, text)                                              \
  EXPECT_NE(message((map).validate()).find(text), std::string::npos)           \
      << message((map).validate())

/// A matrix of 16-bit elements, `rows` x `columns`, box 8 x 16.
TensorMap makeMatrix(unsigned rows, unsigned columns) {
  TensorMap map;
  map.element = TensorMapElement::U16;
  map.rank = 2;
  map.globalAddress = 0x10000;
  map.dims = {columns, rows, 1, 1, 1};
  map.strides = {uint64_t(columns) * 2, 0, 0, 0};
  map.box = {16, 8, 1, 1, 1};
  return map;
}

std::vector<TensorMap::Run> runsOf(const TensorMap &map,
                                   llvm::ArrayRef<int32_t> coordinates,
                                   uint32_t shared = 0) {
  std::vector<TensorMap::Run> runs;
  EXPECT_EQ(message(map.forEachRun(
                coordinates, shared,
                [&](const TensorMap::Run &run) { runs.push_back(run); })),
            "no error");
  return runs;
}

TEST(TensorMap, BlobRoundTrip) {
  TensorMap map = makeMatrix(100, 64);
  map.dims[1] = uint64_t(1) << 31;
  map.swizzle = TensorMapSwizzle::B32;
  map.elementStrides[1] = 3;
  map.l2Promotion = 256;
  map.globalAddress = 0xFFFFFFFFFFFF0000;
  TensorMapBlob blob = map.encode();
  llvm::Expected<TensorMap> copy = TensorMap::decode(blob);
  ASSERT_TRUE(bool(copy));
  EXPECT_EQ(copy->encode(), blob);
  EXPECT_EQ(copy->dims, map.dims);
  EXPECT_EQ(copy->globalAddress, map.globalAddress);
  EXPECT_EQ(copy->elementStrides, map.elementStrides);
  EXPECT_EQ(copy->swizzle, map.swizzle);

  blob[0] ^= 1;
  llvm::Expected<TensorMap> broken = TensorMap::decode(blob);
  EXPECT_EQ(message(broken.takeError()), "the bytes are not a tensor map");
}

TEST(TensorMap, Names) {
  for (unsigned i = 0; i != 16; ++i) {
    auto element = static_cast<TensorMapElement>(i);
    EXPECT_EQ(parseTensorMapElement(tensorMapElementName(element)), element);
  }
  EXPECT_EQ(parseTensorMapSwizzle("128b_atom_64b"),
            TensorMapSwizzle::B128Atom64B);
  EXPECT_FALSE(parseTensorMapSwizzle("96b"));
}

TEST(TensorMap, Validation) {
  EXPECT_EQ(message(makeMatrix(10, 64).validate()), "no error");
  auto with = [](auto change) {
    TensorMap map = makeMatrix(10, 64);
    change(map);
    return map;
  };
  EXPECT_INVALID(with([](TensorMap &m) { m.rank = 6; }), "rank 6");
  EXPECT_INVALID(with([](TensorMap &m) { m.globalAddress = 8; }),
                 "global address 0x8");
  EXPECT_INVALID(with([](TensorMap &m) { m.strides[0] = 24; }),
                 "strides[0] = 24");
  EXPECT_INVALID(with([](TensorMap &m) { m.strides[0] = uint64_t(1) << 40; }),
                 "below 2^40");
  EXPECT_INVALID(with([](TensorMap &m) { m.dims[1] = 0; }), "dims[1] = 0");
  EXPECT_INVALID(
      with([](TensorMap &m) { m.dims[0] = (uint64_t(1) << 31) + 1; }),
      "is not in 1..2^31");
  EXPECT_INVALID(with([](TensorMap &m) { m.box[1] = 257; }), "box[1] = 257");
  EXPECT_INVALID(with([](TensorMap &m) { m.box[0] = 4; }),
                 "multiple of 16 bytes");
  EXPECT_INVALID(with([](TensorMap &m) {
                   m.box[0] = 32;
                   m.swizzle = TensorMapSwizzle::B32;
                 }),
                 "more than the 32 of the swizzle");
  EXPECT_INVALID(with([](TensorMap &m) { m.fill = TensorMapFill::NaN; }),
                 "NaN fill");
  EXPECT_INVALID(
      with([](TensorMap &m) { m.interleave = TensorMapInterleave::B32; }),
      "interleaved");
  EXPECT_INVALID(with([](TensorMap &m) { m.elementStrides[1] = 9; }),
                 "element stride 9");
  EXPECT_INVALID(with([](TensorMap &m) {
                   m.element = TensorMapElement::U4x16Align16;
                   m.globalAddress = 0x10010;
                 }),
                 "multiple of 32");
}

TEST(TensorMap, WalkErrors) {
  TensorMap map = makeMatrix(10, 64);
  auto walk = [&](llvm::ArrayRef<int32_t> coordinates, uint32_t shared) {
    return message(
        map.forEachRun(coordinates, shared, [](const TensorMap::Run &) {}));
  };
  EXPECT_NE(walk({0}, 0).find("1 coordinates"), std::string::npos);
  EXPECT_NE(walk({0, 0}, 64).find("0x40"), std::string::npos);
  EXPECT_NE(walk({4, 0}, 0).find("coordinate 4"), std::string::npos);
}

/// A box that sticks out on all sides of the tensor.
TEST(TensorMap, OutOfBounds) {
  TensorMap map = makeMatrix(5, 20);
  map.strides[0] = 48;
  map.box = {64, 8, 1, 1, 1};
  EXPECT_EQ(map.boxBytes(), 64u * 8 * 2);
  uint64_t shared = 0, global = 0;
  for (const TensorMap::Run &run : runsOf(map, {-8, -2})) {
    EXPECT_EQ(run.sharedAddress, shared);
    EXPECT_EQ(run.globalBytes, run.sharedBytes);
    shared += run.sharedBytes;
    // Row and columns of the run.
    int row = static_cast<int>(run.sharedAddress / 128) - 2;
    int column = static_cast<int>(run.sharedAddress % 128 / 2) - 8;
    int last = column + run.sharedBytes / 2 - 1;
    bool inside = row >= 0 && row < 5 && column >= 0 && last < 20;
    EXPECT_EQ(run.inBounds, inside) << row << " " << column;
    if (inside) {
      EXPECT_EQ(run.globalAddress, 0x10000u + row * 48 + column * 2);
      global += run.globalBytes;
    } else {
      EXPECT_TRUE(row < 0 || row >= 5 || last < 0 || column >= 20);
    }
  }
  EXPECT_EQ(shared, map.boxBytes());
  EXPECT_EQ(global, 5u * 20 * 2);
}

TEST(TensorMap, Swizzles) {
  struct {
    TensorMapSwizzle swizzle;
    unsigned columns;
    uint32_t (*address)(uint32_t);
  } modes[] = {
      {TensorMapSwizzle::None, 64, [](uint32_t a) { return a; }},
      {TensorMapSwizzle::B32, 16,
       [](uint32_t a) { return a ^ (a >> 3 & 0x10); }},
      {TensorMapSwizzle::B64, 32,
       [](uint32_t a) { return a ^ (a >> 3 & 0x30); }},
      {TensorMapSwizzle::B128, 64,
       [](uint32_t a) { return a ^ (a >> 3 & 0x70); }},
      {TensorMapSwizzle::B128Atom32B, 64,
       [](uint32_t a) { return a ^ (a >> 2 & 0x60); }},
      {TensorMapSwizzle::B128Atom32BFlip8B, 64,
       [](uint32_t a) { return a ^ (a >> 2 & 0x60) ^ (a >> 4 & 0x8); }},
      {TensorMapSwizzle::B128Atom64B, 64,
       [](uint32_t a) { return a ^ (a >> 1 & 0x40); }},
  };
  for (auto [swizzle, columns, address] : modes) {
    TensorMap map = makeMatrix(64, 64);
    map.swizzle = swizzle;
    map.box = {columns, 32, 1, 1, 1};
    // The pattern follows the address, not the box.
    uint32_t base = 0x4000 + 3 * 128, linear = base;
    for (const TensorMap::Run &run : runsOf(map, {0, 0}, base)) {
      EXPECT_EQ(run.sharedAddress, address(linear));
      linear += run.sharedBytes;
    }
    EXPECT_EQ(linear - base, map.boxBytes());
  }
}

/// A box narrower than the swizzle's span leaves gaps between its rows.
TEST(TensorMap, NarrowBoxesKeepTheSpan) {
  TensorMap map = makeMatrix(64, 64);
  map.swizzle = TensorMapSwizzle::B128;
  map.box = {48, 2, 1, 1, 1};
  EXPECT_EQ(map.boxBytes(), 192u);
  std::vector<TensorMap::Run> runs = runsOf(map, {0, 0});
  ASSERT_EQ(runs.size(), 12u);
  EXPECT_EQ(runs[5].sharedAddress, 80u);
  EXPECT_EQ(runs[6].sharedAddress, 128u + 16);
}

TEST(TensorMap, StoreRules) {
  TensorMap map = makeMatrix(10, 20);
  EXPECT_EQ(message(map.checkStore({0, 8})), "no error");
  EXPECT_NE(message(map.checkStore({0, -1})).find("coordinate -1"),
            std::string::npos);
  EXPECT_NE(message(map.checkStore({8, 0})).find("40 bytes"),
            std::string::npos);
  map.dims[0] = 16;
  EXPECT_EQ(message(map.checkStore({8, 0})), "no error");
}

TEST(TensorMap, LoadedValues) {
  TensorMap map = makeMatrix(10, 64);
  std::vector<uint8_t> bytes = {0x00, 0x30, 0x00, 0x32, 0x01, 0x10, 0x80, 0xFF};
  std::vector<uint8_t> copy = bytes;
  map.convertLoaded(copy);
  EXPECT_EQ(copy, bytes);
  map.element = TensorMapElement::TF32;
  map.convertLoaded(copy);
  EXPECT_EQ(copy, (std::vector<uint8_t>{0x00, 0x40, 0x00, 0x32, 0x00, 0xE0,
                                        0xFF, 0x7F}));
  map.fillPattern(copy);
  EXPECT_EQ(copy, std::vector<uint8_t>(8, 0));
  map.fill = TensorMapFill::NaN;
  map.fillPattern(copy);
  EXPECT_EQ(copy[0], 0xF7);
  EXPECT_EQ(copy[3], 0x7F);
}

TEST(TensorMap, ElementStridesThinTheBox) {
  TensorMap map = makeMatrix(64, 16);
  map.elementStrides[1] = 3;
  EXPECT_EQ(map.boxBytes(), 3u * 32);
  std::vector<TensorMap::Run> runs = runsOf(map, {0, 1});
  ASSERT_EQ(runs.size(), 6u);
  EXPECT_EQ(runs[2].globalAddress, 0x10000u + 4 * 32);
  EXPECT_EQ(runs[4].globalAddress, 0x10000u + 7 * 32);
}

/// Packed sequences through one map with a base 2^30 rows before the buffer:
/// rows past a sequence's end are out of bounds.
TEST(TensorMap, RaggedMapWrapsAround) {
  constexpr uint64_t rows = uint64_t(1) << 30, pitch = 256, buffer = 0x7F0000;
  constexpr int32_t start = 70, length = 37;
  TensorMap map;
  map.element = TensorMapElement::U8;
  map.rank = 3;
  map.dims = {128, rows, (uint64_t(1) << 31) - 1, 1, 1};
  map.strides = {pitch, pitch, 0, 0};
  map.box = {128, 16, 1, 1, 1};
  map.globalAddress = buffer - rows * pitch;
  for (int32_t row : {0, 32}) {
    std::vector<TensorMap::Run> runs = runsOf(
        map, {0, static_cast<int32_t>(rows) - length + row, start + length});
    ASSERT_EQ(runs.size(), 16u * 8);
    for (unsigned i = 0; i != runs.size(); ++i) {
      int32_t r = row + static_cast<int32_t>(i / 8);
      EXPECT_EQ(runs[i].inBounds, r < length);
      if (r < length)
        EXPECT_EQ(runs[i].globalAddress,
                  buffer + (start + r) * pitch + i % 8 * 16);
    }
  }
}

TEST(TensorMap, PackedElements) {
  TensorMap map;
  map.element = TensorMapElement::U4x16Align16;
  map.rank = 2;
  map.dims = {256, 4, 1, 1, 1};
  map.strides = {128, 0, 0, 0};
  map.box = {128, 2, 1, 1, 1};
  EXPECT_EQ(map.boxBytes(), 128u);
  std::vector<TensorMap::Run> runs = runsOf(map, {128, 1});
  ASSERT_EQ(runs.size(), 16u);
  EXPECT_EQ(runs[0].globalAddress, 128u + 64);
  EXPECT_EQ(runs[1].globalAddress, 128u + 72);
  EXPECT_EQ(runs[1].sharedAddress, 16u);
  EXPECT_EQ(runs[1].globalBytes, 8u);
  EXPECT_EQ(runs[1].sharedBytes, 16u);

  map.element = TensorMapElement::U6x16Align16;
  map.strides = {192, 0, 0, 0};
  runs = runsOf(map, {128, 1});
  ASSERT_EQ(runs.size(), 16u);
  EXPECT_EQ(runs[1].globalAddress, 192u + 96 + 12);
  EXPECT_EQ(runs[1].globalBytes, 12u);
  EXPECT_EQ(map.boxBytes(), 192u);

  map.element = TensorMapElement::U4x16Align8;
  map.box = {64, 2, 1, 1, 1};
  runs = runsOf(map, {32, 0});
  EXPECT_EQ(map.boxBytes(), 64u);
  EXPECT_EQ(runs[0].globalAddress, 16u);
  EXPECT_EQ(runs[0].globalBytes, 16u);
}

TEST(TensorMap, ReplaceField) {
  TensorMap map = makeMatrix(10, 64);
  auto replace = [&](TensorMapField field, unsigned ordinal, uint64_t value) {
    return message(map.replaceField(field, ordinal, value));
  };
  EXPECT_EQ(replace(TensorMapField::GlobalAddress, 0, 0x500), "no error");
  EXPECT_EQ(map.globalAddress, 0x500u);
  EXPECT_EQ(replace(TensorMapField::Rank, 0, 2), "no error");
  EXPECT_EQ(map.rank, 3u);
  EXPECT_EQ(replace(TensorMapField::GlobalDim, 2, 77), "no error");
  EXPECT_EQ(map.dims[2], 77u);
  EXPECT_EQ(replace(TensorMapField::GlobalStride, 1, 4096), "no error");
  EXPECT_EQ(map.strides[1], 4096u);
  EXPECT_EQ(replace(TensorMapField::ElementType, 0, 10), "no error");
  EXPECT_EQ(map.element, TensorMapElement::BF16);
  EXPECT_EQ(replace(TensorMapField::SwizzleMode, 0, 3), "no error");
  EXPECT_EQ(replace(TensorMapField::SwizzleAtomicity, 0, 3), "no error");
  EXPECT_EQ(map.swizzle, TensorMapSwizzle::B128Atom64B);
  EXPECT_EQ(replace(TensorMapField::FillMode, 0, 1), "no error");
  EXPECT_EQ(message(map.validate()), "no error");
  EXPECT_NE(replace(TensorMapField::Rank, 0, 5), "no error");
  EXPECT_NE(replace(TensorMapField::BoxDim, 5, 1), "no error");
  EXPECT_NE(replace(TensorMapField::SwizzleMode, 0, 4), "no error");
}

template <typename T>
T reduceOne(ReduceOp op, ReduceType type, T old, T operand) {
  std::vector<uint8_t> destination(sizeof(T)), source(sizeof(T));
  std::memcpy(destination.data(), &old, sizeof(T));
  std::memcpy(source.data(), &operand, sizeof(T));
  reduce(op, type, destination, source);
  std::memcpy(&old, destination.data(), sizeof(T));
  return old;
}

TEST(Reduction, Operations) {
  EXPECT_EQ(reduceOne<uint32_t>(ReduceOp::Add, ReduceType::U32, ~0u, 2), 1u);
  EXPECT_EQ(reduceOne<int32_t>(ReduceOp::Min, ReduceType::S32, -1, 2), -1);
  EXPECT_EQ(reduceOne<uint32_t>(ReduceOp::Min, ReduceType::U32, -1, 2), 2u);
  EXPECT_EQ(reduceOne<uint32_t>(ReduceOp::Inc, ReduceType::U32, 7, 7), 0u);
  EXPECT_EQ(reduceOne<uint32_t>(ReduceOp::Dec, ReduceType::U32, 0, 7), 7u);
  EXPECT_EQ(reduceOne<uint32_t>(ReduceOp::Dec, ReduceType::U32, 5, 7), 4u);
  EXPECT_EQ(reduceOne<uint64_t>(ReduceOp::Xor, ReduceType::U64, 6, 3), 5u);
  // binary32 flushes subnormals, binary16 keeps them.
  EXPECT_EQ(reduceOne<float>(ReduceOp::Add, ReduceType::F32, 0x1p-127f, 1.0f),
            1.0f);
  EXPECT_EQ(
      reduceOne<float>(ReduceOp::Add, ReduceType::F32, 0x1p-127f, 0x1p-127f),
      0.0f);
  EXPECT_EQ(reduceOne<uint16_t>(ReduceOp::Add, ReduceType::F16, 1, 1), 2u);
  // 1 + 2^-8 of BF16 is a tie: to even.
  EXPECT_EQ(
      reduceOne<uint16_t>(ReduceOp::Add, ReduceType::BF16, 0x3F80, 0x3B80),
      0x3F80u);
  EXPECT_EQ(reduceOne<uint16_t>(ReduceOp::Max, ReduceType::F16, 0x7E00, 0x3C00),
            0x3C00u);
  EXPECT_FALSE(isLegalReduction(ReduceOp::Min, ReduceType::F32));
  EXPECT_TRUE(isLegalReduction(ReduceOp::Add, ReduceType::F32));
}

} // namespace
