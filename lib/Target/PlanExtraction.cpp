//===- PlanExtraction.cpp - From a host function to its plan --------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Target/PlanExtraction.h"
#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "lpfa/Target/TargetModel.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace lpfa;

namespace {

/// A tensor of the host function: where it is, and its sizes.
struct HostTensor {
  PlanBuffer buffer;
  std::vector<Formula> sizes;
  /// In elements.
  std::vector<Formula> strides;
};

class Extractor {
public:
  explicit Extractor(func::FuncOp func) : func(func) {}
  FailureOr<LaunchPlan> run();

private:
  LogicalResult addArguments();
  LogicalResult addOp(Operation &op);
  LogicalResult addIndex(Operation &op);
  LogicalResult addEmpty(tensor::EmptyOp op);
  FailureOr<HostTensor> makeDestination(LaunchOp launch, unsigned index);
  LogicalResult addLaunch(LaunchOp op);
  FailureOr<PlanParameter> getParameter(LaunchOp launch,
                                        ArrayRef<HostTensor> outputs,
                                        LLVM::LLVMFuncOp kernel,
                                        unsigned index);

  FailureOr<Formula> getFormula(Operation &user, Value value);
  FailureOr<Formula> getFormula(Operation &user, AffineExpr expr,
                                ArrayRef<Formula> dims,
                                ArrayRef<Formula> symbols);

  func::FuncOp func;
  LaunchPlan plan;
  DenseMap<Value, HostTensor> tensors;
  DenseMap<Value, Formula> formulas;
  /// The first launch's result that each of the function's results lives in.
  DenseMap<Value, unsigned> results;
};

std::string getElementName(Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return name;
}

/// Strides of a contiguous tensor.
std::vector<Formula> getContiguousStrides(ArrayRef<Formula> sizes) {
  std::vector<Formula> strides(sizes.size());
  Formula stride = 1;
  for (size_t i = sizes.size(); i-- > 0; stride = stride * sizes[i])
    strides[i] = stride;
  return strides;
}

/// The tensor behind casts.
Value skipCasts(Value value) {
  while (auto cast = value.getDefiningOp<tensor::CastOp>())
    value = cast.getSource();
  return value;
}

/// The `tensor.empty` that a launch writes into, each time a buffer of its own.
tensor::EmptyOp getEmpty(Value output) {
  return skipCasts(output).getDefiningOp<tensor::EmptyOp>();
}

/// The result of the launch that first wrote into the buffer of `value`.
Value findFirstWritten(Value value) {
  value = skipCasts(value);
  while (auto launch = value.getDefiningOp<LaunchOp>()) {
    Value output = launch.getOutputs()[cast<OpResult>(value).getResultNumber()];
    if (getEmpty(output))
      return value;
    value = skipCasts(output);
  }
  return nullptr;
}

FailureOr<LaunchPlan> Extractor::run() {
  if (!func.getBody().hasOneBlock())
    return func.emitError("a launch plan needs a function of one block");
  plan.function = func.getName().str();
  if (failed(addArguments()))
    return failure();

  Operation *terminator = func.getBody().front().getTerminator();
  for (Value value : terminator->getOperands()) {
    Value first = findFirstWritten(value);
    if (!first || !results.try_emplace(first, plan.results.size()).second)
      return terminator->emitError("a launch plan's results are different "
                                   "tensors that its kernels wrote");
    plan.results.emplace_back();
  }
  for (Operation &op : func.getBody().front().without_terminator())
    if (failed(addOp(op)))
      return failure();
  return plan;
}

LogicalResult Extractor::addArguments() {
  for (BlockArgument argument : func.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type)
      return func.emitError("argument ")
             << argument.getArgNumber() << " of a launch plan is no tensor";
    unsigned number = argument.getArgNumber();
    PlanArgument planned;
    planned.element = getElementName(type.getElementType());
    HostTensor tensor;
    tensor.buffer = {PlanBuffer::Kind::Argument, number};
    for (auto [dimension, size] : llvm::enumerate(type.getShape())) {
      bool isDynamic = ShapedType::isDynamic(size);
      planned.shape.push_back(isDynamic ? -1 : size);
      tensor.sizes.push_back(isDynamic ? Formula::dimension(number, dimension)
                                       : Formula(size));
      bool isLast = dimension + 1 == static_cast<size_t>(type.getRank());
      tensor.strides.push_back(isLast ? Formula(1)
                                      : Formula::stride(number, dimension));
    }
    plan.arguments.push_back(std::move(planned));
    tensors[argument] = std::move(tensor);
  }
  return success();
}

