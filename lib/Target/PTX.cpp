//===- PTX.cpp - From the nvvm stage to PTX -------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Target/PTX.h"
#include "lpfa/Dialect/LPFA/IR/LPFADialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace lpfa;

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

static void initializeTarget() {
  static bool once = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    // Addresses of shared memory in 32 bits. The back end has no other way to
    // be told.
    auto &options = llvm::cl::getRegisteredOptions();
    auto shortPointers = options.find("nvptx-short-ptr");
    if (shortPointers != options.end())
      static_cast<llvm::cl::opt<bool> *>(shortPointers->second)
          ->setInitialValue(true);
    return true;
  }();
  (void)once;
}

namespace {
/// A module and what compiles it.
struct Translation {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;
};
} // namespace

namespace {
/// What lpfa notes on functions and their arguments is for the launch plan and
/// has no counterpart in LLVM IR.
class LPFATranslation : public LLVMTranslationDialectInterface {
public:
  using LLVMTranslationDialectInterface::LLVMTranslationDialectInterface;

  LogicalResult amendOperation(Operation *, ArrayRef<llvm::Instruction *>,
                               NamedAttribute,
                               LLVM::ModuleTranslation &) const override {
    return success();
  }
  LogicalResult convertParameterAttr(LLVM::LLVMFuncOp, int, NamedAttribute,
                                     LLVM::ModuleTranslation &) const override {
    return success();
  }
};
} // namespace

static LogicalResult translate(gpu::GPUModuleOp gpuModule,
                               Translation &translation) {
  NVVM::NVVMTargetAttr target;
  if (ArrayAttr targets = gpuModule.getTargetsAttr())
    for (Attribute attr : targets)
      if (auto nvvmTarget = dyn_cast<NVVM::NVVMTargetAttr>(attr))
        target = nvvmTarget;
  if (!target)
    return gpuModule.emitError(
        "no #nvvm.target to compile for: run lpfa-attach-target");

  initializeTarget();
  llvm::Triple triple(target.getTriple());
  std::string error;
  const llvm::Target *backEnd =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backEnd)
    return gpuModule.emitError("LLVM cannot compile for ")
           << triple.str() << ": " << error;
  translation.machine.reset(backEnd->createTargetMachine(
      triple, target.getChip(), target.getFeatures(), llvm::TargetOptions(),
      std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Aggressive));

  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  registry.addExtension(+[](MLIRContext *, LPFADialect *dialect) {
    dialect->addInterfaces<LPFATranslation>();
  });
  gpuModule.getContext()->appendDialectRegistry(registry);
  translation.module = translateModuleToLLVMIR(gpuModule, translation.context,
                                               gpuModule.getName());
  if (!translation.module)
    return gpuModule.emitError("cannot be translated to LLVM IR");
  translation.module->setTargetTriple(triple);
  translation.module->setDataLayout(translation.machine->createDataLayout());
  return success();
}

static void runOptimizer(Translation &translation) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(translation.machine.get());
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(*translation.module, modules);
}

FailureOr<std::string> lpfa::emitLLVMIR(gpu::GPUModuleOp gpuModule,
                                        bool optimize) {
  Translation translation;
  if (failed(translate(gpuModule, translation)))
    return failure();
  if (optimize)
    runOptimizer(translation);
  std::string text;
  llvm::raw_string_ostream stream(text);
  translation.module->print(stream, nullptr);
  return text;
}

FailureOr<std::string> lpfa::emitPTX(gpu::GPUModuleOp gpuModule) {
  Translation translation;
  if (failed(translate(gpuModule, translation)))
    return failure();
  runOptimizer(translation);

  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager codegen;
  if (translation.machine->addPassesToEmitFile(
          codegen, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return gpuModule.emitError("LLVM's NVPTX back end cannot emit text");
  codegen.run(*translation.module);
  return text.str().str();
}
