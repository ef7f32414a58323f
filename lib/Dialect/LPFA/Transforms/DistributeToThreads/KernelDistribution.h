//===- KernelDistribution.h - One kernel's program by thread ----*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lowering walks a kernel's ops in order and emits what one thread does. A
// value of the kernel becomes:
//
//   tile<128xNxf32>, bf16, f16   vector<N x element>: a row a thread, the row
//                                is the thread's index in its role, and its
//                                lane of tensor memory
//   tile<128xNxf8..>             vector<N/4 x i32>: four codes a word
//   tile<128xf32>                f32
//   tile<32x4x4xf8E8M0FNU>       i32: the four scales of a row
//   buffer in shared memory      !llvm.ptr<3>
//   buffer in tensor memory      i32: the address of its first column, lane 0
//   cursor                       variables for the slot and its phase bit
//
// Other types stay. Kernels at the tile stage are elementwise, their tiles:
//
//   tile of elements             pieces, see `ElementLayout`: vectors of wide
//                                floats, words of codes packed as in memory
//   tile of scales               bytes in shared memory, see `ScaleTile`
//   tile<f32>                    f32
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_DIALECT_LPFA_TRANSFORMS_DISTRIBUTETOTHREADS_KERNELDISTRIBUTION_H
#define LPFA_LIB_DIALECT_LPFA_TRANSFORMS_DISTRIBUTETOTHREADS_KERNELDISTRIBUTION_H

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "lpfa/Target/TargetModel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace lpfa {

