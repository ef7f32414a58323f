//===- Outputs.h - Files that are written all or none -----------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_TOOLS_LPFA_COMPILE_OUTPUTS_H
#define LPFA_TOOLS_LPFA_COMPILE_OUTPUTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace lpfa {

struct OutputFile {
  std::string name;
  std::string content;
};

/// Writes `files` into `directory`, which is made if it is missing. When one
/// cannot be written, none is there afterwards.
llvm::Error writeOutputs(llvm::StringRef directory,
                         llvm::ArrayRef<OutputFile> files);

} // namespace lpfa

#endif // LPFA_TOOLS_LPFA_COMPILE_OUTPUTS_H
