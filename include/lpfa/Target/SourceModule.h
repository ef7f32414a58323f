//===- SourceModule.h - A module that was read from a file ------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_TARGET_SOURCEMODULE_H
#define LPFA_TARGET_SOURCEMODULE_H

#include "lpfa/Pipelines.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/SourceMgr.h"

namespace lpfa {

/// A module in a context that knows lpfa's and all upstream dialects.
/// Diagnostics go to stderr with the line of the file they are about.
class SourceModule {
public:
  /// Opens `path` ("-": standard input); says why it cannot.
  static llvm::Expected<std::unique_ptr<SourceModule>>
  open(llvm::StringRef path);

  /// Fails with diagnostics.
  mlir::LogicalResult parse();

  mlir::MLIRContext &getContext() { return context; }

  /// After `parse`.
  mlir::ModuleOp operator*() { return *module; }

private:
  explicit SourceModule(std::unique_ptr<llvm::MemoryBuffer> text);

  mlir::MLIRContext context;
  llvm::SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler handler;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Sets the options of the pipeline that tools take as `--NAME=VALUE`; says
/// which argument is none.
llvm::Error parsePipelineArguments(llvm::ArrayRef<std::string> arguments,
                                   ToThreadsOptions &options);

} // namespace lpfa

#endif // LPFA_TARGET_SOURCEMODULE_H