/// Builds the arithmetic of one thread.
class ThreadBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using mlir::ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  mlir::Value index(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(*this, value);
  }
  mlir::Value i32(int64_t value) {
    return mlir::arith::ConstantOp::create(
        *this, getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  mlir::Value i1(bool value) {
    return mlir::arith::ConstantOp::create(*this, getBoolAttr(value));
  }
  mlir::Value f32(float value) {
    return mlir::arith::ConstantOp::create(*this, getF32FloatAttr(value));
  }
  mlir::Value add(mlir::Value x, mlir::Value y) {
    if (isFloat(x))
      return mlir::arith::AddFOp::create(*this, x, y);
    return mlir::arith::AddIOp::create(*this, x, y);
  }
  mlir::Value sub(mlir::Value x, mlir::Value y) {
    if (isFloat(x))
      return mlir::arith::SubFOp::create(*this, x, y);
    return mlir::arith::SubIOp::create(*this, x, y);
  }
  mlir::Value mul(mlir::Value x, mlir::Value y) {
    if (isFloat(x))
      return mlir::arith::MulFOp::create(*this, x, y);
    return mlir::arith::MulIOp::create(*this, x, y);
  }
  /// The larger of two; NaN where a float is NaN.
  mlir::Value max(mlir::Value x, mlir::Value y) {
    if (isFloat(x))
      return mlir::arith::MaximumFOp::create(*this, x, y);
    return mlir::arith::MaxSIOp::create(*this, x, y);
  }
  /// The largest of values, by three at a time as instructions have it.
  mlir::Value max(llvm::ArrayRef<mlir::Value> values) {
    llvm::SmallVector<mlir::Value> queue(values);
    for (size_t i = 0; i + 1 < queue.size();) {
      size_t end = std::min(i + 3, queue.size());
      mlir::Value value = queue[i];
      while (++i < end)
        value = max(value, queue[i]);
      queue.push_back(value);
    }
    return queue.back();
  }
  mlir::Value min(mlir::Value x, mlir::Value y) {
    if (isFloat(x))
      return mlir::arith::MinNumFOp::create(*this, x, y);
    return mlir::arith::MinSIOp::create(*this, x, y);
  }
  mlir::Value div(mlir::Value x, mlir::Value y) {
    return mlir::arith::DivUIOp::create(*this, x, y);
  }
  mlir::Value rem(mlir::Value x, mlir::Value y) {
    return mlir::arith::RemUIOp::create(*this, x, y);
  }
  mlir::Value bitAnd(mlir::Value x, mlir::Value y) {
    return mlir::arith::AndIOp::create(*this, x, y);
  }
  mlir::Value bitOr(mlir::Value x, mlir::Value y) {
    return mlir::arith::OrIOp::create(*this, x, y);
  }
  mlir::Value bitXor(mlir::Value x, mlir::Value y) {
    return mlir::arith::XOrIOp::create(*this, x, y);
  }
  mlir::Value shiftLeft(mlir::Value x, int64_t by) {
    return mlir::arith::ShLIOp::create(*this, x, i32(by));
  }
  mlir::Value shiftRight(mlir::Value x, int64_t by) {
    return mlir::arith::ShRUIOp::create(*this, x, i32(by));
  }
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value x,
                      mlir::Value y) {
    return mlir::arith::CmpIOp::create(*this, predicate, x, y);
  }
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value x,
                      mlir::Value y) {
    return mlir::arith::CmpFOp::create(*this, predicate, x, y);
  }
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y) {
    return mlir::arith::SelectOp::create(*this, condition, x, y);
  }
  mlir::Value toI32(mlir::Value x) {
    return mlir::arith::IndexCastOp::create(*this, getI32Type(), x);
  }
  mlir::Value toI64(mlir::Value x) {
    return mlir::arith::IndexCastOp::create(*this, getI64Type(), x);
  }
  mlir::Value toIndex(mlir::Value x) {
    return mlir::arith::IndexCastOp::create(*this, getIndexType(), x);
  }
  mlir::Value toBits(mlir::Value x) {
    return mlir::arith::BitcastOp::create(*this, getI32Type(), x);
  }
  mlir::Value toFloat(mlir::Value bits) {
    return mlir::arith::BitcastOp::create(*this, getF32Type(), bits);
  }

  /// `pointer` and some bytes, counted by an integer value or a constant.
  mlir::Value offset(mlir::Value pointer, mlir::Value bytes) {
    return mlir::LLVM::GEPOp::create(*this, pointer.getType(), getI8Type(),
                                     pointer, mlir::LLVM::GEPArg(bytes));
  }
  mlir::Value offset(mlir::Value pointer, int64_t bytes) {
    if (bytes == 0)
      return pointer;
    return mlir::LLVM::GEPOp::create(
        *this, pointer.getType(), getI8Type(), pointer,
        mlir::LLVM::GEPArg(static_cast<int32_t>(bytes)));
  }

  /// The i32 that a variable holds.
  mlir::Value load(mlir::Value variable) {
    return mlir::LLVM::LoadOp::create(*this, getI32Type(), variable);
  }

  /// The same i32, but LLVM does not know.
  mlir::Value forget(mlir::Value x) {
    return mlir::LLVM::InlineAsmOp::create(
               *this, getI32Type(), x, /*asm_string=*/"",
               /*constraints=*/"=r,0", /*has_side_effects=*/true,
               /*is_align_stack=*/false, mlir::LLVM::TailCallKind::None,
               /*asm_dialect=*/nullptr, /*operand_attrs=*/nullptr)
        .getRes();
  }

  /// Runs `body` with the insertion point in an `scf.if` of `condition`.
  void when(mlir::Value condition, llvm::function_ref<void()> body) {
    auto op = mlir::scf::IfOp::create(*this, condition, /*withElse=*/false);
    InsertionGuard guard(*this);
    setInsertionPointToStart(op.thenBlock());
    body();
  }

private:
  static bool isFloat(mlir::Value x) {
    return llvm::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(x.getType()));
  }
};

/// The elements of a vector of bf16 as f32, by what `split` makes of each two:
/// a word with the first in its lower half.
mlir::Value
widenPairs(ThreadBuilder &b, mlir::Value vector,
           llvm::function_ref<std::array<mlir::Value, 2>(mlir::Value)> split);

