//===- Outputs.cpp - Files that are written all or none -------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Outputs.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <vector>

namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

static llvm::Error cannotWrite(llvm::StringRef name, std::error_code code) {
  return llvm::createStringError(code, "cannot write " + name + ": " +
                                           code.message());
}

/// Writes a temporary file beside `name`.
static llvm::Expected<fs::TempFile> writeTemporary(llvm::StringRef name,
                                                   llvm::StringRef content) {
  auto file = fs::TempFile::create(name + ".%%%%%%%%.tmp");
  if (!file)
    return cannotWrite(name, llvm::errorToErrorCode(file.takeError()));
  llvm::raw_fd_ostream stream(file->FD, /*shouldClose=*/false);
  stream << content;
  stream.flush();
  if (!stream.has_error())
    return file;
  std::error_code code = stream.error();
  stream.clear_error();
  llvm::consumeError(file->discard());
  return cannotWrite(name, code);
}

llvm::Error lpfa::writeOutputs(llvm::StringRef directory,
                               llvm::ArrayRef<OutputFile> files) {
  bool existed = fs::is_directory(directory);
  if (std::error_code code = fs::create_directories(directory))
    return cannotWrite(directory, code);

  std::vector<std::string> names;
  std::vector<fs::TempFile> temporaries;
  llvm::Error error = llvm::Error::success();
  for (const OutputFile &file : files) {
    llvm::SmallString<128> name(directory);
    path::append(name, file.name);
    if (!error) {
      auto temporary =
          fs::is_directory(name)
              ? cannotWrite(name,
                            std::make_error_code(std::errc::is_a_directory))
              : writeTemporary(name, file.content);
      if (!temporary) {
        error = temporary.takeError();
        break;
      }
      names.push_back(name.str().str());
      temporaries.push_back(std::move(*temporary));
    }
  }
  for (size_t i = 0; i < temporaries.size(); ++i) {
    if (error)
      llvm::consumeError(temporaries[i].discard());
    else
      error = temporaries[i].keep(names[i]);
  }
  if (error && !existed)
    fs::remove(directory);
  return error;
}
