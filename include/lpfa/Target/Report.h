//===- Report.h - A page that shows a module's schedules --------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_TARGET_REPORT_H
#define LPFA_TARGET_REPORT_H

#include "lpfa/Target/TargetModel.h"
#include "mlir/IR/BuiltinOps.h"

namespace lpfa {

/// An HTML page, complete in itself, for the kernels of `module` at the
/// synchronized stage: tensor and shared memory over time, the roles' timeline
/// with the arrows of barriers, registers, what each barrier guards, and why
/// tiles may share memory. Kernels without roles are left out. Fails with a
/// diagnostic where a kernel is outside the analysis' model.
mlir::FailureOr<std::string>
buildReport(mlir::ModuleOp module, llvm::StringRef chip, Ordering ordering);

} // namespace lpfa

#endif // LPFA_TARGET_REPORT_H
