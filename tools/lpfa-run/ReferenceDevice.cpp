//===- ReferenceDevice.cpp - Running a function on the CPU ----------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReferenceDevice.h"
#include "Arrays.h"

#include "lpfa/Pipelines.h"
#include "mlir/ExecutionEngine/CRunnerUtils.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include <cstdlib>
#include <numeric>

using namespace mlir;
using namespace lpfa;

//===----------------------------------------------------------------------===//
// What compiled code calls in the host
//===----------------------------------------------------------------------===//

static int reportAssertion(const char *message) {
  llvm::errs() << "lpfa-run: error: " << message << "\n";
  return 0;
}

[[noreturn]] static void endRun() { std::exit(1); }

static void *allocate(size_t size) {
  if (void *memory = std::malloc(std::max<size_t>(size, 1)))
    return memory;
  llvm::errs() << "lpfa-run: error: out of memory: can't allocate " << size
               << " bytes\n";
  endRun();
}

static llvm::orc::SymbolMap
makeHostSymbols(llvm::orc::MangleAndInterner intern) {
  using llvm::orc::ExecutorAddr;
  auto symbol = [](auto *function) {
    return llvm::orc::ExecutorSymbolDef(ExecutorAddr::fromPtr(function),
                                        llvm::JITSymbolFlags::Exported);
  };
  llvm::orc::SymbolMap symbols;
  symbols[intern("puts")] = symbol(&reportAssertion);
  symbols[intern("abort")] = symbol(&endRun);
  symbols[intern("malloc")] = symbol(&allocate);
  // Copies of slices that are not contiguous.
  symbols[intern("memrefCopy")] = symbol(&memrefCopy);
  return symbols;
}

//===----------------------------------------------------------------------===//
// Memref descriptors
//===----------------------------------------------------------------------===//

// A descriptor is the allocated pointer, the aligned pointer, an offset, then
// the sizes and the strides: 64-bit words all.

static std::vector<int64_t> makeDescriptor(const NpyArray &array) {
  auto address = reinterpret_cast<intptr_t>(array.data.data());
  std::vector<int64_t> descriptor = {address, address, 0};
  llvm::append_range(descriptor, array.shape);
  std::vector<int64_t> strides(array.shape.size());
  int64_t stride = 1;
  for (size_t i = strides.size(); i-- > 0; stride *= array.shape[i])
    strides[i] = stride;
  llvm::append_range(descriptor, strides);
  return descriptor;
}

static size_t getDescriptorSize(RankedTensorType type) {
  return 3 + 2 * type.getRank();
}

/// Copies a result, which is contiguous, and frees it.
static NpyArray takeResult(ArrayRef<int64_t> descriptor,
                           RankedTensorType type) {
  NpyArray array = makeArray(type, descriptor.slice(3, type.getRank()));
  auto *aligned = reinterpret_cast<uint8_t *>(descriptor[1]);
  uint8_t *data = aligned + descriptor[2] * array.itemSize;
  std::copy_n(data, array.data.size(), array.data.data());
  std::free(reinterpret_cast<void *>(descriptor[0]));
  return array;
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

static llvm::Expected<std::unique_ptr<ExecutionEngine>>
compileForHost(ModuleOp module) {
  PassManager pm(module.getContext());
  buildReferencePipeline(pm);
  if (failed(pm.run(module)))
    return llvm::createStringError("the reference can't run this function");

  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto host = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!host)
    return host.takeError();
  host->setCodeGenOptLevel(llvm::CodeGenOptLevel::Aggressive);
  auto machine = host->createTargetMachine();
  if (!machine)
    return machine.takeError();

  ExecutionEngineOptions options;
  auto optimize = makeOptimizingTransformer(/*optLevel=*/3, /*sizeLevel=*/0,
                                            machine->get());
  options.transformer = optimize;
  options.jitCodeGenOptLevel = llvm::CodeGenOptLevel::Aggressive;
  options.enableGDBNotificationListener = false;
  options.enablePerfNotificationListener = false;
  auto engine = ExecutionEngine::create(module, options, std::move(*machine));
  if (engine)
    (*engine)->registerSymbols(makeHostSymbols);
  return engine;
}

llvm::Expected<std::vector<NpyArray>>
lpfa::runOnReference(ModuleOp module, StringRef entry,
                     ArrayRef<NpyArray> arguments) {
  auto function = module.lookupSymbol<func::FuncOp>(entry);
  std::vector<RankedTensorType> resultTypes;
  size_t resultSize = 0;
  for (Type type : function.getResultTypes()) {
    resultTypes.push_back(cast<RankedTensorType>(type));
    resultSize += getDescriptorSize(resultTypes.back());
  }
  auto engine = compileForHost(module);
  if (!engine)
    return engine.takeError();

  // The C interface takes a pointer to all results, then one to each argument.
  std::vector<int64_t> results(resultSize);
  std::vector<std::vector<int64_t>> descriptors;
  for (const NpyArray &argument : arguments)
    descriptors.push_back(makeDescriptor(argument));
  std::vector<void *> pointers;
  if (!resultTypes.empty())
    pointers.push_back(results.data());
  for (std::vector<int64_t> &descriptor : descriptors)
    pointers.push_back(descriptor.data());
  std::vector<void *> packed;
  for (void *&pointer : pointers)
    packed.push_back(&pointer);
  if (auto error =
          (*engine)->invokePacked(("_mlir_ciface_" + entry).str(), packed))
    return error;

  std::vector<NpyArray> arrays;
  ArrayRef<int64_t> words(results);
  for (RankedTensorType type : resultTypes) {
    arrays.push_back(
        takeResult(words.take_front(getDescriptorSize(type)), type));
    words = words.drop_front(getDescriptorSize(type));
  }
  return arrays;
}
