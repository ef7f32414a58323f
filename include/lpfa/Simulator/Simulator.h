//===- Simulator.h - Functional PTX simulator -------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs PTX text on the CPU. A program is parsed once into a `PTXModule`;
// buffers live in a `DeviceMemory` that several launches share, so that kernels
// run in order on the same data; `simulate` runs one launch:
//
//   auto module = PTXModule::parse(text, "kernel.ptx");
//   DeviceMemory memory;
//   unsigned x = memory.addBuffer("x", hostBytes);
//   unsigned y = memory.addOutput("y", outBytes);
//   Launch launch;
//   launch.entry = "kernel";
//   launch.grid = {4, 1, 1};
//   launch.block = {128, 1, 1};
//   launch.parameters = {Parameter::buffer(x), Parameter::buffer(y),
//                        Parameter::u32(512)};
//   Expected<Report> report = simulate(**module, launch, memory, options);
//
// Nothing here knows of lpfa's dialect or compiler.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_SIMULATOR_SIMULATOR_H
#define LPFA_SIMULATOR_SIMULATOR_H

#include "lpfa/Simulator/TensorMap.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lpfa::sim {

class Program;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

/// When asynchronous work (TMA, bulk copies, the tensor pipe, tcgen05 loads and
/// stores) takes effect, and in which order warps run. A correct kernel gives
/// the same bits under each.
enum class Schedule {
  /// At issue; warps run in turn until they block.
  Eager,
  /// As late as the rules allow: only when no warp can run, and then only what
  /// a waiting warp waits for.
  Lazy,
  /// In an order drawn from the seed; operand reads, result writes and
  /// completion signals of one operation are drawn apart.
  Random,
  /// One run after the other, which decide otherwise than a base schedule at a
  /// bounded number of points, up to the first that has a finding.
  Explore,
  /// In the order of a model of the chip's clock.
  Timed
};

/// How the tensor pipe adds up. `Hardware` is the published model of
/// Blackwell's adder, `Exact` sums exactly and rounds once.
enum class MmaModel { Hardware, Exact };

/// What the tensor pipe's order rests on. `Practice` executes mma and cp of one
/// thread in issue order, as every known kernel relies on. `Documented` orders
/// only what the PTX manual promises (section 9.7.16.6).
enum class Ordering { Practice, Documented };

/// Checks that can be switched off. An access outside every buffer always stops
/// the run, since there is nothing to read; `bounds` also covers alignment.
struct Checks {
  bool races = true;
  bool uninitialized = true;
  bool bounds = true;
  bool barriers = true;
  bool tmem = true;
  bool fences = true;
  /// tcgen05 fences, and proxy fences between generic reads and a later
  /// asynchronous overwrite: common kernels omit them.
  bool strictFences = false;
  /// Under Schedule::Explore, that all schedules give the same bytes.
  bool results = true;
};

/// Parses a list such as "races,bounds" or "all,strict-fences" or "none"; a
/// name with a leading '-' switches off. Starts from `checks`.
llvm::Error parseChecks(llvm::StringRef list, Checks &checks);

struct Options {
  Schedule schedule = Schedule::Eager;
  uint64_t seed = 0;
  /// Schedule::Explore: how often a run may decide otherwise than its base, how
  /// many runs are made, and, if not empty, the decisions of the only run.
  unsigned deviations = 1;
  uint64_t maxRuns = 1000;
  std::string decisions;
  /// Schedule::Timed: how many SMs (with clusters: groups of SMs) are run, the
  /// others being taken for alike; 0: all. Whether to keep slices of time.
  unsigned sampledGroups = 1;
  bool trace = false;
  MmaModel mma = MmaModel::Hardware;
  Ordering ordering = Ordering::Practice;
  Checks checks;
  /// The chip that runs: "sm_90a", "sm_100a" or "sm_103a". Empty takes the
  /// module's `.target`.
  std::string chip;
  /// Stop after this many warp instructions of the whole launch. 0: no limit.
  uint64_t maxSteps = uint64_t(1) << 36;
  /// Bytes of simulated on-chip state in flight. Bounds the number of clusters
  /// that run side by side; a single cluster larger than this is an error.
  uint64_t maxMemory = uint64_t(4) << 30;
  /// Host threads. 0: as many as the machine has.
  unsigned threads = 0;
  /// Write progress to stderr during runs of more than two seconds.
  bool progress = false;
  /// Stop after this many findings.
  unsigned maxFindings = 1;
};

//===----------------------------------------------------------------------===//
// Program and memory
//===----------------------------------------------------------------------===//

/// A parsed and decoded PTX file. Immutable; may be shared by launches.
class PTXModule {
public:
  /// Parses `text`. Errors read `name:line: what is wrong`; an instruction that
  /// the simulator lacks is refused here, with its line, before anything runs.
  static llvm::Expected<std::unique_ptr<PTXModule>> parse(llvm::StringRef text,
                                                          llvm::StringRef name);
  ~PTXModule();

  /// Names of the entries, in file order.
  std::vector<std::string> entries() const;
  std::shared_ptr<const Program> program() const { return impl; }

private:
  explicit PTXModule(std::shared_ptr<const Program> program);
  std::shared_ptr<const Program> impl;
};

