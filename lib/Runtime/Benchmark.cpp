//===- Benchmark.cpp - Timing launches ------------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Runtime/Benchmark.h"
#include "Driver.h"
#include <algorithm>
#include <functional>

using namespace lpfa;

/// `copy` moves 16-byte chunks, one a thread: of all that was tried on an H200
/// (more chunks a thread, persistent blocks, cache hints, bulk copies through
/// shared memory) the fastest. `flush` only reads them: the store never
/// happens, but no compiler can know.
static const char ptx[] = R"(
.version 7.4
.target sm_80
.address_size 64

.visible .entry copy(.param .u64 to, .param .u64 from, .param .u64 chunks)
{
  .reg .pred %p0;
  .reg .b32 %r<6>;
  .reg .b64 %d<6>;
  ld.param.u64 %d0, [to];
  ld.param.u64 %d1, [from];
  ld.param.u64 %d2, [chunks];
  cvta.to.global.u64 %d0, %d0;
  cvta.to.global.u64 %d1, %d1;
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %d3, %r0, 256;
  cvt.u64.u32 %d4, %r1;
  add.u64 %d3, %d3, %d4;
  setp.ge.u64 %p0, %d3, %d2;
  @%p0 ret;
  shl.b64 %d3, %d3, 4;
  add.u64 %d0, %d0, %d3;
  add.u64 %d1, %d1, %d3;
  ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%d1];
  st.global.v4.u32 [%d0], {%r2, %r3, %r4, %r5};
  ret;
}

.visible .entry flush(.param .u64 from, .param .u64 chunks)
{
  .reg .pred %p0;
  .reg .b32 %r<6>;
  .reg .b64 %d<6>;
  ld.param.u64 %d0, [from];
  ld.param.u64 %d1, [chunks];
  cvta.to.global.u64 %d0, %d0;
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %d2, %r0, 256;
  cvt.u64.u32 %d3, %r1;
  add.u64 %d2, %d2, %d3;
  setp.ge.u64 %p0, %d2, %d1;
  @%p0 ret;
  shl.b64 %d2, %d2, 4;
  add.u64 %d0, %d0, %d2;
  ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%d0];
  setp.ne.u32 %p0, %r2, 0x9E3779B9;
  @%p0 ret;
  st.global.u32 [%d0], %r2;
  ret;
}
)";

namespace {

/// What a repetition needs, and gives back at the end.
class Timer {
public:
  explicit Timer(const Device &device)
      : device(device), driver(device.getDriver()) {}
  ~Timer();

  bool prepare(uint64_t copyBytes, std::string &error);
  using Enqueue = std::function<bool(std::string &)>;
  /// Times what `enqueue` puts into the stream, as a graph.
  bool time(const Enqueue &enqueue, const BenchmarkOptions &options,
            Timing &timing, std::string &error);
  /// The same without a graph.
  bool timeInStream(const Enqueue &enqueue, const BenchmarkOptions &options,
                    Timing &timing, std::string &error);
  bool copyByKernel(std::string &error);
  bool copyByDriver(std::string &error);

  cuda::Stream *stream = nullptr;

private:
  /// One repetition: flush, event, work, event.
  bool enqueueAll(const Enqueue &enqueue, const BenchmarkOptions &options,
                  unsigned eventFlags, std::string &error);
  /// Repeats `submit` and evaluates the times between the events.
  bool repeat(const Enqueue &submit, const BenchmarkOptions &options,
              Timing &timing, std::string &error);
  bool run(cuda::Function *function, uint64_t chunks,
           std::vector<uint64_t> parameters, std::string &error);
  bool check(cuda::Result result, std::string &error) {
    return driver.check(result, "cannot benchmark", error);
  }

  const Device &device;
  const cuda::Driver &driver;
  cuda::Module *module = nullptr;
  cuda::Function *copy = nullptr, *flush = nullptr;
  cuda::Event *start = nullptr, *stop = nullptr;
  DeviceBuffer from, to, cache;
};

constexpr uint64_t chunkBytes = 16, blockChunks = 256;

} // namespace

Timer::~Timer() {
  if (start)
    driver.eventDestroy(start);
  if (stop)
    driver.eventDestroy(stop);
  if (stream)
    driver.streamDestroy(stream);
  if (module)
    driver.moduleUnload(module);
}

bool Timer::prepare(uint64_t copyBytes, std::string &error) {
  if (!check(driver.moduleLoadDataEx(&module, ptx, 0, nullptr, nullptr),
             error) ||
      !check(driver.moduleGetFunction(&copy, module, "copy"), error) ||
      !check(driver.moduleGetFunction(&flush, module, "flush"), error) ||
      !check(driver.streamCreate(&stream, cuda::StreamNonBlocking), error) ||
      !check(driver.eventCreate(&start, 0), error) ||
      !check(driver.eventCreate(&stop, 0), error))
    return false;
  uint64_t bytes = (copyBytes + chunkBytes - 1) / chunkBytes * chunkBytes;
  for (auto [buffer, size] :
       {std::pair(&from, bytes), std::pair(&to, bytes),
        std::pair(&cache, 4 * static_cast<uint64_t>(device.getL2Bytes()))}) {
    auto allocated = DeviceBuffer::allocate(device, size, error);
    // Not zeros, whose lines a memory system may treat in a way of their own.
    if (!allocated || !allocated->fill(0x5A, error))
      return false;
    *buffer = std::move(*allocated);
  }
  return true;
}

