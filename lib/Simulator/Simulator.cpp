//===- Simulator.cpp - Launches
//---------------------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Simulator/Simulator.h"
#include "Machine.h"
#include "Timing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"
#include <chrono>
#include <condition_variable>
#include <thread>

using namespace lpfa::sim;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Modules, memory, parameters
//===----------------------------------------------------------------------===//

PTXModule::PTXModule(std::shared_ptr<const Program> program)
    : impl(std::move(program)) {}
PTXModule::~PTXModule() = default;

Expected<std::unique_ptr<PTXModule>> PTXModule::parse(StringRef text,
                                                      StringRef name) {
  Expected<std::unique_ptr<ptx::SyntaxModule>> syntax = ptx::parse(text, name);
  if (!syntax)
    return syntax.takeError();
  Expected<std::unique_ptr<Program>> program = decode(std::move(*syntax));
  if (!program)
    return program.takeError();
  return std::unique_ptr<PTXModule>(new PTXModule(std::move(*program)));
}

std::vector<std::string> PTXModule::entries() const {
  std::vector<std::string> names;
  for (const std::unique_ptr<Function> &f : impl->functions)
    names.push_back(f->name);
  return names;
}

DeviceMemory::DeviceMemory() : pimpl(std::make_unique<Impl>()) {}
DeviceMemory::~DeviceMemory() = default;

/// Buffers lie in slots of 2^36 bytes, well inside them, so that an address
/// somewhat before or after a buffer is still seen to miss it.
static uint64_t addressInSlot(uint64_t slot) {
  return (slot + 1) << bufferShift | uint64_t(1) << 30;
}

unsigned DeviceMemory::addBuffer(StringRef name,
                                 llvm::MutableArrayRef<uint8_t> storage) {
  auto buffer = std::make_unique<GlobalBuffer>();
  buffer->name = name.str();
  buffer->data = storage.data();
  buffer->size = storage.size();
  buffer->address = addressInSlot(pimpl->buffers.size());
  pimpl->buffers.push_back(std::move(buffer));
  return pimpl->buffers.size() - 1;
}

unsigned DeviceMemory::addOutput(StringRef name,
                                 llvm::MutableArrayRef<uint8_t> storage) {
  unsigned index = addBuffer(name, storage);
  llvm::fill(storage, 0xFF);
  pimpl->buffers[index]->undefined.assign(storage.size(), 1);
  return index;
}

uint64_t DeviceMemory::address(unsigned buffer) const {
  return pimpl->buffers[buffer]->address;
}
uint64_t DeviceMemory::size(unsigned buffer) const {
  return pimpl->buffers[buffer]->size;
}
unsigned DeviceMemory::numBuffers() const { return pimpl->buffers.size(); }

int64_t DeviceMemory::firstUndefined(unsigned buffer) const {
  const std::vector<uint8_t> &flags = pimpl->buffers[buffer]->undefined;
  auto it = llvm::find(flags, 1);
  return it == flags.end() ? -1 : it - flags.begin();
}

Parameter Parameter::buffer(unsigned index, int64_t byteOffset) {
  Parameter p;
  p.kind = Kind::Buffer;
  p.bufferIndex = index;
  p.byteOffset = byteOffset;
  return p;
}
Parameter Parameter::raw(llvm::ArrayRef<uint8_t> bytes) {
  Parameter p;
  p.bytes = bytes.vec();
  return p;
}
template <typename T> static Parameter scalar(T value) {
  uint8_t bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  return Parameter::raw(bytes);
}
Parameter Parameter::u32(uint32_t value) { return scalar(value); }
Parameter Parameter::u64(uint64_t value) { return scalar(value); }
Parameter Parameter::f32(float value) { return scalar(value); }
Parameter Parameter::tensorMap(unsigned index, const TensorMap &map,
                               int64_t byteOffset) {
  Parameter p;
  p.kind = Kind::TensorMap;
  p.bufferIndex = index;
  p.map = map;
  p.byteOffset = byteOffset;
  return p;
}

