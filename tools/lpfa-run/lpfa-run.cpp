//===- lpfa-run.cpp - Runs a tensor-level function ------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arrays.h"
#include "Comparison.h"
#include "CudaDevice.h"
#include "ReferenceDevice.h"
#include "SimDevice.h"

#include "lpfa/Target/SourceModule.h"
#include "lpfa/Target/TargetModel.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include <cmath>

using namespace mlir;
using namespace lpfa;
namespace cl = llvm::cl;

static const char overview[] =
    "runs a tensor-level function on NumPy arrays\n"
    "\n"
    "  Each --arg is a .npy file for one argument, in order. Element types "
    "that "
    "NumPy lacks\n"
    "  travel as codes: f8, f6, f4 and f8E8M0 one a byte in uint8, bf16 in "
    "uint16. Results\n"
    "  are DIR/result0.npy, DIR/result1.npy, ... and are written only when "
    "everything succeeded.\n"
    "\n"
    "  Options that are not listed go to the pipeline lpfa-to-threads, as "
    "--NAME=VALUE.\n"
    "\n"
    "  Example:\n"
    "    lpfa-run quantize.mlir --entry=quantize_e4m3_rceil "
    "--device=reference --arg=x.npy --out=out\n";

namespace {
enum class Place { None, Reference, Simulator, Cuda };
} // namespace

static cl::OptionCategory category("lpfa-run options");

static cl::opt<std::string> inputFile(cl::Positional, cl::desc("in.mlir"),
                                      cl::Required, cl::cat(category));
static cl::opt<std::string>
    entryName("entry",
              cl::desc("Function to run (default: the only public one)"),
              cl::value_desc("name"), cl::cat(category));
static cl::opt<Place>
    device("device", cl::desc("Where to run:"),
           cl::values(clEnumValN(Place::Reference, "reference",
                                 "on the CPU, by the meaning of the "
                                 "tensor-level ops (default)"),
                      clEnumValN(Place::Simulator, "sim",
                                 "compiled to PTX, in the simulator"),
                      clEnumValN(Place::Cuda, "cuda",
                                 "compiled, on the first GPU that "
                                 "CUDA_VISIBLE_DEVICES allows")),
           cl::init(Place::Reference), cl::cat(category));
static cl::list<std::string> argumentFiles("arg",
                                           cl::desc("Array for one argument"),
                                           cl::value_desc("X.npy"),
                                           cl::cat(category));
static cl::opt<std::string>
    outputDirectory("out", cl::desc("Directory for the results"),
                    cl::value_desc("DIR"), cl::cat(category));

static cl::opt<Place>
    comparand("compare",
              cl::desc("Also run elsewhere and print how far each result is "
                       "from that; makes --out optional:"),
              cl::values(clEnumValN(Place::Reference, "reference",
                                    "on the CPU, as above")),
              cl::init(Place::None), cl::cat(category));
static cl::opt<double> toleranceDecibels(
    "tolerance-db",
    cl::desc("With --compare: fail, and write nothing, when the "
             "signal-to-quantization-noise ratio of a result is below this"),
    cl::value_desc("dB"), cl::init(-INFINITY), cl::cat(category));

static cl::opt<std::string>
    chip("chip",
         cl::desc("Chip to compile for (default: sm_100a, on a GPU its own)"),
         cl::value_desc("name"), cl::cat(category));

static cl::OptionCategory simCategory("lpfa-run options for --device=sim");
static cl::opt<sim::Schedule> schedule(
    "schedule", cl::desc("When asynchronous work takes effect:"),
    cl::values(
        clEnumValN(sim::Schedule::Eager, "eager", "at once (default)"),
        clEnumValN(sim::Schedule::Lazy, "lazy", "as late as allowed"),
        clEnumValN(sim::Schedule::Random, "random", "drawn from --seed"),
        clEnumValN(sim::Schedule::Timed, "timed",
                   "when a model of --chip's clocks says so; prints what "
                   "it says of each kernel")),
    cl::init(sim::Schedule::Eager), cl::cat(simCategory));
static cl::opt<uint64_t> seed("seed", cl::desc("Seed of --schedule=random"),
                              cl::init(0), cl::cat(simCategory));
static cl::opt<std::string>
    checkList("check",
              cl::desc("Checks to make: all (default), none, or a list of "
                       "lpfa-sim's"),
              cl::value_desc("list"), cl::cat(simCategory));
static cl::opt<int64_t> multiprocessors(
    "multiprocessors",
    cl::desc("What persistent grids are made for (default: the chip's)"),
    cl::value_desc("n"), cl::init(0), cl::cat(simCategory));
static cl::list<std::string> pipelineOptions(cl::Sink);

static llvm::Expected<func::FuncOp> findEntry(ModuleOp module) {
  if (!entryName.empty()) {
    auto function = module.lookupSymbol<func::FuncOp>(entryName);
    if (function && !function.isExternal())
      return function;
  }
  std::vector<func::FuncOp> functions;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isExternal())
      functions.push_back(function);
  if (entryName.empty() && functions.size() == 1)
    return functions.front();

  std::string names;
  for (func::FuncOp function : functions)
    names += (names.empty() ? "@" : ", @") + function.getName().str();
  if (names.empty())
    names = "no function";
  return llvm::createStringError(
      entryName.empty()
          ? "choose a function with --entry: the file has " + names
          : "--entry: no function @" + entryName + ": the file has " + names);
}

static llvm::Error checkOptions() {
  if (outputDirectory.empty() && comparand == Place::None)
    return llvm::createStringError("--out=DIR is needed for the results");
  if (toleranceDecibels.getNumOccurrences() && comparand == Place::None)
    return llvm::createStringError("--tolerance-db needs --compare=reference");
  std::string message;
  if (!outputDirectory.empty() && !checkWritable(outputDirectory, message))
    return llvm::createStringError("--out: " + message);
  return llvm::Error::success();
}

