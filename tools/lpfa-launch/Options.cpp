//===- Options.cpp - Command line of lpfa-launch --------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include <cstring>

using namespace lpfa;

const char *const lpfa::launchHelp =
    R"(lpfa-launch: launches on a GPU what lpfa-compile wrote

  lpfa-launch DIR/plan.json --arg=X.npy ... --out=DIR
  lpfa-launch DIR/plan.json --size=16384x16384 ... --benchmark

DIR holds plan.json and, for each of its modules, a .cubin or, for the driver to
compile, a .ptx. The plan says how the kernels are launched. Arguments come in
order, each with one of:

  --arg=X.npy          an array. Element types that NumPy lacks travel as codes:
                       f8, f6, f4 and f8E8M0 one a byte in uint8, bf16 in uint16
  --size=D0xD1x...     random values in a tensor of these sizes: random signs and
                       mantissas, exponents within 8 below one; a pattern of
                       16 MiB that repeats. Not for integers, which may be indices

Results:

  --out=DIR            writes DIR/result0.npy, ... when everything succeeded
  --benchmark[=json]   times the launch: median, minimum, 10th and 90th percentile
                       over CUDA graphs with the L2 cache flushed before each,
                       GB/s (10^9 bytes, every argument read once and every result
                       written once), and the fraction of a copy of as many bytes,
                       measured beside: by a kernel and by cuMemcpyDtoD

Options:

  --function=NAME      the function to run, where the plan has several
  --device=N           the GPU (default 0)
  --warmup=N           repetitions that do not count (default 10)
  --repetitions=N      repetitions that do (default 100)
  --no-flush           leaves the L2 cache as the repetition before left it
  --seed=N             of random values (default 0)
  --offset=BYTES       places each tensor so far beyond an aligned address; a
                       multiple of 16
  --row-padding=N      leaves N elements between the rows of each argument whose
                       row stride the kernels take

Exit code 0, or 1 with one line on stderr; then nothing was written.

Example, on any machine and then on the GPU's:

  lpfa-compile quantize.mlir --chip=sm_90a -o out
  lpfa-launch out/plan.json --size=16384x16384 --benchmark
)";

namespace {
/// Takes NAME=VALUE or NAME VALUE.
class Parser {
public:
  Parser(int argc, char **argv, std::string &error)
      : argc(argc), argv(argv), error(error) {}

  bool parse(LaunchOptions &options);

private:
  bool parseOption(const std::string &name, LaunchOptions &options);

  bool fail(const std::string &what) {
    error = what;
    return false;
  }

  bool getValue(const std::string &name, std::string &value) {
    if (inlineValue) {
      value = inlineValue;
      return !value.empty() || fail(name + " needs a value");
    }
    if (index + 1 == argc)
      return fail(name + " needs a value");
    value = argv[++index];
    return true;
  }

  bool parseNumber(const std::string &name, const std::string &text,
                   int64_t max, int64_t &number) {
    number = 0;
    for (char c : text) {
      if (c < '0' || c > '9' || number > (max - (c - '0')) / 10)
        return fail(name + ": '" + text + "' is not a number from 0 to " +
                    std::to_string(max));
      number = number * 10 + (c - '0');
    }
    return true;
  }

  bool getNumber(const std::string &name, int64_t max, int64_t &number) {
    std::string text;
    return getValue(name, text) && parseNumber(name, text, max, number);
  }

  template <typename T>
  bool getNumber(const std::string &name, int64_t max, T &result) {
    int64_t number;
    if (!getNumber(name, max, number))
      return false;
    result = static_cast<T>(number);
    return true;
  }

  bool getSizes(const std::string &name, std::vector<int64_t> &sizes) {
    std::string text;
    if (!getValue(name, text))
      return false;
    for (size_t begin = 0, end; begin <= text.size(); begin = end + 1) {
      end = std::min(text.find('x', begin), text.size());
      std::string size = text.substr(begin, end - begin);
      if (size.empty())
        return fail(name + ": '" + text + "' is not sizes such as 16384x4096");
      sizes.emplace_back();
      if (!parseNumber(name, size, int64_t(1) << 48, sizes.back()))
        return false;
    }
    return true;
  }

  int argc;
  char **argv;
  std::string &error;
  int index = 0;
  /// What follows the option's '=', or null.
  const char *inlineValue = nullptr;
};
} // namespace

bool Parser::parseOption(const std::string &name, LaunchOptions &options) {
  constexpr int64_t maxCount = 1000000;
  if (name == "--help") {
    options.help = true;
    return true;
  }
  if (name == "--arg") {
    options.arguments.emplace_back();
    return getValue(name, options.arguments.back().file);
  }
  if (name == "--size") {
    options.arguments.emplace_back();
    return getSizes(name, options.arguments.back().sizes);
  }
  if (name == "--out")
    return getValue(name, options.outputDirectory);
  if (name == "--function")
    return getValue(name, options.function);
  if (name == "--device")
    return getNumber(name, maxCount, options.device);
  if (name == "--warmup")
    return getNumber(name, maxCount, options.timing.warmup);
  if (name == "--repetitions")
    return getNumber(name, maxCount, options.timing.repetitions) &&
           (options.timing.repetitions > 0 ||
            fail("--repetitions: at least one is needed"));
  if (name == "--seed")
    return getNumber(name, INT64_MAX, options.seed);
  if (name == "--row-padding")
    return getNumber(name, int64_t(1) << 32, options.rowPadding);
  if (name == "--offset")
    return getNumber(name, int64_t(1) << 20, options.offsetBytes) &&
           (options.offsetBytes % tensorAlignment == 0 ||
            fail("--offset: tensors are aligned to " +
                 std::to_string(tensorAlignment) + " bytes"));
  if (name == "--no-flush" && !inlineValue) {
    options.timing.flush = false;
    return true;
  }
  if (name == "--benchmark") {
    options.benchmark =
        inlineValue ? LaunchOptions::Format::JSON : LaunchOptions::Format::Text;
    return !inlineValue || std::strcmp(inlineValue, "json") == 0 ||
           fail("--benchmark: unknown format '" + std::string(inlineValue) +
                "', expected json");
  }
  return fail("unknown option " + name + ", see --help");
}

bool Parser::parse(LaunchOptions &options) {
  for (index = 1; index < argc; ++index) {
    std::string name = argv[index];
    if (name.rfind("--", 0) != 0) {
      if (!options.plan.empty())
        return fail("one plan at a time: " + name);
      options.plan = name;
      continue;
    }
    const char *equals = std::strchr(argv[index], '=');
    inlineValue = equals ? equals + 1 : nullptr;
    if (equals)
      name.resize(equals - argv[index]);
    if (!parseOption(name, options))
      return false;
  }
  if (options.help)
    return true;
  if (options.plan.empty())
    return fail("which plan.json? See --help");
  return !options.outputDirectory.empty() ||
         options.benchmark != LaunchOptions::Format::None ||
         fail("--out=DIR or --benchmark is needed");
}

bool lpfa::parseOptions(int argc, char **argv, LaunchOptions &options,
                        std::string &error) {
  return Parser(argc, argv, error).parse(options);
}
