//===- lpfa-compile.cpp - Compiles modules to kernels and their plan ------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cost.h"
#include "Outputs.h"

#include "lpfa/Target/Compiler.h"
#include "lpfa/Target/PTX.h"
#include "lpfa/Target/PlanPrinter.h"
#include "lpfa/Target/Ptxas.h"
#include "lpfa/Target/Report.h"
#include "lpfa/Target/SourceModule.h"
#include "lpfa/Target/TargetModel.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"

using namespace mlir;
using namespace lpfa;
namespace cl = llvm::cl;

static const char overview[] =
    "compiles the functions of a module to kernels for a GPU\n"
    "\n"
    "  Input is a module of tensor-level functions; kernels at a later stage "
    "are taken too.\n"
    "  Output in DIR: MODULE.ptx and MODULE.cubin for each kernel, and "
    "plan.json, which says\n"
    "  how each function launches them. Files are written only when everything "
    "succeeded.\n"
    "\n"
    "  Cubins need ptxas: the newest of CUDA_HOME, /usr/local/cuda*, PATH, the "
    "Python\n"
    "  environment and a .venv above this program; LPFA_PTXAS names another.\n"
    "\n"
    "  The cost of a step is counted in the PTX and, where nvdisasm is beside "
    "ptxas or in PATH,\n"
    "  in the machine code; input may be PTX for that, anyone's.\n"
    "\n"
    "  Examples:\n"
    "    lpfa-compile attention.mlir -o out --chip=sm_103a --emit=ptx,plan\n"
    "    lpfa-compile kernel.ptx -o out --emit=cost\n";

namespace {
enum class Product { MLIR, NVVM, LLVM, PTX, Cubin, Plan, Report, Cost };
} // namespace

static cl::OptionCategory category("lpfa-compile options");
static cl::opt<std::string> inputFile(cl::Positional, cl::desc("in.mlir"),
                                      cl::Required, cl::cat(category));
static cl::opt<std::string> outputDirectory("o", cl::desc("Output directory"),
                                            cl::value_desc("DIR"), cl::Required,
                                            cl::cat(category));
static cl::opt<std::string>
    chip("chip", cl::desc("sm_90a, sm_100a (default) or sm_103a"),
         cl::value_desc("name"), cl::init("sm_100a"), cl::cat(category));
static cl::list<Product> products(
    "emit", cl::desc("What to write (default: ptx,cubin,plan):"),
    cl::CommaSeparated, cl::cat(category),
    cl::values(clEnumValN(Product::MLIR, "mlir",
                          "threads.mlir, the module at the threads stage"),
               clEnumValN(Product::NVVM, "nvvm",
                          "nvvm.mlir, the module at the nvvm stage"),
               clEnumValN(Product::LLVM, "llvm",
                          "MODULE.ll, optimized LLVM IR"),
               clEnumValN(Product::PTX, "ptx", "MODULE.ptx"),
               clEnumValN(Product::Cubin, "cubin",
                          "MODULE.cubin, with ptxas's report on stdout"),
               clEnumValN(Product::Plan, "plan", "plan.json"),
               clEnumValN(Product::Report, "report",
                          "report.html, a page that shows tensor memory, "
                          "roles and barriers over time"),
               clEnumValN(Product::Cost, "cost",
                          "cost.txt: for each role, instructions and waits of "
                          "a step, and the unit that limits it")));
static cl::list<std::string> pipelineOptions(cl::Sink);

static bool emits(Product product) {
  if (products.empty())
    return product == Product::PTX || product == Product::Cubin ||
           product == Product::Plan;
  return llvm::is_contained(products, product);
}

static int fail(const llvm::Twine &message) {
  llvm::errs() << "lpfa-compile: " << message << "\n";
  return 1;
}

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << module << "\n";
  return text;
}

namespace {
/// The pipeline's options, as --help lists them.
struct DescribedOptions : ToThreadsOptions {
  std::string describe() const;
};
} // namespace

std::string DescribedOptions::describe() const {
  std::vector<const cl::Option *> listed;
  for (const auto &option : OptionsMap)
    if (option.second->ArgStr != "chip")
      listed.push_back(option.second);
  llvm::sort(listed, [](const cl::Option *a, const cl::Option *b) {
    return a->ArgStr < b->ArgStr;
  });
  std::string text = "\nPipeline options (of lpfa-to-threads):\n\n";
  for (const cl::Option *option : listed)
    text += llvm::formatv("  --{0,-22} - {1}\n",
                          (option->ArgStr + "=<value>").str(), option->HelpStr)
                .str();
  return text;
}

/// Adds cubins, and what they take to `summary`; says what is missing when
/// there is no ptxas.
static llvm::Error addCubins(const std::optional<Ptxas> &ptxas,
                             CompiledModule &compiled,
                             std::vector<OutputFile> &files,
                             std::string &summary) {
  llvm::raw_string_ostream stream(summary);
  if (!ptxas) {
    llvm::errs() << "lpfa-compile: no cubin, as there is no ptxas: install "
                    "PyPI's nvidia-cuda-nvcc or a CUDA toolkit, or set "
                    "LPFA_PTXAS\n";
    return llvm::Error::success();
  }
  compiled.plan.ptxasVersion = std::to_string(ptxas->majorVersion) + "." +
                               std::to_string(ptxas->minorVersion);
  for (const CompiledPTX &module : compiled.modules) {
    llvm::Expected<Cubin> cubin = assemble(*ptxas, module.text, chip);
    if (!cubin)
      return cubin.takeError();
    for (const KernelResources &kernel : cubin->kernels)
      stream << kernel.entry << ": " << kernel.registers << " registers, "
             << kernel.stackBytes << " bytes stack, "
             << kernel.spillStoreBytes + kernel.spillLoadBytes
             << " bytes spilled\n";
    files.push_back({module.name + ".cubin", std::move(cubin->image)});
  }
  return llvm::Error::success();
}

