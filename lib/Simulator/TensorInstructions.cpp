//===- TensorInstructions.cpp - tcgen05 -----------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.16: tensor memory and the fifth-generation tensor core.
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "Machine.h"
#include "lpfa/Simulator/InstructionDescriptor.h"
#include "lpfa/Simulator/MatrixDescriptor.h"
#include "lpfa/Simulator/TensorCore.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace lpfa::sim;
using llvm::StringRef;
using llvm::Twine;

namespace {

struct TensorData : InstructionData {
  MmaModifiers mma;
  TransferSpec transfer;
  CopySpec copy;
  unsigned ctaGroup = 1;
  /// tcgen05.ld.red.
  bool reduces = false, isMax = false, ofMagnitudes = false, keepsNaN = false;
  Type reduceType = Type::F32;
};

/// Reports an error; returns false.
bool fail(Warp &w, llvm::Error error) {
  w.fault("tmem", llvm::toString(std::move(error)));
  return false;
}

bool checkOperands(Warp &w, const Instruction &i, LaneMask mask) {
  for (const Operand &o : i.operands)
    if (o && w.checkDefined(o, mask, "an operand"))
      return false;
  return true;
}

/// All tcgen05 instructions of a kernel use one .cta_group (PTX ISA 9.7.16.5).
bool checkGroup(Warp &w, unsigned group) {
  if (group == 2 && w.cluster.ctas.size() % 2) {
    w.fault("tmem", ".cta_group::2 in a cluster of odd size");
    return false;
  }
  unsigned &used = w.cta.tensorGroup;
  if (used && used != group && w.context.options.checks.tmem &&
      w.complain("tmem", ".cta_group::" + Twine(group) +
                             " where the kernel used .cta_group::" +
                             Twine(used) + " before"))
    return false;
  used = group;
  return true;
}

/// The CTAs that take part: the own one, or the pair, even rank first.
llvm::SmallVector<Cta *, 2> participants(Warp &w, unsigned group) {
  if (group == 1)
    return {&w.cta};
  unsigned even = w.cta.rank & ~1u;
  return {w.cluster.ctas[even].get(), w.cluster.ctas[even + 1].get()};
}

/// One lane issues; several would issue as many operations.
bool checkOneLane(Warp &w, LaneMask mask) {
  if (llvm::popcount(mask) == 1)
    return true;
  return !w.complain("tmem", "issued by " + Twine(llvm::popcount(mask)) +
                                 " lanes of the warp: every one of them "
                                 "starts the operation");
}

/// .sync.aligned: all lanes of the warp together.
Status alignedWarp(Warp &w, LaneMask &mask) {
  switch (w.gather(allLanes, /*samePc=*/true)) {
  case Warp::Gather::Wait:
    return Status::Blocked;
  case Warp::Gather::Fault:
    return Status::Stop;
  case Warp::Gather::Ready:
    break;
  }
  if (mask != w.live)
    return w.fault("tmem", "executed by lanes 0x" + Twine::utohexstr(mask) +
                               " of the warp only");
  return Status::Next;
}

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

/// alloc [shared address], columns.
Status allocate(Warp &w, const Instruction &i, LaneMask mask) {
  if (Status s = alignedWarp(w, mask); s != Status::Next)
    return s;
  if (!checkOperands(w, i, mask) || !checkGroup(w, i.as<TensorData>().ctaGroup))
    return Status::Stop;
  // One warp of each CTA of a pair allocates; they wait for each other (PTX ISA
  // 9.7.16.7.1).
  Wait wait;
  wait.kind = Wait::Kind::TensorAllocation;
  if (i.as<TensorData>().ctaGroup == 2) {
    const Wait &before = w.fragment().wait;
    if (before.kind == Wait::Kind::TensorAllocation) {
      wait.value = before.value;
    } else {
      wait.value = ++w.cta.pairAllocations;
      w.cluster.event();
    }
    if (w.cluster.ctas[w.cta.rank ^ 1]->pairAllocations < wait.value)
      return w.block(wait);
  }
  unsigned l = llvm::countr_zero(mask);
  unsigned columns = w.lane(i[1], l);
  llvm::Expected<std::optional<uint32_t>> address =
      w.cta.tensor->allocate(columns);
  if (!address)
    return fail(w, address.takeError()), Status::Stop;
  if (!*address)
    return w.block(wait);
  BytesRef to =
      w.locateShared(w.address(i[0], l) & windowMask, 4, /*isWrite=*/true, 4);
  if (!to.data)
    return Status::Stop;
  if (!w.noteShared(w.address(i[0], l), 4, /*isWrite=*/true))
    return Status::Stop;
  std::memcpy(to.data, &**address, 4);
  std::memset(to.undefined, 0, 4);
  unsigned &most = w.cluster.statistics.maxTensorColumns;
  most = std::max(most, columns);
  return Status::Next;
}

Status deallocate(Warp &w, const Instruction &i, LaneMask mask) {
  if (Status s = alignedWarp(w, mask); s != Status::Next)
    return s;
  if (!checkOperands(w, i, mask) || !checkGroup(w, i.as<TensorData>().ctaGroup))
    return Status::Stop;
  unsigned l = llvm::countr_zero(mask);
  if (llvm::Error e =
          w.cta.tensor->deallocate(w.lane(i[0], l), w.lane(i[1], l)))
    return fail(w, std::move(e)), Status::Stop;
  if (w.cluster.races)
    w.cluster.races->forgetTensor(w.cta, w.lane(i[0], l) & 0xFFFF,
                                  w.lane(i[1], l));
  w.cluster.event();
  return Status::Next;
}

Status relinquish(Warp &w, const Instruction &i, LaneMask mask) {
  if (Status s = alignedWarp(w, mask); s != Status::Next)
    return s;
  if (!checkGroup(w, i.as<TensorData>().ctaGroup))
    return Status::Stop;
  w.cta.tensor->relinquishPermit();
  return Status::Next;
}

//===----------------------------------------------------------------------===//
// Races
//===----------------------------------------------------------------------===//

using Access = RaceDetector::Access;

bool noteTensor(AsyncOperation &operation, const Cta &cta,
                const TensorRegion &region, Access access) {
  RaceDetector *races = operation.issuer.cluster.races.get();
  return !races || races->tensor(operation, cta, region, access);
}

bool noteSharedRead(AsyncOperation &operation, const Cta &cta, uint32_t offset,
                    unsigned bytes) {
  RaceDetector *races = operation.issuer.cluster.races.get();
  return !races ||
         races->shared(operation, cta.rank, offset, bytes, Access::Read);
}

/// Starts an operation of the tensor pipe.
bool issueInPipe(Warp &w, std::unique_ptr<PipeOperation> operation) {
  if (w.cluster.races)
    w.cluster.races->startInPipe(*operation);
  w.cluster.async.orderInPipe(*operation);
  bool ok;
  w.cluster.async.issue(std::move(operation), ok);
  return ok;
}

//===----------------------------------------------------------------------===//
// mma
//===----------------------------------------------------------------------===//

class MmaOperation : public PipeOperation {
public:
  MmaOperation(Warp &issuer, const InstructionDescriptor &descriptor,
               uint32_t accumulatorAddress)
      : PipeOperation(issuer, Kind::Mma,
                      uint64_t(accumulatorAddress) << 32 | descriptor.m << 16 |
                          descriptor.n),
        descriptor(descriptor), d(accumulatorAddress) {}

