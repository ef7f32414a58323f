//===- SimDevice.cpp - Running a compiled function simulated --------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimDevice.h"
#include "Arrays.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace lpfa;
using llvm::Expected;
using llvm::Twine;

namespace {

/// A run of a plan: its buffers and what its formulas are evaluated on.
class PlanRun {
public:
  PlanRun(const LaunchPlan &plan, ArrayRef<CompiledPTX> modules,
          const SimulationOptions &options)
      : plan(plan), modules(modules), options(options) {}

  llvm::Error prepare(TypeRange resultTypes, ArrayRef<NpyArray> arguments);
  llvm::Error run();
  Expected<std::vector<NpyArray>> takeResults();

private:
  Expected<int64_t> evaluate(const Formula &formula, const Twine &what);
  unsigned number(const PlanBuffer &buffer) const;
  Expected<sim::Parameter> makeParameter(const PlanParameter &parameter);
  Expected<sim::TensorMap> makeTensorMap(const PlanTensorMap &map);
  Expected<sim::Launch> makeLaunch(const PlanKernel &kernel);

  const LaunchPlan &plan;
  ArrayRef<CompiledPTX> modules;
  const SimulationOptions &options;
  FormulaInputs inputs;

  // Storage outlives the memory that refers to it.
  std::vector<NpyArray> arguments, results;
  std::vector<std::vector<uint8_t>> temporaries;
  /// What kernels write where the elements are f6 or f4.
  std::vector<std::vector<uint8_t>> packedResults;
  sim::DeviceMemory memory;
  std::vector<unsigned> argumentNumbers, temporaryNumbers, resultNumbers;
};

} // namespace

Expected<int64_t> PlanRun::evaluate(const Formula &formula, const Twine &what) {
  std::string error;
  std::optional<int64_t> value = formula.evaluate(inputs, error);
  if (!value)
    return llvm::createStringError(what + ": " + error);
  return *value;
}

llvm::Error PlanRun::prepare(TypeRange resultTypes, ArrayRef<NpyArray> arrays) {
  arguments.assign(arrays.begin(), arrays.end());
  inputs.multiprocessors = options.multiprocessors;
  for (const NpyArray &array : arguments)
    inputs.arguments.push_back(ArgumentShape::contiguous(array.shape));
  for (const PlanCheck &check : plan.checks) {
    auto holds = evaluate(check.condition, check.message);
    if (!holds)
      return holds.takeError();
    if (!*holds)
      return llvm::createStringError(check.message);
  }

  for (auto [index, argument] : llvm::enumerate(plan.arguments)) {
    // Kernels take f6 and f4 packed, an array has one code a byte.
    std::vector<uint8_t> &data = arguments[index].data;
    unsigned bits = getElementBits(argument.element).value_or(8);
    if (bits < 8)
      data = packCodes(data, bits);
    argumentNumbers.push_back(
        memory.addBuffer(("argument " + Twine(index)).str(), data));
  }
  for (const auto &[index, temporary] : llvm::enumerate(plan.temporaries)) {
    std::string name = ("temporary " + Twine(index)).str();
    auto bytes = evaluate(temporary.bytes, name);
    if (!bytes)
      return bytes.takeError();
    temporaries.emplace_back(*bytes);
    temporaryNumbers.push_back(memory.addOutput(name, temporaries.back()));
  }
  results.reserve(plan.results.size());
  packedResults.resize(plan.results.size());
  for (const auto &[index, result] : llvm::enumerate(plan.results)) {
    std::string name = ("result " + Twine(index)).str();
    SmallVector<int64_t> shape;
    for (const Formula &formula : result.shape) {
      auto size = evaluate(formula, name);
      if (!size)
        return size.takeError();
      shape.push_back(*size);
    }
    auto type = cast<RankedTensorType>(resultTypes[index]);
    results.push_back(makeArray(type, shape));
    std::vector<uint8_t> *data = &results.back().data;
    unsigned bits = getElementBits(result.element).value_or(8);
    if (bits < 8) {
      packedResults[index] = packCodes(*data, bits);
      data = &packedResults[index];
    }
    resultNumbers.push_back(memory.addOutput(name, *data));
  }
  return llvm::Error::success();
}

