//===- TensorMma.cpp - tcgen05.mma
//------------------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.16.10.
//
//===----------------------------------------------------------------------===//

#include "TensorInstructions.h"
#include "lpfa/Simulator/MatrixDescriptor.h"
#include "lpfa/Simulator/TensorCore.h"
#include "llvm/Support/MathExtras.h"

using namespace lpfa::sim;
using namespace lpfa::sim::tcgen05;
using llvm::StringRef;
using llvm::Twine;

namespace {

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
      // PTX ISA 9.7.16.10.5: rows of A are lanes.
      if (descriptor->aMnMajor)
        return w.fault("instruction", "A is MN-major, but in tensor memory it "
                                      "is always K-major");
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

} // namespace

void tcgen05::decodeMma(Decoder &d, std::shared_ptr<TensorData> data) {
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
