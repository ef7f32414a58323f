//===- Matmul.cpp - The roles of a matrix product -------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sums of a work tile are a slot of a ring of two in tensor memory: while
// the epilogue role reads those of one work tile, the products of the next go
// to the other slot. What quantizes them is done by the epilogue role too, each
// thread with a row in registers; codes go the way of the result.
//
//===----------------------------------------------------------------------===//

#include "RoleBuilder.h"
#include "lpfa/Target/TargetModel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace lpfa;

namespace {
/// An epilogue thread holds part of a row of sums, the others indices.
constexpr int64_t epilogueRegisters = 192, otherRegisters = 64;

/// More than the barriers of a kernel take of shared memory.
constexpr int64_t kBarrierBytes = 1024;

/// Slots of the ring of sums.
constexpr int64_t sumStages = 2;

/// A tile program of a matrix product.
struct Program : SteppedProgram<StepRangeOp> {
  LoadOp a, aScales, b, bScales;
  DotOp dot;
  RoundOp round;
  /// Of the result itself, where it is wanted.
  StoreOp store;
  /// Where it is quantized: what zeros the sums outside, what follows, and the
  /// stores of codes among that.
  CropOp crop;
  SmallVector<Operation *> quantization;
  SmallVector<StoreOp> codes;
};

class MatmulRoles : RoleBuilder {
public:
  MatmulRoles(KernelOp kernel, const Program &program,
              const AssignRolesOptions &options)
      : RoleBuilder(kernel, program.work), program(program), options(options) {}

  void run();

private:
  void declare();
  int64_t getOperandStages();
  void buildEpilogue();
  void buildQuantization(Value sums, IRMapping &mapping);
  void buildMma();
  void buildLoad();
  void buildStore();

  /// Columns of the result in one slot of its channel: rows of 128 bytes.
  int64_t getOutputColumns() {
    TileType type = program.round.getResult().getType();
    int64_t columns = 128 * 8 / type.getElementType().getIntOrFloatBitWidth();
    return std::min(columns, type.getShape()[1]);
  }

  Program program;
  AssignRolesOptions options;
  ChannelOp operands, sums, output;
  SmallVector<ChannelOp> codes;
  ScratchOp aScales, bScales;
};
} // namespace

//===----------------------------------------------------------------------===//
// Recognizing the program
//===----------------------------------------------------------------------===//

