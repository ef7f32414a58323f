//===- Pipelines.h - Named pipelines of lpfa --------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_PIPELINES_H
#define LPFA_PIPELINES_H

#include "lpfa/Target/TargetModel.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace lpfa {

/// Lowers a module of tensor-level functions to the LLVM dialect, for
/// execution on the CPU (`lpfa-reference`). This is the executable meaning of
/// the tensor-level ops that kernels are compared with.
///
/// Every function gets a C interface, `_mlir_ciface_<name>`. Tensors become
/// memrefs; a narrow float (f8, f6, f4) is an `i8` code. The caller owns the
/// results: each was allocated with `malloc` and aliases no argument and no
/// other result. Sizes that do not fit one another at run time fail an
/// assertion: the code calls `puts` with the message, then `abort`.
void buildReferencePipeline(mlir::OpPassManager &pm);

struct ThreadsToNVVMOptions : mlir::PassPipelineOptions<ThreadsToNVVMOptions> {
  Option<std::string> chip{*this, "chip", llvm::cl::init("sm_100a"),
                           llvm::cl::desc("sm_90a, sm_100a or sm_103a")};
};

/// Lowers every `gpu.module` from the threads stage to the `llvm` and `nvvm`
/// dialects (`lpfa-threads-to-nvvm`) and attaches the chip to it. What stands
/// outside the modules stays. Fails where an op has no instruction.
void buildThreadsToNVVMPipeline(mlir::OpPassManager &pm,
                                const ThreadsToNVVMOptions &options);

struct ToThreadsOptions : mlir::PassPipelineOptions<ToThreadsOptions> {
  Option<std::string> chip{*this, "chip", llvm::cl::init("sm_100a"),
                           llvm::cl::desc("sm_90a, sm_100a or sm_103a")};
  Option<int64_t> queryTiles{
      *this, "query-tiles", llvm::cl::init(2),
      llvm::cl::desc("tiles of 128 query rows in a work tile, 1 or 2")};
  Option<int64_t> keyTile{*this, "key-tile", llvm::cl::init(128),
                          llvm::cl::desc("keys in a step: 32, 64, 96 or 128")};
  Option<bool> longestFirst{
      *this, "longest-first", llvm::cl::init(true),
      llvm::cl::desc("where later queries see more keys: work tiles in "
                     "descending order of their rows, all heads of one before "
                     "the next")};
  Option<int64_t> stages{
      *this, "stages", llvm::cl::init(3),
      llvm::cl::desc("slots in the rings of keys and values")};
  Option<int64_t> outputStages{
      *this, "output-stages", llvm::cl::init(2),
      llvm::cl::desc("slots in the ring of output pieces")};
  Option<int64_t> matmulStages{
      *this, "matmul-stages", llvm::cl::init(5),
      llvm::cl::desc("slots in the ring of a matrix product's operands; fewer "
                     "where shared memory has no room for them beside the "
                     "results")};
  Option<bool> verifySchedule{
      *this, "verify-schedule", llvm::cl::init(true),
      llvm::cl::desc("refuse a schedule that is not proved to be right")};
  Option<Ordering> ordering{
      *this, "ordering", llvm::cl::init(Ordering::Practice),
      llvm::cl::desc("which orders of the tensor core that proof may use"),
      llvm::cl::values(clEnumValN(Ordering::Documented, "documented",
                                  "those that the manual promises"),
                       clEnumValN(Ordering::Practice, "practice",
                                  "those that every known kernel relies on"))};
  Option<int64_t> polynomialColumns{
      *this, "polynomial-columns", llvm::cl::init(0),
      llvm::cl::desc("exponentials of each 32 columns that the multiply-add "
                     "pipe computes as polynomials: an even number up to 30")};
  Option<int64_t> polynomialDegree{
      *this, "polynomial-degree", llvm::cl::init(3),
      llvm::cl::desc("degree of those polynomials: 3 or 4")};
  Option<int64_t> lag{
      *this, "lag", llvm::cl::init(-1),
      llvm::cl::desc("how far the maximum that a row is computed with may lag, "
                     "0 to 32 in log2 units (-1: the op's), where the scales "
                     "of probabilities are not constant; results do not depend "
                     "on it")};
  Option<bool> factorFirst{
      *this, "factor-first", llvm::cl::init(true),
      llvm::cl::desc("the softmax roles hand the factor for the outputs over "
                     "before they compute probabilities and sum, not after")};
  Option<bool> scoresFirst{
      *this, "scores-first", llvm::cl::init(false),
      llvm::cl::desc("the next scores before the product with this step's "
                     "probabilities, which then need columns of their own")};
  Option<int64_t> scoreBuffers{
      *this, "score-buffers", llvm::cl::init(1),
      llvm::cl::desc("slots in the rings of scores: 1 or 2")};
  Option<int64_t> scoresAhead{
      *this, "scores-ahead", llvm::cl::init(0),
      llvm::cl::desc("how many steps the scores are ahead of the "
                     "probabilities: score-buffers (or 0), or one more, for "
                     "which probabilities need columns of their own")};
  Option<int64_t> probabilityParts{
      *this, "probability-parts", llvm::cl::init(1),
      llvm::cl::desc("parts in which a step's probabilities are handed over, "
                     "each a multiple of 32 keys")};
  Option<int64_t> probabilityBuffers{
      *this, "probability-buffers", llvm::cl::init(1),
      llvm::cl::desc("slots in the rings of probabilities, and places that "
                     "scales take in turns: 1, or as many as score-buffers, so "
                     "that each may lie inside a slot of the scores")};
  Option<bool> peelPrologue{
      *this, "peel-prologue", llvm::cl::init(false),
      llvm::cl::desc(
          "scores before the first step have places of their own for "
          "their scales where that spares a wait: query tiles then "
          "begin at once")};
  Option<bool> queriesInTmem{
      *this, "queries-in-tmem", llvm::cl::init(false),
      llvm::cl::desc("queries are copied to tensor memory once a work tile: "
                     "products with tiles of 64 keys are then not bound by "
                     "shared memory")};
  Option<bool> explainChoice{
      *this, "explain-choice", llvm::cl::init(false),
      llvm::cl::desc("print what the model of the chip says of each schedule, "
                     "and which it chose of those that options leave")};
};

/// Lowers tensor-level functions, and kernels at any earlier stage, to the
/// synchronized stage (`lpfa-to-synchronized`): host functions with launches,
/// and kernels with roles, places and barriers. Kernels without roles stay at
/// the tile stage.
void buildToSynchronizedPipeline(mlir::OpPassManager &pm,
                                 const ToThreadsOptions &options);

/// Lowers tensor-level functions, and kernels at any stage, to the threads
/// stage (`lpfa-to-threads`): host functions with launches, and a `gpu.module`
/// for each kernel.
void buildToThreadsPipeline(mlir::OpPassManager &pm,
                            const ToThreadsOptions &options);

/// Both of the above, one after the other (`lpfa-to-nvvm`).
void buildToNVVMPipeline(mlir::OpPassManager &pm,
                         const ToThreadsOptions &options);

/// Makes all of the above available to textual pipelines.
void registerPipelines();

} // namespace lpfa

#endif // LPFA_PIPELINES_H