unsigned PlanRun::number(const PlanBuffer &buffer) const {
  switch (buffer.kind) {
  case PlanBuffer::Kind::Argument:
    return argumentNumbers[buffer.index];
  case PlanBuffer::Kind::Temporary:
    return temporaryNumbers[buffer.index];
  case PlanBuffer::Kind::Result:
    return resultNumbers[buffer.index];
  }
  llvm_unreachable("unknown kind of buffer");
}

Expected<sim::TensorMap> PlanRun::makeTensorMap(const PlanTensorMap &map) {
  using Element = sim::TensorMapElement;
  auto element = llvm::StringSwitch<std::optional<Element>>(map.element)
                     .Case("i8", Element::U8)
                     .Case("i16", Element::U16)
                     .Case("i32", Element::U32)
                     .Case("i64", Element::U64)
                     .Case("f16", Element::F16)
                     .Case("bf16", Element::BF16)
                     .Case("f32", Element::F32)
                     .Case("f64", Element::F64)
                     .Default(std::nullopt);
  if (!element)
    return llvm::createStringError("a tensor map has elements of " +
                                   map.element);
  sim::TensorMap result;
  result.element = *element;
  result.rank = map.sizes.size();
  if (result.rank > sim::TensorMap::maxRank)
    return llvm::createStringError("a tensor map has " + Twine(result.rank) +
                                   " dimensions");
  for (auto [size, formula] : llvm::zip(result.dims, map.sizes)) {
    auto value = evaluate(formula, "size of a tensor map");
    if (!value)
      return value.takeError();
    size = *value;
  }
  for (auto [stride, formula] : llvm::zip(result.strides, map.strides)) {
    auto value = evaluate(formula, "stride of a tensor map");
    if (!value)
      return value.takeError();
    stride = *value;
  }
  llvm::copy(map.box, result.box.begin());
  switch (map.swizzle) {
  case 0:
    break;
  case 32:
    result.swizzle = sim::TensorMapSwizzle::B32;
    break;
  case 64:
    result.swizzle = sim::TensorMapSwizzle::B64;
    break;
  case 128:
    result.swizzle = sim::TensorMapSwizzle::B128;
    break;
  default:
    return llvm::createStringError("a tensor map has a swizzle of " +
                                   Twine(map.swizzle) + " bytes");
  }
  return result;
}

Expected<sim::Parameter>
PlanRun::makeParameter(const PlanParameter &parameter) {
  switch (parameter.kind) {
  case PlanParameter::Kind::Pointer:
    return sim::Parameter::buffer(number(parameter.buffer));
  case PlanParameter::Kind::Int32:
  case PlanParameter::Kind::Int64: {
    auto value = evaluate(parameter.value, "parameter");
    if (!value)
      return value.takeError();
    if (parameter.kind == PlanParameter::Kind::Int64)
      return sim::Parameter::u64(*value);
    if (!llvm::isInt<32>(*value))
      return llvm::createStringError("the parameter " + Twine(*value) +
                                     " does not fit 32 bits");
    return sim::Parameter::u32(*value);
  }
  case PlanParameter::Kind::TensorMap: {
    auto map = makeTensorMap(parameter.tensorMap);
    if (!map)
      return map.takeError();
    return sim::Parameter::tensorMap(number(parameter.tensorMap.buffer), *map);
  }
  }
  llvm_unreachable("unknown kind of parameter");
}