static FailureOr<Program> matchProgram(KernelOp kernel) {
  Program program;
  if (failed(findLoops(kernel, program)))
    return failure();
  auto dots = program.loop.getOps<DotOp>();
  if (!llvm::hasSingleElement(dots) || program.loop.getNumResults() != 1)
    return program.loop.emitOpError(
        "must hold one product, which it carries, to be given roles");
  program.dot = *dots.begin();
  auto getLoad = [](Value value) { return value.getDefiningOp<LoadOp>(); };
  program.a = getLoad(program.dot.getA());
  program.aScales = getLoad(program.dot.getScalesA());
  program.b = getLoad(program.dot.getB());
  program.bScales = getLoad(program.dot.getScalesB());
  auto initial = program.loop.getInitArgs()[0].getDefiningOp<SplatOp>();
  if (!program.a || !program.aScales || !program.b || !program.bScales ||
      !initial || !initial.getValue().isZero() ||
      program.dot.getAccumulator() != program.loop.getRegionIterArg(0) ||
      program.loop.getYieldedValues()[0] != program.dot.getResult())
    return program.dot.emitOpError(
        "must add products of tiles that its step loads, from 0 on");
  program.crop = getOnlyUser<CropOp>(program.loop.getResult(0));
  program.round = getOnlyUser<RoundOp>(
      program.crop ? program.crop.getResult() : program.loop.getResult(0));
  auto fail = [&]() {
    return program.loop.emitOpError(
        "must have its result rounded and stored, or cropped, rounded and "
        "quantized, and not used otherwise");
  };
  if (!program.round)
    return fail();
  for (Operation *user : program.round.getResult().getUsers()) {
    auto store = dyn_cast<StoreOp>(user);
    if (store && !program.store)
      program.store = store;
    else if (!isa<QuantizeTileOp>(user) || !program.crop)
      return fail();
  }
  for (Operation &op : *program.round->getBlock()) {
    auto store = dyn_cast<StoreOp>(op);
    if (store && store != program.store) {
      auto quantize = store.getTile().getDefiningOp<QuantizeTileOp>();
      if (quantize && store.getTile() == quantize.getElements())
        program.codes.push_back(store);
    }
    if (isa<QuantizeTileOp, PackAtomOp>(op) ||
        (store && store != program.store))
      program.quantization.push_back(&op);
  }
  if (!program.store && program.quantization.empty())
    return fail();
  return program;
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

void MatmulRoles::declare() {
  auto getShared = [](LoadOp load) {
    return getBuffer(load.getTile().getType(), MemorySpace::Shared);
  };
  operands = createChannel("operands", getOperandStages(),
                           {getShared(program.a), getShared(program.aScales),
                            getShared(program.b), getShared(program.bScales)});
  sums = createChannel(
      "sums", sumStages,
      getBuffer(program.dot.getResult().getType(), MemorySpace::Tensor));
  aScales = createScales("scales.A");
  bScales = createScales("scales.B");
  TileType whole = program.round.getResult().getType();
  if (program.store)
    output = createChannel(
        "output", options.outputStages,
        BufferType::get(kernel.getContext(),
                        {whole.getShape()[0], getOutputColumns()},
                        whole.getElementType(), MemorySpace::Shared));
  for (auto [i, store] : llvm::enumerate(program.codes))
    codes.push_back(createChannel(
        "codes" + Twine(i), options.outputStages,
        getBuffer(store.getTile().getType(), MemorySpace::Shared)));
}

/// As many as asked for, or as there is room for.
int64_t MatmulRoles::getOperandStages() {
  auto getBytes = [](ShapedType type) {
    return llvm::divideCeil(
        type.getNumElements() * type.getElementTypeBitWidth(), 8);
  };
  int64_t stage = 0, outputs = 0;
  for (LoadOp load : {program.a, program.aScales, program.b, program.bScales})
    stage += getBytes(load.getTile().getType());
  TileType whole = program.round.getResult().getType();
  if (program.store)
    outputs += getBytes(whole) / whole.getShape()[1] * getOutputColumns();
  for (StoreOp store : program.codes)
    outputs += getBytes(store.getTile().getType());
  // Behind the tiles stand barriers.
  int64_t room = TargetModel::sharedMemoryBytes - kBarrierBytes -
                 options.outputStages * outputs;
  return std::min<int64_t>(std::max<int64_t>(room / stage, 1),
                           options.matmulStages);
}

void MatmulRoles::buildEpilogue() {
  beginRole("epilogue", 4, epilogueRegisters, /*elected=*/false);
  IRMapping mapping;
  beginWork(mapping);
  // Without steps no sums come, and all are 0.
  Value some = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                     mapping.lookup(program.range.getFirst()),
                                     mapping.lookup(program.range.getLast()));
  ArrayRef<int64_t> shape = program.dot.getResult().getType().getShape();
  auto read = [&](int64_t column, int64_t columns) {
    return readColumns(
        some, [&] { return open<GetOp>(sums).getBuffers()[0]; }, shape[0],
        column, columns);
  };
  auto release = [&] {
    when(some, [&] { ReleaseOp::create(builder, loc, sums.getChannel()); });
  };
  // The result itself goes piece by piece; what is outside of it is dropped.
  int64_t columns = program.store ? getOutputColumns() : shape[1];
  for (int64_t column = 0; program.store && column < shape[1];
       column += columns) {
    Value part = read(column, columns);
    if (column + columns >= shape[1] && !program.crop)
      release();
    auto slot = open<AcquireOp>(output);
    auto type = cast<BufferType>(slot.getBuffers()[0].getType());
    Value rounded = RoundOp::create(builder, loc, type.getTile(), part);
    WriteOp::create(builder, loc, rounded, slot.getBuffers()[0]);
    PutOp::create(builder, loc, output.getChannel());
  }
  if (!program.crop)
    return;
  Value all = read(0, shape[1]);
  release();
  buildQuantization(all, mapping);
}