/// The elements of a vector as f32. Those of bf16 by bits, one operation each;
/// LLVM would shift the upper ones down first.
mlir::Value widen(ThreadBuilder &b, mlir::Value vector);

/// Adds upper halves to lower ones, while there are two.
mlir::Value addHalves(ThreadBuilder &b, llvm::SmallVector<mlir::Value> sums);

/// The same words, but LLVM does not know: to widen elements once for both of
/// their uses would take twice the registers between them.
mlir::Value forgetPiece(ThreadBuilder &b, mlir::Value piece);

bool isAlongColumns(QuantizeTileOp op);

/// Whether a loaded tile has a factor for each row of another.
bool holdsRowFactors(LoadOp op);

/// How the rows of a tile lie in shared memory: blocks of up to 128 bytes of
/// every row, one block after the other, each swizzled over its width.
struct SharedLayout {
  /// The layout of a buffer of rank 2, an error at `op` if it has none.
  static mlir::FailureOr<SharedLayout> get(mlir::Operation *op,
                                           BufferType buffer);
  /// The same for one whose rows are whole, as where they are stored from.
  static mlir::FailureOr<SharedLayout> getUnpadded(mlir::Operation *op,
                                                   BufferType buffer);

  int64_t rows;
  int64_t rowBytes; // Of one block, and of the swizzle: 32, 64 or 128.
  int64_t blocks;
  int64_t elementsPerBlock;

  int64_t getBlockBytes() const { return rows * rowBytes; }
  /// Where the pattern of the swizzle repeats.
  int64_t getAlignment() const { return 8 * rowBytes; }
};

/// A cursor's variables: which slot of the ring (absent for a ring of one), and
/// the parity of how often the cursor has gone round.
struct CursorVariables {
  mlir::Value slot, phase; // Pointers to i32.
  int64_t stages;
};

/// The mbarriers of a ring, or the number of a named barrier.
struct BarrierRing {
  int64_t offset; // Of the first in shared memory.
  int64_t stages;
  int32_t number = 0;
};

/// How the elements of a tile of an elementwise kernel lie in registers. A
/// thread has `steps` pieces of `vector` elements; the pieces of `lanes`
/// threads of a warp make a row. A thread's pieces stand one below the other,
/// and warps tile the tile; or it has `across` pieces of a row, whose first
/// ones are those of one warp beside the other, then all warps' second ones.
/// Those of one row only are `alongRow`. The warps of a row may be those of
/// several CTAs, a cluster, which take turns with 128 columns each where pieces
/// stand one below the other.
struct ElementLayout {
  int64_t rows, columns, vector, lanes, steps;
  int64_t across = 1;
  bool alongRow = false;
  bool addsRows = false; // Whether squares of whole rows are added.
  int64_t ctas = 1;

  /// A thread's pieces of a tile, or of a row for all rows.
  int64_t getPieces(TileType tile) const {
    return tile.getRank() == 1 ? across : steps;
  }

  /// From a thread's pieces of a row to its next ones below, and from a piece
  /// to the next one of its row.
  int64_t getRowsPerStep() const { return TargetModel::warpThreads / lanes; }
  int64_t getColumnsPerStep() const { return columns / across; }
  /// Where piece `i` is, from the first.
  int64_t getRow(int64_t i) const { return i / across * getRowsPerStep(); }
  int64_t getColumn(int64_t i) const {
    return i % across * getColumnsPerStep();
  }

  int64_t getWarpRows() const { return steps / across * getRowsPerStep(); }
  /// From a warp to the one beside it.
  int64_t getWarpColumns() const { return lanes * vector; }
  int64_t getWarpsAcross() const {
    return getColumnsPerStep() / getWarpColumns();
  }
  /// Whether sums are those of rows that lie within a warp.
  bool hasWarpRows() const {
    return addsRows && !alongRow && getWarpsAcross() == 1;
  }
  int64_t getRowThreads() const {
    return getWarpsAcross() * TargetModel::warpThreads;
  }
  /// Of a CTA.
  int64_t getWarps() const {
    return rows / getWarpRows() * getWarpsAcross() / ctas;
  }
  int64_t getThreads() const { return getWarps() * TargetModel::warpThreads; }
};

