//===- lpfa-launch.cpp - Launches compiled functions ----------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "lpfa/Runtime/Tensors.h"
#include <cstdio>

using namespace lpfa;

namespace {

/// One run of the tool.
class Run {
public:
  Run(const LaunchOptions &options, std::string &error)
      : options(options), error(error) {}

  bool run();

private:
  bool readArguments(const ModulePlan &plan);
  bool uploadArguments();
  bool allocateResults();
  bool runBenchmark(const PreparedLaunch &launch);
  void print(const BenchmarkReport &report) const;
  void printJSON(const BenchmarkReport &report) const;

  const LaunchOptions &options;
  std::string &error;
  const LaunchPlan *function = nullptr;
  /// Empty where the argument is random.
  std::vector<NpyArray> arrays;
  std::vector<TensorRef> arguments, results;

  std::unique_ptr<Device> device;
  std::unique_ptr<LoadedPlan> loaded;
  std::vector<DeviceTensor> tensors;
  DeviceBuffer workspace;
};

} // namespace

/// Before anything of the GPU: what is wrong with the arguments shows on any
/// machine.
bool Run::readArguments(const ModulePlan &plan) {
  function = findFunction(plan, options.function, error);
  if (!function) {
    error = "--function: " + error;
    return false;
  }
  size_t count = function->arguments.size();
  if (options.arguments.size() != count) {
    error = function->function + " takes " + std::to_string(count) +
            " arguments, " + std::to_string(options.arguments.size()) +
            " given with --arg and --size";
    return false;
  }
  arrays.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const ArgumentSource &source = options.arguments[i];
    const PlanArgument &expected = function->arguments[i];
    std::string name = "argument " + std::to_string(i) + ": ";
    if (source.file.empty()) {
      if (!canBeRandom(expected.element)) {
        error = name + "elements of " + expected.element +
                " are not random: give an array with --arg";
        return false;
      }
      arguments.push_back({0, expected.element, source.sizes, {}});
      continue;
    }
    if (!readNpy(source.file, arrays[i], error)) {
      error = name + error;
      return false;
    }
    if (!checkArray(arrays[i], expected.element, expected.shape, error)) {
      error = name + source.file + ": " + error;
      return false;
    }
    arguments.push_back({0, expected.element, arrays[i].shape, {}});
  }
  // Sizes that do not depend on the device.
  return inferShape(*function, arguments, /*multiprocessors=*/1, error)
      .has_value();
}

bool Run::uploadArguments() {
  for (size_t i = 0; i < arguments.size(); ++i) {
    TensorRef &argument = arguments[i];
    size_t rank = argument.sizes.size();
    int64_t padding = rank >= 2 && takesStride(*function, i, rank - 2)
                          ? options.rowPadding
                          : 0;
    auto tensor =
        DeviceTensor::allocate(*device, argument.element, argument.sizes,
                               options.offsetBytes, padding, error);
    if (!tensor || !(options.arguments[i].file.empty()
                         ? tensor->fillRandomly(options.seed + i, error)
                         : tensor->upload(arrays[i], error)))
      return false;
    argument = tensor->getRef();
    tensors.push_back(std::move(*tensor));
  }
  return true;
}

bool Run::allocateResults() {
  auto shape = loaded->inferShape(*function, arguments, error);
  if (!shape)
    return false;
  for (size_t i = 0; i < shape->results.size(); ++i) {
    auto tensor = DeviceTensor::allocate(*device, function->results[i].element,
                                         shape->results[i], options.offsetBytes,
                                         /*rowPadding=*/0, error);
    if (!tensor)
      return false;
    results.push_back(tensor->getRef());
    tensors.push_back(std::move(*tensor));
  }
  auto buffer = DeviceBuffer::allocate(*device, shape->workspaceBytes, error);
  if (!buffer || !buffer->fill(0xFF, error))
    return false;
  workspace = std::move(*buffer);
  return true;
}