LogicalResult Extractor::addOp(Operation &op) {
  if (auto launch = dyn_cast<LaunchOp>(op))
    return addLaunch(launch);
  if (auto empty = dyn_cast<tensor::EmptyOp>(op))
    return addEmpty(empty);
  if (auto cast = dyn_cast<tensor::CastOp>(op)) {
    auto source = tensors.find(cast.getSource());
    if (source == tensors.end() || !isa<RankedTensorType>(cast.getType()))
      return op.emitError("a launch plan cannot hold this cast");
    tensors[cast] = HostTensor(source->second);
    return success();
  }
  if (auto assertion = dyn_cast<cf::AssertOp>(op)) {
    FailureOr<Formula> condition = getFormula(op, assertion.getArg());
    if (failed(condition))
      return failure();
    plan.checks.push_back({*condition, assertion.getMsg().str()});
    return success();
  }
  return addIndex(op);
}

LogicalResult Extractor::addEmpty(tensor::EmptyOp op) {
  HostTensor tensor;
  for (OpFoldResult size : op.getMixedSizes()) {
    if (auto attr = dyn_cast<Attribute>(size)) {
      tensor.sizes.push_back(cast<IntegerAttr>(attr).getInt());
      continue;
    }
    FailureOr<Formula> formula = getFormula(*op, cast<Value>(size));
    if (failed(formula))
      return failure();
    tensor.sizes.push_back(*formula);
  }
  tensor.strides = getContiguousStrides(tensor.sizes);
  tensors[op] = std::move(tensor);
  return success();
}

/// The tensor of output `index`: that of its operand, or a fresh buffer.
FailureOr<HostTensor> Extractor::makeDestination(LaunchOp launch,
                                                 unsigned index) {
  Value output = launch.getOutputs()[index];
  auto found = tensors.find(output);
  if (found == tensors.end())
    return launch.emitError("writes a tensor that the plan does not know");
  HostTensor tensor = found->second;
  if (!getEmpty(output))
    return tensor;
  std::string element =
      getElementName(cast<RankedTensorType>(output.getType()).getElementType());
  std::optional<unsigned> bits = getElementBits(element);
  if (!bits)
    return launch.emitError("a launch plan cannot hold tensors of ") << element;
  auto result = results.find(launch.getResults()[index]);
  if (result != results.end()) {
    tensor.buffer = {PlanBuffer::Kind::Result, result->second};
    plan.results[result->second] = {element, tensor.sizes};
    return tensor;
  }
  tensor.buffer = {PlanBuffer::Kind::Temporary,
                   static_cast<unsigned>(plan.temporaries.size())};
  Formula count = 1;
  for (const Formula &size : tensor.sizes)
    count = count * size;
  Formula bytes = *bits % 8 == 0 ? count * Formula(*bits / 8)
                                 : Formula::get(Formula::Kind::CeilDiv,
                                                {count * Formula(*bits), 8});
  plan.temporaries.push_back({bytes});
  return tensor;
}

//===----------------------------------------------------------------------===//
// Index arithmetic
//===----------------------------------------------------------------------===//

FailureOr<Formula> Extractor::getFormula(Operation &user, Value value) {
  auto found = formulas.find(value);
  if (found != formulas.end())
    return found->second;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    // True is 1.
    return Formula(constant.getBitWidth() == 1 ? constant.getZExtValue()
                                               : constant.getSExtValue());
  return user.emitError("a launch plan cannot compute this op's operand from "
                        "the arguments' sizes");
}

FailureOr<Formula> Extractor::getFormula(Operation &user, AffineExpr expr,
                                         ArrayRef<Formula> dims,
                                         ArrayRef<Formula> symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return Formula(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  FailureOr<Formula> left = getFormula(user, binary.getLHS(), dims, symbols);
  FailureOr<Formula> right = getFormula(user, binary.getRHS(), dims, symbols);
  if (failed(left) || failed(right))
    return failure();
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return *left + *right;
  case AffineExprKind::Mul:
    return *left * *right;
  case AffineExprKind::FloorDiv:
    return Formula::get(Formula::Kind::FloorDiv, {*left, *right});
  case AffineExprKind::CeilDiv:
    return Formula::get(Formula::Kind::CeilDiv, {*left, *right});
  case AffineExprKind::Mod:
    return Formula::get(Formula::Kind::Mod, {*left, *right});
  default:
    llvm_unreachable("handled above");
  }
}

