//===- LaunchTest.cpp - Launches one after another ------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Simulator/Simulator.h"
#include "gtest/gtest.h"

using namespace lpfa::sim;

namespace {

constexpr llvm::StringLiteral header =
    ".version 8.8\n.target sm_100a\n.address_size 64\n";

/// Writes x[tid] = tid, or adds y[tid] = x[tid] + 1.
std::string kernel(llvm::StringRef body) {
  return (header + R"(
.visible .entry kernel(.param .u64 x, .param .u64 y) {
  .reg .b32 %t, %d; .reg .b64 %x, %y, %p; .reg .pred %q;
  mov.u32 %t, %tid.x;
  ld.param.u64 %x, [x]; ld.param.u64 %y, [y];
  mad.wide.u32 %x, %t, 4, %x; mad.wide.u32 %y, %t, 4, %y;
)" + body +
          "  ret;\n}\n")
      .str();
}

class Launches : public ::testing::Test {
protected:
  Launches() : x(64 * 4), y(64 * 4) {
    bufferX = memory.addOutput("x", x);
    bufferY = memory.addOutput("y", y);
  }

  Report run(const std::string &text, Options options = Options()) {
    // The module goes before the next launch: reports must not depend on it.
    auto module = PTXModule::parse(text, "kernel.ptx");
    EXPECT_TRUE(bool(module)) << llvm::toString(module.takeError());
    Launch launch;
    launch.entry = "kernel";
    launch.block = {64, 1, 1};
    launch.parameters = {Parameter::buffer(bufferX),
                         Parameter::buffer(bufferY)};
    auto report = simulate(**module, launch, memory, options);
    EXPECT_TRUE(bool(report)) << llvm::toString(report.takeError());
    return std::move(*report);
  }

  std::vector<uint8_t> x, y;
  DeviceMemory memory;
  unsigned bufferX, bufferY;
  const std::string producer = kernel("  st.global.b32 [%x], %t;\n"),
                    consumer = "  ld.global.b32 %d, [%x];\n"
                               "  st.global.b32 [%y], %d;\n",
                    wait = "  griddepcontrol.wait;\n";
};

TEST_F(Launches, ComeOneAfterAnother) {
  EXPECT_TRUE(run(producer).ok());
  EXPECT_TRUE(run(kernel(consumer)).ok());
}

TEST_F(Launches, WaitForTheOneBefore) {
  EXPECT_TRUE(run(producer).ok());
  EXPECT_TRUE(run(kernel(wait + consumer)).ok());
}

TEST_F(Launches, ReadBeforeTheWait) {
  EXPECT_TRUE(run(producer).ok());
  Report report = run(kernel(consumer + wait));
  ASSERT_FALSE(report.ok());
  const Finding &finding = report.findings.front();
  EXPECT_EQ(finding.kind, "race");
  EXPECT_EQ(finding.message,
            "a write by the launch of 'kernel' before and a read of byte 0 of "
            "buffer 'x' are not ordered");
  ASSERT_EQ(finding.sites.size(), 2u);
  EXPECT_EQ(finding.sites[0].instruction, "ld.global.b32 %d, [%x]");
  EXPECT_EQ(finding.sites[1].instruction, "st.global.b32 [%x], %t");
  EXPECT_EQ(finding.sites[1].agent, "CTA (0,0,0) warp 0");
}

TEST_F(Launches, OverwriteBeforeTheWait) {
  EXPECT_TRUE(run(producer).ok());
  EXPECT_TRUE(run(kernel(consumer)).ok());
  Report report = run(kernel("  st.global.b32 [%x], 1;\n" + wait));
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.findings.front().message,
            "a read by the launch of 'kernel' before and a write of byte 0 of "
            "buffer 'x' are not ordered");
}

TEST_F(Launches, AWaitReachesOtherWarpsByABarrier) {
  std::string first =
      "  setp.ge.u32 %q, %t, 32;\n  @%q bra after;\n" + wait + "after:\n";
  EXPECT_TRUE(run(producer).ok());
  EXPECT_TRUE(run(kernel(first + "  bar.sync 0;\n" + consumer)).ok());
  EXPECT_TRUE(run(producer).ok());
  EXPECT_FALSE(run(kernel(first + consumer)).ok());
}

TEST_F(Launches, ExplorationKeepsTheOneBefore) {
  Options options;
  options.schedule = Schedule::Explore;
  EXPECT_TRUE(run(producer).ok());
  Report report = run(kernel(wait + consumer), options);
  EXPECT_TRUE(report.ok());
  EXPECT_NE(report.coverage, "");
  EXPECT_TRUE(run(producer).ok());
  EXPECT_FALSE(run(kernel(consumer + wait), options).ok());
}

} // namespace