Error lpfa::sim::parseChecks(StringRef list, Checks &checks) {
  llvm::SmallVector<StringRef> names;
  list.split(names, ',', -1, /*KeepEmpty=*/false);
  auto set = [&](StringRef name, bool value) {
    bool all = name == "all" || name == "none";
    if (name == "none")
      value = false;
    bool known = all || name == "strict-fences";
    struct {
      StringRef name;
      bool *flag;
    } table[] = {
        {"races", &checks.races},    {"uninitialized", &checks.uninitialized},
        {"bounds", &checks.bounds},  {"barriers", &checks.barriers},
        {"tmem", &checks.tmem},      {"fences", &checks.fences},
        {"results", &checks.results}};
    for (auto &entry : table)
      if (all || entry.name == name) {
        *entry.flag = value;
        known = true;
      }
    if (name == "strict-fences" || name == "none")
      checks.strictFences = value;
    return known;
  };
  // A list without '-' and "all" says exactly which checks run.
  bool exact = !names.empty() && llvm::any_of(names, [](StringRef n) {
    return !n.starts_with("-") && n != "all" && n != "strict-fences";
  });
  if (exact)
    set("none", false);
  for (StringRef name : names) {
    StringRef plain = name;
    bool value = !plain.consume_front("-");
    if (!set(plain, value))
      return llvm::createStringError(
          "unknown check '" + plain +
          "'; known are races, uninitialized, bounds, barriers, tmem, fences, "
          "results, strict-fences, all, none");
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Launch
//===----------------------------------------------------------------------===//

static Error launchError(const Launch &launch, const Twine &message) {
  return llvm::createStringError("launch of '" + launch.entry +
                                 "': " + message);
}

/// The bytes of one parameter, or of a field inside one.
static Expected<std::vector<uint8_t>> layOut(const Parameter &parameter,
                                             const Twine &name,
                                             const Launch &launch,
                                             const DeviceMemory &memory) {
  if (parameter.kind != Parameter::Kind::Bytes &&
      parameter.bufferIndex >= memory.numBuffers())
    return launchError(launch, name + " names a buffer that does not exist");
  switch (parameter.kind) {
  case Parameter::Kind::Buffer: {
    uint64_t address =
        memory.address(parameter.bufferIndex) + parameter.byteOffset;
    std::vector<uint8_t> bytes(8);
    std::memcpy(bytes.data(), &address, 8);
    return bytes;
  }
  case Parameter::Kind::Bytes: {
    std::vector<uint8_t> bytes = parameter.bytes;
    for (auto [index, field] : llvm::enumerate(parameter.fields)) {
      Expected<std::vector<uint8_t>> value =
          layOut(field, name + ", field " + Twine(index), launch, memory);
      if (!value)
        return value.takeError();
      if (field.offset + value->size() > bytes.size())
        return launchError(launch, name + ", field " + Twine(index) +
                                       " ends behind its " +
                                       Twine(bytes.size()) + " bytes");
      llvm::copy(*value, bytes.begin() + field.offset);
    }
    return bytes;
  }
  case Parameter::Kind::TensorMap: {
    TensorMap map = parameter.map;
    map.globalAddress =
        memory.address(parameter.bufferIndex) + parameter.byteOffset;
    if (Error e = map.validate())
      return launchError(launch, name + ": " + llvm::toString(std::move(e)));
    TensorMapBlob blob = map.encode();
    return std::vector<uint8_t>(blob.begin(), blob.end());
  }
  }
  llvm_unreachable("unknown kind of parameter");
}

/// The bytes of the entry's parameters.
static Expected<std::vector<uint8_t>>
layOutParameters(const Function &function, const Launch &launch,
                 const DeviceMemory &memory) {
  const std::vector<ptx::SyntaxVariable> &declared =
      function.syntax->parameters;
  if (launch.parameters.size() != declared.size())
    return launchError(launch, Twine(launch.parameters.size()) +
                                   " parameters given, the entry has " +
                                   Twine(declared.size()));
  std::vector<uint8_t> bytes(llvm::alignTo(function.parameterBytes, 16) + 16);
  for (auto [index, parameter] : llvm::enumerate(launch.parameters)) {
    const ptx::SyntaxVariable &v = declared[index];
    std::string name =
        ("parameter " + Twine(index) + " ('" + v.name + "')").str();
    Expected<std::vector<uint8_t>> value =
        layOut(parameter, name, launch, memory);
    if (!value)
      return value.takeError();
    if (value->size() != v.size)
      return launchError(launch, name + " is " + Twine(v.size) +
                                     " bytes, the launch gives " +
                                     Twine(value->size()));
    llvm::copy(*value, bytes.begin() + function.parameterOffsets[index]);
  }
  return std::move(bytes);
}

static Error checkDimensions(const Function &function, Launch &launch,
                             Dim3 &cluster) {
  const Dim3 &grid = launch.grid, &block = launch.block;
  if (!grid.x || !grid.y || !grid.z)
    return launchError(launch, "the grid is empty");
  if (grid.y > 65535 || grid.z > 65535 || grid.x > 0x7FFFFFFF)
    return launchError(launch, "the grid is too large");
  if (!block.x || !block.y || !block.z)
    return launchError(launch, "the block is empty");
  if (block.count() > 1024 || block.x > 1024 || block.y > 1024 || block.z > 64)
    return launchError(launch, "a block of " + Twine(block.count()) +
                                   " threads; the limit is 1024");
  const ptx::SyntaxFunction &syntax = *function.syntax;
  auto is = [](const uint32_t *d) { return d[0] != 0; };
  if (is(syntax.requiredThreads) && (block.x != syntax.requiredThreads[0] ||
                                     block.y != syntax.requiredThreads[1] ||
                                     block.z != syntax.requiredThreads[2]))
    return launchError(launch, "the entry requires blocks of " +
                                   Twine(syntax.requiredThreads[0]) + "x" +
                                   Twine(syntax.requiredThreads[1]) + "x" +
                                   Twine(syntax.requiredThreads[2]) +
                                   " threads");
  if (is(syntax.maxThreads) && block.count() > uint64_t(syntax.maxThreads[0]) *
                                                   syntax.maxThreads[1] *
                                                   syntax.maxThreads[2])
    return launchError(launch, "more threads than the entry's .maxntid");
  const uint32_t *required = syntax.requiredCluster;
  cluster = launch.cluster;
  if (cluster.x == 0)
    cluster = is(required) ? Dim3{required[0], required[1], required[2]}
                           : Dim3{1, 1, 1};
  else if (is(required) &&
           (cluster.x != required[0] || cluster.y != required[1] ||
            cluster.z != required[2]))
    return launchError(launch, "the entry requires another cluster size");
  if (!cluster.count() || cluster.count() > 16)
    return launchError(launch, "a cluster of " + Twine(cluster.count()) +
                                   " CTAs; the limit is 16");
  if (grid.x % cluster.x || grid.y % cluster.y || grid.z % cluster.z)
    return launchError(launch, "the grid is no multiple of the cluster");
  return Error::success();
}

/// Module variables in global and constant space, as buffers after the user's.
static Error
placeModuleVariables(const Program &program, LaunchContext &context,
                     std::vector<std::unique_ptr<GlobalBuffer>> &own,
                     std::vector<std::vector<uint8_t>> &storage) {
  const std::vector<ptx::SyntaxVariable> &variables = program.syntax->variables;
  context.moduleVariables.assign(variables.size(), -1);
  for (auto [index, v] : llvm::enumerate(variables)) {
    if (v.space == "shared")
      continue;
    std::vector<uint8_t> bytes(v.size, 0);
    llvm::copy(v.initializer, bytes.begin());
    storage.push_back(std::move(bytes));
    auto buffer = std::make_unique<GlobalBuffer>();
    buffer->name = v.name;
    buffer->data = storage.back().data();
    buffer->size = v.size;
    buffer->address = addressInSlot(context.buffers.size());
    context.moduleVariables[index] = context.buffers.size();
    context.buffers.push_back(buffer.get());
    own.push_back(std::move(buffer));
  }
  for (auto [index, v] : llvm::enumerate(variables))
    for (const ptx::SyntaxVariable::Relocation &r : v.relocations) {
      auto it = llvm::find_if(variables, [&](const ptx::SyntaxVariable &o) {
        return o.name == r.symbol && o.space != "shared";
      });
      if (it == variables.end())
        return ptx::errorAt(program.syntax->name, v.line,
                            "initializer names '" + r.symbol +
                                "', which is no global variable");
      int target = context.moduleVariables[it - variables.begin()];
      uint64_t address = context.buffers[target]->address + r.addend;
      GlobalBuffer &buffer = *context.buffers[context.moduleVariables[index]];
      std::memcpy(buffer.data + r.offset, &address,
                  std::min<uint64_t>(8, buffer.size - r.offset));
    }
  return Error::success();
}

/// Writes a line to stderr every two seconds until it goes out of scope.
namespace {
class Progress {
public:
  Progress(bool enabled, const std::atomic<uint64_t> &done, uint64_t total,
           const std::string &entry)
      : done(done), total(total), entry(entry) {
    if (enabled)
      thread = std::thread([this] { loop(); });
  }
  ~Progress() {
    if (!thread.joinable())
      return;
    {
      std::lock_guard<std::mutex> lock(mutex);
      finished = true;
    }
    condition.notify_one();
    thread.join();
  }

private:
  void loop() {
    std::unique_lock<std::mutex> lock(mutex);
    while (!condition.wait_for(lock, std::chrono::seconds(2),
                               [this] { return finished; }))
      llvm::errs() << "lpfa-sim: " << entry << ": " << done.load() << " of "
                   << total << " clusters done\n";
  }
  const std::atomic<uint64_t> &done;
  uint64_t total;
  std::string entry;
  bool finished = false;
  std::mutex mutex;
  std::condition_variable condition;
  std::thread thread;
};
} // namespace

void Statistics::add(const Statistics &other) {
  warpInstructions += other.warpInstructions;
  threadInstructions += other.threadInstructions;
  multiplyAdds += other.multiplyAdds;
  asyncOperations += other.asyncOperations;
  globalBytesLoaded += other.globalBytesLoaded;
  globalBytesStored += other.globalBytesStored;
  maxTensorColumns = std::max(maxTensorColumns, other.maxTensorColumns);
  ctas += other.ctas;
  seconds += other.seconds;
}

Expected<Report> lpfa::sim::simulate(const PTXModule &module,
                                     const Launch &launch, DeviceMemory &memory,
                                     const Options &options) {
  return options.schedule == Schedule::Explore
             ? explore(module, launch, memory, options)
             : runOnce(module, launch, memory, options, /*decisions=*/nullptr);
}

Expected<Report> lpfa::sim::runOnce(const PTXModule &module,
                                    const Launch &launchAsGiven,
                                    DeviceMemory &memory,
                                    const Options &optionsAsGiven,
                                    Decisions *decisions) {
  auto start = std::chrono::steady_clock::now();
  Launch launch = launchAsGiven;
  Options options = optionsAsGiven;
  const Program &program = *module.program();
  if (options.chip.empty())
    options.chip = program.syntax->target;
  const Function *function = program.find(launch.entry);
  if (!function)
    return llvm::createStringError("the module has no entry '" + launch.entry +
                                   "'; it has " +
                                   llvm::join(module.entries(), ", "));
  Dim3 cluster;
  if (Error e = checkDimensions(*function, launch, cluster))
    return std::move(e);
  Expected<std::vector<uint8_t>> parameters =
      layOutParameters(*function, launch, memory);
  if (!parameters)
    return parameters.takeError();

  if (options.schedule == Schedule::Timed && options.chip != "sm_100a" &&
      options.chip != "sm_103a")
    return launchError(launch, "there is a model of sm_100a and of sm_103a "
                               "alone, not of '" +
                                   options.chip + "'");
  LaunchContext context{*function, launch, options, cluster};
  context.parameters = std::move(*parameters);
  context.decisions = decisions;
  context.isHopper = StringRef(options.chip).starts_with("sm_90");
  // 227 KiB (PTX ISA and CUDA's limits of sm_90 and sm_100).
  constexpr uint32_t maxShared = 232448;
  uint64_t shared =
      uint64_t(function->staticSharedBytes) + launch.dynamicSharedBytes;
  if (shared > maxShared)
    return launchError(launch, Twine(shared) +
                                   " bytes of shared memory; the limit is " +
                                   Twine(maxShared));
  context.sharedBytes = sharedBase + shared;
  context.registers =
      launch.registers ? launch.registers : function->syntax->maxRegisters;
  for (const std::unique_ptr<GlobalBuffer> &b : memory.impl().buffers)
    context.buffers.push_back(b.get());
  std::vector<std::unique_ptr<GlobalBuffer>> own;
  std::vector<std::vector<uint8_t>> storage;
  storage.reserve(program.syntax->variables.size());
  if (Error e = placeModuleVariables(program, context, own, storage))
    return std::move(e);

  // A launch comes after the one before it unless it says that it waits itself.
  std::shared_ptr<GlobalShadow> previous = std::move(memory.impl().lastLaunch);
  if (options.checks.races) {
    context.shadow = std::make_shared<GlobalShadow>(context, module.program());
    if (function->waitsForGrid)
      context.shadow->previous = std::move(previous);
  }
  previous = nullptr;

  uint64_t warps = llvm::divideCeil(launch.block.count(), warpSize);
  uint64_t clusterBytes =
      cluster.count() * (2 * uint64_t(context.sharedBytes) +
                         (function->usesTensorMemory ? 128 * 512 * 5 : 0) +
                         warps * (uint64_t(function->valueBytes) * 9 / 8 +
                                  uint64_t(function->localBytes) * warpSize));
  if (options.maxMemory && clusterBytes > options.maxMemory)
    return launchError(launch, "one cluster takes " + Twine(clusterBytes) +
                                   " bytes to simulate; the limit is " +
                                   Twine(options.maxMemory));
  uint64_t clusters = launch.grid.count() / cluster.count();
  uint64_t threads =
      options.threads ? options.threads : std::thread::hardware_concurrency();
  threads = std::min<uint64_t>(std::max<uint64_t>(threads, 1), clusters);
  if (decisions)
    threads = 1;
  uint64_t maxInFlight =
      options.maxMemory ? options.maxMemory / clusterBytes : ~uint64_t(0);
  threads = std::min(threads, maxInFlight);

  Report report;
  ClusterResults results;
  if (options.schedule == Schedule::Timed) {
    runTimed(context, report);
  } else {
    Progress progress(options.progress, results.done, clusters, launch.entry);
    runClusters(context, clusters, threads, maxInFlight, results);
    report.statistics.add(results.statistics);
  }
  std::vector<std::pair<uint64_t, std::vector<Finding>>> &findings =
      results.findings;
  if (context.shadow) {
    for (auto &[index, finding] : context.shadow->finish())
      findings.push_back({index, {std::move(finding)}});
    memory.impl().lastLaunch = context.shadow;
  }
  llvm::stable_sort(
      findings, [](const auto &a, const auto &b) { return a.first < b.first; });
  for (auto &[index, list] : findings)
    for (Finding &finding : list)
      if (report.findings.size() < std::max(1u, options.maxFindings))
        report.findings.push_back(std::move(finding));
  report.statistics.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return std::move(report);
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

void Report::print(llvm::raw_ostream &os, StringRef file) const {
  for (const Finding &f : findings) {
    os << file;
    if (!f.sites.empty())
      os << ":" << f.sites.front().line;
    os << ": " << f.kind << ": " << f.message << "\n";
    for (const Site &site : f.sites)
      os << "  " << site.agent << ", line " << site.line << ": "
         << site.instruction << "\n";
    for (const std::string &note : f.notes)
      os << "  " << note << "\n";
  }
}

llvm::json::Value Report::toJSON() const {
  llvm::json::Array list;
  for (const Finding &f : findings) {
    llvm::json::Array sites, notes;
    for (const Site &site : f.sites)
      sites.push_back(llvm::json::Object{{"line", site.line},
                                         {"instruction", site.instruction},
                                         {"agent", site.agent}});
    for (const std::string &note : f.notes)
      notes.push_back(note);
    list.push_back(llvm::json::Object{{"kind", f.kind},
                                      {"message", f.message},
                                      {"sites", std::move(sites)},
                                      {"notes", std::move(notes)}});
  }
  auto number = [](uint64_t v) { return int64_t(v); };
  return llvm::json::Object{
      {"findings", std::move(list)},
      {"coverage", coverage},
      {"timing", timing ? timing->toJSON() : nullptr},
      {"statistics",
       llvm::json::Object{
           {"warp_instructions", number(statistics.warpInstructions)},
           {"thread_instructions", number(statistics.threadInstructions)},
           {"multiply_adds", number(statistics.multiplyAdds)},
           {"async_operations", number(statistics.asyncOperations)},
           {"global_bytes_loaded", number(statistics.globalBytesLoaded)},
           {"global_bytes_stored", number(statistics.globalBytesStored)},
           {"max_tensor_columns", number(statistics.maxTensorColumns)},
           {"ctas", number(statistics.ctas)},
           {"seconds", statistics.seconds}}}};
}
