//===- HardwareWitnessTest.cpp - Against an H200 ----------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an H200 computes in the cases of Inputs/WitnessCases.h, against the
// models: tensor maps, mma.sync, ldmatrix, wgmma with its shared-memory
// descriptors, conversions. Inputs/Witness.cu made the expected hashes.
//
//===----------------------------------------------------------------------===//

#include "Inputs/WitnessCases.h"
#include "lpfa/Simulator/Fragments.h"
#include "lpfa/Simulator/MatrixDescriptor.h"
#include "lpfa/Simulator/Reduction.h"
#include "lpfa/Simulator/TensorCore.h"
#include "lpfa/Simulator/TensorMap.h"
#include "gtest/gtest.h"
#include <fstream>
#include <map>

using namespace lpfa::sim;

namespace {

void expectHash(const std::string &name, const void *data, size_t size) {
  static const std::map<std::string, uint64_t> expected = [] {
    std::map<std::string, uint64_t> hashes;
    std::ifstream file(LPFA_WITNESS_FILE);
    std::string line;
    while (std::getline(file, line)) {
      size_t space = line.find(' ');
      hashes[line.substr(0, space)] =
          std::stoull(line.substr(space + 1), nullptr, 16);
    }
    return hashes;
  }();
  auto found = expected.find(name);
  ASSERT_NE(found, expected.end()) << name;
  EXPECT_EQ(witness::hash(data, size), found->second) << name;
}

std::string message(llvm::Error error) {
  return error ? llvm::toString(std::move(error)) : "no error";
}

TEST(HardwareWitness, TensorMapLoads) {
  std::vector<uint8_t> global = witness::globalImage();
  for (const witness::LoadCase &c : witness::loadCases()) {
    TensorMap map;
    map.element = static_cast<TensorMapElement>(c.element);
    map.rank = c.dims.size();
    std::copy(c.dims.begin(), c.dims.end(), map.dims.begin());
    std::copy(c.strides.begin(), c.strides.end(), map.strides.begin());
    std::copy(c.box.begin(), c.box.end(), map.box.begin());
    std::copy(c.elementStrides.begin(), c.elementStrides.end(),
              map.elementStrides.begin());
    map.swizzle = static_cast<TensorMapSwizzle>(c.swizzle);
    map.fill = static_cast<TensorMapFill>(c.nanFill);
    map.globalAddress = c.baseOffset;
    std::vector<uint8_t> image(witness::imageBytes, witness::background);
    ASSERT_EQ(message(map.forEachRun(
                  c.coordinates, c.sharedOffset,
                  [&](const TensorMap::Run &run) {
                    llvm::MutableArrayRef<uint8_t> target(
                        &image[run.sharedAddress], run.sharedBytes);
                    if (!run.inBounds)
                      return map.fillPattern(target);
                    ASSERT_LE(run.globalAddress + run.globalBytes,
                              global.size());
                    std::memcpy(target.data(), &global[run.globalAddress],
                                run.globalBytes);
                    map.convertLoaded(target);
                  })),
              "no error")
        << c.name;
    expectHash(c.name, image.data(), image.size());
  }
}

TEST(HardwareWitness, TensorMapStoresAndReductions) {
  constexpr ReduceOp ops[] = {ReduceOp::Add, ReduceOp::Add, ReduceOp::Min,
                              ReduceOp::Max, ReduceOp::Inc, ReduceOp::Dec};
  for (const witness::StoreCase &c : witness::storeCases) {
    std::vector<uint8_t> global = witness::globalImage();
    TensorMap map;
    map.element = static_cast<TensorMapElement>(c.element);
    map.rank = 2;
    map.dims = {witness::storeDims[0], witness::storeDims[1], 1, 1, 1};
    map.strides = {uint64_t(64) * c.bytes, 0, 0, 0};
    map.box = {16, 8, 1, 1, 1};
    for (int i = 0; i != 2; ++i) {
      const uint8_t *source = &global[witness::sourceOffset + 4096 * i];
      EXPECT_EQ(message(map.checkStore(witness::storeCoordinates[i])),
                "no error");
      EXPECT_EQ(message(map.forEachRun(
                    witness::storeCoordinates[i], 0,
                    [&](const TensorMap::Run &run) {
                      if (!run.inBounds)
                        return;
                      llvm::MutableArrayRef<uint8_t> target(
                          &global[run.globalAddress], run.globalBytes);
                      llvm::ArrayRef<uint8_t> from(source + run.sharedAddress,
                                                   run.globalBytes);
                      if (c.operation == 0)
                        std::copy(from.begin(), from.end(), target.begin());
                      else
                        reduce(ops[c.operation], *reduceType(map.element),
                               target, from);
                    })),
                "no error");
    }
    expectHash(c.name, global.data(), size_t(40) * 64 * c.bytes);
  }
}

struct MmaSync {
  ElementFormat a, b, d;
  unsigned k;
  MmaArithmetic arithmetic;
};

/// One m16n8 instruction of a warp: `operand(thread, register)` gives A (0 to
/// 3) and B (4, 5), `accumulator(thread, register)` C. Appends the four result
/// registers of every thread.
template <typename Operand, typename Accumulator>
void runMmaSync(const MmaSync &m, Operand operand, Accumulator accumulator,
                std::vector<uint32_t> &results) {
  unsigned bytes = containerBytes(m.a), bits = 8 * bytes;
  std::vector<uint8_t> a(16 * m.k * bytes), b(8 * m.k * bytes);
  std::vector<uint32_t> d(128);
  bool isF16 = m.d == ElementFormat::F16;
  for (unsigned t = 0; t != 32; ++t) {
    for (unsigned e = 0; e != 4 / bytes; ++e) {
      for (unsigned i = 0; i != numRegistersA(16, m.k, bits); ++i) {
        FragmentElement at = fragmentA(16, bits, t, i, e);
        uint32_t code = operand(t, i) >> (bits * e % 32);
        std::memcpy(&a[(at.row * m.k + at.column) * bytes], &code, bytes);
      }
      for (unsigned i = 0; i != numRegistersB(m.k, bits); ++i) {
        FragmentElement at = fragmentB(bits, t, i, e);
        uint32_t code = operand(t, 4 + i) >> (bits * e % 32);
        std::memcpy(&b[(at.column * m.k + at.row) * bytes], &code, bytes);
      }
    }
    for (unsigned i = 0; i != 4; ++i) {
      FragmentElement at = fragmentD(16, t, i);
      d[at.row * 8 + at.column] =
          isF16 ? accumulator(t, 6 + i / 2) >> (i % 2 * 16) & 0xFFFF
                : accumulator(t, 6 + i);
    }
  }
  MmaProblem problem;
  problem.m = 16;
  problem.n = 8;
  problem.k = m.k;
  problem.arithmetic = m.arithmetic;
  problem.a = {m.a, a.data(), false, nullptr};
  problem.b = {m.b, b.data(), false, nullptr};
  problem.dFormat = m.d;
  problem.accumulate = true;
  multiply(problem, d.data(), 8, 1);
  for (unsigned t = 0; t != 32; ++t) {
    uint32_t words[4] = {};
    for (unsigned i = 0; i != 4; ++i) {
      FragmentElement at = fragmentD(16, t, i);
      uint32_t cell = d[at.row * 8 + at.column];
      if (isF16)
        words[i / 2] |= cell << (i % 2 * 16);
      else
        words[i] = cell;
    }
    results.insert(results.end(), words, words + 4);
  }
}

using F = ElementFormat;
constexpr MmaArithmetic hardware = MmaArithmetic::Hardware;
constexpr MmaArithmetic emulated = MmaArithmetic::EmulatedFp8;

TEST(HardwareWitness, MmaSync) {
  constexpr std::pair<MmaSync, witness::Masking> kinds[witness::mmaKinds] = {
      {{F::F16, F::F16, F::F32, 16, hardware}, witness::Half},
      {{F::BF16, F::BF16, F::F32, 16, hardware}, witness::Half},
      {{F::TF32, F::TF32, F::F32, 8, hardware}, witness::Word},
      {{F::E4M3, F::E4M3, F::F32, 32, emulated}, witness::Byte},
      {{F::S8, F::S8, F::S32, 32, hardware}, witness::Integer},
      {{F::F16, F::F16, F::F16, 16, hardware}, witness::Half},
      {{F::E5M2, F::E4M3, F::F32, 16, emulated}, witness::Byte},
      {{F::F16, F::F16, F::F32, 8, hardware}, witness::Half}};
  for (unsigned kind = 0; kind != witness::mmaKinds; ++kind) {
    auto [instruction, masking] = kinds[kind];
    std::vector<uint32_t> results;
    for (unsigned round = 0; round != witness::mmaRounds; ++round) {
      auto operand = [&, masking = masking](unsigned t, unsigned i) {
        return witness::maskElements(masking, witness::mmaBits(round, t, i));
      };
      auto accumulator = [&](unsigned t, unsigned i) {
        return witness::maskAccumulator(witness::mmaBits(round, t, i));
      };
      if (instruction.d == F::F16)
        runMmaSync(instruction, operand, operand, results);
      else
        runMmaSync(instruction, operand, accumulator, results);
    }
    expectHash("mma_sync_" + std::to_string(kind), results.data(),
               results.size() * 4);
  }
}

/// Infinity, NaN, subnormal and overflowing results.
TEST(HardwareWitness, MmaSyncExtremes) {
  constexpr MmaSync kinds[witness::extremeKinds] = {
      {F::BF16, F::BF16, F::F32, 16, hardware},
      {F::TF32, F::TF32, F::F32, 8, hardware},
      {F::F16, F::F16, F::F32, 16, hardware},
      {F::E4M3, F::E4M3, F::F32, 32, emulated},
      {F::E5M2, F::E5M2, F::F32, 32, emulated},
      {F::F16, F::F16, F::F16, 16, hardware},
      {F::BF16, F::BF16, F::F32, 16, hardware},
      {F::TF32, F::TF32, F::F32, 8, hardware},
      {F::F16, F::F16, F::F16, 16, hardware}};
  for (unsigned kind = 0; kind != witness::extremeKinds; ++kind) {
    std::vector<uint32_t> results;
    for (unsigned round = 0; round != witness::extremeRounds; ++round) {
      auto bits = [&](unsigned t, unsigned i) {
        return witness::extremeBits(kind, round, t, i);
      };
      runMmaSync(kinds[kind], bits, bits, results);
    }
    expectHash("mma_extreme_" + std::to_string(kind), results.data(),
               results.size() * 4);
  }
}

TEST(HardwareWitness, LdMatrix) {
  for (bool transposed : {false, true}) {
    std::vector<uint32_t> results;
    for (unsigned round = 0; round != witness::mmaRounds; ++round)
      for (unsigned t = 0; t != 32; ++t)
        for (unsigned matrix = 0; matrix != 4; ++matrix) {
          uint32_t word = 0;
          for (unsigned half = 0; half != 2; ++half) {
            FragmentElement at = fragmentOfMatrix8x8(transposed, t, half);
            word |= (matrix * 64 + at.row * 8 + at.column) << (16 * half);
          }
          results.push_back(word);
        }
    expectHash("mma_sync_" + std::to_string(witness::mmaKinds + transposed),
               results.data(), results.size() * 4);
  }
}

TEST(HardwareWitness, Wgmma) {
  constexpr F formatsA[] = {F::F16, F::BF16, F::TF32, F::E4M3, F::E5M2, F::F16};
  constexpr F formatsB[] = {F::F16, F::BF16, F::TF32, F::E4M3, F::E4M3, F::F16};
  for (const witness::WgmmaCase &c : witness::wgmmaCases()) {
    std::vector<uint8_t> shared = witness::wgmmaShared(c.kind);
    bool isFp8 = c.kind == 3 || c.kind == 4;
    OperandShape shapeA{64, 32 / containerBytes(formatsA[c.kind]),
                        formatsA[c.kind], c.kind == 1 || c.kind == 5, false};
    OperandShape shapeB{8, shapeA.k, formatsB[c.kind], c.kind == 1, false};
    std::vector<uint8_t> a(shapeA.denseBytes()), b(shapeB.denseBytes());
    auto gather = [&](const uint32_t (&fields)[4], const OperandShape &shape,
                      std::vector<uint8_t> &dense) {
      llvm::Expected<MatrixDescriptor> descriptor = MatrixDescriptor::decode(
          witness::wgmmaDescriptor(fields), DescriptorVersion::Hopper);
      ASSERT_TRUE(bool(descriptor));
      ASSERT_EQ(message(descriptor->gather(shape, shared, dense)), "no error");
    };
    gather(c.a, shapeA, a);
    gather(c.b, shapeB, b);
    std::vector<uint32_t> d(512), results(512);
    auto cell = [&](unsigned index) -> uint32_t & {
      unsigned t = index / 4;
      FragmentElement at = fragmentD(16, t % 32, index % 4);
      return d[(t / 32 * 16 + at.row) * 8 + at.column];
    };
    for (unsigned i = 0; i != 512; ++i)
      cell(i) = witness::wgmmaAccumulator(i / 4, i % 4);
    MmaProblem problem;
    problem.m = 64;
    problem.n = 8;
    problem.k = shapeA.k;
    problem.arithmetic =
        isFp8 ? MmaArithmetic::HopperFp8 : MmaArithmetic::Hardware;
    problem.a = {shapeA.format, a.data(), false, nullptr};
    problem.b = {shapeB.format, b.data(), false, nullptr};
    problem.accumulate = true;
    multiply(problem, d.data(), 8, 1);
    for (unsigned i = 0; i != 512; ++i)
      results[i] = cell(i);
    expectHash("wgmma_" + std::to_string(c.kind) + "_" + c.name, results.data(),
               2048);
  }
}

TEST(HardwareWitness, Conversions) {
  struct {
    F format;
    ConvertOptions options;
    bool isPair;
  } kinds[witness::conversionKinds] = {
      {F::E4M3, {}, true},
      {F::E5M2, {}, true},
      {F::E4M3, {Rounding::NearestEven, true, true}, true},
      {F::F16, {}, false},
      {F::F16, {Rounding::TowardZero, false, false}, false},
      {F::BF16, {}, false},
      {F::F16, {Rounding::NearestEven, true, false}, false},
      {F::BF16, {Rounding::TowardZero, true, false}, false},
      {F::TF32, {Rounding::NearestAway, false, false}, false},
      {F::TF32, {}, false},
      {F::TF32, {Rounding::TowardZero, false, true}, false},
      {F::BF16, {Rounding::TowardZero, false, true}, false}};
  std::vector<uint32_t> words(witness::conversionInputs);
  for (unsigned kind = 0; kind != witness::conversionKinds; ++kind) {
    auto [format, options, isPair] = kinds[kind];
    for (uint32_t i = 0; i != witness::conversionInputs; ++i) {
      float value = decode(F::F32, witness::conversionInput(i));
      words[i] = encode(format, value, options);
      if (isPair)
        words[i] = words[i] << 8 | encode(format, -value, options);
    }
    expectHash("cvt_" + std::to_string(kind), words.data(), words.size() * 4);
  }
}

} // namespace
