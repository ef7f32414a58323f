//===- lpfa-run.cpp - Runs a tensor-level function ------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arrays.h"
#include "Comparison.h"
#include "ReferenceDevice.h"

#include "lpfa/Dialect/LPFA/IR/LPFADialect.h"
#include "mlir/IR/AsmState.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
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
    "  Example:\n"
    "    lpfa-run quantize.mlir --entry=quantize_e4m3_rceil "
    "--device=reference --arg=x.npy --out=out\n";

namespace {
enum class Device { Reference };
} // namespace

static cl::OptionCategory category("lpfa-run options");

static cl::opt<std::string> inputFile(cl::Positional, cl::desc("in.mlir"),
                                      cl::Required, cl::cat(category));
static cl::opt<std::string>
    entryName("entry",
              cl::desc("Function to run (default: the only public one)"),
              cl::value_desc("name"), cl::cat(category));
static cl::opt<Device>
    device("device", cl::desc("Where to run:"),
           cl::values(clEnumValN(Device::Reference, "reference",
                                 "on the CPU, by the meaning of the "
                                 "tensor-level ops (default)")),
           cl::init(Device::Reference), cl::cat(category));
static cl::list<std::string> argumentFiles("arg",
                                           cl::desc("Array for one argument"),
                                           cl::value_desc("X.npy"),
                                           cl::cat(category));
static cl::opt<std::string>
    outputDirectory("out", cl::desc("Directory for the results"),
                    cl::value_desc("DIR"), cl::cat(category));

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

static llvm::Error run(ModuleOp module) {
  if (outputDirectory.empty())
    return llvm::createStringError("--out=DIR is needed for the results");
  auto function = findEntry(module);
  if (!function)
    return function.takeError();
  if (auto error = checkSignature(*function))
    return error;
  if (auto error = checkWritable(outputDirectory))
    return error;
  auto arguments = readArguments(*function, argumentFiles);
  if (!arguments)
    return arguments.takeError();

  auto results = runOnReference(module, function->getName(), *arguments);
  if (!results)
    return results.takeError();
  return writeResults(*results, outputDirectory);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, overview);

  std::string message;
  auto buffer = openInputFile(inputFile, &message);
  if (!buffer) {
    llvm::errs() << "lpfa-run: error: " << message << "\n";
    return 1;
  }

  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllToLLVMIRTranslations(registry);
  registry.insert<LPFADialect>();
  MLIRContext context(registry);
  llvm::SourceMgr sourceMgr;
  sourceMgr.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  SourceMgrDiagnosticHandler diagnostics(sourceMgr, &context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sourceMgr, &context);
  if (!module)
    return 1;
  if (auto error = run(*module)) {
    llvm::errs() << "lpfa-run: error: " << llvm::toString(std::move(error))
                 << "\n";
    return 1;
  }
  return 0;
}