Expected<sim::Launch> PlanRun::makeLaunch(const PlanKernel &kernel) {
  sim::Launch launch;
  launch.entry = kernel.entry;
  uint32_t *grid[] = {&launch.grid.x, &launch.grid.y, &launch.grid.z};
  for (auto [size, formula] : llvm::zip(grid, kernel.grid)) {
    auto value = evaluate(formula, "grid");
    if (!value)
      return value.takeError();
    if (!llvm::isInt<32>(*value) || *value < 0)
      return llvm::createStringError("the grid is " + Twine(*value) + " wide");
    *size = *value;
  }
  const auto &block = kernel.block, &cluster = kernel.cluster;
  launch.block = {uint32_t(block[0]), uint32_t(block[1]), uint32_t(block[2])};
  launch.cluster = {uint32_t(cluster[0]), uint32_t(cluster[1]),
                    uint32_t(cluster[2])};
  launch.dynamicSharedBytes = kernel.dynamicSharedBytes;
  for (const PlanParameter &parameter : kernel.parameters) {
    auto value = makeParameter(parameter);
    if (!value)
      return value.takeError();
    launch.parameters.push_back(std::move(*value));
  }
  return launch;
}

llvm::Error PlanRun::run() {
  for (const PlanKernel &kernel : plan.kernels) {
    auto launch = makeLaunch(kernel);
    if (!launch)
      return llvm::createStringError("kernel " + kernel.entry + ": " +
                                     llvm::toString(launch.takeError()));
    if (launch->grid.count() == 0)
      continue;
    const CompiledPTX *ptx = llvm::find_if(
        modules, [&](const CompiledPTX &m) { return m.name == kernel.module; });
    if (ptx == modules.end())
      return llvm::createStringError("the plan's module " + kernel.module +
                                     " is missing");
    std::string file = kernel.module + ".ptx";
    auto module = sim::PTXModule::parse(ptx->text, file);
    if (!module)
      return module.takeError();
    auto report = sim::simulate(**module, *launch, memory, options.simulator);
    if (!report)
      return llvm::createStringError("kernel " + kernel.entry + ": " +
                                     llvm::toString(report.takeError()));
    if (!report->ok()) {
      report->print(llvm::errs(), file);
      return llvm::createStringError("the simulator objects to kernel " +
                                     kernel.entry);
    }
    if (report->timing) {
      llvm::outs() << "kernel " << kernel.entry << ", ";
      report->timing->print(llvm::outs());
    }
  }
  return llvm::Error::success();
}

Expected<std::vector<NpyArray>> PlanRun::takeResults() {
  for (auto [index, number] : llvm::enumerate(resultNumbers)) {
    if (results[index].data.empty())
      continue;
    int64_t byte = memory.firstUndefined(number);
    unsigned bits = getElementBits(plan.results[index].element).value_or(8);
    if (byte >= 0)
      return llvm::createStringError("result " + Twine(index) +
                                     ": no kernel wrote element " +
                                     Twine(byte * 8 / bits));
    if (bits < 8)
      unpackCodes(packedResults[index], bits, results[index].data);
  }
  return std::move(results);
}

Expected<std::vector<NpyArray>>
lpfa::runOnSimulator(ModuleOp module, StringRef entry,
                     ArrayRef<NpyArray> arguments,
                     const SimulationOptions &options) {
  auto function = module.lookupSymbol<FunctionOpInterface>(entry);
  SmallVector<Type> resultTypes(function.getResultTypes());
  auto compiled = compile(module, options.compiler);
  if (failed(compiled))
    return llvm::createStringError("@" + entry + " can't be compiled");
  auto plan =
      llvm::find_if(compiled->plan.functions, [&](const LaunchPlan &plan) {
        return plan.function == entry;
      });
  if (plan == compiled->plan.functions.end())
    return llvm::createStringError("@" + entry + " launches no kernel");

  PlanRun run(*plan, compiled->modules, options);
  if (auto error = run.prepare(resultTypes, arguments))
    return error;
  if (auto error = run.run())
    return error;
  return run.takeResults();
}