  InstructionDescriptor descriptor;
  llvm::SmallVector<Cta *, 2> ctas;
  uint32_t d;
  std::optional<MatrixDescriptor> aShared;
  uint32_t aTensor = 0;
  MatrixDescriptor b;
  uint32_t scalesA = 0, scalesB = 0;
  bool accumulate = false;
  unsigned scaleInputD = 0;
  std::bitset<TensorMemory::numLanes> disabled[2];

  Work work() const override {
    // Per CTA: each reads its own shared memory.
    size_t a = aShared ? operandShape(true).denseBytes() : 0;
    return {Work::Kind::Mma,     a + operandShape(false).denseBytes(),
            descriptor.m,        descriptor.n,
            descriptor.ctaGroup, !aShared};
  }
  bool read() override {
    const OperandShape shapeA = operandShape(true),
                       shapeB = operandShape(false);
    denseB.resize(size_t(descriptor.n) * rowBytes(shapeB));
    for (unsigned c = 0; c != ctas.size(); ++c) {
      denseA[c].resize(shapeA.denseBytes());
      if (aShared) {
        if (!gather(*ctas[c], *aShared, shapeA, denseA[c], "A"))
          return false;
      } else {
        llvm::Expected<std::optional<TensorCell>> undefined =
            ctas[c]->tensor->readOperandA(descriptor, aTensor, denseA[c]);
        if (!undefined)
          return fail(issuer, undefined.takeError());
        if (*undefined && complainCell(*ctas[c], **undefined, "A"))
          return false;
        // 32 bytes of each row: eight columns.
        TensorRegion region =
            TensorMemory::accumulatorRegion(descriptor, aTensor);
        region.numColumns = 8;
        if (!noteTensor(*this, *ctas[c], region, Access::Read))
          return false;
      }
      size_t bytes = shapeB.denseBytes();
      llvm::MutableArrayRef<uint8_t> part(denseB.data() + c * bytes, bytes);
      if (!gather(*ctas[c], b, shapeB, part, "B"))
        return false;
      if (descriptor.scaleVectors &&
          (!readScales(*ctas[c], scalesA, descriptor.rowsPerCta(),
                       descriptor.scaleIdA, scaleBytesA[c], "A") ||
           !readScales(*ctas[c], scalesB, descriptor.n, descriptor.scaleIdB,
                       scaleBytesB[c], "B")))
        return false;
    }
    return true;
  }

