//===- lpfa-sim.cpp - Run PTX on the CPU ----------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchFile.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace lpfa::sim;
namespace cl = llvm::cl;

static cl::OptionCategory category("lpfa-sim options");

static cl::opt<std::string> inputFile(cl::Positional, cl::desc("<kernel.ptx>"),
                                      cl::Required, cl::cat(category));
static cl::opt<std::string> launchFile("launch",
                                       cl::desc("The launch description"),
                                       cl::value_desc("launch.json"),
                                       cl::Required, cl::cat(category));
static cl::opt<std::string>
    outputDirectory("out", cl::desc("Where results are written as .npy files"),
                    cl::value_desc("directory"), cl::cat(category));
static cl::opt<std::string> checkList(
    "check",
    cl::desc(
        "Checks to make, by name: races, uninitialized, bounds, barriers, "
        "tmem, fences, results (all on by default), strict-fences (off); all, "
        "none; -NAME switches one off"),
    cl::value_desc("list"), cl::cat(category));
static cl::opt<Schedule> schedule(
    "schedule", cl::desc("When asynchronous work takes effect"),
    cl::values(clEnumValN(Schedule::Eager, "eager", "at once (default)"),
               clEnumValN(Schedule::Lazy, "lazy", "as late as allowed"),
               clEnumValN(Schedule::Random, "random", "drawn from --seed"),
               clEnumValN(Schedule::Explore, "explore",
                          "run after run, which decide otherwise at some "
                          "points, up to the first finding"),
               clEnumValN(Schedule::Timed, "timed",
                          "by a model of the chip's clocks, which is printed")),
    cl::init(Schedule::Eager), cl::cat(category));
static cl::opt<uint64_t> seed("seed", cl::desc("Seed of --schedule=random"),
                              cl::init(0), cl::cat(category));
static cl::opt<unsigned> deviations(
    "deviations",
    cl::desc("--schedule=explore: decide otherwise at up to this many points"),
    cl::init(Options().deviations), cl::cat(category));
static cl::opt<uint64_t>
    maxRuns("max-runs", cl::desc("--schedule=explore: run this many schedules"),
            cl::init(Options().maxRuns), cl::cat(category));
static cl::opt<std::string> decisions(
    "decisions",
    cl::desc("--schedule=explore: the one schedule to run, as reports name it"),
    cl::value_desc("late|early,POINT:ALTERNATIVE,..."), cl::cat(category));
static cl::opt<unsigned> sampledGroups(
    "sample-sms",
    cl::desc(
        "--schedule=timed: run this many SMs, or clusters of SMs, and take "
        "the others for alike (0: all; results are written only if all "
        "CTAs ran)"),
    cl::init(Options().sampledGroups), cl::cat(category));
static cl::opt<std::string> traceFile(
    "trace",
    cl::desc("--schedule=timed: write what happened when, in Chrome's "
             "trace format"),
    cl::value_desc("file"), cl::cat(category));
static cl::opt<MmaModel>
    mma("mma", cl::desc("How the tensor core adds"),
        cl::values(clEnumValN(MmaModel::Hardware, "hardware",
                              "as Blackwell's adder (default)"),
                   clEnumValN(MmaModel::Exact, "exact",
                              "exactly, with one rounding")),
        cl::init(MmaModel::Hardware), cl::cat(category));
static cl::opt<Ordering>
    ordering("ordering", cl::desc("What orders operations of the tensor pipe"),
             cl::values(clEnumValN(Ordering::Practice, "practice",
                                   "their issue, as kernels rely on (default)"),
                        clEnumValN(Ordering::Documented, "documented",
                                   "only what the PTX manual promises")),
             cl::init(Ordering::Practice), cl::cat(category));
static cl::opt<std::string>
    chip("chip", cl::desc("The chip that runs (default: the file's .target)"),
         cl::value_desc("sm_90a|sm_100a|sm_103a"), cl::cat(category));
static cl::opt<std::string>
    reportFormat("report",
                 cl::desc("json: write findings and statistics to "
                          "stdout in JSON"),
                 cl::value_desc("json"), cl::cat(category));
static cl::opt<unsigned> threads("jobs",
                                 cl::desc("Host threads (0: all cores)"),
                                 cl::init(0), cl::cat(category));
static cl::opt<uint64_t>
    maxSteps("max-steps",
             cl::desc("Stop after this many warp instructions (0: no limit)"),
             cl::init(Options().maxSteps), cl::cat(category));
static cl::opt<unsigned> maxFindings("max-findings",
                                     cl::desc("Stop after this many findings"),
                                     cl::init(1), cl::cat(category));

static const char overview[] =
    R"(Runs a PTX kernel on the CPU and reports what is wrong with it.