/// Global memory of the simulated device: named buffers at fixed addresses
/// far apart from each other. Buffer storage belongs to the caller and
/// must outlive the DeviceMemory. Keeps, per byte, whether it was ever written.
class DeviceMemory {
public:
  DeviceMemory();
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory &) = delete;
  DeviceMemory &operator=(const DeviceMemory &) = delete;

  /// Adds a buffer whose content is defined, and returns its number.
  unsigned addBuffer(llvm::StringRef name,
                     llvm::MutableArrayRef<uint8_t> storage);
  /// Adds a buffer of undefined content; fills `storage` with 0xFF.
  unsigned addOutput(llvm::StringRef name,
                     llvm::MutableArrayRef<uint8_t> storage);
  /// The buffer's address in the simulated global window: a multiple of 512.
  uint64_t address(unsigned buffer) const;
  uint64_t size(unsigned buffer) const;
  unsigned numBuffers() const;
  /// The first byte of the buffer that holds no defined value, or -1.
  int64_t firstUndefined(unsigned buffer) const;

  struct Impl;
  Impl &impl() { return *pimpl; }

private:
  std::unique_ptr<Impl> pimpl;
};

//===----------------------------------------------------------------------===//
// Launch
//===----------------------------------------------------------------------===//

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

/// One kernel parameter.
struct Parameter {
  enum class Kind { Buffer, Bytes, TensorMap };
  Kind kind = Kind::Bytes;
  /// Buffer: its number. TensorMap: the number of the buffer it describes.
  unsigned bufferIndex = 0;
  /// Buffer, TensorMap: signed offset of the address in bytes. Only the
  /// addresses that accesses arrive at are checked, not the base.
  int64_t byteOffset = 0;
  /// Bytes: the parameter's little-endian value; must have the size that the
  /// entry declares.
  std::vector<uint8_t> bytes;
  /// TensorMap: everything but the global address, which is filled in.
  TensorMap map;
  /// Bytes: what else is inside a structure, put over its bytes at `offset`.
  std::vector<Parameter> fields;
  uint32_t offset = 0;

  static Parameter buffer(unsigned index, int64_t byteOffset = 0);
  static Parameter raw(llvm::ArrayRef<uint8_t> bytes);
  static Parameter u32(uint32_t value);
  static Parameter u64(uint64_t value);
  static Parameter f32(float value);
  static Parameter tensorMap(unsigned index, const TensorMap &map,
                             int64_t byteOffset = 0);
};

struct Launch {
  std::string entry;
  Dim3 grid, block;
  /// A zero x means "what the entry's .reqnctapercluster says, else 1".
  Dim3 cluster = {0, 1, 1};
  uint32_t dynamicSharedBytes = 0;
  /// Registers of a thread at launch (ptxas's count), for `setmaxnreg`.
  /// 0: the entry's .maxnreg, and unlimited if it has none.
  unsigned registers = 0;
  /// In order, one for each parameter of the entry. Missing trailing pointer
  /// parameters are an error.
  std::vector<Parameter> parameters;
};

//===----------------------------------------------------------------------===//
// Report
//===----------------------------------------------------------------------===//

/// A position in the run: who, where in the PTX.
struct Site {
  unsigned line = 0;
  /// The PTX instruction, one line of text.
  std::string instruction;
  /// "CTA (0,0,0) warp 4", "tensor pipe of CTA (0,0,0)", ...
  std::string agent;
};

/// Something wrong that a check saw, or that stopped the run.
struct Finding {
  /// "race", "uninitialized", "bounds", "alignment", "barrier", "tmem",
  /// "fence", "deadlock", "trap", "limit", "instruction", "result".
  std::string kind;
  std::string message;
  /// The access, and for a race the other access.
  std::vector<Site> sites;
  /// Further lines: for a deadlock one per warp.
  std::vector<std::string> notes;
};

struct Statistics {
  uint64_t warpInstructions = 0;
  uint64_t threadInstructions = 0;
  /// Multiply-adds of the tensor pipe.
  uint64_t multiplyAdds = 0;
  uint64_t asyncOperations = 0;
  uint64_t globalBytesLoaded = 0, globalBytesStored = 0;
  unsigned maxTensorColumns = 0;
  uint64_t ctas = 0;
  double seconds = 0;
  void add(const Statistics &other);
};

/// What Schedule::Timed estimates. A model: nothing here was measured.
struct Timing {
  std::string chip;
  double clockGHz = 0;
  /// From the first instruction to the last effect.
  double cycles = 0;
  double seconds() const { return cycles / clockGHz * 1e-9; }
  uint64_t sampledClusters = 0, clusters = 0;
  /// Share of the time in which a unit is busy.
  std::vector<std::pair<std::string, double>> units;
  struct WarpTime {
    std::string name;
    double cycles = 0, issueCycles = 0;
    uint64_t instructions = 0;
    /// What it waited for, the longest first, in clocks.
    std::vector<std::pair<std::string, double>> waits;
  };
  std::vector<WarpTime> warps;
  struct Slice {
    std::string track, name;
    double from, to;
  };
  std::vector<Slice> slices;
  std::vector<std::string> assumptions;

  void print(llvm::raw_ostream &os) const;
  /// Chrome's trace format; a clock stands as a microsecond.
  void writeTrace(llvm::raw_ostream &os) const;
  llvm::json::Value toJSON() const;
};

struct Report {
  /// In deterministic order. Empty: the kernel ran to its end and no check
  /// objected.
  std::vector<Finding> findings;
  Statistics statistics;
  /// Schedule::Explore: how many schedules were run, of how many.
  std::string coverage;
  /// Schedule::Timed.
  std::shared_ptr<const Timing> timing;
  bool ok() const { return findings.empty(); }
  void print(llvm::raw_ostream &os, llvm::StringRef file) const;
  llvm::json::Value toJSON() const;
};

/// Runs one launch to its end. Fails without running anything if the launch
/// does not fit the module or the memory. What goes wrong during the run is a
/// finding in the report.
llvm::Expected<Report> simulate(const PTXModule &module, const Launch &launch,
                                DeviceMemory &memory, const Options &options);

} // namespace lpfa::sim

#endif // LPFA_SIMULATOR_SIMULATOR_H
