//===- Launch.cpp - Launching compiled functions --------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Runtime/Launch.h"
#include "Driver.h"
#include <cstring>
#include <fstream>
#include <sstream>

using namespace lpfa;

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static std::optional<std::string> readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()))
    return std::nullopt;
  return text.str();
}

std::optional<ModulePlan> lpfa::readPlan(const std::string &path,
                                         std::string &error) {
  std::optional<std::string> text = readFile(path);
  if (!text) {
    error = path + ": cannot be read";
    return std::nullopt;
  }
  std::optional<ModulePlan> plan = parsePlan(*text, error);
  if (!plan)
    error = path + ": " + error;
  return plan;
}

const LaunchPlan *lpfa::findFunction(const ModulePlan &plan,
                                     const std::string &name,
                                     std::string &error) {
  std::string names;
  for (const LaunchPlan &function : plan.functions) {
    if (function.function == name ||
        (name.empty() && plan.functions.size() == 1))
      return &function;
    names += (names.empty() ? "" : ", ") + function.function;
  }
  error = (name.empty() ? "choose a function" : "no function " + name) +
          ": the plan has " + (names.empty() ? "none" : names);
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Launching
//===----------------------------------------------------------------------===//

struct PreparedLaunch::Kernel {
  std::string entry;
  cuda::Function *function = nullptr;
  std::array<uint32_t, 3> grid, block, cluster;
  uint32_t sharedBytes = 0;
  /// Values, and tensor maps with their alignment.
  std::vector<cuda::TensorMap> parameters;
};

PreparedLaunch::PreparedLaunch(const Device &device) : device(&device) {}
PreparedLaunch::PreparedLaunch(PreparedLaunch &&) noexcept = default;
PreparedLaunch &PreparedLaunch::operator=(PreparedLaunch &&) noexcept = default;
PreparedLaunch::~PreparedLaunch() = default;

bool PreparedLaunch::enqueue(StreamHandle stream, std::string &error) const {
  const cuda::Driver &driver = device->getDriver();
  for (const Kernel &kernel : kernels) {
    cuda::LaunchAttribute attribute = {};
    attribute.id = cuda::LaunchAttributeClusterDimension;
    attribute.value.clusterDim = {kernel.cluster[0], kernel.cluster[1],
                                  kernel.cluster[2]};
    bool hasCluster =
        kernel.cluster[0] * kernel.cluster[1] * kernel.cluster[2] > 1;
    cuda::LaunchConfig config = {};
    config.gridDimX = kernel.grid[0];
    config.gridDimY = kernel.grid[1];
    config.gridDimZ = kernel.grid[2];
    config.blockDimX = kernel.block[0];
    config.blockDimY = kernel.block[1];
    config.blockDimZ = kernel.block[2];
    config.sharedMemBytes = kernel.sharedBytes;
    config.stream = stream;
    config.attributes = &attribute;
    config.numAttributes = hasCluster ? 1 : 0;
    std::vector<void *> pointers;
    for (const cuda::TensorMap &parameter : kernel.parameters)
      pointers.push_back(const_cast<cuda::TensorMap *>(&parameter));
    if (!driver.check(driver.launchKernelEx(&config, kernel.function,
                                            pointers.data(), nullptr),
                      "cannot launch kernel " + kernel.entry, error))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// LoadedPlan
//===----------------------------------------------------------------------===//

struct LoadedPlan::Kernels {
  std::map<std::string, cuda::Module *> modules;
  /// By module and entry.
  std::map<std::pair<std::string, std::string>, cuda::Function *> functions;
};

LoadedPlan::LoadedPlan(const Device &device, ModulePlan plan)
    : device(device), plan(std::move(plan)),
      kernels(std::make_unique<Kernels>()) {}

LoadedPlan::~LoadedPlan() {
  for (const auto &[name, module] : kernels->modules)
    device.getDriver().moduleUnload(module);
}

std::unique_ptr<LoadedPlan> LoadedPlan::load(const Device &device,
                                             const std::string &path,
                                             std::string &error) {
  std::optional<ModulePlan> plan = readPlan(path, error);
  if (!plan)
    return nullptr;
  size_t slash = path.rfind('/');
  std::string directory =
      slash == std::string::npos ? "" : path.substr(0, slash + 1);
  std::map<std::string, std::string> images;
  for (const LaunchPlan &function : plan->functions)
    for (const PlanKernel &kernel : function.kernels) {
      if (images.count(kernel.module))
        continue;
      std::string file = directory + kernel.module;
      std::optional<std::string> image = readFile(file + ".cubin");
      if (!image)
        image = readFile(file + ".ptx");
      if (!image) {
        error = path + ": there is neither " + kernel.module + ".cubin nor " +
                kernel.module + ".ptx beside it";
        return nullptr;
      }
      images[kernel.module] = std::move(*image);
    }
  return load(device, std::move(*plan), images, error);
}

std::unique_ptr<LoadedPlan>
LoadedPlan::load(const Device &device, ModulePlan plan,
                 const std::map<std::string, std::string> &images,
                 std::string &error) {
  if (!device.canRun(plan.chip, error))
    return nullptr;
  std::unique_ptr<LoadedPlan> loaded(new LoadedPlan(device, std::move(plan)));
  for (const auto &[name, image] : images)
    if (!loaded->loadModule(name, image, error))
      return nullptr;
  for (const LaunchPlan &function : loaded->plan.functions)
    for (const PlanKernel &kernel : function.kernels)
      if (!loaded->loadKernel(kernel, error))
        return nullptr;
  return loaded;
}

bool LoadedPlan::loadModule(const std::string &name, const std::string &image,
                            std::string &error) {
  const cuda::Driver &driver = device.getDriver();
  char log[1024] = {};
  cuda::JitOption options[] = {cuda::JitErrorLogBuffer,
                               cuda::JitErrorLogBufferSizeBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log) - 1)};
  cuda::Module *module = nullptr;
  if (!driver.check(
          driver.moduleLoadDataEx(&module, image.c_str(), 2, options, values),
          "the driver refuses module " + name, error)) {
    // The first line of what its compiler of PTX says.
    if (log[0])
      error += std::string(": ") + std::strtok(log, "\n");
    return false;
  }
  kernels->modules[name] = module;
  return true;
}

bool LoadedPlan::loadKernel(const PlanKernel &kernel, std::string &error) {
  const cuda::Driver &driver = device.getDriver();
  auto fail = [&](const std::string &what) {
    error = "kernel " + kernel.entry + ": " + what;
    return false;
  };
  auto module = kernels->modules.find(kernel.module);
  if (module == kernels->modules.end())
    return fail("there is no module " + kernel.module);
  cuda::Function *function = nullptr;
  if (!driver.check(driver.moduleGetFunction(&function, module->second,
                                             kernel.entry.c_str()),
                    "kernel " + kernel.entry, error))
    return false;

  constexpr int64_t maxThreads = 1024, maxCluster = 16, portableCluster = 8;
  auto multiply = [](const std::array<int64_t, 3> &sizes, int64_t max) {
    int64_t product = 1;
    for (int64_t size : sizes)
      product = size < 1 || size > max ? max + 1 : product * size;
    return product;
  };
  if (multiply(kernel.block, maxThreads) > maxThreads)
    return fail("a block has from 1 to 1024 threads");
  int64_t cluster = multiply(kernel.cluster, maxCluster);
  if (cluster > maxCluster)
    return fail("a cluster has from 1 to 16 blocks");
  if (kernel.dynamicSharedBytes > device.getSharedBytes())
    return fail("it needs " + std::to_string(kernel.dynamicSharedBytes) +
                " bytes of shared memory, " + device.getName() + " has " +
                std::to_string(device.getSharedBytes()));
  std::string what = "cannot configure kernel " + kernel.entry;
  if (!driver.check(driver.functionSetAttribute(
                        function, cuda::FunctionMaxDynamicSharedSizeBytes,
                        kernel.dynamicSharedBytes),
                    what, error))
    return false;
  if (cluster > portableCluster &&
      !driver.check(
          driver.functionSetAttribute(
              function, cuda::FunctionNonPortableClusterSizeAllowed, 1),
          what, error))
    return false;

  // Parameters are passed without their sizes: a mismatch would go unseen.
  for (size_t i = 0;
       driver.functionGetParameterInfo && i < kernel.parameters.size(); ++i) {
    size_t offset = 0, size = 0;
    PlanParameter::Kind kind = kernel.parameters[i].kind;
    size_t expected = kind == PlanParameter::Kind::TensorMap ? 128
                      : kind == PlanParameter::Kind::Int32   ? 4
                                                             : 8;
    if (driver.functionGetParameterInfo(function, i, &offset, &size) !=
            cuda::Success ||
        size != expected)
      return fail("parameter " + std::to_string(i) + " has " +
                  std::to_string(size) + " bytes, " + std::to_string(expected) +
                  " in the plan");
  }
  kernels->functions[{kernel.module, kernel.entry}] = function;
  return true;
}

std::optional<LaunchShape>
LoadedPlan::inferShape(const LaunchPlan &function,
                       const std::vector<TensorRef> &arguments,
                       std::string &error) const {
  return lpfa::inferShape(function, arguments, device.getMultiprocessors(),
                          error);
}

static cuda::TensorMapDataType getDataType(const std::string &element) {
  struct Type {
    const char *name;
    cuda::TensorMapDataType type;
  };
  constexpr Type types[] = {
      {"f16", cuda::TensorMapFloat16}, {"bf16", cuda::TensorMapBFloat16},
      {"f32", cuda::TensorMapFloat32}, {"f64", cuda::TensorMapFloat64},
      {"i16", cuda::TensorMapUInt16},  {"i32", cuda::TensorMapUInt32},
      {"i64", cuda::TensorMapUInt64},
  };
  for (const Type &known : types)
    if (known.name == element)
      return known.type;
  return cuda::TensorMapUInt8;
}

static bool encode(const cuda::Driver &driver, const BoundTensorMap &map,
                   cuda::TensorMap &result, std::string &error) {
  cuda::TensorMapSwizzle swizzle = cuda::TensorMapSwizzleNone;
  switch (map.swizzle) {
  case 0:
    break;
  case 32:
    swizzle = cuda::TensorMapSwizzle32B;
    break;
  case 64:
    swizzle = cuda::TensorMapSwizzle64B;
    break;
  case 128:
    swizzle = cuda::TensorMapSwizzle128B;
    break;
  default:
    error = "a swizzle of " + std::to_string(map.swizzle) + " bytes";
    return false;
  }
  std::vector<uint32_t> elementStrides(map.sizes.size(), 1);
  return driver.check(
      driver.tensorMapEncodeTiled(
          &result, getDataType(map.element), map.sizes.size(),
          reinterpret_cast<void *>(map.address), map.sizes.data(),
          map.strides.data(), map.box.data(), elementStrides.data(),
          /*interleave=*/0, swizzle, cuda::TensorMapL2Promotion256B,
          /*fill=*/0),
      "cannot encode a tensor map", error);
}

std::optional<PreparedLaunch>
LoadedPlan::prepare(const LaunchPlan &function,
                    const std::vector<TensorRef> &arguments,
                    const std::vector<TensorRef> &results, uint64_t workspace,
                    std::string &error) const {
  auto bound = bindLaunch(function, arguments, results, workspace,
                          device.getMultiprocessors(), error);
  if (!bound)
    return std::nullopt;
  PreparedLaunch launch(device);
  for (const BoundKernel &boundKernel : *bound) {
    const PlanKernel &plan = *boundKernel.kernel;
    PreparedLaunch::Kernel kernel;
    kernel.entry = plan.entry;
    kernel.function = kernels->functions.at({plan.module, plan.entry});
    kernel.grid = boundKernel.grid;
    for (unsigned i = 0; i < 3; ++i) {
      kernel.block[i] = plan.block[i];
      kernel.cluster[i] = plan.cluster[i];
    }
    kernel.sharedBytes = plan.dynamicSharedBytes;
    for (const BoundParameter &parameter : boundKernel.parameters) {
      cuda::TensorMap storage = {};
      if (!parameter.map) {
        // Little-endian: a 32-bit parameter is the low half.
        std::memcpy(&storage, &parameter.value, sizeof(parameter.value));
      } else if (!encode(device.getDriver(), *parameter.map, storage, error)) {
        error = "kernel " + kernel.entry + ": " + error;
        return std::nullopt;
      }
      kernel.parameters.push_back(storage);
    }
    launch.kernels.push_back(std::move(kernel));
  }
  return launch;
}
