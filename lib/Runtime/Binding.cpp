//===- Binding.cpp - Checking a launch ------------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Runtime/Launch.h"
#include <algorithm>
#include <limits>

using namespace lpfa;

namespace {
// What CUDA takes: the CUDA C++ Programming Guide's table of compute
// capabilities, and the driver API's cuTensorMapEncodeTiled.
constexpr int64_t maxGrid[3] = {std::numeric_limits<int32_t>::max(), 65535,
                                65535};
constexpr size_t maxTensorMapRank = 5;
// The driver takes 2^32, but then an H200 faults.
constexpr int64_t maxTensorMapSize = int64_t(1) << 31;
constexpr int64_t maxTensorMapStride = int64_t(1) << 40;
constexpr int64_t maxBox = 256;

/// Where a tensor's bytes are.
struct Range {
  std::string name;
  uint64_t begin = 0, end = 0;
};
} // namespace

static std::string printSizes(const std::vector<int64_t> &sizes) {
  if (sizes.empty())
    return "a scalar";
  std::string text;
  for (int64_t size : sizes) {
    text += text.empty() ? "" : "x";
    text += size < 0 ? "?" : std::to_string(size);
  }
  return text;
}

static std::string printBuffer(PlanBuffer buffer) {
  return PlanBuffer::getName(buffer.kind) +
         (" " + std::to_string(buffer.index));
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// The bytes from a tensor's first element to behind its last.
static std::optional<uint64_t> getSpan(const std::string &element,
                                       const std::vector<int64_t> &sizes,
                                       const std::vector<int64_t> &strides) {
  // Bits have to fit, too.
  int64_t last = 0, bits = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t extent;
    if (sizes[i] == 0)
      return 0;
    if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &extent) ||
        __builtin_add_overflow(last, extent, &last))
      return std::nullopt;
  }
  if (__builtin_add_overflow(last, int64_t(1), &last) ||
      __builtin_mul_overflow(last, int64_t(*getElementBits(element)), &bits))
    return std::nullopt;
  return (static_cast<uint64_t>(bits) + 7) / 8;
}

static std::vector<int64_t> getStrides(const TensorRef &tensor) {
  return tensor.strides.empty()
             ? ArgumentShape::contiguous(tensor.sizes).strides
             : tensor.strides;
}

/// Whether the number of elements fits, so that contiguous strides do.
static bool hasFittingCount(const std::vector<int64_t> &sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    if (__builtin_mul_overflow(count, std::max<int64_t>(size, 1), &count))
      return false;
  return true;
}

std::optional<uint64_t>
lpfa::getTensorBytes(const std::string &element,
                     const std::vector<int64_t> &sizes) {
  if (!hasFittingCount(sizes))
    return std::nullopt;
  return getSpan(element, sizes, ArgumentShape::contiguous(sizes).strides);
}

/// Whether a formula reads stride `dimension` of `argument`.
static bool readsStride(const Formula &formula, unsigned argument,
                        unsigned dimension) {
  if (formula.getKind() == Formula::Kind::Stride)
    return formula.getArgument() == argument &&
           formula.getDimension() == dimension;
  const auto &operands = formula.getOperands();
  return std::any_of(operands.begin(), operands.end(),
                     [&](const Formula &operand) {
                       return readsStride(operand, argument, dimension);
                     });
}

bool lpfa::takesStride(const LaunchPlan &plan, unsigned argument,
                       unsigned dimension) {
  auto reads = [&](const Formula &formula) {
    return readsStride(formula, argument, dimension);
  };
  for (const PlanKernel &kernel : plan.kernels)
    for (const PlanParameter &parameter : kernel.parameters) {
      const auto &strides = parameter.tensorMap.strides;
      if (reads(parameter.value) ||
          std::any_of(strides.begin(), strides.end(), reads))
        return true;
    }
  return false;
}

