//===- Formula.cpp - Integers that depend on sizes ------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Runtime/Formula.h"
#include <algorithm>
#include <utility>

using namespace lpfa;

ArgumentShape ArgumentShape::contiguous(const std::vector<int64_t> &sizes) {
  ArgumentShape shape;
  shape.sizes = sizes;
  shape.strides.resize(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;
       stride *= std::max<int64_t>(sizes[i], 1))
    shape.strides[i] = stride;
  return shape;
}

struct Formula::Node {
  Kind kind;
  /// A constant's value, or the argument of a dimension or stride.
  int64_t value = 0;
  int64_t dimension = 0;
  std::vector<Formula> operands;
};

namespace {
struct KindInfo {
  Formula::Kind kind;
  const char *name;
  unsigned operands;
};

constexpr KindInfo kinds[] = {
    {Formula::Kind::Dimension, "dim", 2},
    {Formula::Kind::Stride, "stride", 2},
    {Formula::Kind::Multiprocessors, "multiprocessors", 0},
    {Formula::Kind::Add, "add", 2},
    {Formula::Kind::Sub, "sub", 2},
    {Formula::Kind::Mul, "mul", 2},
    {Formula::Kind::CeilDiv, "ceildiv", 2},
    {Formula::Kind::FloorDiv, "floordiv", 2},
    {Formula::Kind::Mod, "mod", 2},
    {Formula::Kind::Min, "min", 2},
    {Formula::Kind::Max, "max", 2},
    {Formula::Kind::Equal, "eq", 2},
    {Formula::Kind::NotEqual, "ne", 2},
    {Formula::Kind::Less, "lt", 2},
    {Formula::Kind::LessEqual, "le", 2},
    {Formula::Kind::Select, "select", 3},
};
} // namespace

const char *Formula::getName(Kind kind) {
  for (const KindInfo &info : kinds)
    if (info.kind == kind)
      return info.name;
  return nullptr;
}