/// A thread's pieces of a tile in global memory.
struct PieceAccess {
  mlir::VectorType type;  // Of a piece in memory.
  int64_t alignment;      // Of an access.
  mlir::Value first;      // Where the first piece is.
  mlir::Value rowStep;    // Bytes from a piece to the next below, an i64.
  mlir::Value isWhole;    // Whether all of the tile is inside and aligned.
  mlir::Value isInPieces; // Whether no piece is in part, and all are aligned.
  bool isRagged;          // Whether rows are known to end between its pieces,
  int64_t knownColumns;   // and where.
  mlir::Value isAligned;  // Whether rows begin where an access may.
  mlir::Value row, rows, column, columns; // Of the first piece; of the view.
};

/// A tile of scales in shared memory: row-major, or atoms, from which rows and
/// groups are read where it is `unpacked`.
struct ScaleTile {
  int64_t offset, rows, columns;
  int64_t pitch; // From a row to the next.
  int64_t atoms = 1;
  bool isAtom = false, isUnpacked = false, isTransposed = false;
  mlir::Value valid; // Rows past it are 0, an i32.
};

/// Byte `i` of bytes that stand four a word.
mlir::Value getByte(ThreadBuilder &b, llvm::ArrayRef<mlir::Value> words,
                    int64_t i);

/// The elements of a vector; a vector of words.
llvm::SmallVector<mlir::Value> getElements(ThreadBuilder &b,
                                           mlir::Value vector);
mlir::Value makeWords(ThreadBuilder &b, llvm::ArrayRef<mlir::Value> words);

/// What lies in memory of codes that `lpfa.convert_packed` made.
mlir::Value packCodes(ThreadBuilder &b, mlir::Value words,
                      mlir::FloatType element, mlir::VectorType type);
/// The words that `lpfa.extend_packed` takes of what lies in memory.
mlir::Value unpackCodes(ThreadBuilder &b, mlir::Value piece,
                        mlir::FloatType element, int64_t count);

/// 1 / 2^(byte - 127), NaN for byte 255.
mlir::Value getInverse(ThreadBuilder &b, mlir::Value byte);

/// Where a thread's unit of scales is in a view.
struct UnitPlace {
  mlir::Value isAligned; // Whether all units begin where their access may.
  mlir::Value areWords;  // Likewise those of words.
  mlir::Value isRow;     // Whether the unit is in a row of the view.
  mlir::Value column, columns; // Of the unit; of the view, if that is bounded.
};

/// Lowers one kernel to a `gpu.func`.
class KernelDistribution {
public:
  /// The builder stands where the function goes.
  KernelDistribution(KernelOp kernel, const TargetModel &target,
                     const mlir::OpBuilder &builder)
      : kernel(kernel), target(target), b(kernel.getLoc(), builder) {}

  mlir::LogicalResult run();

private:
  //===--------------------------------------------------------------------===//
  // KernelFrame.cpp: the function around the roles
  //===--------------------------------------------------------------------===//

  mlir::LogicalResult collectParameters();
  mlir::LogicalResult layOutSharedMemory();
  void createFunction();
  void buildPrologue();
  void buildEpilogue();
  mlir::LogicalResult buildRoles();
  mlir::LogicalResult buildWarpgroup(llvm::ArrayRef<RoleOp> roles);
  mlir::LogicalResult buildRole(RoleOp role);
  mlir::FailureOr<ParameterAttr>
  getTensorMap(mlir::Operation *op, mlir::Value view, BufferType buffer);
  mlir::Value getParameter(ParameterAttr attr);
  /// A pointer, size or stride of a view, as it stands in the parameters.
  mlir::Value getPointer(mlir::Value view);
  mlir::Value getSize(mlir::Value view, int64_t dimension);
  mlir::Value getStride(mlir::Value view, int64_t dimension);
  int64_t getThreads() const;
  int64_t getTensorColumns() const;

