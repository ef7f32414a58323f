//===- LPFAKernelOps.cpp - Kernels, launches and their loops --------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace lpfa;

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

// lpfa.kernel @name stage(roles) threads(512) (%a: type, ...) { ... }
ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto &properties = result.getOrAddProperties<Properties>();
  StringRef keyword;
  if (parser.parseSymbolName(properties.sym_name) ||
      parser.parseKeyword("stage") || parser.parseLParen())
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword) || parser.parseRParen())
    return failure();
  std::optional<Stage> stage = symbolizeStage(keyword);
  if (!stage)
    return parser.emitError(loc, "expected a stage: 'tile', 'roles', 'placed' "
                                 "or 'synchronized'");
  properties.stage = *stage;

  auto parseSize = [&](StringRef name, IntegerAttr &attribute) -> ParseResult {
    if (failed(parser.parseOptionalKeyword(name)))
      return success();
    int64_t value;
    if (parser.parseLParen() || parser.parseInteger(value) ||
        parser.parseRParen())
      return failure();
    attribute = parser.getBuilder().getI64IntegerAttr(value);
    return success();
  };
  SmallVector<OpAsmParser::Argument> arguments;
  Region *body = result.addRegion();
  if (parseSize("threads", properties.threads) ||
      parseSize("tensor_columns", properties.tensor_columns) ||
      parseSize("shared_bytes", properties.shared_bytes) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren,
                               /*allowType=*/true) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*body, arguments))
    return failure();
  if (body->empty())
    body->emplaceBlock();
  return success();
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << " stage(" << stringifyStage(getStage()) << ')';
  auto printSize = [&](StringRef name, std::optional<uint64_t> value) {
    if (value)
      printer << ' ' << name << '(' << *value << ')';
  };
  printSize("threads", getThreads());
  printSize("tensor_columns", getTensorColumns());
  printSize("shared_bytes", getSharedBytes());
  printer << " (";
  llvm::interleaveComma(
      getBody().getArguments(), printer,
      [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ')';
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getDiscardableAttrs().empty() ? ArrayRef<NamedAttribute>()
                                             : (*this)->getAttrs(),
      {"sym_name", "stage", "threads", "tensor_columns", "shared_bytes"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

/// The places of an op that declares buffers, with their stages.
static void forEachPlace(Operation *op,
                         function_ref<void(PlaceAttr, int64_t)> callback) {
  if (auto channel = dyn_cast<ChannelOp>(op)) {
    if (channel.getPlaces())
      for (auto place : channel.getPlaces()->getAsRange<PlaceAttr>())
        callback(place, channel.getStages());
  } else if (auto accumulator = dyn_cast<AccumulatorOp>(op)) {
    if (accumulator.getPlace())
      callback(*accumulator.getPlace(), 1);
  } else if (auto scratch = dyn_cast<ScratchOp>(op)) {
    if (scratch.getPlace())
      callback(*scratch.getPlace(), scratch.getStages());
  }
}

static bool isPlaced(Operation *op) {
  bool placed = false;
  forEachPlace(op, [&](PlaceAttr, int64_t) { placed = true; });
  return placed;
}

static LogicalResult verifyRoles(KernelOp kernel) {
  auto roles = llvm::to_vector(kernel.getBody().getOps<RoleOp>());
  llvm::sort(roles, [](RoleOp a, RoleOp b) {
    return a.getFirstWarp() < b.getFirstWarp();
  });
  uint64_t warp = 0;
  DenseMap<uint64_t, RoleOp> warpgroups;
  llvm::StringSet<> names;
  for (RoleOp role : roles) {
    if (!names.insert(role.getName()).second)
      return role.emitOpError("has the name of another role");
    if (role.getFirstWarp() != warp)
      return role.emitOpError("must start at warp ")
             << warp << ", where the roles before it end (C6)";
    for (uint64_t w = warp; w < warp + role.getWarps(); ++w) {
      auto [it, inserted] = warpgroups.try_emplace(w / 4, role);
      if (!inserted && it->second.getRegisters() != role.getRegisters()) {
        InFlightDiagnostic diagnostic = role.emitOpError(
            "must have the registers of the other roles of its warpgroup (C3)");
        diagnostic.attachNote(it->second.getLoc()) << "another role";
        return diagnostic;
      }
    }
    warp += role.getWarps();
  }
  if (!kernel.getThreads() || *kernel.getThreads() % 128 ||
      *kernel.getThreads() / 32 < warp || *kernel.getThreads() / 32 > warp + 3)
    return kernel.emitOpError("must have threads for ")
           << warp << " warps, rounded up to warpgroups (C6)";
  uint64_t registers = 0;
  for (auto &[index, role] : warpgroups)
    registers += role.getRegisters() * 128;
  if (registers > 65536)
    return kernel.emitOpError("has roles with ")
           << registers << " registers, more than 65536 (C6)";
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  for (BlockArgument argument : getBody().getArguments())
    if (!isa<ViewType, IndexType>(argument.getType()))
      return emitOpError("argument ")
             << argument.getArgNumber() << " must be a view or an index (C5)";
  Stage stage = getStage();
  if (stage >= Stage::Roles && failed(verifyRoles(*this)))
    return failure();

  uint64_t columns = getTensorColumns().value_or(0);
  uint64_t bytes = getSharedBytes().value_or(0);
  WalkResult result = walk([&](Operation *op) -> WalkResult {
    if (op == getOperation())
      return WalkResult::advance();
    bool declares = isa<ChannelOp, AccumulatorOp, ScratchOp>(op);
    if (stage == Stage::Tile && (declares || isa<RoleOp, BarrierOp>(op)))
      return op->emitOpError("may not stand at the tile stage (C1)");
    bool hasTile =
        llvm::any_of(op->getOperandTypes(), llvm::IsaPred<TileType>) ||
        llvm::any_of(op->getResultTypes(), llvm::IsaPred<TileType>);
    if (stage >= Stage::Roles && hasTile && !op->getParentOfType<RoleOp>())
      return op->emitOpError(
          "must stand in a role from the roles stage on (C2)");
    if (declares && isPlaced(op) != (stage >= Stage::Placed))
      return op->emitOpError(
          stage >= Stage::Placed
              ? "must have a place from the placed stage on (C3)"
              : "may not have a place before the placed stage (C3)");
    bool fits = true;
    forEachPlace(op, [&](PlaceAttr place, int64_t stages) {
      uint64_t limit =
          place.getSpace() == MemorySpace::Tensor ? columns : bytes;
      int64_t last = place.getOffset() + place.getDistance() * (stages - 1);
      fits &= last >= 0 && uint64_t(std::max(place.getOffset(), last) +
                                    place.getSize()) <= limit;
    });
    if (!fits)
      return op->emitOpError("lies outside what the kernel allocates (C3)");
    if (stage == Stage::Synchronized &&
        isa<GetOp, PutOp, AcquireOp, ReleaseOp, TakeOp, GiveOp>(op))
      return op->emitOpError("may not stand at the synchronized stage (C4)");
    if (stage != Stage::Synchronized &&
        isa<BarrierOp, CursorOp, AdvanceOp, SlotAtOp, WaitOp, ArriveOp,
            CommitOp, ExpectBytesOp, TeamBarrierOp>(op))
      return op->emitOpError("must wait for the synchronized stage (C4)");
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// LaunchOp
//===----------------------------------------------------------------------===//

LogicalResult LaunchOp::verify() {
  if (getResults().size() != getOutputs().size())
    return emitOpError("must have a result for each destination (C3)");
  for (auto [output, result] : llvm::zip(getOutputs(), getResults()))
    if (output.getType() != result.getType())
      return emitOpError("must return its destinations' types (C3)");
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &tables) {
  Operation *callee =
      tables.lookupNearestSymbolFrom((*this)->getParentOp(), getCalleeAttr());
  if (!callee)
    return emitOpError("refers to an unknown kernel ")
           << getCalleeAttr() << " (C1)";
  auto kernel = dyn_cast<KernelOp>(callee);
  if (!kernel)
    return isa<FunctionOpInterface>(callee) &&
                   isa<gpu::GPUModuleOp>(callee->getParentOp())
               ? success()
               : emitOpError(
                     "must launch a kernel or a function of a gpu.module (C1)");
  Block::BlockArgListType arguments = kernel.getBody().getArguments();
  if (arguments.size() != getInputs().size() + getOutputs().size())
    return emitOpError("must have ")
           << arguments.size() << " operands for its kernel (C2)";
  for (BlockArgument argument : arguments) {
    Type type = getKernelOperand(argument.getArgNumber()).getType();
    auto view = dyn_cast<ViewType>(argument.getType());
    auto tensor = dyn_cast<RankedTensorType>(type);
    bool fits = view && tensor
                    ? view.getElementType() == tensor.getElementType() &&
                          succeeded(verifyCompatibleShape(view.getShape(),
                                                          tensor.getShape()))
                    : !view && !tensor;
    if (!fits)
      return emitOpError("operand ")
             << argument.getArgNumber() << " of type " << type
             << " does not go with the kernel's " << argument.getType()
             << " (C2)";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// DimOp
//===----------------------------------------------------------------------===//

LogicalResult DimOp::verify() {
  if (getDimension() >= uint64_t(getView().getType().getRank()))
    return emitOpError("dimension ")
           << getDimension() << " is not one of the view's (C1)";
  return success();
}

OpFoldResult DimOp::fold(FoldAdaptor) {
  ViewType type = getView().getType();
  if (type.isDynamicDim(getDimension()))
    return {};
  return IntegerAttr::get(IndexType::get(getContext()),
                          type.getDimSize(getDimension()));
}

//===----------------------------------------------------------------------===//
// ForWorkOp, ForStepsOp, AtOp
//===----------------------------------------------------------------------===//

/// Parses `(%a, %b) in (%x, %y)`, the coordinates and bounds of work tiles.
static ParseResult
parseWork(OpAsmParser &parser, OperationState &result,
          SmallVectorImpl<OpAsmParser::Argument> &coordinates) {
  SmallVector<OpAsmParser::UnresolvedOperand> bounds;
  SMLoc loc = parser.getCurrentLocation();
  Type index = parser.getBuilder().getIndexType();
  if (parser.parseArgumentList(coordinates, OpAsmParser::Delimiter::Paren) ||
      parser.parseKeyword("in") ||
      parser.parseOperandList(bounds, OpAsmParser::Delimiter::Paren) ||
      parser.resolveOperands(bounds, index, result.operands))
    return failure();
  if (bounds.size() != coordinates.size())
    return parser.emitError(loc, "expected a bound for each coordinate");
  for (OpAsmParser::Argument &coordinate : coordinates)
    coordinate.type = index;
  return success();
}

static void printWork(OpAsmPrinter &printer, Region &region,
                      ValueRange bounds) {
  printer << " (";
  llvm::interleaveComma(region.getArguments(), printer);
  printer << ") in (" << bounds << ')';
}

ParseResult ForWorkOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> coordinates;
  Region *body = result.addRegion();
  if (parseWork(parser, result, coordinates) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*body, coordinates))
    return failure();
  ensureTerminator(*body, parser.getBuilder(), result.location);
  return success();
}

void ForWorkOp::print(OpAsmPrinter &printer) {
  printWork(printer, getBody(), getBounds());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/false);
}

/// One index argument for each bound.
static LogicalResult verifyCoordinates(Operation *op, Region &region,
                                       ValueRange bounds) {
  if (region.getNumArguments() != bounds.size() ||
      !llvm::all_of(region.getArgumentTypes(), llvm::IsaPred<IndexType>))
    return op->emitOpError("must have an index argument for each bound");
  return success();
}

LogicalResult ForWorkOp::verifyRegions() {
  return verifyCoordinates(*this, getBody(), getBounds());
}

ParseResult ForStepsOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> coordinates;
  Region *range = result.addRegion();
  Region *body = result.addRegion();
  if (parseWork(parser, result, coordinates) || parser.parseKeyword("range") ||
      parser.parseRegion(*range, coordinates) || parser.parseKeyword("do") ||
      parser.parseRegion(*body, {}) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  ensureTerminator(*body, parser.getBuilder(), result.location);
  return success();
}

void ForStepsOp::print(OpAsmPrinter &printer) {
  printWork(printer, getRange(), getBounds());
  printer << " range ";
  printer.printRegion(getRange(), /*printEntryBlockArgs=*/false);
  printer << " do ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/false);
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
}

LogicalResult ForStepsOp::verifyRegions() {
  if (failed(verifyCoordinates(*this, getRange(), getBounds())))
    return failure();
  Block &range = getRange().front();
  auto yield = dyn_cast<YieldOp>(range.back());
  if (!yield || yield.getNumOperands() != 2)
    return emitOpError("range must yield two indices (C1)");
  for (Operation &op : range)
    if (!isMemoryEffectFree(&op))
      return op.emitOpError("may have no side effects in a range (C1)");
  for (Operation &op : getBody().front())
    if (!isa<AtOp, YieldOp>(op))
      return op.emitOpError("must stand in an lpfa.at (C2)");
  bool isPrologueOver = false;
  for (AtOp at : getBody().getOps<AtOp>()) {
    isPrologueOver |= !at.getPrologue();
    if (at.getPrologue() &&
        (isPrologueOver || int64_t(at.getShift()) != getLeaderShift() ||
         getPrologueTurns() == 0))
      return at.emitOpError("of a prologue must come first, with the largest "
                            "of several shifts (C3)");
  }
  return success();
}

int64_t ForStepsOp::getLeaderShift() {
  int64_t leader = 0;
  for (AtOp at : getBody().getOps<AtOp>())
    leader = std::max<int64_t>(leader, at.getShift());
  return leader;
}

int64_t ForStepsOp::getPrologueTurns() {
  int64_t leader = getLeaderShift();
  int64_t turns = leader + 1;
  for (AtOp at : getBody().getOps<AtOp>())
    if (int64_t(at.getShift()) != leader)
      turns = std::min<int64_t>(turns, leader - at.getShift());
  return turns > leader ? 0 : turns;
}

bool ForStepsOp::hasPrologue() {
  return llvm::any_of(getBody().getOps<AtOp>(),
                      [](AtOp at) { return at.getPrologue(); });
}

ParseResult AtOp::parse(OpAsmParser &parser, OperationState &result) {
  int64_t shift;
  SmallVector<OpAsmParser::Argument> arguments;
  Region *body = result.addRegion();
  if (parser.parseKeyword("shift") || parser.parseLParen() ||
      parser.parseInteger(shift) || parser.parseRParen())
    return failure();
  Builder &builder = parser.getBuilder();
  if (succeeded(parser.parseOptionalKeyword("prologue")))
    result.getOrAddProperties<Properties>().prologue = builder.getUnitAttr();
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren))
    return failure();
  if (arguments.size() != 3)
    return parser.emitError(parser.getNameLoc(),
                            "expected three arguments: the key tile, whether "
                            "it is the first, whether it is the last");
  arguments[0].type = builder.getIndexType();
  arguments[1].type = arguments[2].type = builder.getI1Type();
  result.getOrAddProperties<Properties>().shift =
      builder.getI64IntegerAttr(shift);
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*body, arguments))
    return failure();
  ensureTerminator(*body, builder, result.location);
  return success();
}

void AtOp::print(OpAsmPrinter &printer) {
  printer << " shift(" << getShift() << ") ";
  if (getPrologue())
    printer << "prologue ";
  printer << '(';
  llvm::interleaveComma(getBody().getArguments(), printer);
  printer << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {"shift", "prologue"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/false);
}

LogicalResult AtOp::verifyRegions() {
  if (getShift() > 3)
    return emitOpError("shift must be 0 to 3 (C1)");
  TypeRange types = getBody().getArgumentTypes();
  if (types.size() != 3 || !types[0].isIndex() || !types[1].isInteger(1) ||
      !types[2].isInteger(1))
    return emitOpError("must have arguments of type index, i1, i1");
  return success();
}

//===----------------------------------------------------------------------===//
// KeyRangeOp
//===----------------------------------------------------------------------===//

LogicalResult KeyRangeOp::verify() {
  if (int64_t(getCount()) <= 0 || int64_t(getTile()) <= 0)
    return emitOpError("count and tile must be positive (C1)");
  return success();
}

//===----------------------------------------------------------------------===//
// StepRangeOp
//===----------------------------------------------------------------------===//

LogicalResult StepRangeOp::verify() {
  if (int64_t(getTile()) <= 0)
    return emitOpError("tile must be positive (C1)");
  return success();
}

//===----------------------------------------------------------------------===//
// YieldOp
//===----------------------------------------------------------------------===//

void YieldOp::build(OpBuilder &, OperationState &) {}