  bool write() override {
    unsigned rows = descriptor.rowsPerCta();
    std::vector<uint32_t> cells(size_t(rows) * descriptor.n);
    for (unsigned c = 0; c != ctas.size(); ++c) {
      TensorMemory &memory = *ctas[c]->tensor;
      if (llvm::Error e = memory.checkAccumulator(descriptor, d))
        return fail(issuer, std::move(e));
      if (accumulate)
        if (std::optional<TensorCell> undefined =
                memory.readAccumulator(descriptor, d, cells))
          if (complainCell(*ctas[c], *undefined, "D"))
            return false;
      MmaProblem problem;
      problem.m = rows;
      problem.n = descriptor.n;
      problem.k = descriptor.k;
      if (issuer.context.options.mma == MmaModel::Exact)
        problem.arithmetic = MmaArithmetic::Exact;
      problem.a = {descriptor.aFormat, denseA[c].data(), descriptor.negateA,
                   scaleBytesA[c].data()};
      problem.b = {descriptor.bFormat, denseB.data(), descriptor.negateB,
                   scaleBytesB[c].data()};
      problem.dFormat = descriptor.dFormat;
      problem.accumulate = accumulate;
      problem.scaleInputD = scaleInputD;
      problem.saturate = descriptor.saturate;
      problem.scaleVectors = descriptor.scaleVectors;
      problem.scaleFormat = descriptor.scaleFormat;
      problem.packsNibbles = descriptor.packsNibbles();
      multiply(problem, cells.data(), 1, rows);
      TensorRegion region = TensorMemory::accumulatorRegion(descriptor, d);
      if ((accumulate && !noteTensor(*this, *ctas[c], region, Access::Read)) ||
          !noteTensor(*this, *ctas[c], region, Access::Write))
        return false;
      memory.writeAccumulator(descriptor, d, cells, disabled[c]);
    }
    issuer.cluster.statistics.multiplyAdds +=
        uint64_t(descriptor.m) * descriptor.n * descriptor.k;
    return true;
  }

private:
  static size_t rowBytes(const OperandShape &shape) {
    return size_t(shape.k) * containerBytes(shape.format);
  }
  OperandShape operandShape(bool isA) const {
    OperandShape shape;
    shape.rows = isA ? descriptor.rowsPerCta() : descriptor.columnsPerCta();
    shape.k = descriptor.k;
    shape.format = isA ? descriptor.aFormat : descriptor.bFormat;
    shape.mnMajor = isA ? descriptor.aMnMajor : descriptor.bMnMajor;
    shape.packsNibbles = descriptor.packsNibbles();
    return shape;
  }
  bool complainCell(Cta &cta, TensorCell cell, StringRef what) {
    return issuer.context.options.checks.uninitialized &&
           issuer.complain("uninitialized", "operand " + what +
                                                " reads undefined tensor "
                                                "memory, lane " +
                                                Twine(cell.lane) + " column " +
                                                Twine(cell.column) + " of " +
                                                cta.name());
  }
  bool gather(Cta &cta, const MatrixDescriptor &matrix,
              const OperandShape &shape, llvm::MutableArrayRef<uint8_t> dense,
              StringRef what) {
    if (llvm::Error e = matrix.gather(shape, cta.shared.bytes, dense)) {
      issuer.fault("bounds",
                   "operand " + what + ": " + llvm::toString(std::move(e)));
      return false;
    }
    const Checks &checks = issuer.context.options.checks;
    if (!checks.uninitialized && !checks.races)
      return true;
    std::optional<uint32_t> bad;
    bool ok = true;
    llvm::Error e = matrix.forEachChunk(shape, [&](const OperandChunk &chunk) {
      ok = ok && noteSharedRead(*this, cta, chunk.address, chunk.bytes);
      if (bad || !ok || !checks.uninitialized)
        return;
      const uint8_t *flags = &cta.shared.undefined[chunk.address];
      if (const void *at = std::memchr(flags, 1, chunk.bytes))
        bad = chunk.address + (static_cast<const uint8_t *>(at) - flags);
    });
    llvm::consumeError(std::move(e));
    if (!ok)
      return false;
    return !bad ||
           !issuer.complain("uninitialized",
                            "operand " + what +
                                " reads undefined shared memory at 0x" +
                                Twine::utohexstr(*bad) + " of " + cta.name());
  }
  bool readScales(Cta &cta, uint32_t address, unsigned rows, unsigned id,
                  std::vector<uint8_t> &scales, StringRef what) {
    unsigned vectors = descriptor.scaleVectors;
    scales.resize(size_t(rows) * vectors);
    // With M = 128 over two CTAs, the halves of B's columns are read from two
    // lane quarters each.
    unsigned half = descriptor.n / 2;
    bool split = what == "B" && descriptor.ctaGroup == 2 &&
                 descriptor.m == 128 && half % 32 == 0;
    for (unsigned part = 0; part != (split ? 2u : 1u); ++part) {
      std::optional<ScaleFault> fault;
      unsigned count = split ? half : rows;
      llvm::MutableArrayRef<uint8_t> into(
          scales.data() + size_t(part) * count * vectors, count * vectors);
      unsigned quarters = !split ? 0xF : part ? 0xC : 0x3;
      if (llvm::Error e =
              cta.tensor->readScales(address + part * (half / 32), count, id,
                                     vectors, into, fault, quarters))
        return fail(issuer, std::move(e));
      TensorRegion region;
      region.firstLane = split ? part * 64 : 0;
      region.numLanes = split ? 64 : 128;
      region.firstColumn = (address & 0x3FFFFFFF & 0xFFFF) + part * (half / 32);
      region.numColumns = llvm::divideCeil(count, 32);
      if (!noteTensor(*this, cta, region, Access::Read))
        return false;
      if (!fault)
        continue;
      bool isMismatch = fault->kind == ScaleFault::Mismatch;
      const Checks &checks = issuer.context.options.checks;
      if (!(isMismatch ? checks.tmem : checks.uninitialized))
        continue;
      if (issuer.complain(isMismatch ? "tmem" : "uninitialized",
                          "scale " + Twine(fault->vector) + " of row " +
                              Twine(fault->row + part * half) + " of " + what +
                              (isMismatch
                                   ? " differs between lane quarters, at lane "
                                   : " is undefined, at lane ") +
                              Twine(fault->cell.lane) + " column " +
                              Twine(fault->cell.column) + " of " + cta.name()))
        return false;
    }
    return true;
  }