/// The cost of PTX that someone else's compiler wrote.
static int reportCost(llvm::StringRef executable, const TargetModel &target) {
  if (products.size() != 1 || !emits(Product::Cost))
    return fail(inputFile + " is PTX, of which only --emit=cost can be made");
  auto input = llvm::MemoryBuffer::getFile(inputFile);
  if (!input)
    return fail("cannot open " + inputFile + ": " + input.getError().message());
  llvm::Expected<std::string> cost =
      getCost((*input)->getBuffer().str(), findPtxas(executable), target, {});
  if (!cost)
    return fail(llvm::toString(cost.takeError()));
  if (llvm::Error written =
          writeOutputs(outputDirectory, {{"cost.txt", std::move(*cost)}}))
    return fail(llvm::toString(std::move(written)));
  return 0;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  std::string pipelineHelp = DescribedOptions().describe();
  cl::extrahelp moreHelp(pipelineHelp);
  // Options of the pipeline do not pass through cl, which takes those that
  // begin with an o for -o.
  llvm::SmallVector<const char *> arguments;
  for (const char *argument : llvm::ArrayRef(argv, argc)) {
    llvm::StringRef option = argument;
    bool isForPipeline = option.consume_front("--") && option.contains('=') &&
                         !cl::getRegisteredOptions().contains(option.take_until(
                             [](char c) { return c == '='; }));
    if (isForPipeline)
      pipelineOptions.push_back(argument);
    else
      arguments.push_back(argument);
  }
  cl::ParseCommandLineOptions(arguments.size(), arguments.data(), overview);

  std::optional<TargetModel> target = TargetModel::get(chip);
  if (!target)
    return fail("unknown chip '" + chip + "', expected one of " +
                llvm::join(TargetModel::getChips(), ", "));
  if (llvm::StringRef(inputFile).ends_with(".ptx"))
    return reportCost(argv[0], *target);
  CompilerOptions options;
  if (auto error = parsePipelineArguments(pipelineOptions, options.pipeline))
    return fail(llvm::toString(std::move(error)));
  options.pipeline.chip = chip;

  auto source = SourceModule::open(inputFile);
  if (!source)
    return fail(llvm::toString(source.takeError()));
  if (failed((*source)->parse()))
    return 1;
  ModuleOp module = ***source;

  std::vector<OutputFile> files;
  if (emits(Product::Report)) {
    if (failed(lowerToSynchronized(module, options)))
      return 1;
    FailureOr<std::string> report =
        buildReport(module, chip, options.pipeline.ordering);
    if (failed(report))
      return 1;
    files.push_back({"report.html", std::move(*report)});
  }
  if (failed(lowerToThreads(module, options)))
    return 1;
  if (emits(Product::MLIR))
    files.push_back({"threads.mlir", print(module)});
  std::vector<double> tensorClocks = getTensorClocks(module);
  if (failed(lowerThreadsToNVVM(module, options)))
    return 1;
  if (emits(Product::NVVM))
    files.push_back({"nvvm.mlir", print(module)});
  if (emits(Product::LLVM))
    for (auto gpuModule : module.getOps<gpu::GPUModuleOp>()) {
      FailureOr<std::string> text = emitLLVMIR(gpuModule, /*optimize=*/true);
      if (failed(text))
        return 1;
      files.push_back({gpuModule.getName().str() + ".ll", std::move(*text)});
    }

  FailureOr<CompiledModule> compiled = emitModule(module);
  if (failed(compiled))
    return 1;
  if (compiled->modules.empty())
    return fail(inputFile + " has nothing to compile");
  if (emits(Product::PTX))
    for (const CompiledPTX &ptx : compiled->modules)
      files.push_back({ptx.name + ".ptx", ptx.text});
  std::string summary;
  std::optional<Ptxas> ptxas;
  if (emits(Product::Cubin) || emits(Product::Cost))
    ptxas = findPtxas(argv[0]);
  if (emits(Product::Cubin))
    if (llvm::Error cubins = addCubins(ptxas, *compiled, files, summary))
      return fail(llvm::toString(std::move(cubins)));
  if (emits(Product::Cost)) {
    std::vector<std::string> texts;
    for (const CompiledPTX &ptx : compiled->modules)
      texts.push_back(ptx.text);
    llvm::Expected<std::string> cost =
        getCost(texts, ptxas, *target, tensorClocks);
    if (!cost)
      return fail(llvm::toString(cost.takeError()));
    files.push_back({"cost.txt", std::move(*cost)});
  }
  if (emits(Product::Plan))
    files.push_back({"plan.json", printPlan(compiled->plan)});

  if (llvm::Error written = writeOutputs(outputDirectory, files))
    return fail(llvm::toString(std::move(written)));
  llvm::outs() << summary;
  return 0;
}