  //===--------------------------------------------------------------------===//
  // ControlFlow.cpp
  //===--------------------------------------------------------------------===//

  /// Lowers all ops of a block but its terminator.
  mlir::LogicalResult lower(mlir::Block &block);
  mlir::LogicalResult lower(mlir::Operation *op);
  mlir::LogicalResult lower(mlir::scf::IfOp op);
  mlir::LogicalResult lower(mlir::scf::ForOp op);
  mlir::LogicalResult lower(ForWorkOp op);
  mlir::LogicalResult lower(ForStepsOp op);
  mlir::LogicalResult lower(KeyRangeOp op);
  mlir::LogicalResult lower(StepRangeOp op);
  mlir::LogicalResult lower(DimOp op);
  mlir::LogicalResult lower(CursorOp op);
  mlir::LogicalResult lower(AdvanceOp op);
  mlir::LogicalResult lowerYield(mlir::Block &block);
  /// Lowers a block of an elementwise kernel, and what it yields.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  lowerVersions(mlir::Block &block, mlir::TypeRange types);
  mlir::Value getWorkCount(mlir::ValueRange bounds);
  void mapCoordinates(mlir::Block &block, mlir::Value work,
                      mlir::ValueRange bounds);
  mlir::FailureOr<mlir::Type> convertType(mlir::Operation *op, mlir::Type type);

  //===--------------------------------------------------------------------===//
  // TensorCore.cpp: buffers, barriers, asynchronous engines
  //===--------------------------------------------------------------------===//

  mlir::LogicalResult lower(ChannelOp op);
  mlir::LogicalResult lower(AccumulatorOp op);
  mlir::LogicalResult lower(ScratchOp op);
  mlir::LogicalResult lower(SlotAtOp op);
  mlir::LogicalResult lower(SliceOp op);
  mlir::LogicalResult lower(WaitOp op);
  mlir::LogicalResult lower(ArriveOp op);
  mlir::LogicalResult lower(CommitOp op);
  mlir::LogicalResult lower(TeamBarrierOp op);
  mlir::LogicalResult lower(ExpectBytesOp op);
  mlir::LogicalResult lower(FenceOp op);
  mlir::LogicalResult lower(LoadAsyncOp op);
  mlir::LogicalResult lower(StoreAsyncOp op);
  mlir::LogicalResult lower(StoreWaitOp op);
  mlir::LogicalResult lower(CopyScalesOp op);
  mlir::LogicalResult lower(CopyTileOp op);
  mlir::LogicalResult lower(MmaOp op);
  mlir::LogicalResult checkPlace(mlir::Operation *op, BufferType buffer,
                                 PlaceAttr place);
  mlir::Value getPlace(PlaceAttr place);
  mlir::Value getStart(mlir::Value buffer);
  mlir::Value getNextStart(mlir::Value buffer);
  mlir::Value declareVariable();
  mlir::Value getBarrier(mlir::Value barrier, mlir::Value cursor);
  mlir::SmallVector<mlir::Value> getCoordinates(mlir::ValueRange indices);

  //===--------------------------------------------------------------------===//
  // Registers.cpp: tiles in registers and their way to memory
  //===--------------------------------------------------------------------===//

  mlir::LogicalResult lower(ReadOp op);
  mlir::LogicalResult lower(WriteOp op);
  mlir::LogicalResult lower(RescaleBufferOp op);
  mlir::LogicalResult lower(StoreOp op);
  mlir::LogicalResult lower(SplatOp op);
  mlir::LogicalResult lower(NormalizeOp op);
  mlir::LogicalResult lower(RoundOp op);
  mlir::Value readTensorMemory(mlir::Value address, mlir::VectorType type);
  /// A row of scores, and in `rowMaxima` the maxima of its blocks.
  mlir::Value readWithMaxima(mlir::Value address, mlir::VectorType type);
  void writeTensorMemory(mlir::Value value, mlir::Value address);
  mlir::LogicalResult writeSharedTile(WriteOp op);
  mlir::Value getAtomOffset();