The launch description names the entry and its arguments:

  { "entry": "kernel", "grid": [8, 1, 1], "block": [128, 1, 1],
    "cluster": [1, 1, 1], "dynamic_shared_bytes": 65536,
    "registers": 128,
    "parameters": [
      {"buffer": "x.npy"},
      {"buffer": "y", "out": true, "shape": [128, 64], "dtype": "float32"},
      {"type": "u32", "value": 512},
      {"bytes": "00000000"},
      {"bytes": "05000000000000000000000000000000", "fields": [
        {"offset": 8, "buffer": "x.npy"}]},
      {"tensor_map": {"buffer": "x.npy", "element": "bf16",
                      "dims": [64, 128], "strides": [128], "box": [64, 8],
                      "swizzle": "128b", "fill": "zero",
                      "byte_offset": 0}} ] }

A buffer is a .npy file beside the description, or, with "shape" and "dtype",
fresh memory whose content is undefined. Buffers marked "out" are written to
the directory of --out when the run succeeds. Dimension 0 of a tensor map is
the contiguous one, strides are in bytes and start at dimension 1. "fields" of
a structure are parameters that lie at an offset in its bytes.
"registers" is ptxas's count for a thread, which setmaxnreg starts from.

The exit code is 0 if the kernel ran to its end and no check objected, else 1.
)";

static int failWith(const llvm::Twine &message) {
  llvm::errs() << "lpfa-sim: " << message << "\n";
  return 1;
}

static void printStatistics(const Statistics &s) {
  llvm::errs() << s.ctas << " CTAs, " << s.warpInstructions
               << " warp instructions, " << s.threadInstructions
               << " thread instructions, " << s.multiplyAdds
               << " multiply-adds, " << s.asyncOperations
               << " asynchronous operations, " << s.globalBytesLoaded
               << " bytes loaded, " << s.globalBytesStored << " stored, "
               << llvm::format("%.3f s\n", s.seconds);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  // LLVM has an option of this name for its own counters.
  if (cl::Option *theirs = cl::getRegisteredOptions().lookup("stats"))
    theirs->removeArgument();
  cl::opt<bool> stats("stats", cl::desc("Print statistics to stderr"),
                      cl::cat(category));
  cl::HideUnrelatedOptions(category);
  if (!cl::ParseCommandLineOptions(argc, argv, overview, &llvm::errs()))
    return 1;
  Options options;
  options.schedule = schedule;
  options.seed = seed;
  options.deviations = deviations;
  options.maxRuns = maxRuns;
  options.decisions = decisions;
  options.sampledGroups = sampledGroups;
  options.trace = !traceFile.empty();
  if (options.trace && options.schedule != Schedule::Timed)
    return failWith("--trace needs --schedule=timed");
  options.mma = mma;
  options.ordering = ordering;
  options.chip = chip;
  options.threads = threads;
  options.maxSteps = maxSteps;
  options.maxFindings = maxFindings;
  options.progress = true;
  if (llvm::Error e = parseChecks(checkList, options.checks))
    return failWith(llvm::toString(std::move(e)));
  if (!chip.empty() && chip != "sm_90a" && chip != "sm_100a" &&
      chip != "sm_103a")
    return failWith("unknown chip '" + chip + "'");
  if (!reportFormat.empty() && reportFormat != "json")
    return failWith("unknown report format '" + reportFormat + "'");

  auto text = llvm::MemoryBuffer::getFile(inputFile, /*IsText=*/true);
  if (!text)
    return failWith(inputFile + ": " + text.getError().message());
  auto module = PTXModule::parse((*text)->getBuffer(), inputFile);
  if (!module)
    return failWith(llvm::toString(module.takeError()));
  DeviceMemory memory;
  llvm::Expected<LaunchFile> launch = LaunchFile::read(launchFile, memory);
  if (!launch)
    return failWith(llvm::toString(launch.takeError()));
  llvm::Expected<Report> report =
      simulate(**module, launch->launch, memory, options);
  if (!report)
    return failWith(llvm::toString(report.takeError()));
  if (reportFormat == "json")
    llvm::outs() << llvm::formatv("{0:2}\n", report->toJSON());
  if (!report->coverage.empty())
    llvm::errs() << "lpfa-sim: " << report->coverage << "\n";
  if (stats)
    printStatistics(report->statistics);
  if (!report->ok()) {
    if (reportFormat.empty())
      report->print(llvm::errs(), inputFile);
    return 1;
  }
  if (options.trace) {
    std::error_code code;
    llvm::raw_fd_ostream os(traceFile, code);
    if (code)
      return failWith(traceFile + ": " + code.message());
    report->timing->writeTrace(os);
  }
  if (report->timing && reportFormat.empty())
    report->timing->print(llvm::outs());
  bool ranAll = !report->timing ||
                report->timing->sampledClusters == report->timing->clusters;
  if (outputDirectory.empty() || !ranAll)
    return 0;
  if (std::error_code code = llvm::sys::fs::create_directories(outputDirectory))
    return failWith(outputDirectory + ": " + code.message());
  for (const LaunchFile::Buffer &buffer : launch->buffers) {
    if (!buffer.isOutput)
      continue;
    llvm::SmallString<128> path(outputDirectory);
    llvm::sys::path::append(path, buffer.output + ".npy");
    std::string error;
    if (!lpfa::writeNpy(std::string(path), buffer.array, error))
      return failWith(error);
  }
  return 0;
}