/// The kind of formula that an op of two operands is. Sizes are not negative,
/// so signed and unsigned ops agree, as do roundings towards zero and down.
std::optional<Formula::Kind> getBinaryKind(Operation &op) {
  return llvm::TypeSwitch<Operation *, std::optional<Formula::Kind>>(&op)
      .Case<arith::AddIOp>([](Operation *) { return Formula::Kind::Add; })
      .Case<arith::SubIOp>([](Operation *) { return Formula::Kind::Sub; })
      .Case<arith::MulIOp>([](Operation *) { return Formula::Kind::Mul; })
      .Case<arith::CeilDivSIOp, arith::CeilDivUIOp>(
          [](Operation *) { return Formula::Kind::CeilDiv; })
      .Case<arith::FloorDivSIOp, arith::DivSIOp, arith::DivUIOp>(
          [](Operation *) { return Formula::Kind::FloorDiv; })
      .Case<arith::RemSIOp, arith::RemUIOp>(
          [](Operation *) { return Formula::Kind::Mod; })
      .Case<arith::MinSIOp, arith::MinUIOp>(
          [](Operation *) { return Formula::Kind::Min; })
      .Case<arith::MaxSIOp, arith::MaxUIOp>(
          [](Operation *) { return Formula::Kind::Max; })
      .Case([](arith::CmpIOp cmp) -> std::optional<Formula::Kind> {
        switch (cmp.getPredicate()) {
        case arith::CmpIPredicate::eq:
          return Formula::Kind::Equal;
        case arith::CmpIPredicate::ne:
          return Formula::Kind::NotEqual;
        case arith::CmpIPredicate::slt:
        case arith::CmpIPredicate::ult:
        case arith::CmpIPredicate::sgt:
        case arith::CmpIPredicate::ugt:
          return Formula::Kind::Less;
        default:
          return Formula::Kind::LessEqual;
        }
      })
      .Case<arith::AndIOp, arith::OrIOp>(
          [](Operation *op) -> std::optional<Formula::Kind> {
            if (!op->getResult(0).getType().isInteger(1))
              return std::nullopt;
            return isa<arith::AndIOp>(op) ? Formula::Kind::Min
                                          : Formula::Kind::Max;
          })
      .Default([](Operation *) { return std::nullopt; });
}

bool isGreater(Operation &op) {
  auto cmp = dyn_cast<arith::CmpIOp>(op);
  return cmp && llvm::is_contained(
                    {arith::CmpIPredicate::sgt, arith::CmpIPredicate::ugt,
                     arith::CmpIPredicate::sge, arith::CmpIPredicate::uge},
                    cmp.getPredicate());
}

LogicalResult Extractor::addIndex(Operation &op) {
  if (isa<arith::ConstantOp>(op))
    return success();

  if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    auto tensor = tensors.find(dim.getSource());
    std::optional<int64_t> index = dim.getConstantIndex();
    if (tensor == tensors.end() || !index ||
        *index >= static_cast<int64_t>(tensor->second.sizes.size()))
      return op.emitError("a launch plan does not know this size");
    formulas[dim] = tensor->second.sizes[*index];
    return success();
  }

  std::vector<Formula> operands;
  auto getOperands = [&]() -> LogicalResult {
    for (Value operand : op.getOperands()) {
      FailureOr<Formula> formula = getFormula(op, operand);
      if (failed(formula))
        return failure();
      operands.push_back(*formula);
    }
    return success();
  };

  if (std::optional<Formula::Kind> kind = getBinaryKind(op)) {
    if (failed(getOperands()))
      return failure();
    if (isGreater(op))
      std::swap(operands[0], operands[1]);
    formulas[op.getResult(0)] = Formula::get(*kind, operands);
    return success();
  }
  if (isa<arith::SelectOp>(op) && op.getResult(0).getType().isIntOrIndex()) {
    if (failed(getOperands()))
      return failure();
    formulas[op.getResult(0)] = Formula::get(Formula::Kind::Select, operands);
    return success();
  }
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
          arith::ExtUIOp>(op)) {
    if (failed(getOperands()))
      return failure();
    formulas[op.getResult(0)] = operands[0];
    return success();
  }
  if (isa<affine::AffineApplyOp, affine::AffineMinOp, affine::AffineMaxOp>(
          op)) {
    if (failed(getOperands()))
      return failure();
    AffineMap map = cast<AffineMapAttr>(op.getAttr("map")).getValue();
    ArrayRef<Formula> all(operands);
    std::optional<Formula> result;
    for (AffineExpr expr : map.getResults()) {
      FailureOr<Formula> value =
          getFormula(op, expr, all.take_front(map.getNumDims()),
                     all.drop_front(map.getNumDims()));
      if (failed(value))
        return failure();
      if (!result)
        result = *value;
      else
        result = Formula::get(isa<affine::AffineMinOp>(op) ? Formula::Kind::Min
                                                           : Formula::Kind::Max,
                              {*result, *value});
    }
    formulas[op.getResult(0)] = *result;
    return success();
  }
  return op.emitError("'") << op.getName() << "' cannot be in a launch plan";
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

