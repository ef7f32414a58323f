//===- Cost.cpp - The product "cost" --------------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cost.h"
#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "lpfa/Target/CostReport.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace lpfa;

/// An instruction's descriptor, or what a byte of scales was added to.
static InstructionDescriptorOp getDescriptor(Value instruction) {
  if (auto add = instruction.getDefiningOp<arith::AddIOp>())
    for (Value operand : add->getOperands())
      if (auto descriptor = getDescriptor(operand))
        return descriptor;
  return instruction.getDefiningOp<InstructionDescriptorOp>();
}

std::vector<double> lpfa::getTensorClocks(ModuleOp module) {
  std::vector<double> clocks;
  for (auto gpuModule : module.getOps<gpu::GPUModuleOp>()) {
    double sum = 0;
    gpuModule.walk([&](Tcgen05MMAOp op) {
      if (InstructionDescriptorOp descriptor =
              getDescriptor(op.getInstruction()))
        sum += TargetModel::getMMAClocks(descriptor.getN(),
                                         op.getA().getType().isInteger(32));
    });
    clocks.push_back(sum);
  }
  return clocks;
}

llvm::Expected<std::string> lpfa::getCost(ArrayRef<std::string> ptx,
                                          const std::optional<Ptxas> &ptxas,
                                          const TargetModel &target,
                                          ArrayRef<double> tensorClocks) {
  std::vector<Listing> listings, machineCode;
  for (const std::string &text : ptx)
    llvm::append_range(listings, parsePTX(text));

  std::optional<std::string> nvdisasm;
  if (ptxas)
    nvdisasm = findNvdisasm(*ptxas);
  if (!nvdisasm)
    llvm::errs() << "lpfa-compile: the cost is that of the PTX alone, as there "
                    "is no "
                 << (ptxas ? "nvdisasm: install PyPI's nvidia-cuda-nvdisasm"
                           : "ptxas: install PyPI's nvidia-cuda-nvcc and "
                             "nvidia-cuda-nvdisasm")
                 << "\n";
  for (const std::string &text : ptx) {
    if (!nvdisasm)
      break;
    llvm::Expected<Cubin> cubin = assemble(*ptxas, text, target.getChip());
    if (!cubin)
      return cubin.takeError();
    llvm::Expected<std::string> code = disassemble(*nvdisasm, cubin->image);
    if (!code)
      return code.takeError();
    llvm::append_range(machineCode, parseMachineCode(*code));
  }
  return printCost(listings, machineCode, target, tensorClocks);
}
