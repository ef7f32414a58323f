//===- TargetModel.cpp - What the hardware is -----------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Target/TargetModel.h"

using namespace lpfa;

llvm::ArrayRef<llvm::StringRef> TargetModel::getChips() {
  static const llvm::StringRef chips[] = {"sm_90a", "sm_100a", "sm_103a"};
  return chips;
}

std::optional<TargetModel> TargetModel::get(llvm::StringRef chip) {
  TargetModel model;
  if (chip == "sm_90a") {
    model.features = "+ptx86";
    model.tensorMemory = false;
    model.tensorMemoryReduction = false;
    model.narrowFloatConversions = false;
    model.accessBytes = 16;
    model.multiprocessors = 132;
    model.exponentialsPerClock = 16;
  } else if (chip == "sm_100a") {
    model.features = "+ptx88";
    model.tensorMemory = true;
    model.tensorMemoryReduction = false;
    model.narrowFloatConversions = true;
    model.accessBytes = 32;
    model.multiprocessors = 148;
    model.exponentialsPerClock = 16;
  } else if (chip == "sm_103a") {
    model.features = "+ptx88";
    model.tensorMemory = true;
    model.tensorMemoryReduction = true;
    model.narrowFloatConversions = true;
    model.accessBytes = 32;
    model.multiprocessors = 148;
    model.exponentialsPerClock = 32;
  } else {
    return std::nullopt;
  }
  for (llvm::StringRef known : getChips())
    if (known == chip)
      model.chip = known;
  return model;
}
