//===- TensorCoreWordsTest.cpp - Published result words ---------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Words that tensor cores gave, published by north-numerical-computing (arXiv
// 2512.07004). All were made with mma.sync or WMMA: they prove mma.sync and the
// adder, as far as tcgen05.mma shares it. The data is not part of this project;
// see LPFA_TENSOR_CORE_WORDS_DIR in CMakeLists.txt.

#include "lpfa/Simulator/TensorCore.h"
#include "gtest/gtest.h"
#include <cstring>
#include <fstream>
#include <vector>

using namespace lpfa::sim;

namespace {

/// binary32 patterns: a and b (cases x k), c and d (cases).
std::vector<uint32_t> readWords(const std::string &name) {
  std::ifstream file(std::string(LPFA_WORDS_DIR) + "/" + name + ".bin",
                     std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)),
                          std::istreambuf_iterator<char>());
  std::vector<uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), words.size() * 4);
  return words;
}

void pushElement(std::vector<uint8_t> &codes, ElementFormat format,
                 uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  uint32_t code = format == ElementFormat::TF32 ? bits : encode(format, value);
  for (unsigned byte = 0; byte != containerBytes(format); ++byte)
    codes.push_back(static_cast<uint8_t>(code >> (8 * byte)));
}

void compare(const std::string &name, ElementFormat format, ElementFormat d,
             MmaArithmetic arithmetic, bool accumulate) {
  if (!*LPFA_WORDS_DIR)
    GTEST_SKIP() << "set LPFA_TENSOR_CORE_WORDS_DIR to the folder of the words";
  std::vector<uint32_t> a = readWords(name + ".a"), b = readWords(name + ".b");
  std::vector<uint32_t> c = readWords(name + ".c");
  std::vector<uint32_t> expected = readWords(name + ".d");
  ASSERT_FALSE(expected.empty());
  ASSERT_EQ(c.size(), expected.size());
  ASSERT_EQ(a.size(), b.size());
  unsigned k = a.size() / expected.size();
  unsigned matches = 0;
  for (size_t i = 0; i != expected.size(); ++i) {
    std::vector<uint8_t> codesA, codesB;
    for (unsigned j = 0; j != k; ++j) {
      pushElement(codesA, format, a[i * k + j]);
      pushElement(codesB, format, b[i * k + j]);
    }
    MmaProblem problem;
    problem.m = problem.n = 1;
    problem.k = k;
    problem.arithmetic = arithmetic;
    problem.a = {format, codesA.data(), false, nullptr};
    problem.b = {format, codesB.data(), false, nullptr};
    problem.dFormat = d;
    problem.accumulate = accumulate;
    uint32_t cell = c[i];
    if (d == ElementFormat::F16)
      cell = encode(d, decode(ElementFormat::F32, cell));
    multiply(problem, &cell, 1, 1);
    if (d == ElementFormat::F16) {
      float value = decode(d, cell);
      std::memcpy(&cell, &value, sizeof(value));
    }
    matches += cell == expected[i];
  }
  EXPECT_EQ(matches, expected.size());
}

TEST(TensorCoreWords, MmaSyncB200F16) {
  compare("b200_fp16_f32", ElementFormat::F16, ElementFormat::F32,
          MmaArithmetic::Hardware, true);
}

TEST(TensorCoreWords, MmaSyncB200F16WithF16Accumulator) {
  compare("b200_fp16_f16", ElementFormat::F16, ElementFormat::F16,
          MmaArithmetic::Hardware, true);
}

TEST(TensorCoreWords, MmaSyncB200BF16) {
  compare("b200_bf16_f32", ElementFormat::BF16, ElementFormat::F32,
          MmaArithmetic::Hardware, true);
}

TEST(TensorCoreWords, MmaSyncB200TF32) {
  compare("b200_tf32_f32", ElementFormat::TF32, ElementFormat::F32,
          MmaArithmetic::Hardware, true);
}

// These words are the sum of the products alone, without C.
TEST(TensorCoreWords, MmaSyncH100E4M3) {
  compare("h100_e4m3_f32", ElementFormat::E4M3, ElementFormat::F32,
          MmaArithmetic::HopperFp8, false);
}

} // namespace
