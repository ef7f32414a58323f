//===- Formula.cpp - Integers that depend on sizes ------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Target/Formula.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

using namespace lpfa;

ArgumentShape ArgumentShape::contiguous(llvm::ArrayRef<int64_t> sizes) {
  ArgumentShape shape;
  shape.sizes = sizes.vec();
  shape.strides.resize(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0; stride *= sizes[i])
    shape.strides[i] = stride;
  return shape;
}

struct Formula::Node {
  Kind kind;
  /// A constant's value, or the argument of a dimension or stride.
  int64_t value = 0;
  int64_t dimension = 0;
  llvm::SmallVector<Formula, 3> operands;
};

namespace {
struct KindInfo {
  Formula::Kind kind;
  llvm::StringLiteral name;
  unsigned operands;
};
} // namespace

/// The kinds that have formulas as operands.
static constexpr KindInfo operations[] = {
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

static const KindInfo *findOperation(Formula::Kind kind) {
  const KindInfo *info = llvm::find_if(
      operations, [&](const KindInfo &info) { return info.kind == kind; });
  return info == std::end(operations) ? nullptr : info;
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

Formula Formula::get(Kind kind, llvm::ArrayRef<Formula> operands) {
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
  node->operands.assign(operands.begin(), operands.end());
  Formula formula(std::move(node));
  if (llvm::all_of(operands,
                   [](const Formula &f) { return !!f.getConstant(); })) {
    llvm::Expected<int64_t> value = formula.evaluate({});
    if (value)
      return *value;
    llvm::consumeError(value.takeError());
  }
  return formula;
}

Formula::Kind Formula::getKind() const { return node->kind; }

std::optional<int64_t> Formula::getConstant() const {
  if (node->kind != Kind::Constant)
    return std::nullopt;
  return node->value;
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

static llvm::Error overflow() {
  return llvm::createStringError("a formula overflows 64 bits");
}

llvm::Expected<int64_t> Formula::evaluate(const FormulaInputs &inputs) const {
  switch (node->kind) {
  case Kind::Constant:
    return node->value;
  case Kind::Multiprocessors:
    return inputs.multiprocessors;
  case Kind::Dimension:
  case Kind::Stride: {
    if (static_cast<uint64_t>(node->value) >= inputs.arguments.size())
      return llvm::createStringError("a formula needs argument " +
                                     llvm::Twine(node->value));
    const ArgumentShape &argument = inputs.arguments[node->value];
    llvm::ArrayRef<int64_t> values =
        node->kind == Kind::Dimension ? argument.sizes : argument.strides;
    if (static_cast<uint64_t>(node->dimension) >= values.size())
      return llvm::createStringError(
          "a formula needs dimension " + llvm::Twine(node->dimension) +
          " of argument " + llvm::Twine(node->value));
    return values[node->dimension];
  }
  default:
    break;
  }

  llvm::Expected<int64_t> first = node->operands[0].evaluate(inputs);
  if (!first)
    return first;
  if (node->kind == Kind::Select)
    return node->operands[*first ? 1 : 2].evaluate(inputs);
  llvm::Expected<int64_t> second = node->operands[1].evaluate(inputs);
  if (!second)
    return second;
  int64_t a = *first, b = *second, result = 0;
  switch (node->kind) {
  case Kind::Add:
    if (llvm::AddOverflow(a, b, result))
      return overflow();
    return result;
  case Kind::Sub:
    if (llvm::SubOverflow(a, b, result))
      return overflow();
    return result;
  case Kind::Mul:
    if (llvm::MulOverflow(a, b, result))
      return overflow();
    return result;
  case Kind::CeilDiv:
  case Kind::FloorDiv:
  case Kind::Mod: {
    if (b == 0)
      return llvm::createStringError("a formula divides by zero");
    if (b == -1)
      return node->kind == Kind::Mod ? int64_t(0)
             : a == INT64_MIN        ? llvm::Expected<int64_t>(overflow())
                                     : -a;
    int64_t quotient = a / b, remainder = a % b;
    bool isInexact = remainder != 0;
    bool isNegative = isInexact && (remainder < 0) != (b < 0);
    if (node->kind == Kind::CeilDiv)
      return quotient + (isInexact && !isNegative);
    if (node->kind == Kind::FloorDiv)
      return quotient - isNegative;
    return isNegative ? remainder + b : remainder;
  }
  case Kind::Min:
    return std::min(a, b);
  case Kind::Max:
    return std::max(a, b);
  case Kind::Equal:
    return int64_t(a == b);
  case Kind::NotEqual:
    return int64_t(a != b);
  case Kind::Less:
    return int64_t(a < b);
  case Kind::LessEqual:
    return int64_t(a <= b);
  default:
    llvm_unreachable("handled above");
  }
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

llvm::json::Value Formula::toJSON() const {
  switch (node->kind) {
  case Kind::Constant:
    return node->value;
  case Kind::Multiprocessors:
    return llvm::json::Array{"multiprocessors"};
  case Kind::Dimension:
    return llvm::json::Array{"dim", node->value, node->dimension};
  case Kind::Stride:
    return llvm::json::Array{"stride", node->value, node->dimension};
  default:
    break;
  }
  llvm::json::Array array{findOperation(node->kind)->name};
  for (const Formula &operand : node->operands)
    array.push_back(operand.toJSON());
  return array;
}

bool Formula::fromJSON(const llvm::json::Value &json, Formula &formula,
                       llvm::json::Path path) {
  if (std::optional<int64_t> constant = json.getAsInteger()) {
    formula = *constant;
    return true;
  }
  const llvm::json::Array *array = json.getAsArray();
  std::optional<llvm::StringRef> name;
  if (array && !array->empty())
    name = array->front().getAsString();
  if (!name) {
    path.report("expected a number or an array that begins with an operation");
    return false;
  }
  if (*name == "multiprocessors" && array->size() == 1) {
    formula = multiprocessors();
    return true;
  }
  if (*name == "dim" || *name == "stride") {
    std::optional<int64_t> argument, dimension;
    if (array->size() == 3) {
      argument = (*array)[1].getAsInteger();
      dimension = (*array)[2].getAsInteger();
    }
    if (!argument || !dimension || *argument < 0 || *dimension < 0) {
      path.report("expected an argument and a dimension");
      return false;
    }
    formula = *name == "dim" ? Formula::dimension(*argument, *dimension)
                             : Formula::stride(*argument, *dimension);
    return true;
  }
  const KindInfo *info = llvm::find_if(
      operations, [&](const KindInfo &info) { return info.name == *name; });
  if (info == std::end(operations)) {
    path.index(0).report("unknown operation");
    return false;
  }
  if (array->size() != info->operands + 1) {
    path.report("wrong number of operands");
    return false;
  }
  llvm::SmallVector<Formula, 3> operands(info->operands);
  for (unsigned i = 0; i < info->operands; ++i)
    if (!fromJSON((*array)[i + 1], operands[i], path.index(i + 1)))
      return false;
  formula = get(info->kind, operands);
  return true;
}
