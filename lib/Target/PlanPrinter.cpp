//===- PlanPrinter.cpp - Plans as text ------------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Target/PlanPrinter.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace lpfa;
namespace json = llvm::json;

// Overloads that `writeAll` finds by the namespace of their arguments.
namespace lpfa {
static json::Value toJSON(const Formula &formula) {
  if (std::optional<int64_t> constant = formula.getConstant())
    return *constant;
  Formula::Kind kind = formula.getKind();
  json::Array array{Formula::getName(kind)};
  if (kind == Formula::Kind::Dimension || kind == Formula::Kind::Stride) {
    array.push_back(formula.getArgument());
    array.push_back(formula.getDimension());
  }
  for (const Formula &operand : formula.getOperands())
    array.push_back(toJSON(operand));
  return array;
}

template <typename T> static json::Array writeAll(const T &values) {
  json::Array array;
  for (const auto &value : values)
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, int64_t>)
      array.push_back(value);
    else
      array.push_back(toJSON(value));
  return array;
}

static json::Value toJSON(const PlanBuffer &buffer) {
  return json::Array{PlanBuffer::getName(buffer.kind), buffer.index};
}

static json::Value toJSON(const PlanArgument &argument) {
  json::Array shape;
  for (int64_t size : argument.shape)
    shape.push_back(size < 0 ? json::Value(nullptr) : json::Value(size));
  return json::Object{{"element", argument.element},
                      {"shape", std::move(shape)}};
}

static json::Value toJSON(const PlanResult &result) {
  return json::Object{{"element", result.element},
                      {"shape", writeAll(result.shape)}};
}

static json::Value toJSON(const PlanTemporary &temporary) {
  return json::Object{{"bytes", toJSON(temporary.bytes)}};
}

static json::Value toJSON(const PlanCheck &check) {
  return json::Object{{"condition", toJSON(check.condition)},
                      {"message", check.message}};
}

static json::Value toJSON(const PlanParameter &parameter) {
  switch (parameter.kind) {
  case PlanParameter::Kind::Pointer:
    return json::Object{{"pointer", toJSON(parameter.buffer)}};
  case PlanParameter::Kind::Int32:
    return json::Object{{"i32", toJSON(parameter.value)}};
  case PlanParameter::Kind::Int64:
    return json::Object{{"i64", toJSON(parameter.value)}};
  case PlanParameter::Kind::TensorMap:
    break;
  }
  const PlanTensorMap &map = parameter.tensorMap;
  return json::Object{
      {"tensor_map", json::Object{{"buffer", toJSON(map.buffer)},
                                  {"element", map.element},
                                  {"sizes", writeAll(map.sizes)},
                                  {"strides", writeAll(map.strides)},
                                  {"box", writeAll(map.box)},
                                  {"swizzle", map.swizzle},
                                  {"fill", "zero"}}}};
}

static json::Value toJSON(const PlanKernel &kernel) {
  return json::Object{{"module", kernel.module},
                      {"entry", kernel.entry},
                      {"grid", writeAll(kernel.grid)},
                      {"block", writeAll(kernel.block)},
                      {"cluster", writeAll(kernel.cluster)},
                      {"dynamic_shared_bytes", kernel.dynamicSharedBytes},
                      {"parameters", writeAll(kernel.parameters)}};
}

static json::Value toJSON(const LaunchPlan &plan) {
  return json::Object{{"function", plan.function},
                      {"arguments", writeAll(plan.arguments)},
                      {"results", writeAll(plan.results)},
                      {"temporaries", writeAll(plan.temporaries)},
                      {"checks", writeAll(plan.checks)},
                      {"kernels", writeAll(plan.kernels)}};
}

} // namespace lpfa

std::string lpfa::printPlan(const ModulePlan &plan) {
  json::Object object{{"schema_version", ModulePlan::schemaVersion},
                      {"chip", plan.chip},
                      {"functions", writeAll(plan.functions)}};
  if (!plan.ptxasVersion.empty())
    object["ptxas_version"] = plan.ptxasVersion;
  return llvm::formatv("{0:2}\n", json::Value(std::move(object))).str();
}
