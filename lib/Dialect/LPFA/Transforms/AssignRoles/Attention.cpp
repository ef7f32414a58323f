//===- Attention.cpp - The roles of attention -----------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionProgram.h"
#include "lpfa/Target/TargetModel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace lpfa;

namespace {
/// Register budgets, for two query tiles 65,536 in all: a softmax thread holds
/// a row of scores, the others little more than indices.
constexpr int64_t softmaxRegisters = 176, correctionRegisters = 80,
                  otherRegisters = 80;

/// What stands between the roles, for one query tile; several of a kind, one
/// for each panel.
struct ChainBuffers {
  ChannelOp q, scores, factor, denominator;
  /// One for each part; the first hands over the scales of all.
  SmallVector<ChannelOp> probabilities;
  /// Of all panels, side by side.
  AccumulatorOp output;
  ScratchOp pScales;
  SmallVector<ScratchOp, 2> qScales, kScales, vScales;
  /// The queries in tensor memory, where the option wants them there.
  SmallVector<ScratchOp, 2> qTiles;
};

class AttentionRoles : RoleBuilder {
public:
  AttentionRoles(KernelOp kernel, AttentionProgram program,
                 const AssignRolesOptions &options)
      : RoleBuilder(kernel, program.work), program(std::move(program)),
        options(options) {}

  void run();

private:
  void declare();
  void buildSoftmax(unsigned i);
  void buildCorrection();
  void buildMma();
  Value hasSteps(IRMapping &mapping);
  Value getDenominator(ChannelOp channel, Value isThere);
  void bringQueries(ChainBuffers &between);
  void buildLoad();
  void buildEpilogue();

  /// The number of a part of the probabilities, where there are several.
  IntegerAttr getPart(unsigned part) {
    return options.probabilityParts > 1 ? builder.getI64IntegerAttr(part)
                                        : IntegerAttr();
  }

  /// Columns of the output in one slot of its channel.
  int64_t getOutputColumns();

  AttentionProgram program;
  AssignRolesOptions options;
  ChannelOp k, v, output;
  SmallVector<ChainBuffers> buffers;
};
} // namespace

//===----------------------------------------------------------------------===//
// Between the roles
//===----------------------------------------------------------------------===//

int64_t AttentionRoles::getOutputColumns() {
  // Rows of 64 bytes: as much as the correction role divides in its registers
  // at a time.
  TileType type =
      program.chains.front().outputs.front().normalize.getResult().getType();
  int64_t columns = 64 * 8 / type.getElementType().getIntOrFloatBitWidth();
  return std::min(columns, type.getShape()[1]);
}