FailureOr<PlanParameter> Extractor::getParameter(LaunchOp launch,
                                                 ArrayRef<HostTensor> outputs,
                                                 LLVM::LLVMFuncOp kernel,
                                                 unsigned index) {
  auto attr = kernel.getArgAttrOfType<ParameterAttr>(
      index, ParameterAttr::kArgumentName);
  auto fail = [&](const Twine &message) {
    return launch.emitError("parameter ")
           << index << " of '" << kernel.getName() << "' " << message;
  };
  if (!attr)
    return fail("has no lpfa.parameter");
  size_t operandCount = launch.getInputs().size() + launch.getOutputs().size();
  if (attr.getOperand() < 0 ||
      static_cast<size_t>(attr.getOperand()) >= operandCount)
    return fail("is of an operand that the launch has not");
  Value operand = launch.getKernelOperand(attr.getOperand());

  PlanParameter parameter;
  if (attr.getKind() == ParameterKind::Index) {
    FailureOr<Formula> value = getFormula(*launch, operand);
    if (failed(value))
      return failure();
    parameter.kind = PlanParameter::Kind::Int64;
    parameter.value = *value;
    return parameter;
  }

  size_t inputs = launch.getInputs().size();
  size_t number = attr.getOperand();
  auto found = tensors.find(operand);
  if (number < inputs) {
    if (found == tensors.end())
      return fail("is of a tensor that the plan does not know");
    if (getEmpty(operand))
      return fail("is of a tensor that no kernel wrote");
  }
  const HostTensor &tensor =
      number < inputs ? found->second : outputs[number - inputs];
  switch (attr.getKind()) {
  case ParameterKind::Pointer:
    parameter.kind = PlanParameter::Kind::Pointer;
    parameter.buffer = tensor.buffer;
    return parameter;
  case ParameterKind::Size:
  case ParameterKind::Stride: {
    int64_t dimension = attr.getDimension();
    if (dimension < 0 || dimension >= static_cast<int64_t>(tensor.sizes.size()))
      return fail("is of a dimension that the tensor has not");
    parameter.kind = PlanParameter::Kind::Int64;
    parameter.value = attr.getKind() == ParameterKind::Size
                          ? tensor.sizes[dimension]
                          : tensor.strides[dimension];
    return parameter;
  }
  case ParameterKind::TensorMap:
    break;
  case ParameterKind::Index:
    llvm_unreachable("handled above");
  }

  size_t rank = tensor.sizes.size();
  if (attr.getBox().size() != rank)
    return fail("is a tensor map of another rank");
  std::string element = getElementName(attr.getElement());
  std::optional<unsigned> bits = getElementBits(element);
  if (!bits || *bits % 8 != 0)
    return fail("is a tensor map of " + element);
  parameter.kind = PlanParameter::Kind::TensorMap;
  PlanTensorMap &map = parameter.tensorMap;
  map.buffer = tensor.buffer;
  map.element = element;
  map.box = attr.getBox().vec();
  map.swizzle = attr.getSwizzle();
  for (size_t i = rank; i-- > 0;) {
    // A map cannot be empty; of an empty tensor nothing is loaded.
    map.sizes.push_back(
        Formula::get(Formula::Kind::Max, {tensor.sizes[i], Formula(1)}));
    if (i + 1 == rank)
      continue;
    // A stride is a multiple of 16 bytes, which those of empty rows are not.
    const Formula &width = tensor.sizes.back();
    Formula stride = tensor.strides[i] * Formula(*bits / 8);
    if (!width.getConstant())
      stride =
          Formula::get(Formula::Kind::Select,
                       {Formula::get(Formula::Kind::Equal, {width, Formula(0)}),
                        Formula(16), stride});
    map.strides.push_back(stride);
    // Said before anything is launched, in words that help.
    std::string message =
        PlanBuffer::getName(tensor.buffer.kind) +
        (" " + std::to_string(tensor.buffer.index)) +
        " has rows whose pitch is no multiple of 16 bytes, which a tensor map "
        "cannot have: pad them";
    Formula isAligned = Formula::get(
        Formula::Kind::Equal,
        {Formula::get(Formula::Kind::Mod, {stride, Formula(16)}), Formula(0)});
    std::optional<int64_t> known = isAligned.getConstant();
    if (known && !*known)
      return launch.emitError(message);
    bool isNew = llvm::none_of(plan.checks, [&](const PlanCheck &check) {
      return check.message == message;
    });
    if (!known && isNew)
      plan.checks.push_back({isAligned, message});
  }
  return parameter;
}

