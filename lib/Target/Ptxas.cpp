//===- Ptxas.cpp - From PTX to machine code -------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Target/Ptxas.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

using namespace lpfa;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace {
/// A file that goes when the object goes.
class TemporaryFile {
public:
  static llvm::Expected<TemporaryFile> create(llvm::StringRef suffix) {
    TemporaryFile file;
    if (std::error_code code =
            fs::createTemporaryFile("lpfa", suffix, file.name))
      return llvm::createStringError(code, "cannot create a temporary file: %s",
                                     code.message().c_str());
    return file;
  }
  TemporaryFile(TemporaryFile &&other) { std::swap(name, other.name); }
  ~TemporaryFile() {
    if (!name.empty())
      fs::remove(name);
  }
  llvm::StringRef getName() const { return name; }

  llvm::Error write(llvm::StringRef text) const {
    std::error_code code;
    llvm::raw_fd_ostream stream(name, code);
    stream << text;
    stream.close();
    if (!stream.has_error())
      return llvm::Error::success();
    stream.clear_error();
    return llvm::createStringError("cannot write " + name.str());
  }

  std::string read() const {
    auto buffer = llvm::MemoryBuffer::getFile(name);
    return buffer ? (*buffer)->getBuffer().str() : std::string();
  }

private:
  TemporaryFile() = default;
  llvm::SmallString<128> name;
};

/// Runs a program; returns its exit code and everything that it printed.
llvm::Expected<std::pair<int, std::string>>
run(llvm::StringRef program, llvm::ArrayRef<llvm::StringRef> arguments) {
  llvm::Expected<TemporaryFile> output = TemporaryFile::create("txt");
  if (!output)
    return output.takeError();
  llvm::SmallVector<llvm::StringRef> command{program};
  llvm::append_range(command, arguments);
  std::optional<llvm::StringRef> redirects[] = {
      llvm::StringRef(), output->getName(), output->getName()};
  std::string error;
  int code = llvm::sys::ExecuteAndWait(program, command, std::nullopt,
                                       redirects, 0, 0, &error);
  if (code < 0)
    return llvm::createStringError("cannot run " + program + ": " + error);
  return std::pair(code, output->read());
}

/// Whether `path` is a ptxas, and which.
std::optional<Ptxas> probe(llvm::StringRef path) {
  if (!fs::can_execute(path))
    return std::nullopt;
  auto result = run(path, {"--version"});
  if (!result) {
    llvm::consumeError(result.takeError());
    return std::nullopt;
  }
  llvm::StringRef text = result->second;
  size_t position = text.find("release ");
  if (position == llvm::StringRef::npos)
    return std::nullopt;
  text = text.drop_front(position + strlen("release "));
  Ptxas ptxas;
  ptxas.path = path.str();
  if (text.consumeInteger(10, ptxas.majorVersion) || !text.consume_front(".") ||
      text.consumeInteger(10, ptxas.minorVersion))
    return std::nullopt;
  return ptxas;
}

/// Adds `directory`/NAME for every entry that `accept` likes, in order of
/// names.
template <typename Accept>
std::vector<std::string> list(const llvm::Twine &directory, Accept accept) {
  std::vector<std::string> names;
  std::error_code code;
  for (fs::directory_iterator entry(directory, code), end;
       !code && entry != end; entry.increment(code))
    if (accept(path::filename(entry->path())))
      names.push_back(entry->path());
  llvm::sort(names);
  return names;
}

/// The ptxas of PyPI's nvidia-cuda-nvcc in a Python environment.
void addPythonEnvironment(const llvm::Twine &environment,
                          std::vector<std::string> &candidates) {
  for (const std::string &python :
       list(environment + "/lib",
            [](llvm::StringRef name) { return name.starts_with("python"); }))
    for (const std::string &package :
         list(python + "/site-packages/nvidia",
              [](llvm::StringRef) { return true; }))
      candidates.push_back(package + "/bin/ptxas");
}
} // namespace