void AttentionRoles::declare() {
  auto getShared = [&](Value tile) {
    return getBuffer(tile.getType(), MemorySpace::Shared);
  };
  auto getSlot = [&](ArrayRef<LoadOp> operand) {
    return llvm::map_to_vector(
        operand, [&](LoadOp load) { return getShared(load.getTile()); });
  };
  // What belongs to a panel after the first is numbered.
  auto getName = [](StringRef name, size_t tile, size_t panel) {
    std::string text = (name + Twine(tile)).str();
    return panel ? (text + "." + Twine(panel)).str() : text;
  };
  auto getTensor = [&](Value tile) {
    return getBuffer(tile.getType(), MemorySpace::Tensor);
  };
  for (auto [i, chain] : llvm::enumerate(program.chains)) {
    ChainBuffers made;
    made.q = createChannel("Q" + Twine(i), 1, getSlot(chain.q));
    made.scores = createChannel("S" + Twine(i), options.scoreBuffers,
                                getTensor(chain.scores.back().getResult()));
    TileType row = chain.softmax.getProbabilities().getType();
    BufferType part = BufferType::get(
        kernel.getContext(),
        {row.getShape()[0], row.getShape()[1] / options.probabilityParts},
        row.getElementType(), MemorySpace::Tensor);
    for (int64_t j = 0; j < options.probabilityParts; ++j) {
      SmallVector<BufferType> carried = {part};
      if (j == 0)
        carried.push_back(getShared(chain.softmax.getScales()));
      std::string name = "P" + std::to_string(i);
      if (options.probabilityParts > 1)
        name += "." + std::to_string(j);
      made.probabilities.push_back(
          createChannel(name, options.probabilityBuffers, carried));
    }
    made.factor = createChannel("factor" + Twine(i), 1,
                                getShared(chain.softmax.getFactor()));
    made.denominator = createChannel("denominator" + Twine(i), 1,
                                     getShared(chain.finish.getDenominator()));
    int64_t outputColumns = 0;
    for (Output &output : chain.outputs)
      outputColumns += output.product.getType().getShape()[1];
    made.output = AccumulatorOp::create(
        builder, loc,
        BufferType::get(builder.getContext(),
                        {TargetModel::mmaRows, outputColumns},
                        builder.getF32Type(), MemorySpace::Tensor),
        builder.getStringAttr("O" + Twine(i)),
        builder.getStringAttr("correction"), PlaceAttr());
    // Scales take turns in `places` from step to step.
    auto getScales = [&, i = i](StringRef operand, size_t panels,
                                int64_t places) {
      SmallVector<ScratchOp, 2> scales;
      for (size_t p = 0; p < panels; ++p)
        scales.push_back(
            createScales("scales." + getName(operand, i, p), places));
      return scales;
    };
    // Queries in tensor memory need their scales as long as themselves.
    const bool inTmem = options.queriesInTmem;
    const int64_t places = options.probabilityBuffers;
    made.qScales = getScales("Q", chain.scores.size(), inTmem ? 1 : places);
    made.kScales = getScales("K", chain.scores.size(), places);
    made.pScales = createScales("scales.P" + Twine(i), places);
    made.vScales = getScales("V", chain.outputs.size(), places);
    if (inTmem)
      for (auto [p, product] : llvm::enumerate(chain.scores))
        made.qTiles.push_back(
            ScratchOp::create(builder, loc, getTensor(product.getA()),
                              builder.getStringAttr(getName("tensor.Q", i, p)),
                              PlaceAttr(), builder.getI64IntegerAttr(1)));
    buffers.push_back(made);
  }
  k = createChannel("K", options.stages, getSlot(program.k));
  v = createChannel("V", options.stages, getSlot(program.v));
  TileType whole =
      program.chains.front().outputs.front().normalize.getResult().getType();
  output = createChannel(
      "output", options.outputStages,
      BufferType::get(kernel.getContext(),
                      {whole.getShape()[0], getOutputColumns()},
                      whole.getElementType(), MemorySpace::Shared));
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

void AttentionRoles::buildSoftmax(unsigned i) {
  Chain &chain = program.chains[i];
  ChainBuffers &between = buffers[i];
  beginRole("softmax" + Twine(i), 4, softmaxRegisters, /*elected=*/false);
  IRMapping mapping;
  beginWork(mapping);

  // The state that passes through the loop: maximum, sum, largest.
  scf::ForOp loop = program.loop;
  SmallVector<unsigned> indices;
  SmallVector<Value> initial;
  for (Value state : {chain.softmax.getMaximum(), chain.softmax.getSum(),
                      chain.softmax.getLargest()}) {
    unsigned index =
        cast<BlockArgument>(state).getArgNumber() - loop.getNumInductionVars();
    indices.push_back(index);
    initial.push_back(builder.clone(*loop.getInitArgs()[index].getDefiningOp())
                          ->getResult(0));
  }
  auto copy = scf::ForOp::create(
      builder, loc, mapping.lookupOrDefault(loop.getLowerBound()),
      mapping.lookupOrDefault(loop.getUpperBound()),
      mapping.lookupOrDefault(loop.getStep()), initial);
  mapping.map(loop.getInductionVar(), copy.getInductionVar());
  for (auto [argument, index] : llvm::zip(copy.getRegionIterArgs(), indices))
    mapping.map(loop.getRegionIterArg(index), argument);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(copy.getBody());
    cloneScalars(*loop.getBody(), mapping);
    auto slot = open<GetOp>(between.scores);
    Value scores = ReadOp::create(
        builder, loc, chain.mask.getScores().getType(), slot.getBuffers()[0]);
    ReleaseOp::create(builder, loc, between.scores.getChannel());
    mapping.map(chain.mask.getScores(), scores);
    builder.clone(*chain.mask, mapping);
    SoftmaxStepOp step = chain.softmax;
    PScaleAttr pScale = step.getPScale();
    if (options.lag >= 0 && pScale.getMode() != PScaleMode::Constant)
      pScale = PScaleAttr::get(pScale.getContext(), pScale.getMode(),
                               pScale.getRounding(), pScale.getElement(),
                               options.lag);
    Type row = step.getFactor().getType();
    Value visible = mapping.lookup(step.getScores());
    auto maximum = SoftmaxMaximumOp::create(
        builder, loc, TypeRange{row, row, row}, visible,
        mapping.lookup(step.getMaximum()), mapping.lookup(step.getLargest()),
        step.getScaleAttr(), pScale);
    auto handFactorOver = [&] {
      auto factor = open<AcquireOp>(between.factor);
      WriteOp::create(builder, loc, maximum.getFactor(),
                      factor.getBuffers()[0]);
      PutOp::create(builder, loc, between.factor.getChannel());
    };
    if (options.factorFirst)
      handFactorOver();
    Value sum = mapping.lookup(step.getSum());
    for (auto [j, channel] : llvm::enumerate(between.probabilities)) {
      BufferType part = channel.getChannel().getType().getBuffers()[0];
      auto softmax = SoftmaxProbabilitiesOp::create(
          builder, loc,
          TypeRange{part.getTile(), step.getScales().getType(), row}, visible,
          maximum.getNewMaximum(), sum, maximum.getFactor(),
          step.getScaleAttr(), pScale,
          /*polynomialColumns=*/IntegerAttr(),
          /*polynomialDegree=*/IntegerAttr(), getPart(j));
      if (options.polynomialColumns > 0) {
        softmax.setPolynomialColumns(options.polynomialColumns);
        softmax.setPolynomialDegree(options.polynomialDegree);
      }
      sum = softmax.getNewSum();
      if (j == 0 && !options.factorFirst)
        handFactorOver();
      auto probabilities = open<AcquireOp>(channel);
      WriteOp::create(builder, loc, softmax.getProbabilities(),
                      probabilities.getBuffers()[0]);
      if (j == 0)
        WriteOp::create(builder, loc, softmax.getScales(),
                        probabilities.getBuffers()[1]);
      PutOp::create(builder, loc, channel.getChannel());
    }
    scf::YieldOp::create(
        builder, loc,
        ValueRange{maximum.getNewMaximum(), sum, maximum.getNewLargest()});
  }
  for (auto [result, index] : llvm::zip(copy.getResults(), indices))
    mapping.map(loop.getResult(index), result);
  auto finish = cast<SoftmaxFinishOp>(builder.clone(*chain.finish, mapping));
  // A work tile without steps hands nothing over: it need not wait for those
  // before.
  when(hasSteps(mapping), [&] {
    auto denominator = open<AcquireOp>(between.denominator);
    WriteOp::create(builder, loc, finish.getDenominator(),
                    denominator.getBuffers()[0]);
    PutOp::create(builder, loc, between.denominator.getChannel());
  });
  builder.clone(*chain.lseStore, mapping);
}

