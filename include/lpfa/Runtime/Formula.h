//===- Formula.h - Integers that depend on sizes ----------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_RUNTIME_FORMULA_H
#define LPFA_RUNTIME_FORMULA_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lpfa {

/// What a launch knows of an argument: its sizes and, in elements, its strides.
struct ArgumentShape {
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;

  /// The shape of a contiguous tensor, last dimension fastest. Empty dimensions
  /// count as one, so that no stride is zero.
  static ArgumentShape contiguous(const std::vector<int64_t> &sizes);
};

/// What formulas are evaluated on.
struct FormulaInputs {
  std::vector<ArgumentShape> arguments;
  /// Of the device, for persistent grids.
  int64_t multiprocessors = 1;
};

/// An integer computed from the arguments' sizes, such as a grid. In plan.json
/// a number, or an array of an operation and its operands:
/// `["ceildiv", ["dim", 0, 2], 128]` is dimension 2 of argument 0, divided by
/// 128 and rounded up.
class Formula {
public:
  enum class Kind {
    Constant,        ///< A number.
    Dimension,       ///< ["dim", argument, dimension]
    Stride,          ///< ["stride", argument, dimension], in elements
    Multiprocessors, ///< ["multiprocessors"]
    Add,             ///< ["add", a, b]
    Sub,             ///< ["sub", a, b]
    Mul,             ///< ["mul", a, b]
    CeilDiv,         ///< ["ceildiv", a, b], towards plus infinity
    FloorDiv,        ///< ["floordiv", a, b], towards minus infinity
    Mod,             ///< ["mod", a, b], with the sign of b
    Min,             ///< ["min", a, b]
    Max,             ///< ["max", a, b]
    Equal,           ///< ["eq", a, b], 1 or 0; so are the next ones
    NotEqual,        ///< ["ne", a, b]
    Less,            ///< ["lt", a, b]
    LessEqual,       ///< ["le", a, b]
    Select           ///< ["select", condition, a, b]
  };

  /// Zero.
  Formula() : Formula(0) {}
  /*implicit*/ Formula(int64_t value);
  static Formula dimension(unsigned argument, unsigned dimension);
  static Formula stride(unsigned argument, unsigned dimension);
  static Formula multiprocessors();
  /// An operation on formulas; folded where the operands are constants, or
  /// neutral as in x + 0, x * 1 and x / 1.
  static Formula get(Kind kind, const std::vector<Formula> &operands);

  friend Formula operator+(const Formula &a, const Formula &b) {
    return get(Kind::Add, {a, b});
  }
  friend Formula operator-(const Formula &a, const Formula &b) {
    return get(Kind::Sub, {a, b});
  }
  friend Formula operator*(const Formula &a, const Formula &b) {
    return get(Kind::Mul, {a, b});
  }

  Kind getKind() const;
  /// The value of a constant.
  std::optional<int64_t> getConstant() const;
  /// Of a dimension or a stride: which argument's, and which one.
  unsigned getArgument() const;
  unsigned getDimension() const;
  /// Of an operation.
  const std::vector<Formula> &getOperands() const;

  /// The name of a kind in plan.json; null for constants.
  static const char *getName(Kind kind);
  /// The kind of a name, and how many operands it has.
  static std::optional<Kind> getKind(const std::string &name,
                                     unsigned &operands);

  /// Fails on a missing argument or dimension, division by zero and overflow
  /// of 64 bits, and says so in `error`.
  std::optional<int64_t> evaluate(const FormulaInputs &inputs,
                                  std::string &error) const;

  friend bool operator==(const Formula &a, const Formula &b);

private:
  struct Node;
  explicit Formula(std::shared_ptr<const Node> node) : node(std::move(node)) {}
  std::shared_ptr<const Node> node;
};

bool operator==(const Formula &a, const Formula &b);

} // namespace lpfa

#endif // LPFA_RUNTIME_FORMULA_H
