//===- ArraysTest.cpp - Tensors in .npy files -----------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Runtime/Arrays.h"
#include "gtest/gtest.h"

using namespace lpfa;

TEST(ArraysTest, Storage) {
  struct {
    const char *element;
    char kind;
    unsigned itemSize, codeBits;
  } cases[] = {
      {"f32", 'f', 4, 0},      {"f16", 'f', 2, 0},      {"bf16", 'u', 2, 16},
      {"f8E4M3FN", 'u', 1, 8}, {"f6E2M3FN", 'u', 1, 6}, {"f4E2M1FN", 'u', 1, 4},
      {"i1", 'b', 1, 0},       {"i64", 'i', 8, 0},      {"ui8", 'u', 1, 0},
      {"index", 'i', 8, 0},
  };
  for (auto &c : cases) {
    auto storage = getElementStorage(c.element);
    ASSERT_TRUE(storage.has_value()) << c.element;
    EXPECT_EQ(storage->kind, c.kind) << c.element;
    EXPECT_EQ(storage->itemSize, c.itemSize) << c.element;
    EXPECT_EQ(storage->codeBits, c.codeBits) << c.element;
  }
  for (const char *element : {"i3", "f128", "f8", "vector<2xf32>", "", "f"})
    EXPECT_FALSE(getElementStorage(element).has_value()) << element;
}

static std::string getError(const NpyArray &array, const std::string &element,
                            const std::vector<int64_t> &shape) {
  std::string error;
  EXPECT_FALSE(checkArray(array, element, shape, error));
  return error;
}

TEST(ArraysTest, Checks) {
  std::string error;
  NpyArray array = makeArray("f4E2M1FN", {2, 3});
  EXPECT_EQ(array.data.size(), 6u);
  EXPECT_TRUE(checkArray(array, "f4E2M1FN", {-1, 3}, error));
  EXPECT_EQ(getError(array, "f4E2M1FN", {-1, 4}),
            "the shape is 2x3, expected ?x4");
  EXPECT_EQ(getError(array, "f4E2M1FN", {}),
            "the shape is 2x3, expected a scalar");
  EXPECT_EQ(getError(array, "bf16", {2, 3}),
            "the elements are '|u1', expected uint16 (codes of bf16)");
  array.data[4] = 16;
  EXPECT_EQ(getError(array, "f4E2M1FN", {2, 3}),
            "element 4 is 16, which is not a code of f4E2M1FN");
  // ml_dtypes writes raw bytes; signless integers are signed or not.
  array.kind = 'V';
  EXPECT_TRUE(checkArray(array, "f8E5M2", {2, 3}, error));
  array.kind = 'u';
  EXPECT_TRUE(checkArray(array, "i8", {2, 3}, error));
  EXPECT_EQ(getError(array, "si8", {2, 3}),
            "the elements are '|u1', expected int8");
}

TEST(ArraysTest, PackedCodes) {
  // The low nibble is the even element.
  EXPECT_EQ(packCodes({1, 2, 3}, 4), (std::vector<uint8_t>{0x21, 0x03}));
  // Four codes of six bits in three bytes: 0b111111, 0, 0b000001, 0b100000.
  EXPECT_EQ(packCodes({0x3F, 0, 1, 0x20}, 6),
            (std::vector<uint8_t>{0x3F, 0x10, 0x80}));
  for (unsigned bits : {4u, 6u}) {
    std::vector<uint8_t> codes;
    for (unsigned i = 0; i < 101; ++i)
      codes.push_back(i * 7 % (1u << bits));
    std::vector<uint8_t> unpacked(codes.size());
    unpackCodes(packCodes(codes, bits), bits, unpacked);
    EXPECT_EQ(unpacked, codes);
  }
}