/// Whether the work tile has any steps.
Value AttentionRoles::hasSteps(IRMapping &mapping) {
  scf::ForOp loop = program.loop;
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                               mapping.lookupOrDefault(loop.getLowerBound()),
                               mapping.lookupOrDefault(loop.getUpperBound()));
}

/// What a softmax role hands over at the end of a work tile, 0 where that has
/// no steps.
Value AttentionRoles::getDenominator(ChannelOp channel, Value isThere) {
  TileType type = channel.getChannel().getType().getBuffers()[0].getTile();
  auto branch = scf::IfOp::create(builder, loc, TypeRange(type), isThere,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  auto slot = open<GetOp>(channel);
  Value denominator = ReadOp::create(builder, loc, type, slot.getBuffers()[0]);
  ReleaseOp::create(builder, loc, channel.getChannel());
  scf::YieldOp::create(builder, loc, denominator);
  builder.setInsertionPointToStart(branch.elseBlock());
  Value none = SplatOp::create(builder, loc, type, builder.getF32FloatAttr(0));
  scf::YieldOp::create(builder, loc, none);
  return branch.getResult(0);
}

void AttentionRoles::buildCorrection() {
  beginRole("correction", 4, correctionRegisters, /*elected=*/false);
  IRMapping mapping;
  beginWork(mapping);
  scf::ForOp loop = program.loop;
  Value first = mapping.lookupOrDefault(loop.getLowerBound());
  Value last = mapping.lookupOrDefault(loop.getUpperBound());
  auto copy = scf::ForOp::create(builder, loc, first, last,
                                 mapping.lookupOrDefault(loop.getStep()));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(copy.getBody());
    Value again = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                        copy.getInductionVar(), first);
    for (ChainBuffers &between : buffers) {
      auto slot = open<GetOp>(between.factor);
      auto type = cast<BufferType>(slot.getBuffers()[0].getType());
      Value factor =
          ReadOp::create(builder, loc, type.getTile(), slot.getBuffers()[0]);
      ReleaseOp::create(builder, loc, between.factor.getChannel());
      when(again, [&] {
        TakeOp::create(builder, loc, between.output.getBuffer());
        RescaleBufferOp::create(builder, loc, between.output.getBuffer(),
                                factor);
      });
      GiveOp::create(builder, loc, between.output.getBuffer());
    }
  }
  // Without steps nothing was accumulated and every row gives 0.
  Value some = hasSteps(mapping);
  when(some, [&] {
    for (ChainBuffers &between : buffers)
      TakeOp::create(builder, loc, between.output.getBuffer());
  });
  for (ChainBuffers &between : buffers) {
    Value denominator = getDenominator(between.denominator, some);
    ArrayRef<int64_t> shape = between.output.getBuffer().getType().getShape();
    for (int64_t column = 0; column < shape[1]; column += getOutputColumns()) {
      Value part = readColumns(
          some, [&] { return between.output.getBuffer(); }, shape[0], column,
          getOutputColumns());
      auto out = open<AcquireOp>(output);
      Value normalized = NormalizeOp::create(
          builder, loc,
          cast<BufferType>(out.getBuffers()[0].getType()).getTile(), part,
          denominator);
      WriteOp::create(builder, loc, normalized, out.getBuffers()[0]);
      PutOp::create(builder, loc, output.getChannel());
    }
  }
}

