//===- PtxasTest.cpp - What ptxas prints ----------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Target/Ptxas.h"
#include "gtest/gtest.h"

using namespace lpfa;

TEST(PtxasTest, Resources) {
  auto kernels = parseResources(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'first' for 'sm_100a'\n"
      "ptxas info    : Function properties for first\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 153 registers, used 1 barriers\n"
      "ptxas info    : Compiling entry function 'second' for 'sm_100a'\n"
      "ptxas info    : Function properties for second\n"
      "    48 bytes stack frame, 40 bytes spill stores, 36 bytes spill loads\n"
      "ptxas info    : Used 32 registers\n");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].entry, "first");
  EXPECT_EQ(kernels[0].registers, 153u);
  EXPECT_EQ(kernels[0].stackBytes, 0u);
  EXPECT_EQ(kernels[1].entry, "second");
  EXPECT_EQ(kernels[1].registers, 32u);
  EXPECT_EQ(kernels[1].stackBytes, 48u);
  EXPECT_EQ(kernels[1].spillStoreBytes, 40u);
  EXPECT_EQ(kernels[1].spillLoadBytes, 36u);
  EXPECT_TRUE(parseResources("").empty());
}