  //===--------------------------------------------------------------------===//
  // Softmax.cpp
  //===--------------------------------------------------------------------===//

  mlir::LogicalResult lower(ApplyMaskOp op);
  mlir::LogicalResult lower(SoftmaxMaximumOp op);
  mlir::LogicalResult lower(SoftmaxProbabilitiesOp op);
  mlir::LogicalResult lower(SoftmaxFinishOp op);

  //===--------------------------------------------------------------------===//
  // ElementLayout.cpp: kernels without roles, who has which elements
  //===--------------------------------------------------------------------===//

  mlir::LogicalResult chooseElementLayout();
  void buildElementCoordinates();
  /// Computes the thread's place in a tile.
  void locateThread();
  void layOutRowBlocks();
  int64_t countRegisters();
  /// How many CTAs of an elementwise kernel a multiprocessor is to have.
  int64_t getMinCTAs();
  /// What CTAs of a cluster have in common before the first work tile.
  void buildClusterPrologue();

  //===--------------------------------------------------------------------===//
  // Elementwise.cpp: their tiles of elements
  //===--------------------------------------------------------------------===//

  /// What a piece of codes or elements is in memory: words.
  mlir::VectorType getPieceType(mlir::Type element);
  mlir::Value getElementAddress(mlir::Value view, mlir::ValueRange indices);
  /// Whether all rows of the view begin at a multiple of some bytes.
  mlir::Value isAligned(mlir::Value view, int64_t bytes);
  PieceAccess getPieceAccess(mlir::Value view, mlir::ValueRange tileIndices);
  /// Whether all tiles of elements that a work tile's ops move are inside and
  /// aligned.
  mlir::Value areTilesWhole(mlir::Block &body);
  mlir::LogicalResult lowerIndices(mlir::Block &body);
  mlir::LogicalResult lower(LoadOp op);
  mlir::LogicalResult loadElements(LoadOp op);
  /// Starts to copy the thread's pieces of a tile that is loaded ahead to where
  /// shared memory has them.
  void copyAhead(LoadOp op);
  /// Waits for them and takes them from there. Rows that are not aligned are
  /// not copied before.
  void takeAhead(LoadOp op);
  mlir::Value getSlot(LoadOp op, int64_t i);
  void withPieceAccess(LoadOp op,
                       llvm::function_ref<void(const PieceAccess &)> body);
  mlir::LogicalResult storeElements(StoreOp op);
  /// Makes 0 of what pieces of several rows have outside the view that `load`
  /// reads.
  void clearOutside(llvm::MutableArrayRef<mlir::Value> tile, LoadOp load);

  //===--------------------------------------------------------------------===//
  // KeptTiles.cpp: tiles of elements in shared memory
  //===--------------------------------------------------------------------===//

  void layOutKeptTiles();
  llvm::SmallVector<mlir::Value> getKeptAddresses(mlir::Value tile, int64_t i);
  void keepPiece(mlir::Value tile, int64_t i, mlir::Value piece);
  /// Piece `i` of a tile in registers or, loaded from there, in shared memory.
  mlir::Value getPiece(mlir::Value tile, int64_t i);
  llvm::SmallVector<mlir::Value> getPieces(mlir::Value tile);

  //===--------------------------------------------------------------------===//
  // Scales.cpp: tiles of scales in shared memory
  //===--------------------------------------------------------------------===//

