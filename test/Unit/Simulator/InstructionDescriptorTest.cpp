//===- InstructionDescriptorTest.cpp - idesc operands -----------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Simulator/InstructionDescriptor.h"
#include "gtest/gtest.h"

using namespace lpfa::sim;

namespace {

/// Fields of kinds without scales.
uint32_t plain(unsigned d, unsigned a, unsigned b, unsigned m, unsigned n) {
  return d << 4 | a << 7 | b << 10 | n / 8 << 17 | m / 16 << 24;
}

/// Fields of block-scaled kinds.
uint32_t scaled(unsigned a, unsigned b, unsigned m, unsigned n, bool ue8m0,
                unsigned idA = 0, unsigned idB = 0) {
  return idB << 4 | a << 7 | b << 10 | n / 8 << 17 | unsigned(ue8m0) << 23 |
         m / 128 << 27 | idA << 29;
}

InstructionDescriptor decodeOk(uint32_t bits, const MmaModifiers &modifiers) {
  llvm::Expected<InstructionDescriptor> result =
      InstructionDescriptor::decode(bits, modifiers);
  if (result)
    return *result;
  ADD_FAILURE() << llvm::toString(result.takeError());
  return {};
}

std::string decodeError(uint32_t bits, const MmaModifiers &modifiers) {
  llvm::Expected<InstructionDescriptor> result =
      InstructionDescriptor::decode(bits, modifiers);
  if (!result)
    return llvm::toString(result.takeError());
  return "no error";
}

#define EXPECT_ERROR(bits, modifiers, text)                                    \
  EXPECT_NE(decodeError(bits, modifiers).find(text), std::string::npos)        \
      << decodeError(bits, modifiers)

MmaModifiers ofKind(MmaKind kind, unsigned ctaGroup = 1) {
  MmaModifiers modifiers;
  modifiers.kind = kind;
  modifiers.ctaGroup = ctaGroup;
  return modifiers;
}

TEST(InstructionDescriptor, PlainKinds) {
  InstructionDescriptor f16 = decodeOk(
      plain(1, 1, 1, 128, 256) | 1 << 13 | 1 << 16, ofKind(MmaKind::F16));
  EXPECT_EQ(f16.aFormat, ElementFormat::BF16);
  EXPECT_EQ(f16.dFormat, ElementFormat::F32);
  EXPECT_EQ(f16.m, 128u);
  EXPECT_EQ(f16.n, 256u);
  EXPECT_EQ(f16.k, 16u);
  EXPECT_TRUE(f16.negateA);
  EXPECT_FALSE(f16.negateB);
  EXPECT_FALSE(f16.aMnMajor);
  EXPECT_TRUE(f16.bMnMajor);

  EXPECT_EQ(decodeOk(plain(0, 0, 0, 64, 8), ofKind(MmaKind::F16)).dFormat,
            ElementFormat::F16);
  EXPECT_EQ(decodeOk(plain(1, 2, 2, 64, 8), ofKind(MmaKind::TF32)).k, 8u);
  InstructionDescriptor f8 =
      decodeOk(plain(1, 0, 5, 256, 64), ofKind(MmaKind::F8F6F4, 2));
  EXPECT_EQ(f8.aFormat, ElementFormat::E4M3);
  EXPECT_EQ(f8.bFormat, ElementFormat::E2M1);
  EXPECT_EQ(f8.rowsPerCta(), 128u);
  EXPECT_EQ(f8.columnsPerCta(), 32u);
  EXPECT_FALSE(f8.packsNibbles());
  InstructionDescriptor i8 =
      decodeOk(plain(2, 1, 0, 128, 24) | 1 << 3, ofKind(MmaKind::I8));
  EXPECT_EQ(i8.aFormat, ElementFormat::S8);
  EXPECT_EQ(i8.bFormat, ElementFormat::U8);
  EXPECT_TRUE(i8.saturate);
}

TEST(InstructionDescriptor, BlockScaledKinds) {
  InstructionDescriptor mxf8 =
      decodeOk(scaled(0, 0, 128, 128, true, 3, 1), ofKind(MmaKind::MXF8F6F4));
  EXPECT_EQ(mxf8.scaleVectors, 1u);
  EXPECT_EQ(mxf8.scaleIdA, 3u);
  EXPECT_EQ(mxf8.scaleIdB, 1u);
  EXPECT_EQ(mxf8.k, 32u);
  EXPECT_EQ(mxf8.m, 128u);
  EXPECT_EQ(mxf8.scaleFormat, ElementFormat::UE8M0);

  MmaModifiers nv = ofKind(MmaKind::MXF4NVF4, 2);
  nv.scaleVectors = 4;
  InstructionDescriptor nvf4 = decodeOk(scaled(1, 1, 256, 256, false), nv);
  EXPECT_EQ(nvf4.scaleFormat, ElementFormat::UE4M3);
  EXPECT_EQ(nvf4.k, 64u);
  EXPECT_EQ(nvf4.m, 256u);
  EXPECT_TRUE(nvf4.packsNibbles());

  InstructionDescriptor mxf4 =
      decodeOk(scaled(1, 1, 128, 64, true, 2, 0), ofKind(MmaKind::MXF4));
  EXPECT_EQ(mxf4.scaleVectors, 2u);
  EXPECT_EQ(mxf4.scaleIdA, 2u);
}

TEST(InstructionDescriptor, WeightStationary) {
  MmaModifiers ws = ofKind(MmaKind::F8F6F4);
  ws.warpSpecialized = true;
  InstructionDescriptor result =
      decodeOk(plain(1, 0, 0, 32, 128) | 2u << 30, ws);
  EXPECT_EQ(result.m, 32u);
  EXPECT_EQ(result.maxShift, 2u);
  EXPECT_ERROR(plain(1, 0, 0, 32, 32), ws, "N = 32");
  EXPECT_ERROR(plain(1, 0, 0, 128, 64) | 2u << 30, ofKind(MmaKind::F8F6F4),
               "maximum shift");
}

TEST(InstructionDescriptor, RefusesShapes) {
  EXPECT_ERROR(plain(1, 0, 0, 256, 64), ofKind(MmaKind::F16), "M = 256");
  EXPECT_ERROR(plain(1, 0, 0, 64, 64), ofKind(MmaKind::F16, 2), "M = 64");
  EXPECT_ERROR(plain(1, 0, 0, 128, 0), ofKind(MmaKind::F16), "N = 0");
  EXPECT_ERROR(plain(1, 0, 0, 128, 264), ofKind(MmaKind::F16), "N = 264");
  EXPECT_ERROR(plain(1, 0, 0, 128, 24), ofKind(MmaKind::F16, 2), "N = 24");
  EXPECT_ERROR(plain(2, 0, 0, 128, 40), ofKind(MmaKind::I8), "N = 40");
  EXPECT_ERROR(scaled(0, 0, 0, 128, true), ofKind(MmaKind::MXF8F6F4), "M = 0");
  // Eight-bit MN-major B comes in steps of 16 columns.
  EXPECT_ERROR(plain(1, 0, 0, 128, 24) | 1 << 16, ofKind(MmaKind::F8F6F4),
               "MN-major B");
}

TEST(InstructionDescriptor, RefusesFields) {
  EXPECT_ERROR(plain(1, 2, 2, 128, 64), ofKind(MmaKind::F16),
               "A has type code");
  EXPECT_ERROR(plain(0, 1, 1, 128, 64), ofKind(MmaKind::F16),
               "D has type code");
  EXPECT_ERROR(plain(0, 2, 2, 128, 64), ofKind(MmaKind::TF32),
               "D has type code");
  EXPECT_ERROR(plain(1, 0, 2, 128, 64), ofKind(MmaKind::F8F6F4),
               "B has type code 2");
  EXPECT_ERROR(plain(1, 0, 0, 128, 64) | 1 << 23, ofKind(MmaKind::F16),
               "reserved bits 23");
  EXPECT_ERROR(plain(1, 0, 0, 128, 64) | 1 << 2, ofKind(MmaKind::F16),
               "sparse bit");
  EXPECT_ERROR(plain(1, 5, 0, 128, 64) | 1 << 15, ofKind(MmaKind::F8F6F4),
               "K-major");
  EXPECT_ERROR(scaled(0, 0, 128, 128, false), ofKind(MmaKind::MXF8F6F4),
               "ue4m3");
  EXPECT_ERROR(scaled(1, 1, 128, 128, true, 1, 0), ofKind(MmaKind::MXF4),
               "scale id 1");
  EXPECT_ERROR(scaled(1, 1, 128, 128, true), ofKind(MmaKind::MXF4NVF4),
               "scale_vec::0X");
  EXPECT_ERROR(scaled(1, 1, 128, 128, true) | 1u << 31, ofKind(MmaKind::MXF4),
               "K = 96");
  EXPECT_ERROR(scaled(0, 0, 128, 128, true) | 1 << 25,
               ofKind(MmaKind::MXF8F6F4), "reserved bits 24 to 26");
}

} // namespace
