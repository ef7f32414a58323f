//===- FakeCuda.cpp - A CUDA driver without a GPU -------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A libcuda.so.1 for tests of the runtime: its memory is the simulator's, its
// kernels are run by the simulator, its compiler of PTX is the simulator's
// parser, and its clock is what the work would take on an imaginary GPU:
// kernels named `copy` 4 us, other kernels 8 us, cuMemcpyDtoD 5 us.
// Environment:
//
//   LPFA_FAKE_CUDA_CHIP=90         the compute capability (default 100)
//   LPFA_FAKE_CUDA_LOG=FILE        what was called, one line each
//   LPFA_FAKE_CUDA_FAIL=NAME=CODE  the function NAME returns CODE
//
//===----------------------------------------------------------------------===//

#include "PTXSyntax.h"
#include "Program.h"
#include "lpfa/Simulator/Simulator.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include <deque>
#include <functional>
#include <map>

using namespace lpfa;

namespace {

enum : int {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidImage = 200,
  InvalidPTX = 218,
  NotFound = 500,
  LaunchFailed = 719,
  StreamCaptureInvalidated = 901,
};

struct Module {
  std::unique_ptr<sim::PTXModule> ptx;
};

struct Function {
  Module *module;
  std::string name;
};

using Work = std::function<int()>;

struct Graph {
  std::vector<Work> work;
};

struct Stream {
  /// Null while nothing is captured.
  Graph *capture = nullptr;
};

struct Event {
  double microseconds = 0;
};

struct Driver {
  sim::DeviceMemory memory;
  std::deque<std::vector<uint8_t>> storage;
  std::deque<Function> functions;
  double clock = 0;
};

Driver &getDriver() {
  static Driver driver;
  return driver;
}

void log(const std::string &line) {
  static const char *path = std::getenv("LPFA_FAKE_CUDA_LOG");
  if (!path)
    return;
  std::error_code code;
  llvm::raw_fd_ostream(path, code, llvm::sys::fs::OF_Append) << line << "\n";
}

/// Logs a call; its result where it was asked to fail, else success.
int enter(llvm::StringRef name, const llvm::Twine &details = "") {
  log(llvm::StringRef((name + " " + details).str()).trim().str());
  static const char *failure = std::getenv("LPFA_FAKE_CUDA_FAIL");
  int code = Success;
  if (failure) {
    auto [function, value] = llvm::StringRef(failure).split('=');
    if (function == name)
      value.getAsInteger(10, code);
  }
  return code;
}

int getChip() {
  const char *chip = std::getenv("LPFA_FAKE_CUDA_CHIP");
  return chip ? std::atoi(chip) : 100;
}

/// The host's storage of `size` bytes of the device; null if they are not one
/// buffer's.
uint8_t *translate(uint64_t address, uint64_t size) {
  Driver &driver = getDriver();
  for (unsigned i = 0; i < driver.memory.numBuffers(); ++i) {
    uint64_t begin = driver.memory.address(i);
    uint64_t bytes = driver.memory.size(i);
    if (address >= begin && address - begin <= bytes &&
        size <= bytes - (address - begin))
      return driver.storage[i].data() + (address - begin);
  }
  return nullptr;
}

/// Does something now, or when the graph is launched.
int submit(Stream *stream, Work work) {
  if (!stream || !stream->capture)
    return work();
  stream->capture->work.push_back(std::move(work));
  return Success;
}

int copyOnDevice(uint64_t to, uint64_t from, size_t size) {
  uint8_t *target = translate(to, size), *source = translate(from, size);
  if (!target || !source)
    return InvalidValue;
  std::memmove(target, source, size);
  getDriver().clock += 5;
  return Success;
}

int simulate(const Function &function, const sim::Launch &launch) {
  Driver &driver = getDriver();
  driver.clock += function.name == "copy" ? 4 : 8;
  sim::Options options;
  options.chip = "sm_" + std::to_string(getChip()) + "a";
  auto report =
      sim::simulate(*function.module->ptx, launch, driver.memory, options);
  if (!report) {
    log("simulator: " + llvm::toString(report.takeError()));
    return LaunchFailed;
  }
  if (report->ok())
    return Success;
  std::string text;
  llvm::raw_string_ostream stream(text);
  report->print(stream, function.name);
  log("simulator: " + text);
  return LaunchFailed;
}

template <typename T> std::string print(llvm::ArrayRef<T> values) {
  return llvm::join(
      llvm::map_range(values, [](T v) { return std::to_string(v); }), "x");
}

struct Name {
  int code;
  const char *name, *text;
};
constexpr Name names[] = {
    {InvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {InvalidImage, "CUDA_ERROR_INVALID_IMAGE",
     "device kernel image is invalid"},
    {InvalidPTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {NotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {LaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
};

// As in cuda.h.
struct LaunchAttribute {
  int id;
  char pad[4];
  union {
    char pad[64];
    unsigned clusterDim[3];
  } value;
};
struct LaunchConfig {
  unsigned grid[3], block[3];
  unsigned sharedBytes;
  Stream *stream;
  LaunchAttribute *attributes;
  unsigned numAttributes;
};

const sim::ptx::SyntaxFunction *getSyntax(const Function &function) {
  return function.module->ptx->program()->find(function.name)->syntax;
}

} // namespace

#define ENTER(...)                                                             \
  if (int code = enter(__VA_ARGS__))                                           \
    return code;

extern "C" {

int cuGetErrorName(int code, const char **result) {
  for (const Name &known : names)
    if (known.code == code)
      *result = known.name;
  return Success;
}

int cuGetErrorString(int code, const char **result) {
  for (const Name &known : names)
    if (known.code == code)
      *result = known.text;
  return Success;
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

int cuInit(unsigned) { return enter("cuInit"); }

int cuDriverGetVersion(int *version) {
  *version = 13000;
  return Success;
}

int cuDeviceGetCount(int *count) {
  *count = 1;
  return Success;
}

int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return ordinal == 0 ? Success : InvalidDevice;
}

int cuDeviceGetName(char *name, int length, int) {
  std::snprintf(name, length, "Fake GPU");
  return Success;
}

int cuDeviceGetAttribute(int *value, int attribute, int) {
  const std::map<int, int> values = {
      {16, 4},              // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
      {38, 65536},          // CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE
      {75, getChip() / 10}, // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
      {76, getChip() % 10}, // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
      {97, 232448}, // CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
  };
  auto found = values.find(attribute);
  if (found == values.end())
    return InvalidValue;
  *value = found->second;
  return Success;
}

int cuDevicePrimaryCtxRetain(void **context, int) {
  *context = &getDriver();
  return enter("cuDevicePrimaryCtxRetain");
}
int cuDevicePrimaryCtxRelease_v2(int) {
  return enter("cuDevicePrimaryCtxRelease");
}
int cuCtxSetCurrent(void *context) {
  return context == &getDriver() ? Success : InvalidValue;
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

int cuModuleLoadDataEx(Module **module, const void *image, unsigned numOptions,
                       int *options, void **values) {
  llvm::StringRef text(static_cast<const char *>(image));
  bool isPTX = text.contains(".target");
  ENTER("cuModuleLoadDataEx", isPTX ? "PTX" : "cubin");
  if (!isPTX)
    return InvalidImage;
  auto ptx = sim::PTXModule::parse(text, "ptx");
  if (!ptx) {
    std::string message = llvm::toString(ptx.takeError());
    for (unsigned i = 0; i < numOptions; ++i)
      if (options[i] == 5) // CU_JIT_ERROR_LOG_BUFFER
        std::strncpy(static_cast<char *>(values[i]), message.c_str(), 500);
    return InvalidPTX;
  }
  *module = new Module{std::move(*ptx)};
  return Success;
}

int cuModuleUnload(Module *module) {
  delete module;
  return enter("cuModuleUnload");
}

int cuModuleGetFunction(Function **function, Module *module, const char *name) {
  if (!module->ptx->program()->find(name))
    return NotFound;
  getDriver().functions.push_back({module, name});
  *function = &getDriver().functions.back();
  return Success;
}

int cuFuncSetAttribute(Function *function, int attribute, int value) {
  return enter("cuFuncSetAttribute", llvm::Twine(function->name) + " " +
                                         llvm::Twine(attribute) + " " +
                                         llvm::Twine(value));
}

int cuFuncGetParamInfo(Function *function, size_t index, size_t *offset,
                       size_t *size) {
  const auto &parameters = getSyntax(*function)->parameters;
  if (index >= parameters.size())
    return InvalidValue;
  *offset = 0;
  *size = parameters[index].size;
  return Success;
}

int cuLaunchKernelEx(const LaunchConfig *config, Function *function,
                     void **values, void **) {
  sim::Launch launch;
  launch.entry = function->name;
  launch.grid = {config->grid[0], config->grid[1], config->grid[2]};
  launch.block = {config->block[0], config->block[1], config->block[2]};
  launch.dynamicSharedBytes = config->sharedBytes;
  std::string cluster;
  for (unsigned i = 0; i < config->numAttributes; ++i)
    if (config->attributes[i].id ==
        4) { // CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
      const unsigned *sizes = config->attributes[i].value.clusterDim;
      launch.cluster = {sizes[0], sizes[1], sizes[2]};
      cluster = " cluster " + print(llvm::ArrayRef(sizes, 3));
    }
  std::string parameters;
  for (const auto &[index, parameter] :
       llvm::enumerate(getSyntax(*function)->parameters)) {
    auto *bytes = static_cast<const uint8_t *>(values[index]);
    launch.parameters.push_back(
        sim::Parameter::raw(llvm::ArrayRef(bytes, parameter.size)));
    if (parameter.size <= 8) {
      uint64_t value = 0;
      std::memcpy(&value, bytes, parameter.size);
      parameters +=
          translate(value, 1) ? " pointer" : " " + std::to_string(value);
    } else {
      parameters += " map";
    }
  }
  ENTER("cuLaunchKernelEx",
        llvm::Twine(function->name) + " grid " +
            print(llvm::ArrayRef(config->grid)) + " block " +
            print(llvm::ArrayRef(config->block)) + cluster + " shared " +
            llvm::Twine(config->sharedBytes) + " (" +
            llvm::StringRef(parameters).trim() + ")");
  return submit(config->stream,
                [function, launch] { return simulate(*function, launch); });
}

int cuTensorMapEncodeTiled(void *result, int type, uint32_t rank, void *address,
                           const uint64_t *sizes, const uint64_t *strides,
                           const uint32_t *box, const uint32_t *elementStrides,
                           int interleave, int swizzle, int promotion,
                           int fill) {
  if (rank < 1 || rank > sim::TensorMap::maxRank)
    return InvalidValue;
  ENTER("cuTensorMapEncodeTiled",
        llvm::formatv("type {0} sizes {1} strides {2} box {3} interleave {4} "
                      "swizzle {5} promotion {6} fill {7}",
                      type, print(llvm::ArrayRef(sizes, rank)),
                      print(llvm::ArrayRef(strides, rank - 1)),
                      print(llvm::ArrayRef(box, rank)), interleave, swizzle,
                      promotion, fill)
            .str());
  // CUtensorMapDataType.
  using Element = sim::TensorMapElement;
  constexpr Element elements[] = {
      Element::U8,  Element::U16, Element::U32, Element::S32, Element::U64,
      Element::S64, Element::F16, Element::F32, Element::F64, Element::BF16};
  if (type < 0 || static_cast<size_t>(type) >= std::size(elements))
    return InvalidValue;
  sim::TensorMap map;
  map.element = elements[type];
  map.rank = rank;
  map.globalAddress = reinterpret_cast<uint64_t>(address);
  std::copy_n(sizes, rank, map.dims.begin());
  std::copy_n(strides, rank - 1, map.strides.begin());
  std::copy_n(box, rank, map.box.begin());
  std::copy_n(elementStrides, rank, map.elementStrides.begin());
  map.interleave = static_cast<sim::TensorMapInterleave>(interleave);
  map.swizzle = static_cast<sim::TensorMapSwizzle>(swizzle);
  map.fill = static_cast<sim::TensorMapFill>(fill);
  if (llvm::Error error = map.validate()) {
    log("simulator: " + llvm::toString(std::move(error)));
    return InvalidValue;
  }
  sim::TensorMapBlob blob = map.encode();
  std::memcpy(result, blob.data(), blob.size());
  return Success;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

int cuMemAlloc_v2(uint64_t *address, size_t size) {
  ENTER("cuMemAlloc", llvm::Twine(size));
  Driver &driver = getDriver();
  driver.storage.emplace_back(size);
  unsigned number = driver.memory.addBuffer(
      "allocation " + std::to_string(driver.storage.size()),
      driver.storage.back());
  *address = driver.memory.address(number);
  return Success;
}

int cuMemFree_v2(uint64_t address) {
  ENTER("cuMemFree");
  return translate(address, 1) ? Success : InvalidValue;
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size) {
  ENTER("cuMemcpyHtoD", llvm::Twine(size));
  uint8_t *target = translate(to, size);
  if (!target)
    return InvalidValue;
  std::memcpy(target, from, size);
  return Success;
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size) {
  ENTER("cuMemcpyDtoH", llvm::Twine(size));
  uint8_t *source = translate(from, size);
  if (!source)
    return InvalidValue;
  std::memcpy(to, source, size);
  return Success;
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size,
                         Stream *stream) {
  ENTER("cuMemcpyDtoDAsync", llvm::Twine(size));
  return submit(stream, [=] { return copyOnDevice(to, from, size); });
}

int cuMemsetD8Async(uint64_t address, unsigned char value, size_t size,
                    Stream *stream) {
  ENTER("cuMemsetD8Async",
        llvm::Twine(unsigned(value)) + " " + llvm::Twine(size));
  return submit(stream, [=] {
    uint8_t *target = translate(address, size);
    if (!target)
      return int(InvalidValue);
    std::memset(target, value, size);
    return int(Success);
  });
}

//===----------------------------------------------------------------------===//
// Streams, events and graphs
//===----------------------------------------------------------------------===//

int cuStreamCreate(Stream **stream, unsigned) {
  *stream = new Stream;
  return Success;
}
int cuStreamDestroy_v2(Stream *stream) {
  delete stream;
  return Success;
}
int cuStreamSynchronize(Stream *) { return enter("cuStreamSynchronize"); }

int cuStreamBeginCapture_v2(Stream *stream, int) {
  stream->capture = new Graph;
  return enter("cuStreamBeginCapture");
}
int cuStreamEndCapture(Stream *stream, Graph **graph) {
  *graph = stream->capture;
  stream->capture = nullptr;
  return enter("cuStreamEndCapture");
}

int cuEventCreate(Event **event, unsigned) {
  *event = new Event;
  return Success;
}
int cuEventDestroy_v2(Event *event) {
  delete event;
  return Success;
}
int cuEventRecordWithFlags(Event *event, Stream *stream, unsigned flags) {
  ENTER("cuEventRecordWithFlags", llvm::Twine(flags));
  return submit(stream, [event] {
    event->microseconds = getDriver().clock;
    return Success;
  });
}
int cuEventElapsedTime(float *milliseconds, Event *start, Event *end) {
  *milliseconds = (end->microseconds - start->microseconds) / 1e3;
  return Success;
}

int cuGraphInstantiateWithFlags(Graph **executable, Graph *graph,
                                unsigned long long) {
  *executable = new Graph(*graph);
  return Success;
}
int cuGraphLaunch(Graph *executable, Stream *) {
  ENTER("cuGraphLaunch");
  for (const Work &work : executable->work)
    if (int code = work())
      return code;
  return Success;
}
int cuGraphExecDestroy(Graph *executable) {
  delete executable;
  return Success;
}
int cuGraphDestroy(Graph *graph) {
  delete graph;
  return Success;
}

} // extern "C"