  /// Gives what an elementwise kernel has in shared memory its place.
  void layOutElementwiseMemory();
  mlir::LogicalResult lower(PackAtomOp op);
  mlir::LogicalResult lower(UnpackAtomOp op);
  UnitPlace getUnitPlace(mlir::Value view, int64_t unit);
  mlir::LogicalResult loadScales(LoadOp op);
  mlir::LogicalResult storeScales(StoreOp op);
  void storePartsOfAtoms(StoreOp op, const ScaleTile &tile,
                         llvm::ArrayRef<mlir::Value> first);
  /// Where the run of bytes that begins with a row and a column is.
  mlir::Value getScaleAddress(const ScaleTile &tile, mlir::Value row,
                              mlir::Value column);
  mlir::Value readAtomRow(const ScaleTile &tile, mlir::Value atom,
                          mlir::Value row);
  mlir::Value readScales(const ScaleTile &tile, mlir::Value row,
                         mlir::Value column, int64_t bytes);
  mlir::LogicalResult storeAtoms(StoreOp op, const ScaleTile &tile,
                                 llvm::ArrayRef<mlir::Value> first);
  /// Waits until all threads have written their part of the tiles of scales.
  void synchronizeScales();
  void forEachScaleUnit(
      const ScaleTile &tile, int64_t unit,
      llvm::function_ref<void(mlir::Value row, mlir::Value column)> body);

  //===--------------------------------------------------------------------===//
  // Sequences.cpp
  //===--------------------------------------------------------------------===//

  mlir::LogicalResult lower(SequenceTileOp op);
  mlir::Value shuffle(mlir::Value x, int32_t lane, mlir::gpu::ShuffleMode mode);
  mlir::Value sumLanesUpTo(mlir::Value x);
  mlir::Value sumLanes(mlir::Value x);

  //===--------------------------------------------------------------------===//
  // Normalization.cpp
  //===--------------------------------------------------------------------===//

  mlir::LogicalResult lower(SumSquaresTileOp op);
  mlir::LogicalResult lower(RstdTileOp op);
  mlir::LogicalResult lower(RMSNormTileOp op);
  /// The sum of the partial sums of the thread's row, in all of its threads.
  mlir::Value addPartialSums(mlir::Value partial);
  /// A warp's partial sums become known to all warps of its row; where the
  /// first warp's are.
  mlir::Value exchangeSums(mlir::Value sum);
  mlir::Value addLanes(mlir::Value sum, int32_t from, int32_t to);
  /// The sums of the rows of the thread's pieces, which lie within a warp, as
  /// `finish` makes them factors.
  llvm::SmallVector<mlir::Value>
  addWarpRows(mlir::Value partial,
              llvm::function_ref<mlir::Value(mlir::Value)> finish);
  mlir::LogicalResult loadRowFactors(LoadOp op);
  mlir::LogicalResult storeRowFactors(StoreOp op);

  //===--------------------------------------------------------------------===//
  // NormalizationBackward.cpp
  //===--------------------------------------------------------------------===//

  mlir::LogicalResult lower(SumProductsTileOp op);
  mlir::LogicalResult lower(WeightGradientTileOp op);
  /// Piece `i`.
  void addWeightGradient(WeightGradientTileOp op, int64_t i, mlir::Value dy,
                         mlir::Value n);
  mlir::LogicalResult lower(MeanTileOp op);
  mlir::LogicalResult lower(RMSNormBackwardTileOp op);
  mlir::LogicalResult lower(AddTileOp op);
  mlir::LogicalResult lower(SumColumnsTileOp op);
  mlir::LogicalResult storeColumnSums(StoreOp op);

  //===--------------------------------------------------------------------===//
  // BlockRowSums.cpp: sums of rows in blocks of several
  //===--------------------------------------------------------------------===//

  /// The sums of the rows of the thread's pieces, of which it has a partial sum
  /// each, as `finish` makes them factors.
  llvm::SmallVector<mlir::Value>
  addBlockRows(mlir::Value partial,
               llvm::function_ref<mlir::Value(mlir::Value)> finish);
  int64_t getBlockSumsBytes() const;