/// Copies the queries and their scales to tensor memory.
void AttentionRoles::bringQueries(ChainBuffers &between) {
  auto slot = open<GetOp>(between.q);
  for (size_t p = 0; p < between.qTiles.size(); ++p) {
    CopyTileOp::create(builder, loc, slot.getBuffers()[2 * p],
                       between.qTiles[p].getBuffer());
    CopyScalesOp::create(builder, loc, slot.getBuffers()[2 * p + 1],
                         between.qScales[p].getBuffer());
  }
  ReleaseOp::create(builder, loc, between.q.getChannel());
}

void AttentionRoles::buildMma() {
  beginRole("mma", 1, otherRegisters, /*elected=*/true);
  beginSteps(program.range.getFirst(), program.range.getLast());
  auto get = [&](ChannelOp channel) {
    return open<GetOp>(channel).getBuffers();
  };
  const int64_t ahead = options.scoresAhead;
  // A part of the probabilities at a time, so that their order can be another.
  auto multiplyValues = [&](unsigned i, unsigned part) {
    Chain &chain = program.chains[i];
    ChainBuffers &between = buffers[i];
    at(0, [&](Value n, Value isFirst, Value) {
      IRMapping local;
      local.map(program.loop.getInductionVar(), n);
      cloneScalars(*program.loop.getBody(), local);
      Value accumulate = arith::ConstantIntOp::create(builder, loc, 1, 1);
      if (part == 0)
        accumulate = arith::XOrIOp::create(builder, loc, isFirst, accumulate);
      ValueRange p = get(between.probabilities[part]), values = get(v);
      if (part == 0) {
        TakeOp::create(builder, loc, between.output.getBuffer());
        CopyScalesOp::create(builder, loc, p[1], between.pScales.getBuffer());
        for (size_t o = 0; o < chain.outputs.size(); ++o)
          CopyScalesOp::create(builder, loc, values[2 * o + 1],
                               between.vScales[o].getBuffer());
      }
      int64_t column = 0;
      for (auto [o, output] : llvm::enumerate(chain.outputs)) {
        DotOp product = output.product;
        Value sum = between.output.getBuffer();
        if (chain.outputs.size() > 1)
          sum = SliceOp::create(
              builder, loc, getBuffer(product.getType(), MemorySpace::Tensor),
              sum, builder.getI64IntegerAttr(column));
        column += product.getType().getShape()[1];
        MmaOp::create(
            builder, loc, p[0], values[2 * o], between.pScales.getBuffer(),
            between.vScales[o].getBuffer(), sum, accumulate,
            lookup(local, product.getValid()), lookup(local, product.getFrom()),
            /*transpose_b=*/false, getPart(part));
      }
      if (part + 1 < between.probabilities.size())
        return;
      GiveOp::create(builder, loc, between.output.getBuffer());
      // All at once: one wait then stands for the other parts too.
      for (ChannelOp channel : between.probabilities)
        ReleaseOp::create(builder, loc, channel.getChannel());
    });
  };
  auto multiplyKeys = [&](unsigned i) {
    Chain &chain = program.chains[i];
    ChainBuffers &between = buffers[i];
    at(ahead, [&](Value n, Value isFirst, Value) {
      IRMapping local;
      local.map(program.loop.getInductionVar(), n);
      cloneScalars(*program.loop.getBody(), local);
      ValueRange keys = get(k);
      // Tensor memory keeps queries for all steps of a work tile.
      bool inTmem = options.queriesInTmem;
      if (inTmem)
        when(isFirst, [&] { bringQueries(between); });
      ValueRange q = inTmem ? ValueRange() : get(between.q);
      auto scores = open<AcquireOp>(between.scores);
      for (size_t p = 0; p < chain.scores.size(); ++p) {
        if (!inTmem)
          CopyScalesOp::create(builder, loc, q[2 * p + 1],
                               between.qScales[p].getBuffer());
        CopyScalesOp::create(builder, loc, keys[2 * p + 1],
                             between.kScales[p].getBuffer());
      }
      for (auto [p, product] : llvm::enumerate(chain.scores)) {
        Value tile = inTmem ? between.qTiles[p].getBuffer() : q[2 * p];
        Value accumulate;
        if (p > 0)
          accumulate = arith::ConstantIntOp::create(builder, loc, 1, 1);
        MmaOp::create(
            builder, loc, tile, keys[2 * p], between.qScales[p].getBuffer(),
            between.kScales[p].getBuffer(), scores.getBuffers()[0], accumulate,
            /*valid=*/Value(), lookup(local, product.getFrom()),
            /*transpose_b=*/true, /*part=*/IntegerAttr());
      }
      PutOp::create(builder, loc, between.scores.getChannel());
    });
  };
  // Scores of a later step: by the time they are asked for, the tensor core is
  // free.
  for (unsigned i = 0; i < buffers.size(); ++i) {
    if (options.scoresFirst)
      multiplyKeys(i);
    for (unsigned part = 0; part < options.probabilityParts; ++part)
      multiplyValues(i, part);
    if (!options.scoresFirst)
      multiplyKeys(i);
  }
  at(0, [&](Value, Value, Value) {
    ReleaseOp::create(builder, loc, v.getChannel());
  });
  at(ahead, [&](Value, Value, Value isLast) {
    ReleaseOp::create(builder, loc, k.getChannel());
    if (options.queriesInTmem)
      return;
    when(isLast, [&] {
      for (ChainBuffers &between : buffers)
        ReleaseOp::create(builder, loc, between.q.getChannel());
    });
  });
}

