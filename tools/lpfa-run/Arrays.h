//===- Arrays.h - Arrays as tensors -----------------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_TOOLS_LPFA_RUN_ARRAYS_H
#define LPFA_TOOLS_LPFA_RUN_ARRAYS_H

#include "lpfa/Runtime/Arrays.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/Error.h"

namespace lpfa {

/// Reads one file per argument of `function` and checks each against the
/// argument's type. The error names the argument and the file.
llvm::Expected<std::vector<NpyArray>>
readArguments(mlir::FunctionOpInterface function,
              llvm::ArrayRef<std::string> files);

/// Fails unless every argument and result of `function` is a ranked tensor
/// whose elements can travel in NumPy files.
llvm::Error checkSignature(mlir::FunctionOpInterface function);

/// An array of zeros with the elements of `type` and the given shape.
NpyArray makeArray(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> shape);

/// The elements of `array`, which holds a tensor of `elementType`, as doubles.
std::vector<double> toDoubles(const NpyArray &array, mlir::Type elementType);

} // namespace lpfa

#endif // LPFA_TOOLS_LPFA_RUN_ARRAYS_H