bool Run::run() {
  auto plan = readPlan(options.plan, error);
  if (!plan || !readArguments(*plan))
    return false;
  if (!options.outputDirectory.empty() &&
      !checkWritable(options.outputDirectory, error)) {
    error = "--out: " + error;
    return false;
  }
  device = Device::open(options.device, error);
  if (!device)
    return false;
  loaded = LoadedPlan::load(*device, options.plan, error);
  if (!loaded)
    return false;
  function = findFunction(loaded->getPlan(), options.function, error);
  if (!function || !uploadArguments() || !allocateResults())
    return false;
  auto launch = loaded->prepare(*function, arguments, results,
                                workspace.getAddress(), error);
  if (!launch || !launch->enqueue(nullptr, error) ||
      !device->synchronize(nullptr, error))
    return false;

  std::vector<NpyArray> downloaded;
  if (!options.outputDirectory.empty())
    for (size_t i = 0; i < results.size(); ++i) {
      downloaded.push_back(makeArray(results[i].element, results[i].sizes));
      if (!tensors[arguments.size() + i].download(downloaded.back(), error))
        return false;
    }
  if (options.benchmark != LaunchOptions::Format::None &&
      !runBenchmark(*launch))
    return false;
  if (!options.outputDirectory.empty() &&
      !writeResults(downloaded, options.outputDirectory, error)) {
    error = "--out: " + error;
    return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Benchmark
//===----------------------------------------------------------------------===//

bool Run::runBenchmark(const PreparedLaunch &launch) {
  uint64_t bytes = 0;
  for (const std::vector<TensorRef> *group : {&arguments, &results})
    for (const TensorRef &tensor : *group)
      bytes += *getTensorBytes(tensor.element, tensor.sizes);
  auto report = benchmark(*device, launch, bytes, options.timing, error);
  if (!report)
    return false;
  if (options.benchmark == LaunchOptions::Format::JSON)
    printJSON(*report);
  else
    print(*report);
  return true;
}

static std::string printSizes(const TensorRef &tensor) {
  std::string text;
  for (int64_t size : tensor.sizes)
    text += std::to_string(size) + "x";
  return text + tensor.element;
}

void Run::print(const BenchmarkReport &report) const {
  std::printf("%s on %s, %u repetitions, L2 %s\n", function->function.c_str(),
              device->getName().c_str(), options.timing.repetitions,
              options.timing.flush ? "flushed" : "not flushed");
  for (const TensorRef &tensor : arguments)
    std::printf("  takes %s\n", printSizes(tensor).c_str());
  for (const TensorRef &tensor : results)
    std::printf("  makes %s\n", printSizes(tensor).c_str());
  auto printTiming = [&](const char *name, const Timing &timing) {
    std::printf(
        "  %-16s %10.2f us  (min %.2f, p10 %.2f, p90 %.2f)  %8.1f GB/s\n", name,
        timing.median, timing.min, timing.p10, timing.p90,
        report.getBandwidth(timing));
  };
  printTiming("launch", report.launch);
  printTiming("copy kernel", report.copyKernel);
  printTiming("cuMemcpyDtoD", report.copyDriver);
  std::printf("  %-16s %10.2f us\n", "empty", report.empty.median);
  std::printf("  %.1f%% of the faster copy\n",
              100 * report.getFractionOfCopy());
}

/// A string in quotes; other than those quotes and backslashes the names of
/// functions and GPUs have nothing to escape.
static std::string quote(const std::string &text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

void Run::printJSON(const BenchmarkReport &report) const {
  auto printTiming = [&](const char *name, const Timing &timing) {
    std::printf("  \"%s\": {\"median_us\": %.3f, \"min_us\": %.3f, "
                "\"p10_us\": %.3f, \"p90_us\": %.3f, \"gb_per_s\": %.1f},\n",
                name, timing.median, timing.min, timing.p10, timing.p90,
                report.getBandwidth(timing));
  };
  auto printTensors = [&](const char *name,
                          const std::vector<TensorRef> &tensors) {
    std::printf("  \"%s\": [", name);
    for (size_t i = 0; i < tensors.size(); ++i)
      std::printf("%s\"%s\"", i ? ", " : "", printSizes(tensors[i]).c_str());
    std::printf("],\n");
  };
  std::printf("{\n  \"function\": %s,\n  \"device\": %s,\n",
              quote(function->function).c_str(),
              quote(device->getName()).c_str());
  std::printf("  \"chip\": \"%s\",\n  \"driver_cuda\": \"%d.%d\",\n",
              loaded->getPlan().chip.c_str(), device->getDriverVersion() / 1000,
              device->getDriverVersion() % 1000 / 10);
  printTensors("arguments", arguments);
  printTensors("results", results);
  std::printf("  \"bytes\": %llu,\n  \"repetitions\": %u,\n"
              "  \"l2_flushed\": %s,\n",
              static_cast<unsigned long long>(report.bytes),
              options.timing.repetitions,
              options.timing.flush ? "true" : "false");
  printTiming("launch", report.launch);
  printTiming("copy_kernel", report.copyKernel);
  printTiming("copy_driver", report.copyDriver);
  std::printf("  \"empty_us\": %.3f,\n  \"fraction_of_copy\": %.4f\n}\n",
              report.empty.median, report.getFractionOfCopy());
}

int main(int argc, char **argv) {
  LaunchOptions options;
  std::string error;
  bool succeeded = parseOptions(argc, argv, options, error);
  if (succeeded && options.help) {
    std::fputs(launchHelp, stdout);
    return 0;
  }
  if (succeeded && Run(options, error).run())
    return 0;
  std::fprintf(stderr, "lpfa-launch: error: %s\n", error.c_str());
  return 1;
}
