//===- SourceModule.cpp - A module that was read from a file --------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Target/SourceModule.h"
#include "lpfa/Dialect/LPFA/IR/LPFADialect.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"

using namespace mlir;
using namespace lpfa;

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registry.insert<LPFADialect>();
  return registry;
}

SourceModule::SourceModule(std::unique_ptr<llvm::MemoryBuffer> text)
    : context(makeRegistry()), handler(sources, &context) {
  sources.AddNewSourceBuffer(std::move(text), llvm::SMLoc());
}

llvm::Expected<std::unique_ptr<SourceModule>>
SourceModule::open(StringRef path) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> text = openInputFile(path, &message);
  if (!text)
    return llvm::createStringError(message);
  return std::unique_ptr<SourceModule>(new SourceModule(std::move(text)));
}

LogicalResult SourceModule::parse() {
  module = parseSourceFile<ModuleOp>(sources, &context);
  return success(static_cast<bool>(module));
}

llvm::Error lpfa::parsePipelineArguments(ArrayRef<std::string> arguments,
                                         ToThreadsOptions &options) {
  std::string text;
  for (StringRef argument : arguments) {
    if (!argument.consume_front("--"))
      return llvm::createStringError("unknown argument '" + argument +
                                     "', see --help");
    text += (argument + " ").str();
  }
  if (failed(options.parseFromString(text)))
    return llvm::createStringError("no such pipeline options: " + text);
  return llvm::Error::success();
}
