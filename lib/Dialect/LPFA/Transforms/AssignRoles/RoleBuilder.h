//===- RoleBuilder.h - Writes the roles of a kernel -------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_DIALECT_LPFA_TRANSFORMS_ASSIGNROLES_ROLEBUILDER_H
#define LPFA_LIB_DIALECT_LPFA_TRANSFORMS_ASSIGNROLES_ROLEBUILDER_H

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "lpfa/Dialect/LPFA/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace lpfa {

/// Give roles to attention's tile program, or to that of a matrix product.
mlir::LogicalResult assignAttentionRoles(KernelOp kernel,
                                         const AssignRolesOptions &options);
mlir::LogicalResult assignMatmulRoles(KernelOp kernel,
                                      const AssignRolesOptions &options);

/// A tile program: a loop over the steps of a range in one over work tiles.
template <typename RangeOp> struct SteppedProgram {
  ForWorkOp work;
  RangeOp range;
  mlir::scf::ForOp loop;
};

/// Finds the loops of a kernel's program, or reports an error.
template <typename RangeOp>
mlir::LogicalResult findLoops(KernelOp kernel,
                              SteppedProgram<RangeOp> &program) {
  auto works = kernel.getBody().getOps<ForWorkOp>();
  if (!llvm::hasSingleElement(works))
    return kernel.emitOpError("must have one lpfa.for_work to be given roles");
  program.work = *works.begin();
  auto loops = program.work.getBody().template getOps<mlir::scf::ForOp>();
  auto ranges = program.work.getBody().template getOps<RangeOp>();
  if (!llvm::hasSingleElement(loops) || !llvm::hasSingleElement(ranges))
    return program.work.emitOpError("must hold one ")
           << RangeOp::getOperationName()
           << " and one loop over it to be given roles";
  program.loop = *loops.begin();
  program.range = *ranges.begin();
  return mlir::success();
}

/// What the assignments of roles share: channels and roles of a kernel, and
/// copies of its loops and index arithmetic.
class RoleBuilder {
protected:
  /// The program is what stands in `work`.
  RoleBuilder(KernelOp kernel, ForWorkOp work)
      : kernel(kernel), builder(kernel.getContext()), loc(kernel.getLoc()),
        work(work) {
    builder.setInsertionPointToEnd(&kernel.getBody().front());
  }

  static BufferType getBuffer(mlir::Type tile, MemorySpace space) {
    auto type = llvm::cast<TileType>(tile);
    return BufferType::get(type.getContext(), type.getShape(),
                           type.getElementType(), space);
  }
  ChannelOp createChannel(const llvm::Twine &name, int64_t stages,
                          llvm::ArrayRef<BufferType> buffers);
  /// A place in tensor memory for an atom of scales, or several in turns.
  ScratchOp createScales(const llvm::Twine &name, int64_t stages = 1);

  /// Starts a role; the next ops go into it.
  void beginRole(const llvm::Twine &name, int64_t warps, int64_t registers,
                 bool elected);
  /// A copy of the loop over work tiles with its index arithmetic.
  void beginWork(mlir::IRMapping &mapping);
  /// A loop over all steps of all work tiles, whose range of steps is `first`
  /// to `last` of the program; its parts, by `at`, come next.
  void beginSteps(mlir::Value first, mlir::Value last);
  /// A part of a step: `build` gets the step's number, and whether it is the
  /// first and the last of its work tile.
  void
  at(int64_t shift,
     llvm::function_ref<void(mlir::Value, mlir::Value, mlir::Value)> build);
  void cloneScalars(mlir::Block &block, mlir::IRMapping &mapping);
  /// Runs `body` with the insertion point in an `scf.if` of `condition`.
  void when(mlir::Value condition, llvm::function_ref<void()> body);

  /// Begins a slot of a channel, with `lpfa.get` or `lpfa.acquire`.
  template <typename OpTy> OpTy open(ChannelOp channel) {
    mlir::Value value = channel.getChannel();
    llvm::SmallVector<mlir::Type> types(llvm::to_vector_of<mlir::Type>(
        channel.getChannel().getType().getBuffers()));
    return OpTy::create(builder, loc, types, value);
  }
  /// Loads tiles into the next slot of a channel, one a buffer, after what
  /// `loadBefore` loads into others: content that comes with this one's.
  void loadSlot(ChannelOp channel, llvm::ArrayRef<LoadOp> tiles,
                mlir::IRMapping &mapping,
                llvm::function_ref<void()> loadBefore = nullptr);
  /// Stores the tile of `store`, `columns` columns a slot of `output`.
  void storeSlots(ChannelOp output, StoreOp store, int64_t columns,
                  mlir::IRMapping &mapping);
  /// The columns from `column` on of a tensor-memory buffer of f32, in
  /// registers; zeros where `isThere` is false. `getBuffer` runs where it is
  /// true.
  mlir::Value readColumns(mlir::Value isThere,
                          llvm::function_ref<mlir::Value()> getBuffer,
                          int64_t rows, int64_t column, int64_t columns);

  /// Drops the tile program: the roles are there.
  void finish();

  KernelOp kernel;
  mlir::OpBuilder builder;
  mlir::Location loc;
  ForWorkOp work;

private:
  int64_t nextWarp = 0;
};

/// What an optional operand is in a copy.
inline mlir::Value lookup(mlir::IRMapping &mapping, mlir::Value value) {
  return value ? mapping.lookupOrDefault(value) : mlir::Value();
}

/// The only user of a value, if it is an `OpTy`.
template <typename OpTy> OpTy getOnlyUser(mlir::Value value) {
  return value.hasOneUse() ? llvm::dyn_cast<OpTy>(*value.user_begin()) : OpTy();
}

} // namespace lpfa

#endif // LPFA_LIB_DIALECT_LPFA_TRANSFORMS_ASSIGNROLES_ROLEBUILDER_H
