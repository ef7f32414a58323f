//===- LaunchPlan.h - How to run a compiled function ------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compiled function's contract with whoever launches it: its kernels in
// order, what each is given, and the buffers that it needs. The launcher checks
// the arguments, evaluates `checks`, allocates results and temporaries, and
// runs the kernels one after the other. The plans of a module's functions make
// the file `plan.json`.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_RUNTIME_LAUNCHPLAN_H
#define LPFA_RUNTIME_LAUNCHPLAN_H

#include "lpfa/Runtime/Formula.h"
#include <array>
#include <string>

namespace lpfa {

/// A function argument: a tensor of `element`, MLIR's name of the type
/// (`f8E4M3FN`). Sizes known at compile time are given, others are -1, in JSON
/// null. The last dimension is contiguous.
struct PlanArgument {
  std::string element;
  std::vector<int64_t> shape;
};

/// A function result, contiguous. The launcher allocates it.
struct PlanResult {
  std::string element;
  std::vector<Formula> shape;
};

/// A buffer between kernels, aligned to 256 bytes. Contents before the first
/// kernel do not matter.
struct PlanTemporary {
  Formula bytes;
};

/// A buffer that the launcher holds.
struct PlanBuffer {
  enum class Kind { Argument, Temporary, Result };
  /// In plan.json and in messages.
  static const char *getName(Kind kind);

  Kind kind = Kind::Argument;
  unsigned index = 0;
};

/// What `cuTensorMapEncodeTiled` is called with. Dimensions come
/// fastest-varying first; there is one stride less, in bytes, as the first
/// dimension is contiguous. Element strides are 1 and out-of-bounds elements
/// read as zero. `element` is an integer or float type's name; 8-bit floats are
/// `i8`.
struct PlanTensorMap {
  PlanBuffer buffer;
  std::string element;
  std::vector<Formula> sizes;
  std::vector<Formula> strides;
  std::vector<int64_t> box;
  /// Span of the swizzle in bytes: 0, 32, 64 or 128.
  int64_t swizzle = 0;
};

/// A kernel parameter.
struct PlanParameter {
  enum class Kind {
    Pointer,  ///< 64-bit address of `buffer`.
    Int32,    ///< `value`, checked to fit.
    Int64,    ///< `value`.
    TensorMap ///< 128 bytes in parameter space, aligned to 64.
  };
  Kind kind = Kind::Pointer;
  PlanBuffer buffer;
  Formula value;
  PlanTensorMap tensorMap;
};

struct PlanKernel {
  /// The PTX module, a file beside the plan without its suffix.
  std::string module;
  std::string entry;
  /// A kernel with an empty grid is not launched.
  std::array<Formula, 3> grid = {1, 1, 1};
  std::array<int64_t, 3> block = {1, 1, 1};
  std::array<int64_t, 3> cluster = {1, 1, 1};
  int64_t dynamicSharedBytes = 0;
  std::vector<PlanParameter> parameters;
};

/// A condition on the arguments.
struct PlanCheck {
  /// Holds where it is not zero.
  Formula condition;
  std::string message;
};

/// How to run one function.
struct LaunchPlan {
  std::string function;
  std::vector<PlanArgument> arguments;
  std::vector<PlanResult> results;
  std::vector<PlanTemporary> temporaries;
  std::vector<PlanCheck> checks;
  std::vector<PlanKernel> kernels;
};

/// The file `plan.json`.
struct ModulePlan {
  /// Of the JSON form. A reader refuses others.
  static constexpr int64_t schemaVersion = 1;

  std::string chip;
  /// `13.4`; empty if there is no cubin.
  std::string ptxasVersion;
  std::vector<LaunchPlan> functions;
};

/// The size of an element in memory, in bits; nothing for unknown names.
std::optional<unsigned> getElementBits(const std::string &element);

/// Reads the text of plan.json. Nothing and a line that says where the text is
/// wrong, in `error`, if it is no plan: kinds and names are checked, and that
/// every buffer, argument and dimension that is referred to exists.
std::optional<ModulePlan> parsePlan(const std::string &text,
                                    std::string &error);

} // namespace lpfa

#endif // LPFA_RUNTIME_LAUNCHPLAN_H
