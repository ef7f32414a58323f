//===- WitnessCases.h - What GPU and model both do --------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cases of HardwareWitnessTest, shared by the program that runs them on a
// GPU (Witness.cu) and the test that runs them in the model. Inputs are
// functions of their position; results are compared by hash.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_TEST_SIMULATOR_WITNESSCASES_H
#define LPFA_TEST_SIMULATOR_WITNESSCASES_H

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace witness {

inline uint32_t mix(uint32_t x) {
  x = (x ^ x >> 16) * 0x7FEB352D;
  x = (x ^ x >> 15) * 0x846CA68B;
  return x ^ x >> 16;
}

/// FNV-1a.
inline uint64_t hash(const void *data, size_t size) {
  auto *bytes = static_cast<const uint8_t *>(data);
  uint64_t result = 14695981039346656037u;
  for (size_t i = 0; i != size; ++i)
    result = (result ^ bytes[i]) * 1099511628211u;
  return result;
}

inline void setWord(std::vector<uint8_t> &bytes, size_t index, uint32_t word) {
  std::memcpy(&bytes[index * 4], &word, 4);
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

constexpr size_t globalBytes = 4 << 20;
/// From here on: words of every binary32 exponent with telling mantissas.
constexpr size_t specialOffset = 3 << 20;
/// From here on: what stores read.
constexpr size_t sourceOffset = 1 << 20;

inline std::vector<uint8_t> globalImage() {
  std::vector<uint8_t> bytes(globalBytes);
  for (size_t i = 0; i != globalBytes / 4; ++i)
    setWord(bytes, i, mix(uint32_t(i) + 1));
  constexpr uint32_t mantissas[] = {0,      0x1000,   0x1001,   0x0FFF,
                                    0x3000, 0x7FFFFF, 0x400001, 0x7FF000};
  for (uint32_t i = 0; i != 4096; ++i)
    setWord(bytes, specialOffset / 4 + i, (i & 511) << 23 | mantissas[i >> 9]);
  return bytes;
}

/// Shared memory that a load may write; it holds `background` before.
constexpr size_t imageBytes = 48 << 10;
constexpr uint8_t background = 0xA5;

/// Element codes as in tensormap.replace.
enum Element {
  U8 = 0,
  U16 = 1,
  U32 = 2,
  S32 = 3,
  U64 = 4,
  S64 = 5,
  F16 = 6,
  F32 = 7,
  F32Ftz = 8,
  F64 = 9,
  BF16 = 10,
  TF32 = 11,
  TF32Ftz = 12
};

struct LoadCase {
  std::string name;
  int element;
  std::vector<uint64_t> dims, strides;
  std::vector<uint32_t> box;
  std::vector<int32_t> coordinates;
  int swizzle = 0;
  bool nanFill = false;
  std::vector<uint32_t> elementStrides = {};
  uint32_t sharedOffset = 0;
  /// Added to the address of the global memory, modulo 2^64.
  uint64_t baseOffset = 0;
};

inline std::vector<LoadCase> loadCases() {
  std::vector<LoadCase> cases;
  // Every inner box that a swizzle admits, also off the pattern's start.
  for (int swizzle = 0; swizzle != 4; ++swizzle) {
    uint32_t span = swizzle ? 16u << swizzle : 192;
    for (uint32_t inner = 16; inner <= span; inner += 16)
      cases.push_back({"swizzle" + std::to_string(swizzle) + "_inner" +
                           std::to_string(inner),
                       U8,
                       {4096, 200},
                       {4096},
                       {inner, 24},
                       {64, 5},
                       swizzle});
    LoadCase offset{"swizzle" + std::to_string(swizzle) + "_offset",
                    U16,
                    {2048, 200},
                    {4096},
                    {swizzle ? span / 4 : 64, 40},
                    {8, 3},
                    swizzle};
    offset.sharedOffset = 384;
    cases.push_back(offset);
  }
  // Fill patterns beyond both ends.
  for (auto [element, bytes] :
       {std::pair(F16, 2), std::pair(BF16, 2), std::pair(F32, 4),
        std::pair(F32Ftz, 4), std::pair(TF32, 4), std::pair(F64, 8)})
    for (bool nan : {false, true}) {
      uint64_t step = 16 / bytes;
      std::string suffix =
          "_element" + std::to_string(element) + (nan ? "_nan" : "_zero");
      cases.push_back({"fill_after" + suffix,
                       element,
                       {20 + step / 2, 9},
                       {256},
                       {uint32_t(64 / bytes), 8},
                       {int32_t(step), 5},
                       2,
                       nan});
      cases.push_back({"fill_before" + suffix,
                       element,
                       {20, 9},
                       {256},
                       {16, 8},
                       {-int32_t(step), -3},
                       0,
                       nan});
    }
  cases.push_back({"ragged_end", U16, {20, 100}, {256}, {32, 8}, {0, 5}});
  // What conversions on the way do to every exponent.
  for (int element : {F32, F32Ftz, TF32, TF32Ftz}) {
    LoadCase special{"special_element" + std::to_string(element),
                     element,
                     {64, 64},
                     {256},
                     {64, 64},
                     {0, 0}};
    special.baseOffset = specialOffset;
    cases.push_back(special);
  }
  LoadCase strided{"stride2", U16, {64, 100}, {128}, {32, 12}, {0, 3}};
  strided.elementStrides = {1, 2};
  cases.push_back(strided);
  strided = {"stride3",   U16,        {64, 10, 20},
             {128, 4096}, {32, 8, 5}, {0, -4, 17}};
  strided.elementStrides = {1, 3, 2};
  cases.push_back(strided);
  strided = {"stride_inner", U16, {64, 100}, {128}, {32, 4}, {0, 3}};
  strided.elementStrides = {2, 1};
  cases.push_back(strided);
  cases.push_back({"rank1", U8, {1000}, {}, {256}, {896}});
  cases.push_back(
      {"rank3", F32, {40, 11, 7}, {160, 1760}, {16, 5, 3}, {28, 8, 5}, 2});
  cases.push_back({"rank4",
                   BF16,
                   {64, 9, 5, 3},
                   {128, 1152, 5760},
                   {64, 4, 3, 2},
                   {0, -1, 3, 2},
                   3});
  cases.push_back({"rank5",
                   U8,
                   {48, 5, 4, 3, 2},
                   {48, 240, 960, 2880},
                   {32, 2, 2, 2, 2},
                   {16, 4, -1, 1, 0},
                   1});
  cases.push_back(
      {"largest", U8, {uint64_t(1) << 31, 100}, {4096}, {64, 4}, {128, 7}});
  cases.push_back(
      {"far_before", U8, {4096, 200}, {4096}, {64, 4}, {INT32_MIN, INT32_MIN}});
  cases.push_back({"far_after",
                   U8,
                   {4096, 200},
                   {4096},
                   {64, 4},
                   {INT32_MAX - 15, INT32_MAX}});
  // Sequences of one packed tensor through a base far before it.
  for (int32_t row : {0, 32}) {
    constexpr int32_t rows = 1 << 30, start = 70, length = 37;
    LoadCase ragged{"ragged_row" + std::to_string(row),
                    U8,
                    {128, rows, (uint64_t(1) << 31) - 1},
                    {256, 256},
                    {128, 16, 1},
                    {0, rows - length + row, start + length},
                    3};
    ragged.baseOffset = -uint64_t(rows) * 256;
    cases.push_back(ragged);
  }
  return cases;
}

/// A box of 16 x 8 at two places of a matrix of 56 x 40 with rows of 64
/// elements. Operations: 0 store, 1 add, 2 min, 3 max, 4 inc, 5 dec.
struct StoreCase {
  const char *name;
  int element, bytes, operation;
};
constexpr int32_t storeCoordinates[2][2] = {{0, 0}, {48, 36}};
constexpr uint64_t storeDims[2] = {56, 40};
constexpr StoreCase storeCases[] = {
    {"store_u16", U16, 2, 0}, {"add_f32", F32, 4, 1}, {"add_f16", F16, 2, 1},
    {"add_bf16", BF16, 2, 1}, {"min_f16", F16, 2, 2}, {"max_bf16", BF16, 2, 3},
    {"add_u32", U32, 4, 1},   {"min_s32", S32, 4, 2}, {"inc_u32", U32, 4, 4},
    {"dec_u32", U32, 4, 5},   {"add_u64", U64, 8, 1}, {"max_s64", S64, 8, 3},
    {"add_f64", F64, 8, 1}};

//===----------------------------------------------------------------------===//
// Matrix instructions
//===----------------------------------------------------------------------===//

/// Random bits made elements of moderate size: of F16 and BF16 (|x| < 2), TF32,
/// E4M3 and E5M2 (|x| < 2), or any byte.
enum Masking { Half, Word, Byte, Integer };
inline uint32_t maskElements(Masking masking, uint32_t bits) {
  switch (masking) {
  case Half:
    return bits & 0xBFFFBFFF;
  case Word:
    return (bits & 0x807FFFFF) | (100 + (bits >> 23 & 31)) << 23;
  case Byte:
    return bits & 0xBFBFBFBF;
  case Integer:
    return bits;
  }
  return bits;
}

inline uint32_t maskAccumulator(uint32_t bits) {
  return (bits & 0x807FFFFF) | (110 + (bits >> 23 & 15)) << 23;
}

/// mma.sync on rounds of random registers: register `reg` of thread `thread`,
/// 0 to 3 of A, 4 and 5 of B, 6 to 9 of C.
constexpr uint32_t mmaRounds = 8, mmaKinds = 8;
inline uint32_t mmaBits(uint32_t round, uint32_t thread, uint32_t reg) {
  return mix(100000 + round * 512 + thread * 16 + reg);
}

/// mma.sync where it is least tame: kind 0 BF16, 1 TF32, 2 F16, 3 E4M3, 4 E5M2
/// and 5 F16 with an F16 accumulator, with arbitrary bits, infinities and NaN
/// included (of A and B in even rounds only); 6 BF16 and 7 TF32 with products
/// near the smallest numbers; 8 F16 with an F16 accumulator near its smallest.
constexpr uint32_t extremeRounds = 40, extremeKinds = 9;
inline uint32_t extremeBits(uint32_t kind, uint32_t round, uint32_t thread,
                            uint32_t reg) {
  uint32_t x = mix(round * 100000 + kind * 1000 + thread * 16 + reg);
  uint32_t y = mix(x ^ 0x1234567);
  bool isC = reg >= 6;
  switch (kind) {
  case 0:
  case 1:
    return round % 2 && !isC ? x & 0xBFFFBFFF : x;
  case 2:
  case 3:
  case 4:
    if (isC)
      return (x & 0x807FFFFF) | (100 + y % 50) << 23;
    return round % 2 ? x & 0xBFBFBFBF : x;
  case 5:
    return round % 2 ? x & 0xBFFFBFFF : x;
  case 6:
    if (isC)
      return (x & 0x807FFFFF) | y % 12 << 23;
    return (x & 0x807F807F) | (46 + y % 18) << 7 | (46 + (y >> 8) % 18) << 23;
  case 7:
    return (x & 0x807FFFFF) | (isC ? y % 12 : 46 + y % 18) << 23;
  default:
    return x & (y & 1 ? 0x8FFF8FFF : 0x9FFF9FFF);
  }
}

/// wgmma m64n8 with both operands in 64 KiB of shared memory.
struct WgmmaCase {
  const char *name;
  /// 0 F16, 1 BF16 (both MN-major), 2 TF32, 3 E4M3, 4 E5M2 by E4M3, 5 F16 with
  /// MN-major A.
  int kind;
  /// Leading and stride byte offset, swizzle code, start; of A and of B.
  uint32_t a[4], b[4];
};
constexpr WgmmaCase wgmmaLayouts[] = {
    {"none", 0, {256, 512, 0, 0}, {128, 1024, 0, 32768}},
    {"b128", 0, {0, 1024, 1, 0}, {0, 1024, 1, 32768}},
    {"b128_advanced", 0, {0, 1024, 1, 32}, {0, 1024, 1, 32832}},
    {"b64", 0, {0, 512, 2, 0}, {0, 512, 2, 32768}},
    {"b64_advanced", 0, {0, 512, 2, 32}, {0, 512, 2, 32800}},
    {"b32", 0, {0, 256, 3, 0}, {0, 256, 3, 32768}},
    {"b128_strided", 0, {0, 2048, 1, 0}, {0, 1024, 1, 32768}}};
constexpr WgmmaCase wgmmaTransposed[] = {
    {"mn_b128", 1, {4096, 1024, 1, 0}, {4096, 1024, 1, 32768}},
    {"mn_b64", 1, {2048, 512, 2, 0}, {2048, 512, 2, 32768}},
    {"mn_b32", 1, {1024, 256, 3, 0}, {1024, 256, 3, 32768}},
    {"mn_none", 1, {1024, 128, 0, 0}, {512, 128, 0, 32768}},
    {"mn_none_2", 1, {128, 1024, 0, 0}, {256, 512, 0, 32768}},
    {"mn_a_b128", 5, {4096, 2048, 1, 0}, {0, 1024, 1, 32768}}};

inline std::vector<WgmmaCase> wgmmaCases() {
  std::vector<WgmmaCase> cases;
  for (int kind : {0, 2, 3, 4})
    for (WgmmaCase layout : wgmmaLayouts) {
      layout.kind = kind;
      cases.push_back(layout);
    }
  for (const WgmmaCase &layout : wgmmaTransposed)
    cases.push_back(layout);
  return cases;
}

inline Masking wgmmaMasking(int kind) {
  return kind == 2 ? Word : kind == 3 || kind == 4 ? Byte : Half;
}

inline std::vector<uint8_t> wgmmaShared(int kind) {
  std::vector<uint8_t> bytes(65536);
  for (uint32_t i = 0; i != 65536 / 4; ++i)
    setWord(bytes, i, maskElements(wgmmaMasking(kind), mix(500000 + i)));
  return bytes;
}

inline uint32_t wgmmaAccumulator(uint32_t thread, uint32_t index) {
  return maskAccumulator(mix(900000 + thread * 4 + index));
}

inline uint64_t wgmmaDescriptor(const uint32_t (&fields)[4]) {
  return fields[3] >> 4 | uint64_t(fields[0] >> 4) << 16 |
         uint64_t(fields[1] >> 4) << 32 | uint64_t(fields[2]) << 62;
}

//===----------------------------------------------------------------------===//
// Conversions of binary32
//===----------------------------------------------------------------------===//

constexpr uint32_t conversionInputs = 1 << 20;
constexpr uint32_t conversionKinds = 12;
/// Upper 18 bits in turn with four patterns below. NaN is left out.
inline uint32_t conversionInput(uint32_t i) {
  constexpr uint32_t low[] = {0, 1, 0x2000, 0x3FFF};
  uint32_t bits = (i >> 2) << 14 | low[i & 3];
  return (bits & 0x7FFFFFFF) > 0x7F800000 ? bits & 0x807FFFFF : bits;
}

} // namespace witness

#endif // LPFA_TEST_SIMULATOR_WITNESSCASES_H
