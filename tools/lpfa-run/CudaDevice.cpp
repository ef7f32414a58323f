//===- CudaDevice.cpp - Running a compiled function on a GPU --------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaDevice.h"
#include "lpfa/Runtime/Tensors.h"
#include "lpfa/Target/Ptxas.h"
#include "lpfa/Target/TargetModel.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace lpfa;
using llvm::Expected;

/// Cubins, or PTX where there is no ptxas.
static Expected<std::map<std::string, std::string>>
assembleAll(const CompiledModule &compiled, StringRef executable) {
  std::optional<Ptxas> ptxas = findPtxas(executable);
  std::map<std::string, std::string> images;
  for (const CompiledPTX &module : compiled.modules) {
    if (!ptxas) {
      images[module.name] = module.text;
      continue;
    }
    auto cubin = assemble(*ptxas, module.text, compiled.plan.chip);
    if (!cubin)
      return cubin.takeError();
    images[module.name] = std::move(cubin->image);
  }
  return images;
}

static Expected<std::vector<NpyArray>> launch(const Device &device,
                                              const LoadedPlan &loaded,
                                              const LaunchPlan &function,
                                              ArrayRef<NpyArray> arrays) {
  std::string error;
  std::vector<TensorRef> arguments, results;
  for (auto [array, argument] : llvm::zip_equal(arrays, function.arguments))
    arguments.push_back({0, argument.element, array.shape, {}});
  auto shape = loaded.inferShape(function, arguments, error);
  if (!shape)
    return llvm::createStringError(error);

  std::vector<DeviceTensor> tensors;
  auto allocate = [&](const std::string &element,
                      const std::vector<int64_t> &sizes) {
    auto tensor =
        DeviceTensor::allocate(device, element, sizes,
                               /*offsetBytes=*/0, /*rowPadding=*/0, error);
    if (tensor)
      tensors.push_back(std::move(*tensor));
    return tensor.has_value();
  };
  for (auto [array, argument] : llvm::zip_equal(arrays, arguments)) {
    if (!allocate(argument.element, argument.sizes) ||
        !tensors.back().upload(array, error))
      return llvm::createStringError(error);
    argument = tensors.back().getRef();
  }
  for (auto [sizes, result] :
       llvm::zip_equal(shape->results, function.results)) {
    if (!allocate(result.element, sizes))
      return llvm::createStringError(error);
    results.push_back(tensors.back().getRef());
  }
  auto workspace = DeviceBuffer::allocate(device, shape->workspaceBytes, error);
  if (!workspace || !workspace->fill(0xFF, error))
    return llvm::createStringError(error);

  auto prepared = loaded.prepare(function, arguments, results,
                                 workspace->getAddress(), error);
  if (!prepared || !prepared->enqueue(nullptr, error) ||
      !device.synchronize(nullptr, error))
    return llvm::createStringError(error);
  std::vector<NpyArray> downloaded;
  for (auto [index, result] : llvm::enumerate(results)) {
    downloaded.push_back(makeArray(result.element, result.sizes));
    if (!tensors[arguments.size() + index].download(downloaded.back(), error))
      return llvm::createStringError(error);
  }
  return downloaded;
}

Expected<std::vector<NpyArray>> lpfa::runOnCuda(ModuleOp module,
                                                StringRef entry,
                                                ArrayRef<NpyArray> arguments,
                                                CudaOptions &options) {
  std::string error;
  auto device = Device::open(0, error);
  if (!device)
    return llvm::createStringError(error);
  std::string chip = options.compiler.pipeline.chip;
  if (chip.empty()) {
    chip = "sm_" + std::to_string(device->getComputeCapability()) + "a";
    if (!TargetModel::get(chip))
      return llvm::createStringError(
          "no kernels for this GPU, " + device->getName() + " (" + chip +
          "), only for " + llvm::join(TargetModel::getChips(), ", "));
  }
  // Before the compiler works in vain.
  if (!device->canRun(chip, error))
    return llvm::createStringError(error);

  options.compiler.pipeline.chip = chip;
  auto compiled = compile(module, options.compiler);
  if (failed(compiled))
    return llvm::createStringError("@" + entry + " can't be compiled");
  if (compiled->plan.functions.empty())
    return llvm::createStringError("@" + entry + " launches no kernel");
  auto images = assembleAll(*compiled, options.executable);
  if (!images)
    return images.takeError();
  auto loaded = LoadedPlan::load(*device, compiled->plan, *images, error);
  const LaunchPlan *function =
      loaded ? findFunction(loaded->getPlan(), entry.str(), error) : nullptr;
  if (!function)
    return llvm::createStringError(error);
  return launch(*device, *loaded, *function, arguments);
}
