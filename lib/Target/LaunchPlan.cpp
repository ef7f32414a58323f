//===- LaunchPlan.cpp - How to run a compiled function --------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Target/LaunchPlan.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace lpfa;
namespace json = llvm::json;

std::optional<unsigned> lpfa::getElementBits(llvm::StringRef element) {
  unsigned bits = llvm::StringSwitch<unsigned>(element)
                      .Case("f4E2M1FN", 4)
                      .Cases({"f6E2M3FN", "f6E3M2FN"}, 6)
                      .Cases({"f8E4M3FN", "f8E5M2", "f8E8M0FNU", "i8"}, 8)
                      .Cases({"f16", "bf16", "i16"}, 16)
                      .Cases({"f32", "i32"}, 32)
                      .Cases({"f64", "i64"}, 64)
                      .Default(0);
  if (!bits)
    return std::nullopt;
  return bits;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

namespace {
struct BufferName {
  PlanBuffer::Kind kind;
  llvm::StringLiteral name;
};
constexpr BufferName bufferNames[] = {
    {PlanBuffer::Kind::Argument, "argument"},
    {PlanBuffer::Kind::Temporary, "temporary"},
    {PlanBuffer::Kind::Result, "result"},
};
} // namespace

// Found by the namespace of their arguments.
namespace lpfa {
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
  for (const BufferName &known : bufferNames)
    if (known.kind == buffer.kind)
      return json::Array{known.name, int64_t(buffer.index)};
  llvm_unreachable("unknown kind of buffer");
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
  return json::Object{{"bytes", temporary.bytes.toJSON()}};
}

static json::Value toJSON(const PlanCheck &check) {
  return json::Object{{"condition", check.condition.toJSON()},
                      {"message", check.message}};
}

static json::Value toJSON(const PlanParameter &parameter) {
  switch (parameter.kind) {
  case PlanParameter::Kind::Pointer:
    return json::Object{{"pointer", toJSON(parameter.buffer)}};
  case PlanParameter::Kind::Int32:
    return json::Object{{"i32", parameter.value.toJSON()}};
  case PlanParameter::Kind::Int64:
    return json::Object{{"i64", parameter.value.toJSON()}};
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
} // namespace lpfa

json::Value lpfa::toJSON(const LaunchPlan &plan) {
  return json::Object{{"function", plan.function},
                      {"arguments", writeAll(plan.arguments)},
                      {"results", writeAll(plan.results)},
                      {"temporaries", writeAll(plan.temporaries)},
                      {"checks", writeAll(plan.checks)},
                      {"kernels", writeAll(plan.kernels)}};
}

json::Value lpfa::toJSON(const ModulePlan &plan) {
  json::Object object{{"schema_version", ModulePlan::schemaVersion},
                      {"chip", plan.chip},
                      {"functions", writeAll(plan.functions)}};
  if (!plan.ptxasVersion.empty())
    object["ptxas_version"] = plan.ptxasVersion;
  return object;
}

std::string lpfa::printPlan(const ModulePlan &plan) {
  return llvm::formatv("{0:2}\n", toJSON(plan)).str();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace lpfa {
static bool fromJSON(const json::Value &value, PlanBuffer &buffer,
                     json::Path path) {
  const json::Array *array = value.getAsArray();
  std::optional<llvm::StringRef> name;
  std::optional<int64_t> index;
  if (array && array->size() == 2) {
    name = (*array)[0].getAsString();
    index = (*array)[1].getAsInteger();
  }
  if (name && index && *index >= 0)
    for (const BufferName &known : bufferNames)
      if (known.name == *name) {
        buffer = {known.kind, static_cast<unsigned>(*index)};
        return true;
      }
  path.report("expected [\"argument\" | \"temporary\" | \"result\", number]");
  return false;
}

static bool fromJSON(const json::Value &value, PlanArgument &argument,
                     json::Path path) {
  std::vector<std::optional<int64_t>> shape;
  json::ObjectMapper mapper(value, path);
  if (!mapper || !mapper.map("element", argument.element) ||
      !mapper.map("shape", shape))
    return false;
  for (std::optional<int64_t> size : shape)
    argument.shape.push_back(size.value_or(-1));
  return true;
}

static bool fromJSON(const json::Value &value, PlanResult &result,
                     json::Path path) {
  json::ObjectMapper mapper(value, path);
  return mapper && mapper.map("element", result.element) &&
         mapper.map("shape", result.shape);
}

static bool fromJSON(const json::Value &value, PlanTemporary &temporary,
                     json::Path path) {
  json::ObjectMapper mapper(value, path);
  return mapper && mapper.map("bytes", temporary.bytes);
}

static bool fromJSON(const json::Value &value, PlanCheck &check,
                     json::Path path) {
  json::ObjectMapper mapper(value, path);
  return mapper && mapper.map("condition", check.condition) &&
         mapper.map("message", check.message);
}

static bool fromJSON(const json::Value &value, PlanTensorMap &map,
                     json::Path path) {
  json::ObjectMapper mapper(value, path);
  if (!mapper || !mapper.map("buffer", map.buffer) ||
      !mapper.map("element", map.element) || !mapper.map("sizes", map.sizes) ||
      !mapper.map("strides", map.strides) || !mapper.map("box", map.box) ||
      !mapper.map("swizzle", map.swizzle))
    return false;
  if (map.sizes.empty() || map.strides.size() + 1 != map.sizes.size() ||
      map.box.size() != map.sizes.size()) {
    path.report("sizes, strides and box do not fit one another");
    return false;
  }
  return true;
}

static bool fromJSON(const json::Value &value, PlanParameter &parameter,
                     json::Path path) {
  const json::Object *object = value.getAsObject();
  if (object && object->size() == 1) {
    llvm::StringRef name = object->begin()->first;
    const json::Value &content = object->begin()->second;
    json::Path inner = path.field(name);
    if (name == "pointer") {
      parameter.kind = PlanParameter::Kind::Pointer;
      return fromJSON(content, parameter.buffer, inner);
    }
    if (name == "i32" || name == "i64") {
      parameter.kind = name == "i32" ? PlanParameter::Kind::Int32
                                     : PlanParameter::Kind::Int64;
      return fromJSON(content, parameter.value, inner);
    }
    if (name == "tensor_map") {
      parameter.kind = PlanParameter::Kind::TensorMap;
      return fromJSON(content, parameter.tensorMap, inner);
    }
  }
  path.report("expected one of pointer, i32, i64 and tensor_map");
  return false;
}

template <typename T>
static bool readTriple(json::ObjectMapper &mapper, llvm::StringLiteral name,
                       std::array<T, 3> &triple, json::Path path) {
  std::vector<T> values;
  if (!mapper.map(name, values))
    return false;
  if (values.size() != 3) {
    path.field(name).report("expected three values");
    return false;
  }
  std::copy(values.begin(), values.end(), triple.begin());
  return true;
}

static bool fromJSON(const json::Value &value, PlanKernel &kernel,
                     json::Path path) {
  json::ObjectMapper mapper(value, path);
  return mapper && mapper.map("module", kernel.module) &&
         mapper.map("entry", kernel.entry) &&
         readTriple(mapper, "grid", kernel.grid, path) &&
         readTriple(mapper, "block", kernel.block, path) &&
         readTriple(mapper, "cluster", kernel.cluster, path) &&
         mapper.map("dynamic_shared_bytes", kernel.dynamicSharedBytes) &&
         mapper.map("parameters", kernel.parameters);
}
} // namespace lpfa

bool lpfa::fromJSON(const json::Value &value, LaunchPlan &plan,
                    json::Path path) {
  json::ObjectMapper mapper(value, path);
  return mapper && mapper.map("function", plan.function) &&
         mapper.map("arguments", plan.arguments) &&
         mapper.map("results", plan.results) &&
         mapper.map("temporaries", plan.temporaries) &&
         mapper.map("checks", plan.checks) &&
         mapper.map("kernels", plan.kernels);
}

bool lpfa::fromJSON(const json::Value &value, ModulePlan &plan,
                    json::Path path) {
  int64_t version = 0;
  json::ObjectMapper mapper(value, path);
  if (!mapper || !mapper.map("schema_version", version))
    return false;
  if (version != ModulePlan::schemaVersion) {
    path.field("schema_version").report("unknown version");
    return false;
  }
  return mapper.map("chip", plan.chip) &&
         mapper.mapOptional("ptxas_version", plan.ptxasVersion) &&
         mapper.map("functions", plan.functions);
}

llvm::Expected<ModulePlan> lpfa::parsePlan(llvm::StringRef text) {
  return json::parse<ModulePlan>(text, "plan");
}