void MatmulRoles::buildQuantization(Value sums, IRMapping &mapping) {
  mapping.map(program.loop.getResult(0), sums);
  builder.clone(*program.crop, mapping);
  builder.clone(*program.round, mapping);
  size_t next = 0;
  for (Operation *op : program.quantization) {
    auto store = dyn_cast<StoreOp>(op);
    if (!store || !llvm::is_contained(program.codes, store)) {
      builder.clone(*op, mapping);
      continue;
    }
    ChannelOp channel = codes[next++];
    Value slot = open<AcquireOp>(channel).getBuffers()[0];
    WriteOp::create(builder, loc, mapping.lookup(store.getTile()), slot);
    PutOp::create(builder, loc, channel.getChannel());
  }
}

void MatmulRoles::buildMma() {
  beginRole("mma", 1, otherRegisters, /*elected=*/true);
  beginSteps(program.range.getFirst(), program.range.getLast());
  at(0, [&](Value n, Value isFirst, Value isLast) {
    IRMapping mapping;
    mapping.map(program.loop.getInductionVar(), n);
    cloneScalars(*program.loop.getBody(), mapping);
    Value always = arith::ConstantIntOp::create(builder, loc, 1, 1);
    Value again = arith::XOrIOp::create(builder, loc, isFirst, always);
    ValueRange slot = open<GetOp>(operands).getBuffers();
    Value sum = open<AcquireOp>(sums).getBuffers()[0];
    CopyScalesOp::create(builder, loc, slot[1], aScales.getBuffer());
    CopyScalesOp::create(builder, loc, slot[3], bScales.getBuffer());
    MmaOp::create(builder, loc, slot[0], slot[2], aScales.getBuffer(),
                  bScales.getBuffer(), sum, again,
                  lookup(mapping, program.dot.getValid()),
                  lookup(mapping, program.dot.getFrom()),
                  program.dot.getTransposeB(), /*part=*/IntegerAttr());
    ReleaseOp::create(builder, loc, operands.getChannel());
    when(isLast, [&] { PutOp::create(builder, loc, sums.getChannel()); });
  });
}

void MatmulRoles::buildLoad() {
  beginRole("load", 1, otherRegisters, /*elected=*/true);
  IRMapping mapping;
  beginWork(mapping);
  scf::ForOp loop = program.loop;
  auto copy =
      scf::ForOp::create(builder, loc, mapping.lookup(loop.getLowerBound()),
                         mapping.lookup(loop.getUpperBound()),
                         mapping.lookupOrDefault(loop.getStep()));
  mapping.map(loop.getInductionVar(), copy.getInductionVar());
  builder.setInsertionPointToStart(copy.getBody());
  cloneScalars(*loop.getBody(), mapping);
  loadSlot(operands, {program.a, program.aScales, program.b, program.bScales},
           mapping);
}

void MatmulRoles::buildStore() {
  beginRole("store", 1, otherRegisters, /*elected=*/true);
  IRMapping mapping;
  beginWork(mapping);
  if (program.store)
    storeSlots(output, program.store, getOutputColumns(), mapping);
  for (auto [channel, store] : llvm::zip_equal(codes, program.codes))
    storeSlots(channel, store, store.getTile().getType().getShape()[1],
               mapping);
}

void MatmulRoles::run() {
  declare();
  buildEpilogue();
  buildMma();
  buildLoad();
  buildStore();
  finish();
}

LogicalResult lpfa::assignMatmulRoles(KernelOp kernel,
                                      const AssignRolesOptions &options) {
  FailureOr<Program> program = matchProgram(kernel);
  if (failed(program))
    return failure();
  MatmulRoles(kernel, *program, options).run();
  return success();
}