  std::vector<uint8_t> denseA[2], denseB, scaleBytesA[2], scaleBytesB[2];
};

/// Operands: d, a, b, idesc, scale A, scale B, enable-input-d, disable lanes.
/// flags: A in tensor memory; has lanes. selector: scale-input-d.
enum MmaFlags { AInTensorMemory = 1, HasLanes = 2 };

Status mma(Warp &w, const Instruction &i, LaneMask mask) {
  const TensorData &data = i.as<TensorData>();
  if (!checkOperands(w, i, mask) || !checkGroup(w, data.ctaGroup) ||
      !checkOneLane(w, mask))
    return Status::Stop;
  for (unsigned l = 0; l != warpSize; ++l) {
    if (!((mask >> l) & 1))
      continue;
    llvm::Expected<InstructionDescriptor> descriptor =
        InstructionDescriptor::decode(w.lane(i[3], l), data.mma);
    if (!descriptor)
      return w.fault("instruction", llvm::toString(descriptor.takeError()));
    auto operation =
        std::make_unique<MmaOperation>(w, *descriptor, w.address(i[0], l));
    operation->ctas = participants(w, data.ctaGroup);
    if (i.flags & AInTensorMemory) {
      operation->aTensor = w.address(i[1], l);
    } else {
      llvm::Expected<MatrixDescriptor> a =
          MatrixDescriptor::decode(w.lane(i[1], l));
      if (!a)
        return w.fault("instruction",
                       "descriptor of A: " + llvm::toString(a.takeError()));
      operation->aShared = *a;
    }
    llvm::Expected<MatrixDescriptor> b =
        MatrixDescriptor::decode(w.lane(i[2], l));
    if (!b)
      return w.fault("instruction",
                     "descriptor of B: " + llvm::toString(b.takeError()));
    operation->b = *b;
    if (i[4]) {
      operation->scalesA = w.address(i[4], l);
      operation->scalesB = w.address(i[5], l);
    }
    operation->accumulate = (w.predicate(i[6]) >> l) & 1;
    operation->scaleInputD = i.selector;
    if (i.flags & HasLanes)
      for (unsigned word = 7; word != i.operands.size(); ++word)
        for (unsigned bit = 0; bit != 32; ++bit)
          if ((w.lane(i[word], l) >> bit) & 1)
            operation->disabled[(word - 7) / 4].set((word - 7) % 4 * 32 + bit);
    if (!issueInPipe(w, std::move(operation)))
      return Status::Stop;
  }
  return Status::Next;
}

//===----------------------------------------------------------------------===//
// cp, commit
//===----------------------------------------------------------------------===//

class CopyToTensor : public PipeOperation {
public:
  CopyToTensor(Warp &issuer) : PipeOperation(issuer, Kind::Copy) {}
  llvm::SmallVector<Cta *, 2> ctas;
  CopySpec spec;
  MatrixDescriptor source;
  uint32_t address = 0;

  Work work() const override {
    Work work;
    work.kind = Work::Kind::ScaleCopy;
    work.bytes = spec.numRows() * spec.rowBytes();
    work.ctaGroup = ctas.size();
    return work;
  }