static bool checkArgument(const LaunchPlan &plan, unsigned index,
                          const TensorRef &tensor, std::string &error) {
  const PlanArgument &expected = plan.arguments[index];
  auto fail = [&](const std::string &what) {
    error = "argument " + std::to_string(index) + ": " + what;
    return false;
  };
  if (tensor.element != expected.element)
    return fail("the elements are " + tensor.element + ", expected " +
                expected.element);
  if (!getElementBits(tensor.element))
    return fail("kernels take no " + tensor.element);
  bool matches = tensor.sizes.size() == expected.shape.size();
  for (size_t i = 0; matches && i < tensor.sizes.size(); ++i)
    matches = expected.shape[i] < 0 ? tensor.sizes[i] >= 0
                                    : tensor.sizes[i] == expected.shape[i];
  if (!matches)
    return fail("the shape is " + printSizes(tensor.sizes) + ", expected " +
                printSizes(expected.shape));
  if (!hasFittingCount(tensor.sizes))
    return fail("the tensor is too large");
  if (!tensor.strides.empty() && tensor.strides.size() != tensor.sizes.size())
    return fail("there are " + std::to_string(tensor.strides.size()) +
                " strides for " + std::to_string(tensor.sizes.size()) +
                " dimensions");
  if (!getSpan(tensor.element, tensor.sizes, getStrides(tensor)))
    return fail("the tensor is too large");

  std::vector<int64_t> dense = ArgumentShape::contiguous(tensor.sizes).strides;
  for (size_t i = 0; i < tensor.strides.size(); ++i) {
    // Where there is one element at most the stride has no meaning.
    if (tensor.sizes[i] <= 1 || tensor.strides[i] == dense[i])
      continue;
    std::string stride = "stride " + std::to_string(i) + " is " +
                         std::to_string(tensor.strides[i]);
    if (tensor.strides[i] < 0)
      return fail(stride + ", which is negative");
    if (i + 1 == tensor.strides.size() || !takesStride(plan, index, i))
      return fail(stride + ", but the kernels take only " +
                  std::to_string(dense[i]) + " there");
  }
  return true;
}

namespace {
/// The values of a plan's formulas for given arguments.
class Evaluation {
public:
  Evaluation(const LaunchPlan &plan, const std::vector<TensorRef> &arguments,
             int64_t multiprocessors, std::string &error)
      : plan(plan), error(error) {
    inputs.multiprocessors = multiprocessors;
    for (const TensorRef &argument : arguments)
      inputs.arguments.push_back({argument.sizes, {}});
  }

  bool checkArguments(const std::vector<TensorRef> &arguments);
  bool inferShape(LaunchShape &shape);
  /// Puts the temporaries one after the other; sets `end` to the bytes of all.
  bool placeTemporaries(std::vector<uint64_t> &offsets, uint64_t &end);
  bool evaluate(const Formula &formula, const std::string &what,
                int64_t &value) {
    std::optional<int64_t> result = formula.evaluate(inputs, error);
    if (!result) {
      error = what + ": " + error;
      return false;
    }
    value = *result;
    return true;
  }

private:
  const LaunchPlan &plan;
  std::string &error;
  FormulaInputs inputs;
};
} // namespace

bool Evaluation::checkArguments(const std::vector<TensorRef> &arguments) {
  if (arguments.size() != plan.arguments.size()) {
    error = plan.function + " takes " + std::to_string(plan.arguments.size()) +
            " arguments, not " + std::to_string(arguments.size());
    return false;
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!checkArgument(plan, i, arguments[i], error))
      return false;
    inputs.arguments[i].strides = getStrides(arguments[i]);
  }
  for (const PlanCheck &check : plan.checks) {
    int64_t holds;
    if (!evaluate(check.condition, check.message, holds))
      return false;
    if (!holds) {
      error = check.message;
      return false;
    }
  }
  return true;
}

bool Evaluation::inferShape(LaunchShape &shape) {
  for (size_t i = 0; i < plan.results.size(); ++i) {
    std::string name = "result " + std::to_string(i);
    std::vector<int64_t> sizes(plan.results[i].shape.size());
    for (size_t j = 0; j < sizes.size(); ++j) {
      if (!evaluate(plan.results[i].shape[j], name, sizes[j]))
        return false;
      if (sizes[j] < 0) {
        error = name + ": dimension " + std::to_string(j) + " is " +
                std::to_string(sizes[j]);
        return false;
      }
    }
    if (!getTensorBytes(plan.results[i].element, sizes)) {
      error = name + ": the tensor is too large";
      return false;
    }
    shape.results.push_back(std::move(sizes));
  }
  std::vector<uint64_t> offsets;
  return placeTemporaries(offsets, shape.workspaceBytes);
}

bool Evaluation::placeTemporaries(std::vector<uint64_t> &offsets,
                                  uint64_t &end) {
  end = 0;
  for (size_t i = 0; i < plan.temporaries.size(); ++i) {
    std::string name = "temporary " + std::to_string(i);
    int64_t bytes;
    if (!evaluate(plan.temporaries[i].bytes, name, bytes))
      return false;
    offsets.push_back(end);
    constexpr int64_t max = std::numeric_limits<int64_t>::max();
    if (bytes < 0 ||
        bytes > max - static_cast<int64_t>(end + workspaceAlignment)) {
      error = name + ": " + std::to_string(bytes) + " bytes";
      return false;
    }
    end += (bytes + workspaceAlignment - 1) / workspaceAlignment *
           workspaceAlignment;
  }
  return true;
}