bool Timer::run(cuda::Function *function, uint64_t chunks,
                std::vector<uint64_t> parameters, std::string &error) {
  if (chunks == 0)
    return true;
  cuda::LaunchConfig config = {};
  config.gridDimX = (chunks + blockChunks - 1) / blockChunks;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = blockChunks;
  config.blockDimY = config.blockDimZ = 1;
  config.stream = stream;
  std::vector<void *> pointers;
  for (uint64_t &parameter : parameters)
    pointers.push_back(&parameter);
  return check(
      driver.launchKernelEx(&config, function, pointers.data(), nullptr),
      error);
}

bool Timer::copyByKernel(std::string &error) {
  uint64_t chunks = from.getSize() / chunkBytes;
  return run(copy, chunks, {to.getAddress(), from.getAddress(), chunks}, error);
}

bool Timer::copyByDriver(std::string &error) {
  return from.getSize() == 0 ||
         check(driver.memcpyDtoDAsync(to.getAddress(), from.getAddress(),
                                      from.getSize(), stream),
               error);
}

bool Timer::enqueueAll(const Enqueue &enqueue, const BenchmarkOptions &options,
                       unsigned eventFlags, std::string &error) {
  uint64_t chunks = cache.getSize() / chunkBytes;
  return (!options.flush ||
          run(flush, chunks, {cache.getAddress(), chunks}, error)) &&
         check(driver.eventRecordWithFlags(start, stream, eventFlags), error) &&
         enqueue(error) &&
         check(driver.eventRecordWithFlags(stop, stream, eventFlags), error);
}

bool Timer::repeat(const Enqueue &submit, const BenchmarkOptions &options,
                   Timing &timing, std::string &error) {
  std::vector<double> times;
  for (unsigned i = 0; i < options.warmup + options.repetitions; ++i) {
    float milliseconds = 0;
    if (!submit(error) || !device.synchronize(stream, error) ||
        !check(driver.eventElapsedTime(&milliseconds, start, stop), error))
      return false;
    if (i >= options.warmup)
      times.push_back(1e3 * milliseconds);
  }
  std::sort(times.begin(), times.end());
  auto getPercentile = [&](double percent) {
    return times[static_cast<size_t>(percent / 100 * (times.size() - 1) + 0.5)];
  };
  timing = {getPercentile(50), times.front(), getPercentile(10),
            getPercentile(90)};
  return true;
}

bool Timer::timeInStream(const Enqueue &enqueue,
                         const BenchmarkOptions &options, Timing &timing,
                         std::string &error) {
  auto submit = [&](std::string &error) {
    return enqueueAll(enqueue, options, /*eventFlags=*/0, error);
  };
  return repeat(submit, options, timing, error);
}

bool Timer::time(const Enqueue &enqueue, const BenchmarkOptions &options,
                 Timing &timing, std::string &error) {
  cuda::Graph *graph = nullptr;
  cuda::GraphExec *executable = nullptr;
  if (!check(driver.streamBeginCapture(stream, cuda::CaptureThreadLocal),
             error))
    return false;
  bool isEnqueued =
      enqueueAll(enqueue, options, cuda::EventRecordExternal, error);
  // A capture is ended in any case; the first error is the one to report.
  std::string second;
  bool isCaptured = check(driver.streamEndCapture(stream, &graph),
                          isEnqueued ? error : second);
  auto submit = [&](std::string &error) {
    return check(driver.graphLaunch(executable, stream), error);
  };
  bool succeeded =
      isEnqueued && isCaptured &&
      check(driver.graphInstantiate(&executable, graph, 0), error) &&
      repeat(submit, options, timing, error);
  if (executable)
    driver.graphExecDestroy(executable);
  if (graph)
    driver.graphDestroy(graph);
  return succeeded;
}

std::optional<BenchmarkReport> lpfa::benchmark(const Device &device,
                                               const PreparedLaunch &launch,
                                               uint64_t bytes,
                                               const BenchmarkOptions &options,
                                               std::string &error) {
  if (options.repetitions == 0) {
    error = "a benchmark needs a repetition";
    return std::nullopt;
  }
  Timer timer(device);
  BenchmarkReport report;
  report.bytes = bytes;
  auto enqueueLaunch = [&](std::string &error) {
    return launch.enqueue(timer.stream, error);
  };
  auto copyByKernel = [&](std::string &error) {
    return timer.copyByKernel(error);
  };
  auto copyByDriver = [&](std::string &error) {
    return timer.copyByDriver(error);
  };
  auto doNothing = [](std::string &) { return true; };
  if (!timer.prepare(bytes / 2, error) ||
      !timer.time(copyByKernel, options, report.copyKernel, error) ||
      !timer.timeInStream(copyByDriver, options, report.copyDriver, error) ||
      !timer.time(enqueueLaunch, options, report.launch, error) ||
      !timer.time(doNothing, options, report.empty, error))
    return std::nullopt;
  return report;
}
