//===- Launch.h - Launching compiled functions ------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs what lpfa-compile wrote, from any program that has a CUDA context:
//
//   std::string error;
//   auto device = Device::open(0, error);
//   auto loaded = LoadedPlan::load(*device, "out/plan.json", error);
//   const LaunchPlan *plan = findFunction(loaded->getPlan(), "f", error);
//
//   TensorRef x{address, "bf16", {rows, 4096}};
//   auto shape = loaded->inferShape(*plan, {x}, error);
//   // Allocate tensors of the sizes in shape->results, and
//   // shape->workspaceBytes bytes.
//   auto launch = loaded->prepare(*plan, {x}, results, workspace, error);
//   launch->enqueue(stream, error);
//
// All memory is the caller's, nothing is allocated on the GPU and nothing
// synchronizes: `enqueue` may be captured into a CUDA graph, and repeated. All
// functions that can fail return false or nothing and leave one line in
// `error`.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_RUNTIME_LAUNCH_H
#define LPFA_RUNTIME_LAUNCH_H

#include "lpfa/Runtime/Device.h"
#include "lpfa/Runtime/LaunchPlan.h"
#include <map>

namespace lpfa {

/// A tensor in the memory of a device.
struct TensorRef {
  /// May be null if the tensor is empty.
  uint64_t address = 0;
  /// As in the plan: MLIR's name of the type. A type narrower than a byte is
  /// packed, lowest bits first.
  std::string element;
  std::vector<int64_t> sizes;
  /// In elements. Empty means contiguous, last dimension fastest.
  std::vector<int64_t> strides;
};

/// What a function makes of its arguments' sizes.
struct LaunchShape {
  /// Of each result.
  std::vector<std::vector<int64_t>> results;
  /// Memory for the temporaries.
  uint64_t workspaceBytes = 0;
};

/// Alignment in bytes that every tensor and the workspace must have: kernels
/// access 16 bytes at a time, and TMA asks for it.
constexpr uint64_t tensorAlignment = 16;
constexpr uint64_t workspaceAlignment = 256;

/// Checks arguments against a plan and evaluates its sizes, without a device.
/// Addresses do not matter. Errors: number of arguments, element type, rank, a
/// size that is known at compile time, a negative size; a stride that no kernel
/// is given, where it is not that of a contiguous tensor; one of the plan's
/// checks; a tensor or a workspace of more than 2^63 bytes.
std::optional<LaunchShape> inferShape(const LaunchPlan &plan,
                                      const std::vector<TensorRef> &arguments,
                                      int64_t multiprocessors,
                                      std::string &error);

/// What `cuTensorMapEncodeTiled` is called with: see `PlanTensorMap`.
struct BoundTensorMap {
  uint64_t address = 0;
  std::string element;
  std::vector<uint64_t> sizes, strides;
  std::vector<uint32_t> box;
  int64_t swizzle = 0;
};

/// A kernel parameter: a value of 4 or 8 bytes, or a tensor map.
struct BoundParameter {
  unsigned bytes = 8;
  uint64_t value = 0;
  std::optional<BoundTensorMap> map;
};

/// A kernel and all that it is launched with.
struct BoundKernel {
  const PlanKernel *kernel = nullptr;
  std::array<uint32_t, 3> grid = {1, 1, 1};
  std::vector<BoundParameter> parameters;
};

/// Everything that can be said of a launch without a device: the kernels that
/// are launched, in order, those with an empty grid left out. Errors beyond
/// those of `inferShape`: results that do not have the sizes it gives; null or
/// misaligned addresses; results that overlap an argument, one another or the
/// workspace; grids, sizes and strides that CUDA cannot take.
std::optional<std::vector<BoundKernel>>
bindLaunch(const LaunchPlan &plan, const std::vector<TensorRef> &arguments,
           const std::vector<TensorRef> &results, uint64_t workspace,
           int64_t multiprocessors, std::string &error);

/// A function whose arguments are known. Valid as long as its `LoadedPlan`.
class PreparedLaunch {
public:
  PreparedLaunch(PreparedLaunch &&) noexcept;
  PreparedLaunch &operator=(PreparedLaunch &&) noexcept;
  ~PreparedLaunch();

  /// Launches the kernels, one after the other. Can be called many times; the
  /// device's context is current.
  bool enqueue(StreamHandle stream, std::string &error) const;

private:
  friend class LoadedPlan;
  struct Kernel;
  explicit PreparedLaunch(const Device &device);

  const Device *device;
  std::vector<Kernel> kernels;
};

/// The functions of a plan.json with their kernels, loaded on a device.
class LoadedPlan {
public:
  /// Reads `path`, and beside it NAME.cubin, or where that is missing NAME.ptx
  /// for the driver to compile, for every module.
  static std::unique_ptr<LoadedPlan>
  load(const Device &device, const std::string &path, std::string &error);

  /// The same from memory: `images` has a cubin or the text of PTX for every
  /// module's name.
  static std::unique_ptr<LoadedPlan>
  load(const Device &device, ModulePlan plan,
       const std::map<std::string, std::string> &images, std::string &error);

  ~LoadedPlan();
  LoadedPlan(const LoadedPlan &) = delete;
  LoadedPlan &operator=(const LoadedPlan &) = delete;

  const ModulePlan &getPlan() const { return plan; }

  std::optional<LaunchShape> inferShape(const LaunchPlan &function,
                                        const std::vector<TensorRef> &arguments,
                                        std::string &error) const;

  /// `function` is one of `getPlan().functions`.
  std::optional<PreparedLaunch> prepare(const LaunchPlan &function,
                                        const std::vector<TensorRef> &arguments,
                                        const std::vector<TensorRef> &results,
                                        uint64_t workspace,
                                        std::string &error) const;

private:
  struct Kernels;
  LoadedPlan(const Device &device, ModulePlan plan);
  bool loadModule(const std::string &name, const std::string &image,
                  std::string &error);
  bool loadKernel(const PlanKernel &kernel, std::string &error);

  const Device &device;
  ModulePlan plan;
  std::unique_ptr<Kernels> kernels;
};

/// Reads a plan.json. The error begins with the path.
std::optional<ModulePlan> readPlan(const std::string &path, std::string &error);

/// The function `name` of `plan`; its only one if `name` is empty.
const LaunchPlan *findFunction(const ModulePlan &plan, const std::string &name,
                               std::string &error);

/// Whether a kernel of `plan` is given stride `dimension` of `argument`, so
/// that the caller may choose it.
bool takesStride(const LaunchPlan &plan, unsigned argument, unsigned dimension);

/// The bytes of a contiguous tensor; nothing if they are too many for 63 bits.
std::optional<uint64_t> getTensorBytes(const std::string &element,
                                       const std::vector<int64_t> &sizes);

} // namespace lpfa

#endif // LPFA_RUNTIME_LAUNCH_H