std::optional<Formula::Kind> Formula::getKind(const std::string &name,
                                              unsigned &operands) {
  for (const KindInfo &info : kinds)
    if (info.name == name) {
      operands = info.operands;
      return info.kind;
    }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

Formula::Formula(int64_t value) {
  auto constant = std::make_shared<Node>();
  constant->kind = Kind::Constant;
  constant->value = value;
  node = std::move(constant);
}

Formula Formula::dimension(unsigned argument, unsigned dimension) {
  auto node = std::make_shared<Node>();
  node->kind = Kind::Dimension;
  node->value = argument;
  node->dimension = dimension;
  return Formula(std::move(node));
}

Formula Formula::stride(unsigned argument, unsigned dimension) {
  auto node = std::make_shared<Node>();
  node->kind = Kind::Stride;
  node->value = argument;
  node->dimension = dimension;
  return Formula(std::move(node));
}

Formula Formula::multiprocessors() {
  auto node = std::make_shared<Node>();
  node->kind = Kind::Multiprocessors;
  return Formula(std::move(node));
}

Formula Formula::get(Kind kind, const std::vector<Formula> &operands) {
  auto isConstant = [&](unsigned i, int64_t value) {
    return operands[i].getConstant() == value;
  };
  switch (kind) {
  case Kind::Add:
    if (isConstant(0, 0))
      return operands[1];
    [[fallthrough]];
  case Kind::Sub:
    if (isConstant(1, 0))
      return operands[0];
    break;
  case Kind::Mul:
    if (isConstant(0, 1))
      return operands[1];
    [[fallthrough]];
  case Kind::CeilDiv:
  case Kind::FloorDiv:
    if (isConstant(1, 1))
      return operands[0];
    break;
  case Kind::Select:
    if (std::optional<int64_t> condition = operands[0].getConstant())
      return operands[*condition ? 1 : 2];
    break;
  default:
    break;
  }
  auto node = std::make_shared<Node>();
  node->kind = kind;
  node->operands = operands;
  Formula formula(std::move(node));
  bool isConstantFormula =
      std::all_of(operands.begin(), operands.end(),
                  [](const Formula &f) { return f.getConstant().has_value(); });
  std::string error;
  if (isConstantFormula)
    if (std::optional<int64_t> value = formula.evaluate({}, error))
      return *value;
  return formula;
}

Formula::Kind Formula::getKind() const { return node->kind; }

std::optional<int64_t> Formula::getConstant() const {
  if (node->kind != Kind::Constant)
    return std::nullopt;
  return node->value;
}

unsigned Formula::getArgument() const { return node->value; }
unsigned Formula::getDimension() const { return node->dimension; }
const std::vector<Formula> &Formula::getOperands() const {
  return node->operands;
}

bool lpfa::operator==(const Formula &a, const Formula &b) {
  if (a.node == b.node)
    return true;
  return a.node->kind == b.node->kind && a.node->value == b.node->value &&
         a.node->dimension == b.node->dimension &&
         a.node->operands == b.node->operands;
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

std::optional<int64_t> Formula::evaluate(const FormulaInputs &inputs,
                                         std::string &error) const {
  auto fail = [&](const std::string &what) {
    error = "a formula " + what;
    return std::nullopt;
  };
  switch (node->kind) {
  case Kind::Constant:
    return node->value;
  case Kind::Multiprocessors:
    return inputs.multiprocessors;
  case Kind::Dimension:
  case Kind::Stride: {
    std::string argument = std::to_string(node->value);
    if (static_cast<uint64_t>(node->value) >= inputs.arguments.size())
      return fail("needs argument " + argument);
    const ArgumentShape &shape = inputs.arguments[node->value];
    const std::vector<int64_t> &values =
        node->kind == Kind::Dimension ? shape.sizes : shape.strides;
    if (static_cast<uint64_t>(node->dimension) >= values.size())
      return fail("needs dimension " + std::to_string(node->dimension) +
                  " of argument " + argument);
    return values[node->dimension];
  }
  default:
    break;
  }

  std::optional<int64_t> first = node->operands[0].evaluate(inputs, error);
  if (!first)
    return std::nullopt;
  if (node->kind == Kind::Select)
    return node->operands[*first ? 1 : 2].evaluate(inputs, error);
  std::optional<int64_t> second = node->operands[1].evaluate(inputs, error);
  if (!second)
    return std::nullopt;
  int64_t a = *first, b = *second, result = 0;
  bool overflows = false;
  switch (node->kind) {
  case Kind::Add:
    overflows = __builtin_add_overflow(a, b, &result);
    break;
  case Kind::Sub:
    overflows = __builtin_sub_overflow(a, b, &result);
    break;
  case Kind::Mul:
    overflows = __builtin_mul_overflow(a, b, &result);
    break;
  case Kind::CeilDiv:
  case Kind::FloorDiv:
  case Kind::Mod: {
    if (b == 0)
      return fail("divides by zero");
    if (b == -1) {
      // The remainder is zero; the division of INT64_MIN would trap.
      if (node->kind != Kind::Mod)
        overflows = __builtin_sub_overflow(int64_t(0), a, &result);
      break;
    }
    int64_t quotient = a / b, remainder = a % b;
    bool isInexact = remainder != 0;
    bool isNegative = isInexact && (remainder < 0) != (b < 0);
    if (node->kind == Kind::CeilDiv)
      result = quotient + (isInexact && !isNegative);
    else if (node->kind == Kind::FloorDiv)
      result = quotient - isNegative;
    else
      result = isNegative ? remainder + b : remainder;
    break;
  }
  case Kind::Min:
    result = std::min(a, b);
    break;
  case Kind::Max:
    result = std::max(a, b);
    break;
  case Kind::Equal:
    result = a == b;
    break;
  case Kind::NotEqual:
    result = a != b;
    break;
  case Kind::Less:
    result = a < b;
    break;
  case Kind::LessEqual:
    result = a <= b;
    break;
  case Kind::Constant:
  case Kind::Dimension:
  case Kind::Stride:
  case Kind::Multiprocessors:
  case Kind::Select:
    break; // Handled above.
  }
  if (overflows)
    return fail("overflows 64 bits");
  return result;
}
