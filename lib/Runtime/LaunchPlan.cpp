//===- LaunchPlan.cpp - How to run a compiled function --------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Runtime/LaunchPlan.h"
#include "Json.h"
#include <initializer_list>

using namespace lpfa;

std::optional<unsigned> lpfa::getElementBits(const std::string &element) {
  struct Element {
    const char *name;
    unsigned bits;
  };
  constexpr Element elements[] = {
      {"f4E2M1FN", 4}, {"f6E2M3FN", 6}, {"f6E3M2FN", 6},  {"f8E4M3FN", 8},
      {"f8E5M2", 8},   {"i8", 8},       {"f8E8M0FNU", 8}, {"f16", 16},
      {"bf16", 16},    {"i16", 16},     {"f32", 32},      {"i32", 32},
      {"f64", 64},     {"i64", 64},
  };
  for (const Element &known : elements)
    if (known.name == element)
      return known.bits;
  return std::nullopt;
}

namespace {
constexpr PlanBuffer::Kind bufferKinds[] = {PlanBuffer::Kind::Argument,
                                            PlanBuffer::Kind::Temporary,
                                            PlanBuffer::Kind::Result};
} // namespace

const char *PlanBuffer::getName(Kind kind) {
  switch (kind) {
  case Kind::Argument:
    return "argument";
  case Kind::Temporary:
    return "temporary";
  case Kind::Result:
    break;
  }
  return "result";
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {

/// Reads one value after the other until something is wrong. What a function's
/// formulas and buffers refer to is checked against what was read before: its
/// arguments, results and temporaries.
class Reader {
public:
  explicit Reader(std::string &error) : error(error) {}

  bool read(const JsonValue &value, ModulePlan &plan);

private:
  bool fail(const JsonValue &value, const std::string &what) {
    error = "line " + std::to_string(value.line) + ": " + what;
    return false;
  }

  /// A member of an object; null, with an error, if it is missing.
  const JsonValue *get(const JsonValue &object, const char *name) {
    if (object.kind != JsonValue::Kind::Object) {
      fail(object, std::string("expected an object with '") + name + "'");
      return nullptr;
    }
    const JsonValue *member = object.find(name);
    if (!member)
      fail(object, std::string("'") + name + "' is missing");
    return member;
  }

  template <typename T>
  bool readMember(const JsonValue &object, const char *name, T &result) {
    const JsonValue *member = get(object, name);
    return member && read(*member, result);
  }

  template <typename T>
  bool read(const JsonValue &value, std::vector<T> &result) {
    if (!value.isArray())
      return fail(value, "expected an array");
    for (const JsonValue &element : value.elements) {
      result.emplace_back();
      if (!read(element, result.back()))
        return false;
    }
    return true;
  }

  template <typename T>
  bool read(const JsonValue &value, std::array<T, 3> &result) {
    if (!value.isArray() || value.elements.size() != 3)
      return fail(value, "expected three values");
    for (size_t i = 0; i < 3; ++i)
      if (!read(value.elements[i], result[i]))
        return false;
    return true;
  }

  bool read(const JsonValue &value, std::string &result) {
    if (!value.isString())
      return fail(value, "expected a string");
    result = value.string;
    return true;
  }

  /// Sizes that are known: block, cluster, box, bytes.
  bool read(const JsonValue &value, int64_t &result) {
    if (!value.isInteger() || value.integer < 0)
      return fail(value, "expected a number that is not negative");
    result = value.integer;
    return true;
  }

  bool read(const JsonValue &value, Formula &formula);
  bool read(const JsonValue &value, PlanArgument &argument);
  bool read(const JsonValue &value, PlanResult &result);
  bool read(const JsonValue &value, PlanTemporary &temporary);
  bool read(const JsonValue &value, PlanCheck &check);
  bool read(const JsonValue &value, PlanBuffer &buffer);
  bool read(const JsonValue &value, PlanTensorMap &map);
  bool read(const JsonValue &value, PlanParameter &parameter);
  bool read(const JsonValue &value, PlanKernel &kernel);
  bool read(const JsonValue &value, LaunchPlan &plan);
  bool readElement(const JsonValue &object, std::string &element);

  std::string &error;
  /// The function that is being read.
  const LaunchPlan *function = nullptr;
};

} // namespace

bool Reader::read(const JsonValue &value, Formula &formula) {
  if (value.isInteger()) {
    formula = value.integer;
    return true;
  }
  if (!value.isArray() || value.elements.empty() ||
      !value.elements[0].isString())
    return fail(value, "expected a number, or an array that begins with an "
                       "operation");
  const std::string &name = value.elements[0].string;
  unsigned operandCount = 0;
  std::optional<Formula::Kind> kind = Formula::getKind(name, operandCount);
  if (!kind)
    return fail(value, "unknown operation '" + name + "'");
  if (value.elements.size() != operandCount + 1)
    return fail(value, "'" + name + "' takes " + std::to_string(operandCount) +
                           " operands");
  if (*kind == Formula::Kind::Multiprocessors) {
    formula = Formula::multiprocessors();
    return true;
  }
  if (*kind == Formula::Kind::Dimension || *kind == Formula::Kind::Stride) {
    int64_t argument, dimension;
    if (!read(value.elements[1], argument) ||
        !read(value.elements[2], dimension))
      return false;
    if (static_cast<uint64_t>(argument) >= function->arguments.size() ||
        static_cast<uint64_t>(dimension) >=
            function->arguments[argument].shape.size())
      return fail(value, "there is no dimension " + std::to_string(dimension) +
                             " of argument " + std::to_string(argument));
    formula = *kind == Formula::Kind::Dimension
                  ? Formula::dimension(argument, dimension)
                  : Formula::stride(argument, dimension);
    return true;
  }
  std::vector<Formula> operands(operandCount);
  for (unsigned i = 0; i < operandCount; ++i)
    if (!read(value.elements[i + 1], operands[i]))
      return false;
  formula = Formula::get(*kind, operands);
  return true;
}

bool Reader::readElement(const JsonValue &object, std::string &element) {
  if (!readMember(object, "element", element))
    return false;
  return getElementBits(element) ||
         fail(*object.find("element"),
              "unknown element type '" + element + "'");
}

bool Reader::read(const JsonValue &value, PlanArgument &argument) {
  const JsonValue *shape = get(value, "shape");
  if (!shape || !readElement(value, argument.element))
    return false;
  if (!shape->isArray())
    return fail(*shape, "expected an array");
  for (const JsonValue &size : shape->elements) {
    argument.shape.push_back(-1);
    if (size.kind != JsonValue::Kind::Null &&
        !read(size, argument.shape.back()))
      return false;
  }
  return true;
}

bool Reader::read(const JsonValue &value, PlanResult &result) {
  return readElement(value, result.element) &&
         readMember(value, "shape", result.shape);
}

bool Reader::read(const JsonValue &value, PlanTemporary &temporary) {
  return readMember(value, "bytes", temporary.bytes);
}

bool Reader::read(const JsonValue &value, PlanCheck &check) {
  return readMember(value, "condition", check.condition) &&
         readMember(value, "message", check.message);
}

bool Reader::read(const JsonValue &value, PlanBuffer &buffer) {
  if (value.isArray() && value.elements.size() == 2 &&
      value.elements[0].isString() && value.elements[1].isInteger()) {
    int64_t index = value.elements[1].integer;
    for (PlanBuffer::Kind kind : bufferKinds) {
      if (PlanBuffer::getName(kind) != value.elements[0].string)
        continue;
      size_t count =
          kind == PlanBuffer::Kind::Argument ? function->arguments.size()
          : kind == PlanBuffer::Kind::Result ? function->results.size()
                                             : function->temporaries.size();
      if (static_cast<uint64_t>(index) >= count)
        return fail(value, "there is no " + value.elements[0].string + " " +
                               std::to_string(index));
      buffer = {kind, static_cast<unsigned>(index)};
      return true;
    }
  }
  return fail(value,
              "expected [\"argument\" | \"temporary\" | \"result\", number]");
}

bool Reader::read(const JsonValue &value, PlanTensorMap &map) {
  std::string fill;
  if (!readMember(value, "buffer", map.buffer) ||
      !readElement(value, map.element) ||
      !readMember(value, "sizes", map.sizes) ||
      !readMember(value, "strides", map.strides) ||
      !readMember(value, "box", map.box) ||
      !readMember(value, "swizzle", map.swizzle) ||
      !readMember(value, "fill", fill))
    return false;
  if (fill != "zero")
    return fail(*value.find("fill"), "unknown fill '" + fill + "'");
  if (map.sizes.empty() || map.strides.size() + 1 != map.sizes.size() ||
      map.box.size() != map.sizes.size())
    return fail(value, "sizes, strides and box do not fit one another");
  return true;
}

bool Reader::read(const JsonValue &value, PlanParameter &parameter) {
  if (value.kind == JsonValue::Kind::Object && value.members.size() == 1) {
    const auto &[name, content] = value.members[0];
    if (name == "pointer") {
      parameter.kind = PlanParameter::Kind::Pointer;
      return read(content, parameter.buffer);
    }
    if (name == "i32" || name == "i64") {
      parameter.kind = name == "i32" ? PlanParameter::Kind::Int32
                                     : PlanParameter::Kind::Int64;
      return read(content, parameter.value);
    }
    if (name == "tensor_map") {
      parameter.kind = PlanParameter::Kind::TensorMap;
      return read(content, parameter.tensorMap);
    }
  }
  return fail(value, "expected one of pointer, i32, i64 and tensor_map");
}

bool Reader::read(const JsonValue &value, PlanKernel &kernel) {
  return readMember(value, "module", kernel.module) &&
         readMember(value, "entry", kernel.entry) &&
         readMember(value, "grid", kernel.grid) &&
         readMember(value, "block", kernel.block) &&
         readMember(value, "cluster", kernel.cluster) &&
         readMember(value, "dynamic_shared_bytes", kernel.dynamicSharedBytes) &&
         readMember(value, "parameters", kernel.parameters);
}

bool Reader::read(const JsonValue &value, LaunchPlan &plan) {
  function = &plan;
  return readMember(value, "function", plan.function) &&
         readMember(value, "arguments", plan.arguments) &&
         readMember(value, "results", plan.results) &&
         readMember(value, "temporaries", plan.temporaries) &&
         readMember(value, "checks", plan.checks) &&
         readMember(value, "kernels", plan.kernels);
}

bool Reader::read(const JsonValue &value, ModulePlan &plan) {
  const JsonValue *version = get(value, "schema_version");
  if (!version)
    return false;
  if (!version->isInteger() || version->integer != ModulePlan::schemaVersion)
    return fail(*version, "the schema's version is not " +
                              std::to_string(ModulePlan::schemaVersion));
  if (value.find("ptxas_version") &&
      !readMember(value, "ptxas_version", plan.ptxasVersion))
    return false;
  return readMember(value, "chip", plan.chip) &&
         readMember(value, "functions", plan.functions);
}

std::optional<ModulePlan> lpfa::parsePlan(const std::string &text,
                                          std::string &error) {
  std::optional<JsonValue> value = parseJson(text, error);
  ModulePlan plan;
  if (!value || !Reader(error).read(*value, plan))
    return std::nullopt;
  return plan;
}
