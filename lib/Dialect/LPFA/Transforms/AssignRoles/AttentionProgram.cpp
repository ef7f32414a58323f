//===- AttentionProgram.cpp - Attention's tile program --------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionProgram.h"

using namespace mlir;
using namespace lpfa;

/// Adds a loaded tile and its scales to an operand.
static LogicalResult addPanel(Operand &operand, Value tile, Value scales) {
  for (Value value : {tile, scales}) {
    auto load = value.getDefiningOp<LoadOp>();
    if (!load)
      return failure();
    operand.push_back(load);
  }
  return success();
}

/// The path of a softmax step's probabilities through a product that
/// accumulates through the loop.
static FailureOr<Output> matchOutput(DotOp product, SoftmaxStepOp softmax,
                                     scf::ForOp loop) {
  Output output;
  output.product = product;
  Value accumulator = product.getAccumulator();
  output.rescale =
      accumulator ? accumulator.getDefiningOp<RescaleOp>() : RescaleOp();
  if (!output.rescale || output.rescale.getFactor() != softmax.getFactor())
    return failure();
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  auto argument = dyn_cast<BlockArgument>(output.rescale.getTile());
  if (!argument || argument.getOwner() != loop.getBody())
    return failure();
  unsigned index = argument.getArgNumber() - loop.getNumInductionVars();
  if (yield.getOperand(index) != product.getResult())
    return failure();
  output.normalize = getOnlyUser<NormalizeOp>(loop.getResult(index));
  if (!output.normalize)
    return failure();
  output.store = getOnlyUser<StoreOp>(output.normalize.getResult());
  if (!output.store)
    return failure();
  return output;
}

/// The chain of a softmax step, or nothing where an op is not as expected.
static FailureOr<Chain> matchChain(SoftmaxStepOp softmax, scf::ForOp loop) {
  Chain chain;
  chain.softmax = softmax;
  chain.mask = softmax.getScores().getDefiningOp<ApplyMaskOp>();
  if (!chain.mask)
    return failure();
  for (Value sum = chain.mask.getScores(); sum;) {
    auto product = sum.getDefiningOp<DotOp>();
    if (!product || !product.getTransposeB())
      return failure();
    chain.scores.insert(chain.scores.begin(), product);
    sum = product.getAccumulator();
  }
  for (DotOp product : chain.scores)
    if (failed(addPanel(chain.q, product.getA(), product.getScalesA())))
      return failure();
  // In the order of the program.
  SmallVector<Operation *> products(softmax.getProbabilities().getUsers());
  llvm::sort(products,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *user : products) {
    auto product = dyn_cast<DotOp>(user);
    if (!product || product->getBlock() != loop.getBody())
      return failure();
    FailureOr<Output> output = matchOutput(product, softmax, loop);
    if (failed(output))
      return failure();
    chain.outputs.push_back(*output);
  }
  if (chain.outputs.empty())
    return failure();
  chain.finish = chain.outputs.front()
                     .normalize.getDenominator()
                     .getDefiningOp<SoftmaxFinishOp>();
  for (Output &output : chain.outputs)
    if (!chain.finish ||
        output.normalize.getDenominator() != chain.finish.getDenominator())
      return failure();
  chain.lseStore = getOnlyUser<StoreOp>(chain.finish.getLse());
  if (!chain.lseStore)
    return failure();
  return chain;
}

FailureOr<AttentionProgram> lpfa::matchAttention(KernelOp kernel) {
  AttentionProgram program;
  if (failed(findLoops(kernel, program)))
    return failure();
  for (auto softmax : program.loop.getOps<SoftmaxStepOp>()) {
    FailureOr<Chain> chain = matchChain(softmax, program.loop);
    if (failed(chain))
      return softmax.emitOpError(
          "must stand between a product of scores and a product with its "
          "probabilities that accumulates through the loop");
    program.chains.push_back(*chain);
  }
  if (program.chains.empty())
    return program.loop.emitOpError(
        "has no lpfa.softmax_step to give roles to");
  for (Chain &chain : program.chains) {
    Operand k, v;
    bool isLoaded = true;
    for (DotOp product : chain.scores)
      isLoaded &= succeeded(addPanel(k, product.getB(), product.getScalesB()));
    for (Output &output : chain.outputs)
      isLoaded &= succeeded(
          addPanel(v, output.product.getB(), output.product.getScalesB()));
    if (!isLoaded)
      return program.loop.emitOpError(
          "must load the keys and values of a step");
    if (program.k.empty()) {
      program.k = k;
      program.v = v;
    }
    if (k != program.k || v != program.v)
      return chain.scores.front().emitOpError(
          "must share keys and values with the other query tiles");
  }
  return program;
}
