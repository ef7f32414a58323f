//===- TensorInstructions.h - tcgen05 ---------------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the files of tcgen05 share: TensorInstructions.cpp (allocation, commit,
// fences), TensorMma.cpp, TensorCopies.cpp (cp, shift), TensorTransfers.cpp
// (ld, st).
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_SIMULATOR_TENSORINSTRUCTIONS_H
#define LPFA_LIB_SIMULATOR_TENSORINSTRUCTIONS_H

#include "Decoder.h"
#include "Machine.h"
#include "lpfa/Simulator/InstructionDescriptor.h"

namespace lpfa::sim::tcgen05 {

struct TensorData : InstructionData {
  MmaModifiers mma;
  TransferSpec transfer;
  CopySpec copy;
  unsigned ctaGroup = 1;
  /// tcgen05.ld.red.
  bool reduces = false, isMax = false, ofMagnitudes = false, keepsNaN = false;
  Type reduceType = Type::F32;
};

/// Reports an error; returns false.
bool fail(Warp &w, llvm::Error error);
/// Reports an undefined operand; returns false.
bool checkOperands(Warp &w, const Instruction &i, LaneMask mask);
/// All tcgen05 instructions of a kernel use one .cta_group (PTX ISA 9.7.16.5).
bool checkGroup(Warp &w, unsigned group);
/// The CTAs that take part: the own one, or the pair, even rank first.
llvm::SmallVector<Cta *, 2> participants(Warp &w, unsigned group);
/// One lane issues; several would issue as many operations.
bool checkOneLane(Warp &w, LaneMask mask);
/// .sync.aligned: all lanes of the warp together.
Status alignedWarp(Warp &w, LaneMask &mask);

using Access = RaceDetector::Access;
bool noteTensor(AsyncOperation &operation, const Cta &cta,
                const TensorRegion &region, Access access);
bool noteSharedRead(AsyncOperation &operation, const Cta &cta, uint32_t offset,
                    unsigned bytes);
/// Starts an operation of the tensor pipe.
bool issueInPipe(Warp &w, std::unique_ptr<PipeOperation> operation);

/// Takes .cta_group.
unsigned takeGroup(Decoder &d, TensorData &data);
void decodeMma(Decoder &d, std::shared_ptr<TensorData> data);
void decodeCopy(Decoder &d, std::shared_ptr<TensorData> data);
void decodeShift(Decoder &d, std::shared_ptr<TensorData> data);
void decodeTransfer(Decoder &d, std::shared_ptr<TensorData> data, bool isStore);
/// wait::ld, and wait::st with selector 1.
Status waitForTransfers(Warp &w, const Instruction &i, LaneMask mask);

} // namespace lpfa::sim::tcgen05

#endif // LPFA_LIB_SIMULATOR_TENSORINSTRUCTIONS_H