namespace {
struct RunOptions {
  SimulationOptions simulation;
  CudaOptions cuda;
};
} // namespace

static llvm::Error setOptions(RunOptions &options) {
  std::string simulatedChip = chip.empty() ? "sm_100a" : chip.getValue();
  std::optional<TargetModel> target = TargetModel::get(simulatedChip);
  if (!target)
    return llvm::createStringError("--chip: unknown chip '" + chip +
                                   "', expected one of " +
                                   llvm::join(TargetModel::getChips(), ", "));
  ToThreadsOptions &forGpu = options.cuda.compiler.pipeline;
  if (auto error = parsePipelineArguments(pipelineOptions, forGpu))
    return error;
  forGpu.chip = chip;
  SimulationOptions &simulation = options.simulation;
  ToThreadsOptions &forSimulator = simulation.compiler.pipeline;
  if (auto error = parsePipelineArguments(pipelineOptions, forSimulator))
    return error;
  forSimulator.chip = simulatedChip;
  simulation.simulator.schedule = schedule;
  simulation.simulator.seed = seed;
  simulation.simulator.chip = simulatedChip;
  simulation.simulator.sampledGroups = 0; // All run: results are wanted.
  // A kernel that was made to lean on the manual alone runs on a tensor core
  // that keeps nothing more.
  if (forSimulator.ordering == Ordering::Documented)
    simulation.simulator.ordering = sim::Ordering::Documented;
  simulation.simulator.progress = true;
  simulation.multiprocessors =
      multiprocessors > 0 ? multiprocessors : target->getMultiprocessors();
  return sim::parseChecks(checkList, simulation.simulator.checks);
}

/// Leaves only `entry` and what it calls.
static LogicalResult isolateEntry(ModuleOp module, StringRef entry) {
  for (auto function : module.getOps<FunctionOpInterface>())
    function.setVisibility(function.getName() == entry
                               ? SymbolTable::Visibility::Public
                               : SymbolTable::Visibility::Private);
  PassManager pm(module.getContext());
  pm.addPass(createSymbolDCEPass());
  return pm.run(module);
}

static llvm::Expected<std::vector<NpyArray>> runOn(Place place, ModuleOp module,
                                                   ArrayRef<NpyArray> arguments,
                                                   RunOptions &options,
                                                   StringRef entry) {
  OwningOpRef<ModuleOp> clone = module.clone();
  switch (place) {
  case Place::Simulator:
    return runOnSimulator(*clone, entry, arguments, options.simulation);
  case Place::Cuda:
    return runOnCuda(*clone, entry, arguments, options.cuda);
  default:
    return runOnReference(*clone, entry, arguments);
  }
}

/// Prints how far the results of `function` are from the reference.
static llvm::Error compareResults(func::FuncOp function,
                                  ArrayRef<NpyArray> results,
                                  ArrayRef<NpyArray> references) {
  std::string failures;
  for (auto [index, type] : llvm::enumerate(function.getResultTypes())) {
    const NpyArray &result = results[index], &reference = references[index];
    if (result.shape != reference.shape)
      return llvm::createStringError("result " + llvm::Twine(index) +
                                     " has not the shape of the reference's");
    Type element = cast<RankedTensorType>(type).getElementType();
    Comparison comparison =
        compare(toDoubles(result, element), toDoubles(reference, element));
    llvm::outs() << "result " << index << ": " << comparison << "\n";
    if (!(comparison.sqnrDecibels >= toleranceDecibels))
      failures += (failures.empty() ? "" : ", ") + std::to_string(index);
  }
  llvm::outs().flush();
  if (failures.empty())
    return llvm::Error::success();
  return llvm::createStringError(llvm::formatv("below {0} dB: result {1}",
                                               toleranceDecibels.getValue(),
                                               failures)
                                     .str());
}

static llvm::Error run(ModuleOp module, StringRef executable) {
  if (auto error = checkOptions())
    return error;
  RunOptions options;
  options.cuda.executable = executable.str();
  if (auto error = setOptions(options))
    return error;
  auto function = findEntry(module);
  if (!function)
    return function.takeError();
  if (auto error = checkSignature(*function))
    return error;
  auto arguments = readArguments(*function, argumentFiles);
  if (!arguments)
    return arguments.takeError();

  StringRef entry = function->getName();
  if (failed(isolateEntry(module, entry)))
    return llvm::createStringError("can't isolate @" + entry);
  auto results = runOn(device, module, *arguments, options, entry);
  if (!results)
    return results.takeError();
  if (comparand != Place::None) {
    auto references = runOn(comparand, module, *arguments, options, entry);
    if (!references)
      return references.takeError();
    if (auto error = compareResults(*function, *results, *references))
      return error;
  }
  std::string message;
  if (!outputDirectory.empty() &&
      !writeResults(*results, outputDirectory, message))
    return llvm::createStringError("--out: " + message);
  return llvm::Error::success();
}

static int fail(llvm::Error error) {
  llvm::errs() << "lpfa-run: error: " << llvm::toString(std::move(error))
               << "\n";
  return 1;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions({&category, &simCategory});
  cl::ParseCommandLineOptions(argc, argv, overview);

  auto source = SourceModule::open(inputFile);
  if (!source)
    return fail(source.takeError());
  // The reference is compiled for the host.
  DialectRegistry translations;
  registerAllToLLVMIRTranslations(translations);
  (*source)->getContext().appendDialectRegistry(translations);
  if (failed((*source)->parse()))
    return 1;
  if (auto error = run(***source, argv[0]))
    return fail(std::move(error));
  return 0;
}
