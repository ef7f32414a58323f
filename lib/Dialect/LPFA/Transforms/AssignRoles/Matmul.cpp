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
// to the other slot.
//
//===----------------------------------------------------------------------===//

#include "RoleBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace lpfa;

namespace {
/// An epilogue thread holds part of a row of sums, the others indices.
constexpr int64_t epilogueRegisters = 192, otherRegisters = 64;

/// Slots of the ring of sums.
constexpr int64_t sumStages = 2;

/// A tile program of a matrix product.
struct Program {
  ForWorkOp work;
  StepRangeOp range;
  scf::ForOp loop;
  LoadOp a, aScales, b, bScales;
  DotOp dot;
  RoundOp round;
  StoreOp store;
};

class MatmulRoles : RoleBuilder {
public:
  MatmulRoles(KernelOp kernel, const Program &program,
              const AssignRolesOptions &options)
      : RoleBuilder(kernel, program.work), program(program), options(options) {}

  void run();

private:
  void declare();
  void buildEpilogue();
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
  ScratchOp aScales, bScales;
};
} // namespace

//===----------------------------------------------------------------------===//
// Recognizing the program
//===----------------------------------------------------------------------===//

static FailureOr<Program> matchProgram(KernelOp kernel) {
  Program program;
  auto works = kernel.getBody().getOps<ForWorkOp>();
  if (!llvm::hasSingleElement(works))
    return kernel.emitOpError("must have one lpfa.for_work to be given roles");
  program.work = *works.begin();
  auto loops = program.work.getBody().getOps<scf::ForOp>();
  auto ranges = program.work.getBody().getOps<StepRangeOp>();
  if (!llvm::hasSingleElement(loops) || !llvm::hasSingleElement(ranges))
    return program.work.emitOpError(
        "must hold one lpfa.step_range and one loop over it to be given roles");
  program.loop = *loops.begin();
  program.range = *ranges.begin();
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
  program.round = getOnlyUser<RoundOp>(program.loop.getResult(0));
  if (program.round)
    program.store = getOnlyUser<StoreOp>(program.round.getResult());
  if (!program.store)
    return program.loop.emitOpError(
        "must have its result rounded and stored, and not used otherwise");
  return program;
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

void MatmulRoles::declare() {
  auto getShared = [](LoadOp load) {
    return getBuffer(load.getTile().getType(), MemorySpace::Shared);
  };
  operands = createChannel("operands", options.matmulStages,
                           {getShared(program.a), getShared(program.aScales),
                            getShared(program.b), getShared(program.bScales)});
  sums = createChannel(
      "sums", sumStages,
      getBuffer(program.dot.getResult().getType(), MemorySpace::Tensor));
  aScales = createScales("scales.A");
  bScales = createScales("scales.B");
  TileType whole = program.round.getResult().getType();
  output = createChannel(
      "output", options.outputStages,
      BufferType::get(kernel.getContext(),
                      {whole.getShape()[0], getOutputColumns()},
                      whole.getElementType(), MemorySpace::Shared));
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
  for (int64_t column = 0; column < shape[1]; column += getOutputColumns()) {
    Value part = readColumns(
        some, [&] { return open<GetOp>(sums).getBuffers()[0]; }, shape[0],
        column, getOutputColumns());
    if (column + getOutputColumns() >= shape[1])
      when(some, [&] { ReleaseOp::create(builder, loc, sums.getChannel()); });
    auto slot = open<AcquireOp>(output);
    auto type = cast<BufferType>(slot.getBuffers()[0].getType());
    Value rounded = RoundOp::create(builder, loc, type.getTile(), part);
    WriteOp::create(builder, loc, rounded, slot.getBuffers()[0]);
    PutOp::create(builder, loc, output.getChannel());
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
                  program.dot.getTransposeB());
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
  storeSlots(output, program.store, getOutputColumns(), mapping);
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