  //===--------------------------------------------------------------------===//
  // Quantization.cpp
  //===--------------------------------------------------------------------===//

  void computeScales(mlir::Value input);
  /// The bytes of the scales of blocks with these largest magnitudes, four a
  /// word.
  llvm::SmallVector<mlir::Value> scaleBlocks(llvm::ArrayRef<mlir::Value> maxima,
                                             mlir::FloatType element,
                                             mlir::Type scale, ScaleRule rule,
                                             mlir::Value globalScale);
  mlir::LogicalResult lower(QuantizeTileOp op);
  mlir::LogicalResult lower(DequantizeTileOp op);

  //===--------------------------------------------------------------------===//
  // RowQuantization.cpp: a row a thread
  //===--------------------------------------------------------------------===//

  mlir::LogicalResult lower(CropOp op);
  mlir::LogicalResult quantizeRows(QuantizeTileOp op);
  mlir::LogicalResult packRowScales(PackAtomOp op);
  mlir::LogicalResult storeRowScales(StoreOp op);
  mlir::Value selectByLane(llvm::SmallVector<mlir::Value> values);

  KernelOp kernel;
  TargetModel target;
  ThreadBuilder b;
  mlir::gpu::GPUFuncOp func;

  /// Parameters in the order of the function's arguments.
  mlir::SmallVector<ParameterAttr> parameters;

  /// Offsets in shared memory behind the tiles.
  int64_t barriersOffset = 0, slotOffset = 0, sharedBytes = 0;

  /// From the prologue.
  mlir::Value sharedBase, tensorBase, threadInCTA, warp;

  /// Of the role at hand: its thread's index, and the first lane of the warp's
  /// quarter of tensor memory as part of an address.
  mlir::Value thread, laneBase;

  /// Of an elementwise kernel: its layout, the thread's lane and warp in it,
  /// and its first piece's place in the tile.
  std::optional<ElementLayout> layout;
  mlir::Value laneRow, laneColumn, warpRow, threadRow, threadColumn;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> pieces;
  llvm::DenseMap<mlir::Value, ScaleTile> scaleTiles;
  /// The factors of the rows of a thread's pieces, one where they are of one
  /// row.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> rowFactors;
  /// Tiles that are loaded ahead, and where shared memory has their pieces.
  llvm::DenseMap<mlir::Value, int64_t> tilesAhead;
  /// Tiles that are loaded once for all work tiles or carried by loops, and
  /// where shared memory has each thread's pieces.
  llvm::DenseMap<mlir::Value, int64_t> keptTiles;
  /// The bytes of the scales of a thread's pieces, or columns, four a word.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> scaleWords;
  /// Whether scales were written since all threads last waited.
  bool scalesAreNew = false;
  /// Where warps exchange the partial sums of a row; CTAs of a cluster have two
  /// such places, the variable says which is next.
  int64_t sumsOffset = 0;
  mlir::Value sumsParity;
  /// The CTA's index in its cluster.
  mlir::Value ctaInCluster;
  /// Of the version of a work tile's program at hand: no tile needs checks.
  bool tilesAreWhole = false;

  mlir::IRMapping values;
  llvm::DenseMap<mlir::Value, CursorVariables> cursors;
  /// For scratch buffers with several places, a pointer to the distance of the
  /// latest content from slot 0.
  llvm::DenseMap<mlir::Value, mlir::Value> scratchOffsets;
  llvm::DenseMap<mlir::Value, BarrierRing> barriers;

  /// The maxima of the blocks of a row that was read with them.
  llvm::DenseMap<mlir::Value, mlir::SmallVector<mlir::Value>> rowMaxima;
};

} // namespace lpfa

#endif // LPFA_LIB_DIALECT_LPFA_TRANSFORMS_DISTRIBUTETOTHREADS_KERNELDISTRIBUTION_H