std::optional<LaunchShape>
lpfa::inferShape(const LaunchPlan &plan,
                 const std::vector<TensorRef> &arguments,
                 int64_t multiprocessors, std::string &error) {
  Evaluation evaluation(plan, arguments, multiprocessors, error);
  LaunchShape shape;
  if (!evaluation.checkArguments(arguments) || !evaluation.inferShape(shape))
    return std::nullopt;
  return shape;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static bool addRange(const std::string &name, uint64_t address, uint64_t bytes,
                     uint64_t alignment, std::vector<Range> &ranges,
                     std::string &error) {
  if (bytes == 0)
    return true;
  if (address == 0) {
    error = name + ": the pointer is null";
    return false;
  }
  if (address % alignment != 0) {
    error = name + ": the address is not a multiple of " +
            std::to_string(alignment);
    return false;
  }
  if (address + bytes < address) {
    error = name + ": the tensor goes beyond the end of memory";
    return false;
  }
  ranges.push_back({name, address, address + bytes});
  return true;
}

/// What is written overlaps nothing else; arguments may overlap one another.
static bool checkOverlap(const std::vector<Range> &read,
                         const std::vector<Range> &written,
                         std::string &error) {
  auto overlap = [&](const Range &a, const Range &b) {
    if (a.begin >= b.end || b.begin >= a.end)
      return false;
    error = a.name + " overlaps " + b.name;
    return true;
  };
  for (size_t i = 0; i < written.size(); ++i) {
    for (const Range &argument : read)
      if (overlap(written[i], argument))
        return false;
    for (size_t j = 0; j < i; ++j)
      if (overlap(written[i], written[j]))
        return false;
  }
  return true;
}

static bool checkMemory(const LaunchPlan &plan, const LaunchShape &shape,
                        const std::vector<TensorRef> &arguments,
                        const std::vector<TensorRef> &results,
                        uint64_t workspace, std::string &error) {
  std::vector<Range> read, written;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const TensorRef &tensor = arguments[i];
    if (!addRange("argument " + std::to_string(i), tensor.address,
                  *getSpan(tensor.element, tensor.sizes, getStrides(tensor)),
                  tensorAlignment, read, error))
      return false;
  }
  if (results.size() != plan.results.size()) {
    error = plan.function + " has " + std::to_string(plan.results.size()) +
            " results, not " + std::to_string(results.size());
    return false;
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const TensorRef &tensor = results[i];
    std::string name = "result " + std::to_string(i);
    if (tensor.element != plan.results[i].element) {
      error = name + ": the elements are " + tensor.element + ", expected " +
              plan.results[i].element;
      return false;
    }
    if (tensor.sizes != shape.results[i]) {
      error = name + ": the shape is " + printSizes(tensor.sizes) +
              ", expected " + printSizes(shape.results[i]);
      return false;
    }
    if (!tensor.strides.empty() &&
        tensor.strides != ArgumentShape::contiguous(tensor.sizes).strides) {
      error = name + ": results are contiguous";
      return false;
    }
    if (!addRange(name, tensor.address,
                  *getTensorBytes(tensor.element, tensor.sizes),
                  tensorAlignment, written, error))
      return false;
  }
  return addRange("the workspace", workspace, shape.workspaceBytes,
                  workspaceAlignment, written, error) &&
         checkOverlap(read, written, error);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {
class Binder {
public:
  Binder(Evaluation &evaluation, std::string &error)
      : evaluation(evaluation), error(error) {}

  bool bind(const PlanKernel &kernel, BoundKernel &bound);

  std::vector<uint64_t> arguments, results, temporaries;

private:
  bool bind(const PlanTensorMap &map, BoundTensorMap &bound);
  bool bind(const PlanParameter &parameter, BoundParameter &bound);

  bool fail(const std::string &what) {
    error = what;
    return false;
  }

  uint64_t getAddress(PlanBuffer buffer) const {
    switch (buffer.kind) {
    case PlanBuffer::Kind::Argument:
      return arguments[buffer.index];
    case PlanBuffer::Kind::Temporary:
      return temporaries[buffer.index];
    case PlanBuffer::Kind::Result:
      break;
    }
    return results[buffer.index];
  }

  Evaluation &evaluation;
  std::string &error;
};
} // namespace

bool Binder::bind(const PlanTensorMap &map, BoundTensorMap &bound) {
  std::string name = "TMA of " + printBuffer(map.buffer);
  bound.address = getAddress(map.buffer);
  bound.element = map.element;
  bound.swizzle = map.swizzle;
  unsigned bits = *getElementBits(map.element);
  if (bits % 8 != 0)
    return fail(name + ": elements of " + map.element);
  if (map.sizes.size() > maxTensorMapRank)
    return fail(name + ": " + std::to_string(map.sizes.size()) +
                " dimensions, at most " + std::to_string(maxTensorMapRank));
  for (const Formula &formula : map.sizes) {
    int64_t size;
    if (!evaluation.evaluate(formula, name, size))
      return false;
    if (size < 1 || size > maxTensorMapSize)
      return fail(name + ": a dimension of " + std::to_string(size) +
                  ", from 1 to 2^31 are possible");
    bound.sizes.push_back(size);
  }
  for (const Formula &formula : map.strides) {
    int64_t stride;
    if (!evaluation.evaluate(formula, name, stride))
      return false;
    if (stride <= 0 || stride % 16 != 0 || stride >= maxTensorMapStride)
      return fail(name + ": a stride of " + std::to_string(stride) +
                  " bytes, multiples of 16 below 2^40 are possible");
    bound.strides.push_back(stride);
  }
  for (int64_t size : map.box) {
    if (size < 1 || size > maxBox)
      return fail(name + ": a box of " + std::to_string(size) +
                  ", from 1 to 256 are possible");
    bound.box.push_back(size);
  }
  int64_t row = map.box[0] * bits / 8;
  if (row % 16 != 0 || (map.swizzle != 0 && row > map.swizzle))
    return fail(name + ": a box of " + std::to_string(row) +
                " bytes in a row with a swizzle of " +
                std::to_string(map.swizzle));
  return true;
}

bool Binder::bind(const PlanParameter &parameter, BoundParameter &bound) {
  switch (parameter.kind) {
  case PlanParameter::Kind::Pointer:
    bound.value = getAddress(parameter.buffer);
    return true;
  case PlanParameter::Kind::Int32:
  case PlanParameter::Kind::Int64: {
    int64_t value;
    if (!evaluation.evaluate(parameter.value, "a parameter", value))
      return false;
    bound.value = value;
    if (parameter.kind == PlanParameter::Kind::Int64)
      return true;
    bound.bytes = 4;
    return value == static_cast<int32_t>(value) ||
           fail("a size or stride of " + std::to_string(value) +
                " is past the 32-bit index range");
  }
  case PlanParameter::Kind::TensorMap:
    break;
  }
  bound.map.emplace();
  return bind(parameter.tensorMap, *bound.map);
}

bool Binder::bind(const PlanKernel &kernel, BoundKernel &bound) {
  bound.kernel = &kernel;
  bool isEmpty = false;
  for (unsigned i = 0; i < 3; ++i) {
    int64_t size;
    if (!evaluation.evaluate(kernel.grid[i], "the grid", size))
      return false;
    if (size < 0 || size > maxGrid[i])
      return fail("a grid of " + std::to_string(size) + " in dimension " +
                  std::to_string(i) + ", at most " +
                  std::to_string(maxGrid[i]) + " are possible");
    if (kernel.cluster[i] > 1 && size % kernel.cluster[i] != 0)
      return fail("a grid of " + std::to_string(size) +
                  " is no multiple of the cluster's " +
                  std::to_string(kernel.cluster[i]));
    bound.grid[i] = size;
    isEmpty |= size == 0;
  }
  if (isEmpty)
    return true;
  for (const PlanParameter &parameter : kernel.parameters) {
    bound.parameters.emplace_back();
    if (!bind(parameter, bound.parameters.back()))
      return false;
  }
  return true;
}

std::optional<std::vector<BoundKernel>>
lpfa::bindLaunch(const LaunchPlan &plan,
                 const std::vector<TensorRef> &arguments,
                 const std::vector<TensorRef> &results, uint64_t workspace,
                 int64_t multiprocessors, std::string &error) {
  Evaluation evaluation(plan, arguments, multiprocessors, error);
  LaunchShape shape;
  if (!evaluation.checkArguments(arguments) || !evaluation.inferShape(shape) ||
      !checkMemory(plan, shape, arguments, results, workspace, error))
    return std::nullopt;

  Binder binder(evaluation, error);
  for (const TensorRef &argument : arguments)
    binder.arguments.push_back(argument.address);
  for (const TensorRef &result : results)
    binder.results.push_back(result.address);
  uint64_t end;
  if (!evaluation.placeTemporaries(binder.temporaries, end))
    return std::nullopt;
  for (uint64_t &offset : binder.temporaries)
    offset += workspace;

  std::vector<BoundKernel> kernels;
  for (const PlanKernel &kernel : plan.kernels) {
    BoundKernel bound;
    if (!binder.bind(kernel, bound)) {
      error = "kernel " + kernel.entry + ": " + error;
      return std::nullopt;
    }
    if (std::find(bound.grid.begin(), bound.grid.end(), 0u) == bound.grid.end())
      kernels.push_back(std::move(bound));
  }
  return kernels;
}