void AttentionRoles::buildLoad() {
  beginRole("load", 1, otherRegisters, /*elected=*/true);
  IRMapping mapping;
  beginWork(mapping);
  scf::ForOp loop = program.loop;
  Value first = mapping.lookupOrDefault(loop.getLowerBound());
  auto copy = scf::ForOp::create(builder, loc, first,
                                 mapping.lookupOrDefault(loop.getUpperBound()),
                                 mapping.lookupOrDefault(loop.getStep()));
  mapping.map(loop.getInductionVar(), copy.getInductionVar());
  builder.setInsertionPointToStart(copy.getBody());
  cloneScalars(*loop.getBody(), mapping);
  // Queries with the first keys: a work tile without keys loads nothing, and
  // who has waited for the keys need not wait for queries at every step.
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        copy.getInductionVar(), first);
  auto loadQueries = [&] {
    for (auto [i, chain] : llvm::enumerate(program.chains))
      loadSlot(buffers[i].q, chain.q, mapping);
  };
  loadSlot(k, program.k, mapping, [&] { when(isFirst, loadQueries); });
  loadSlot(v, program.v, mapping);
}

void AttentionRoles::buildEpilogue() {
  beginRole("epilogue", 1, otherRegisters, /*elected=*/true);
  IRMapping mapping;
  beginWork(mapping);
  for (Chain &chain : program.chains)
    for (Output &part : chain.outputs)
      storeSlots(output, part.store, getOutputColumns(), mapping);
}

void AttentionRoles::run() {
  declare();
  for (unsigned i = 0; i < program.chains.size(); ++i)
    buildSoftmax(i);
  buildCorrection();
  buildMma();
  buildLoad();
  buildEpilogue();
  finish();
}

LogicalResult lpfa::assignAttentionRoles(KernelOp kernel,
                                         const AssignRolesOptions &options) {
  FailureOr<AttentionProgram> program = matchAttention(kernel);
  if (failed(program))
    return failure();
  int64_t keys = program->k.front().getTile().getType().getShape()[0];
  if (options.probabilityParts < 1 ||
      keys % (TargetModel::mmaDepth * options.probabilityParts))
    return kernel.emitOpError("probability-parts must divide ")
           << keys << " keys into multiples of " << TargetModel::mmaDepth
           << ", not be " << options.probabilityParts;
  AttentionRoles(kernel, std::move(*program), options).run();
  return success();
}