std::optional<Ptxas> lpfa::findPtxas(llvm::StringRef executable) {
  if (const char *chosen = std::getenv("LPFA_PTXAS"))
    return probe(chosen);

  std::vector<std::string> candidates;
  llvm::SmallString<128> directory(executable);
  if (!fs::real_path(executable, directory))
    while (path::has_parent_path(directory)) {
      path::remove_filename(directory);
      addPythonEnvironment(llvm::Twine(directory) + "/.venv", candidates);
    }
  if (const char *environment = std::getenv("VIRTUAL_ENV"))
    addPythonEnvironment(environment, candidates);
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *toolkit = std::getenv(variable))
      candidates.push_back(std::string(toolkit) + "/bin/ptxas");
  for (const std::string &toolkit :
       list("/usr/local",
            [](llvm::StringRef name) { return name.starts_with("cuda"); }))
    candidates.push_back(toolkit + "/bin/ptxas");
  if (auto found = llvm::sys::findProgramByName("ptxas"))
    candidates.push_back(*found);

  std::optional<Ptxas> newest;
  for (const std::string &candidate : candidates) {
    std::optional<Ptxas> ptxas = probe(candidate);
    if (ptxas &&
        (!newest || std::pair(ptxas->majorVersion, ptxas->minorVersion) >
                        std::pair(newest->majorVersion, newest->minorVersion)))
      newest = ptxas;
  }
  return newest;
}

std::vector<KernelResources> lpfa::parseResources(llvm::StringRef text) {
  std::vector<KernelResources> kernels;
  // The number before `unit`, as in "12 bytes spill stores".
  auto getNumber = [](llvm::StringRef line, llvm::StringRef unit) {
    unsigned number = 0;
    size_t position = line.find(unit);
    if (position != llvm::StringRef::npos) {
      llvm::StringRef head = line.take_front(position).rtrim();
      head.substr(head.find_last_not_of("0123456789") + 1)
          .getAsInteger(10, number);
    }
    return number;
  };
  for (llvm::StringRef line : llvm::split(text, '\n')) {
    constexpr llvm::StringLiteral entryPrefix = "Compiling entry function '";
    if (size_t position = line.find(entryPrefix);
        position != llvm::StringRef::npos) {
      KernelResources kernel;
      kernel.entry = line.drop_front(position + entryPrefix.size())
                         .split('\'')
                         .first.str();
      kernels.push_back(kernel);
    }
    if (kernels.empty())
      continue;
    KernelResources &kernel = kernels.back();
    if (line.contains("bytes stack frame")) {
      kernel.stackBytes = getNumber(line, "bytes stack frame");
      kernel.spillStoreBytes = getNumber(line, "bytes spill stores");
      kernel.spillLoadBytes = getNumber(line, "bytes spill loads");
    }
    if (line.contains("Used "))
      kernel.registers = getNumber(line, "registers");
  }
  return kernels;
}

llvm::Expected<Cubin> lpfa::assemble(const Ptxas &ptxas, llvm::StringRef ptx,
                                     llvm::StringRef chip) {
  llvm::Expected<TemporaryFile> input = TemporaryFile::create("ptx");
  if (!input)
    return input.takeError();
  llvm::Expected<TemporaryFile> output = TemporaryFile::create("cubin");
  if (!output)
    return output.takeError();
  if (llvm::Error error = input->write(ptx))
    return error;
  std::string architecture = ("-arch=" + chip).str();
  auto result = run(ptxas.path, {architecture, "-v", "-o", output->getName(),
                                 input->getName()});
  if (!result)
    return result.takeError();
  if (result->first != 0)
    return llvm::createStringError("ptxas refused the PTX:\n" +
                                   llvm::StringRef(result->second).trim());
  Cubin cubin;
  cubin.image = output->read();
  cubin.kernels = parseResources(result->second);
  return cubin;
}

std::optional<std::string> lpfa::findNvdisasm(const Ptxas &ptxas) {
  llvm::SmallString<128> sibling(ptxas.path);
  path::remove_filename(sibling);
  path::append(sibling, "nvdisasm");
  if (fs::can_execute(sibling))
    return sibling.str().str();
  if (auto found = llvm::sys::findProgramByName("nvdisasm"))
    return *found;
  return std::nullopt;
}

llvm::Expected<std::string> lpfa::disassemble(llvm::StringRef nvdisasm,
                                              llvm::StringRef cubin) {
  llvm::Expected<TemporaryFile> input = TemporaryFile::create("cubin");
  if (!input)
    return input.takeError();
  if (llvm::Error error = input->write(cubin))
    return error;
  auto result = run(nvdisasm, {"-c", input->getName()});
  if (!result)
    return result.takeError();
  if (result->first != 0)
    return llvm::createStringError("nvdisasm refused the cubin:\n" +
                                   llvm::StringRef(result->second).trim());
  return std::move(result->second);
}