  bool read() override {
    size_t bytes = size_t(spec.numRows()) * spec.rowBytes();
    for (unsigned c = 0; c != ctas.size(); ++c) {
      const SharedMemory &shared = ctas[c]->shared;
      dense[c].resize(bytes);
      if (llvm::Error e = TensorMemory::readCopySource(
              spec, source, shared.bytes, dense[c])) {
        issuer.fault("bounds", llvm::toString(std::move(e)));
        return false;
      }
      defined[c].assign(bytes, 1);
      bool ok = true;
      TensorMemory::forEachCopyChunk(
          spec, source, [&](uint32_t from, unsigned count, unsigned offset) {
            ok = ok && noteSharedRead(*this, *ctas[c], from, count);
            if (spec.decompression == CopyDecompression::None) {
              for (unsigned k = 0; k != count; ++k)
                defined[c][offset + k] = !shared.undefined[from + k];
            } else if (std::memchr(&shared.undefined[from], 1, count)) {
              std::memset(&defined[c][offset], 0, 16);
            }
          });
      if (!ok)
        return false;
    }
    return true;
  }
  bool write() override {
    for (unsigned c = 0; c != ctas.size(); ++c) {
      if (llvm::Error e = ctas[c]->tensor->checkCopy(spec, address))
        return fail(issuer, std::move(e));
      if (!noteTensor(*this, *ctas[c], TensorMemory::copyRegion(spec, address),
                      Access::Write))
        return false;
      ctas[c]->tensor->writeCopy(spec, address, dense[c], defined[c]);
    }
    return true;
  }

private:
  std::vector<uint8_t> dense[2], defined[2];
};

Status copyToTensor(Warp &w, const Instruction &i, LaneMask mask) {
  const TensorData &data = i.as<TensorData>();
  if (!checkOperands(w, i, mask) || !checkGroup(w, data.ctaGroup) ||
      !checkOneLane(w, mask))
    return Status::Stop;
  unsigned l = llvm::countr_zero(mask);
  auto operation = std::make_unique<CopyToTensor>(w);
  operation->ctas = participants(w, data.ctaGroup);
  operation->spec = data.copy;
  operation->address = w.address(i[0], l);
  llvm::Expected<MatrixDescriptor> source =
      MatrixDescriptor::decode(w.lane(i[1], l));
  if (!source)
    return w.fault("instruction", llvm::toString(source.takeError()));
  operation->source = *source;
  return issueInPipe(w, std::move(operation)) ? Status::Next : Status::Stop;
}

class CommitOperation : public PipeOperation {
public:
  CommitOperation(Warp &issuer) : PipeOperation(issuer, Kind::Commit) {}
  Work work() const override {
    Work work;
    work.kind = Work::Kind::Commit;
    work.ctaGroup = instruction.as<TensorData>().ctaGroup;
    return work;
  }
  bool complete() override {
    for (uint32_t address : barriers) {
      MBarrier *b = issuer.cluster.mbarrier(address);
      std::string error = "there is no mbarrier";
      if (b)
        b->noteArrival(instruction.line);
      if (b && issuer.cluster.races)
        issuer.cluster.races->complete(*this, b->arrived);
      if (!b || !issuer.cluster.arrive(*b, 1, error)) {
        issuer.fault("barrier", "mbarrier at 0x" + Twine::utohexstr(address) +
                                    ": " + error);
        return false;
      }
    }
    return true;
  }
};

/// commit [barrier], CTA mask.
Status commit(Warp &w, const Instruction &i, LaneMask mask) {
  if (!checkOperands(w, i, mask) || !checkGroup(w, i.as<TensorData>().ctaGroup))
    return Status::Stop;
  for (unsigned l = 0; l != warpSize; ++l) {
    if (!((mask >> l) & 1))
      continue;
    auto operation = std::make_unique<CommitOperation>(w);
    uint32_t address = w.address(i[0], l) & windowMask;
    if (i[1]) {
      for (unsigned rank = 0; rank != w.cluster.ctas.size(); ++rank)
        if ((w.lane(i[1], l) >> rank) & 1)
          operation->barriers.push_back((address & ((1u << rankShift) - 1)) |
                                        rank << rankShift);
    } else {
      operation->barriers.push_back(address);
    }
    for (uint32_t barrier : operation->barriers) {
      if (!w.locateShared(barrier, 8, true, 8).data)
        return Status::Stop;
      if (!w.cluster.mbarrier(barrier))
        return w.fault("barrier",
                       "there is no initialized mbarrier at shared address 0x" +
                           Twine::utohexstr(barrier));
    }
    if (!issueInPipe(w, std::move(operation)))
      return Status::Stop;
  }
  return Status::Next;
}

//===----------------------------------------------------------------------===//
// ld and st
//===----------------------------------------------------------------------===//

class TransferOperation : public AsyncOperation {
public:
  TransferOperation(Warp &issuer, const TransferSpec &spec, uint32_t address)
      : AsyncOperation(issuer, Engine::TensorTransfer), spec(spec),
        address(address), values(spec.numRegisters() * warpSize),
        defined(values.size(), 0xF) {}
  Work work() const override {
    Work work;
    work.kind = isStore ? Work::Kind::TensorStore : Work::Kind::TensorLoad;
    work.bytes = values.size() * sizeof(uint32_t);
    return work;
  }
  TransferSpec spec;
  uint32_t address;
  bool isStore = false;
  std::vector<uint32_t> values;
  std::vector<uint8_t> defined;
};

class TensorLoad : public TransferOperation {
public:
  using TransferOperation::TransferOperation;
  /// Where the marks of the loaded registers go, for wait::ld.
  std::shared_ptr<std::vector<uint8_t>> result;
  bool read() override {
    issuer.cta.tensor->load(spec, address, values.data(), defined.data());
    return noteTensor(*this, issuer.cta,
                      TensorMemory::transferRegion(spec, address),
                      Access::Read);
  }
  bool write() override {
    if (instruction.as<TensorData>().reduces)
      reduce();
    for (unsigned r = 0; r != instruction.numDestinations; ++r)
      if (const Operand &o = instruction[r])
        std::memcpy(issuer.words(o), &values[r * warpSize],
                    warpSize * sizeof(uint32_t));
    *result = defined;
    return true;
  }

private:
  /// One more register: the extremum of each lane's values.
  void reduce() {
    const TensorData &data = instruction.as<TensorData>();
    unsigned count = spec.numRegisters();
    values.resize((count + 1) * warpSize);
    defined.resize(values.size(), 0xF);
    for (unsigned l = 0; l != warpSize; ++l) {
      uint32_t best = values[l];
      for (unsigned r = 0; r != count; ++r) {
        best = extremum(data, r ? best : values[l], values[r * warpSize + l]);
        defined[count * warpSize + l] &= defined[r * warpSize + l];
      }
      values[count * warpSize + l] = best;
    }
  }
  static uint32_t extremum(const TensorData &data, uint32_t x, uint32_t y) {
    if (data.reduceType != Type::F32) {
      bool less =
          data.reduceType == Type::S32 ? int32_t(x) < int32_t(y) : x < y;
      return less == data.isMax ? y : x;
    }
    if (data.ofMagnitudes) {
      x &= 0x7FFFFFFF;
      y &= 0x7FFFFFFF;
    }
    float a = llvm::bit_cast<float>(x), b = llvm::bit_cast<float>(y);
    if (a != a || b != b) {
      if (data.keepsNaN || (a != a && b != b))
        return 0x7FFFFFFF;
      return a != a ? y : x;
    }
    // +0 is above -0.
    if (a == b)
      return data.isMax ? x & y : x | y;
    return (a < b) == data.isMax ? y : x;
  }
};

class TensorStore : public TransferOperation {
public:
  using TransferOperation::TransferOperation;
  bool write() override {
    issuer.cta.tensor->store(spec, address, values.data(), defined.data());
    return noteTensor(*this, issuer.cta,
                      TensorMemory::transferRegion(spec, address),
                      Access::Write);
  }
};

/// The address, equal in all lanes, of a transfer that the rules allow.
bool transferAddress(Warp &w, const Operand &o, LaneMask mask,
                     const TransferSpec &spec, uint32_t &address) {
  if (w.checkDefined(o, mask, "the address"))
    return false;
  unsigned first = llvm::countr_zero(mask);
  address = w.address(o, first);
  for (unsigned l = 0; l != warpSize; ++l)
    if (((mask >> l) & 1) && uint32_t(w.address(o, l)) != address) {
      w.fault("tmem", "the address differs between lanes");
      return false;
    }
  if (llvm::Error e = w.cta.tensor->checkTransfer(spec, address, w.index))
    return fail(w, std::move(e));
  return true;
}

/// Destinations, address.
Status tensorLoad(Warp &w, const Instruction &i, LaneMask mask) {
  if (Status s = alignedWarp(w, mask); s != Status::Next)
    return s;
  const TransferSpec &spec = i.as<TensorData>().transfer;
  uint32_t address;
  if (!transferAddress(w, i[i.numDestinations], mask, spec, address))
    return Status::Stop;
  // Until wait::ld the registers hold nothing.
  for (unsigned r = 0; r != i.numDestinations; ++r) {
    if (!i[r])
      continue;
    std::memset(w.words(i[r]), 0xFF, warpSize * sizeof(uint32_t));
    w.setUndefined(i[r], mask, true);
  }
  auto operation = std::make_unique<TensorLoad>(w, spec, address);
  auto result = std::make_shared<std::vector<uint8_t>>();
  operation->result = result;
  if (w.cluster.races)
    w.cluster.races->start(*operation, RaceDetector::TensorLoad,
                           RaceDetector::TensorLoad);
  bool ok;
  uint64_t id = w.cluster.async.issue(std::move(operation), ok);
  w.tensorLoads.push_back({id, &i, mask, std::move(result)});
  return ok ? Status::Next : Status::Stop;
}

/// Address, sources.
Status tensorStore(Warp &w, const Instruction &i, LaneMask mask) {
  if (Status s = alignedWarp(w, mask); s != Status::Next)
    return s;
  const TransferSpec &spec = i.as<TensorData>().transfer;
  uint32_t address;
  if (!transferAddress(w, i[0], mask, spec, address))
    return Status::Stop;
  auto operation = std::make_unique<TensorStore>(w, spec, address);
  operation->isStore = true;
  for (unsigned r = 0; r != spec.numRegisters(); ++r) {
    const Operand &o = i[1 + r];
    std::memcpy(&operation->values[r * warpSize], w.words(o),
                warpSize * sizeof(uint32_t));
    if (LaneMask undefined = w.undefinedLanes(o))
      for (unsigned b = 0; b != 4; ++b) {
        undefined = w.undefinedByte(o, b);
        for (unsigned l = 0; l != warpSize; ++l)
          if ((undefined >> l) & 1)
            operation->defined[r * warpSize + l] &= ~(1 << b);
      }
  }
  if (w.cluster.races)
    w.cluster.races->start(*operation, RaceDetector::TensorStore,
                           RaceDetector::TensorStore);
  bool ok;
  uint64_t id = w.cluster.async.issue(std::move(operation), ok);
  w.tensorStores.push_back(id);
  return ok ? Status::Next : Status::Stop;
}

/// selector: 0 ld, 1 st.
Status waitForTransfers(Warp &w, const Instruction &i, LaneMask mask) {
  if (Status s = alignedWarp(w, mask); s != Status::Next)
    return s;
  Wait wait;
  wait.kind = i.selector ? Wait::Kind::TensorStores : Wait::Kind::TensorLoads;
  if (!w.cluster.waitIsOver(wait, w))
    return w.block(wait);
  if (RaceDetector *races = w.cluster.races.get()) {
    RaceDetector::Lane lane =
        i.selector ? RaceDetector::TensorStore : RaceDetector::TensorLoad;
    races->waited(w, lane, races->lastEpoch(w, lane));
  }
  if (i.selector) {
    w.tensorStores.clear();
    return Status::Next;
  }
  for (const Warp::PendingLoad &load : w.tensorLoads)
    for (unsigned r = 0; r != load.instruction->numDestinations; ++r) {
      const Operand &o = (*load.instruction)[r];
      if (!o)
        continue;
      LaneMask undefined[4] = {};
      for (unsigned l = 0; l != warpSize; ++l)
        if (unsigned missing = ~(*load.defined)[r * warpSize + l] & 0xF)
          for (unsigned b = 0; b != 4; ++b)
            undefined[b] |= LaneMask((missing >> b) & 1) << l;
      for (unsigned b = 0; b != 4; ++b)
        w.setUndefinedByte(o, b, load.mask, undefined[b]);
      w.summarizeUndefined(o);
    }
  w.tensorLoads.clear();
  return Status::Next;
}

/// selector: 1 after_thread_sync.
Status fence(Warp &w, const Instruction &i, LaneMask) {
  if (w.cluster.races)
    w.cluster.races->fenceTensor(w, i.selector);
  return Status::Next;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

unsigned takeGroup(Decoder &d, TensorData &data) {
  static constexpr StringRef groups[] = {"cta_group::1", "cta_group::2"};
  int group = d.takeOneOf(groups);
  if (group < 0)
    d.fail("'tcgen05' needs .cta_group::1 or .cta_group::2");
  return data.ctaGroup = group + 1;
}

void decodeMma(Decoder &d, std::shared_ptr<TensorData> data) {
  data->mma.ctaGroup = takeGroup(d, *data);
  static constexpr StringRef kinds[] = {
      "kind::f16",      "kind::tf32", "kind::f8f6f4",  "kind::i8",
      "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4"};
  int kind = d.takeOneOf(kinds);
  if (kind < 0)
    return d.fail("'tcgen05.mma' needs a kind");
  data->mma.kind = MmaKind(kind);
  data->mma.warpSpecialized = d.take("ws");
  if (d.take("sp"))
    return d.fail("sparse 'tcgen05.mma' is not supported");
  bool scaled = d.take("block_scale");
  if (scaled != isBlockScaled(data->mma.kind))
    return d.fail(scaled ? "this kind takes no block scales"
                         : "this kind needs .block_scale");
  static constexpr StringRef vectors[] = {"scale_vec::1X", "scale_vec::2X",
                                          "scale_vec::4X"};
  int vector = d.takeOneOf(vectors);
  if (vector >= 0)
    data->mma.scaleVectors = 1 << vector;
  // PTX ISA 9.7.16.10.9: the block size is another spelling.
  if (d.take("block32"))
    data->mma.scaleVectors = data->mma.kind == MmaKind::MXF8F6F4 ? 1 : 2;
  if (d.take("block16"))
    data->mma.scaleVectors = 4;
  for (StringRef m : llvm::to_vector(d.remaining()))
    if (m.starts_with("collector::"))
      d.take(m);
  if (d.take("ashift"))
    return d.fail("'.ashift' is not supported");
  d.finish();
  d.address(0);
  if (d.isAddress(1)) {
    d.inst.flags |= AInTensorMemory;
    d.address(1);
  } else {
    d.source(1, Type::B64);
  }
  d.source(2, Type::B64);
  d.source(3, Type::B32);
  unsigned k = 4;
  if (scaled) {
    d.address(k++);
    d.address(k++);
  } else {
    d.absent();
    d.absent();
  }
  using OperandKind = ptx::SyntaxOperand::Kind;
  int lanes = -1;
  if (d.operand(k).kind == OperandKind::Vector)
    lanes = k++;
  d.source(k++, Type::Pred);
  if (lanes >= 0) {
    d.inst.flags |= HasLanes;
    if (d.sourceVector(lanes, Type::B32) != 4 * data->ctaGroup)
      d.fail("disable-output-lane needs 4 registers for each CTA");
  }
  if (k < d.numOperands() && data->mma.warpSpecialized)
    return d.fail("the zero-column mask is not supported");
  if (k < d.numOperands())
    d.inst.selector = d.immediate(k++);
  d.needOperands(k);
  d.inst.data = std::move(data);
  d.inst.execute = mma;
}

void decodeCopy(Decoder &d, std::shared_ptr<TensorData> data) {
  takeGroup(d, *data);
  static constexpr StringRef shapes[] = {"128x256b", "4x256b", "128x128b",
                                         "64x128b", "32x128b"};
  int shape = d.takeOneOf(shapes);
  bool pairs02 = d.take("warpx2::02_13"), pairs01 = d.take("warpx2::01_23");
  bool all = d.take("warpx4");
  switch (shape) {
  case 0:
    data->copy.shape = CopyShape::S128x256b;
    break;
  case 1:
    data->copy.shape = CopyShape::S4x256b;
    break;
  case 2:
    data->copy.shape = CopyShape::S128x128b;
    break;
  case 3:
    if (pairs02 == pairs01)
      return d.fail("'.64x128b' needs .warpx2::02_13 or .warpx2::01_23");
    data->copy.shape = pairs02 ? CopyShape::S64x128bWarpx2_02_13
                               : CopyShape::S64x128bWarpx2_01_23;
    break;
  case 4:
    if (!all)
      return d.fail("'.32x128b' needs .warpx4");
    data->copy.shape = CopyShape::S32x128bWarpx4;
    break;
  default:
    return d.fail("'tcgen05.cp' needs a shape");
  }
  if (d.take("b8x16")) {
    if (d.take("b4x16_p64"))
      data->copy.decompression = CopyDecompression::B4x16P64;
    else if (d.take("b6x16_p32"))
      data->copy.decompression = CopyDecompression::B6x16P32;
    else
      return d.fail("'.b8x16' needs a source format");
  }
  d.finish();
  d.needOperands(2);
  d.address(0);
  d.source(1, Type::B64);
  d.inst.data = std::move(data);
  d.inst.execute = copyToTensor;
}

void decodeTransfer(Decoder &d, std::shared_ptr<TensorData> data,
                    bool isStore) {
  d.take("sync");
  d.take("aligned");
  d.take("b32");
  static constexpr StringRef shapes[] = {"32x32b", "16x64b", "16x128b",
                                         "16x256b", "16x32bx2"};
  int shape = d.takeOneOf(shapes);
  static constexpr StringRef repeats[] = {"x1",  "x2",  "x4",  "x8",
                                          "x16", "x32", "x64", "x128"};
  int repeat = d.takeOneOf(repeats);
  if (shape < 0 || repeat < 0)
    return d.fail("'tcgen05' transfer without a shape or a count");
  TransferSpec &spec = data->transfer;
  spec.shape = TransferShape(shape);
  spec.repeat = 1 << repeat;
  spec.pack16 = d.take(isStore ? "unpack::16b" : "pack::16b");
  data->reduces = !isStore && d.take("red");
  if (data->reduces) {
    // PTX ISA 9.7.16.8.1: not on sm_100.
    if (StringRef(d.functionDecoder().module.target).starts_with("sm_100"))
      return d.fail("'tcgen05.ld.red' does not exist on " +
                    d.functionDecoder().module.target);
    data->isMax = d.take("max");
    if (!data->isMax && !d.take("min"))
      return d.fail("'tcgen05.ld.red' needs .min or .max");
    data->ofMagnitudes = d.take("abs");
    data->keepsNaN = d.take("NaN");
    data->reduceType = d.needType();
    bool isFloat = data->reduceType == Type::F32;
    if ((!isFloat && data->reduceType != Type::U32 &&
         data->reduceType != Type::S32) ||
        (!isFloat && (data->ofMagnitudes || data->keepsNaN)))
      return d.fail("'tcgen05.ld.red' has no such operation");
  }
  d.finish();
  bool split = spec.shape == TransferShape::S16x32bx2;
  d.needOperands((split ? 3 : 2) + data->reduces);
  unsigned registers = spec.numRegisters();
  if (registers > 128)
    return d.fail("more than 128 registers");
  unsigned count;
  if (isStore) {
    d.address(0);
    count = d.sourceVector(split ? 2 : 1, Type::B32);
    if (split)
      spec.halfSplitOffset = d.immediate(1);
  } else {
    unsigned k = 0;
    count = d.destinationVector(k++, Type::B32);
    if (data->reduces)
      d.destination(k++, Type::B32);
    d.address(k++);
    if (split)
      spec.halfSplitOffset = d.immediate(k);
  }
  if (count != registers)
    return d.fail(Twine(count) + " registers where the shape has " +
                  Twine(registers));
  d.inst.data = std::move(data);
  d.inst.execute = isStore ? tensorStore : tensorLoad;
}

void decodeTcgen05(Decoder &d) {
  d.inst.undef = Undef::Self;
  auto data = std::make_shared<TensorData>();
  auto simple = [&](ExecuteFn execute, unsigned operands) {
    d.take("sync");
    d.take("aligned");
    d.take("b32");
    d.takeSpace();
    d.finish();
    d.needOperands(operands);
    d.inst.execute = execute;
    d.inst.data = std::move(data);
  };
  d.functionDecoder().function.usesTensorMemory = true;
  if (d.take("alloc")) {
    takeGroup(d, *data);
    d.address(0);
    d.source(1, Type::B32);
    return simple(allocate, 2);
  }
  if (d.take("dealloc")) {
    takeGroup(d, *data);
    d.source(0, Type::B32);
    d.source(1, Type::B32);
    return simple(deallocate, 2);
  }
  if (d.take("relinquish_alloc_permit")) {
    takeGroup(d, *data);
    return simple(relinquish, 0);
  }
  if (d.take("mma"))
    return decodeMma(d, std::move(data));
  if (d.take("cp"))
    return decodeCopy(d, std::move(data));
  if (d.take("commit")) {
    takeGroup(d, *data);
    d.take("mbarrier::arrive::one");
    bool multicast = d.take("multicast::cluster");
    d.take("b64");
    d.address(0);
    if (multicast)
      d.source(1, Type::B16);
    else
      d.absent();
    return simple(commit, 1 + multicast);
  }
  if (d.take("ld"))
    return decodeTransfer(d, std::move(data), false);
  if (d.take("st"))
    return decodeTransfer(d, std::move(data), true);
  if (d.take("wait::ld"))
    return simple(waitForTransfers, 0);
  if (d.take("wait::st")) {
    d.inst.selector = 1;
    return simple(waitForTransfers, 0);
  }
  if (d.take("fence::before_thread_sync"))
    return simple(fence, 0);
  if (d.take("fence::after_thread_sync")) {
    d.inst.selector = 1;
    return simple(fence, 0);
  }
  d.fail("this form of 'tcgen05' is not supported");
}

} // namespace

void lpfa::sim::addTensorInstructions(DecodeTable &table) {
  table["tcgen05"] = decodeTcgen05;
}