LogicalResult Extractor::addLaunch(LaunchOp launch) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<LLVM::LLVMFuncOp>(
      launch, launch.getCallee());
  if (!kernel)
    return launch.emitError("'")
           << launch.getCallee()
           << "' is not at the nvvm stage, so that it cannot be launched";

  PlanKernel planned;
  planned.module = launch.getCallee().getRootReference().str();
  planned.entry = kernel.getName().str();
  FailureOr<Formula> grid = getFormula(*launch, launch.getGrid());
  if (failed(grid))
    return failure();
  if (auto cluster = kernel->getAttrOfType<DenseI32ArrayAttr>(
          NVVM::NVVMDialect::getClusterDimAttrName()))
    planned.cluster[0] = cluster[0];
  planned.grid[0] = *grid;
  if (launch.getPersistent()) {
    Formula atATime = Formula::multiprocessors();
    if (auto each = kernel->getAttrOfType<IntegerAttr>(
            NVVM::NVVMDialect::getMinctasmAttrName()))
      atATime = atATime * Formula(each.getInt());
    // At least one cluster, whatever the device.
    if (planned.cluster[0] > 1)
      atATime = Formula::get(
          Formula::Kind::Max,
          {Formula(1), Formula::get(Formula::Kind::FloorDiv,
                                    {atATime, Formula(planned.cluster[0])})});
    planned.grid[0] = Formula::get(Formula::Kind::Min, {*grid, atATime});
  }
  // A cluster has the work of one CTA.
  if (planned.cluster[0] > 1)
    planned.grid[0] = planned.grid[0] * Formula(planned.cluster[0]);
  auto block = kernel->getAttrOfType<DenseI32ArrayAttr>(
      NVVM::NVVMDialect::getReqntidAttrName());
  if (!block || block.empty() || block.size() > 3)
    return launch.emitError("'") << kernel.getName() << "' has no block size";
  llvm::copy(block.asArrayRef(), planned.block.begin());
  if (auto bytes =
          kernel->getAttrOfType<IntegerAttr>(ParameterAttr::kSharedBytesName))
    planned.dynamicSharedBytes = bytes.getInt();
  if (planned.dynamicSharedBytes > TargetModel::sharedMemoryBytes)
    return launch.emitError("'")
           << kernel.getName() << "' needs " << planned.dynamicSharedBytes
           << " bytes of shared memory, more than "
           << TargetModel::sharedMemoryBytes;
  SmallVector<HostTensor> outputs;
  for (unsigned i = 0, e = launch.getOutputs().size(); i < e; ++i) {
    FailureOr<HostTensor> tensor = makeDestination(launch, i);
    if (failed(tensor))
      return failure();
    if (tensor->buffer.kind == PlanBuffer::Kind::Argument)
      return launch.emitError("writes an argument of the function");
    outputs.push_back(std::move(*tensor));
  }
  for (unsigned i = 0, e = kernel.getNumArguments(); i < e; ++i) {
    FailureOr<PlanParameter> parameter =
        getParameter(launch, outputs, kernel, i);
    if (failed(parameter))
      return failure();
    planned.parameters.push_back(std::move(*parameter));
  }
  plan.kernels.push_back(std::move(planned));
  for (auto [result, tensor] : llvm::zip_equal(launch.getResults(), outputs))
    tensors[result] = std::move(tensor);
  return success();
}

} // namespace

FailureOr<LaunchPlan> lpfa::extractLaunchPlan(func::FuncOp func) {
  return Extractor(func).run();
}
