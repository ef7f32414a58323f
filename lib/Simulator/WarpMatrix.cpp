//===- WarpMatrix.cpp - mma.sync and wgmma --------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.14.5 (mma.sync) and 9.7.15 (wgmma). Each warp of a warpgroup does
// its 16 rows of a wgmma by itself.
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "Machine.h"
#include "lpfa/Simulator/Fragments.h"
#include "lpfa/Simulator/MatrixDescriptor.h"
#include "lpfa/Simulator/TensorCore.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace lpfa::sim;
using llvm::StringRef;
using llvm::Twine;

namespace {

struct MatrixShape : InstructionData {
  unsigned m = 16, n = 8, k = 16;
  ElementFormat a = ElementFormat::F16, b = ElementFormat::F16;
  ElementFormat d = ElementFormat::F32;
  bool saturate = false;
  /// wgmma
  bool aInRegisters = false, aMnMajor = false, bMnMajor = false;
  bool negateA = false, negateB = false;

  unsigned bitsA() const { return 8 * containerBytes(a); }
  unsigned registersA() const { return numRegistersA(m, k, bitsA()); }
  /// D of binary16 has two elements a register.
  unsigned registersD() const {
    return m * n / warpSize / (d == ElementFormat::F16 ? 2 : 1);
  }
};

std::optional<ElementFormat> parseFormat(StringRef name) {
  return llvm::StringSwitch<std::optional<ElementFormat>>(name)
      .Case("f32", ElementFormat::F32)
      .Case("f16", ElementFormat::F16)
      .Case("bf16", ElementFormat::BF16)
      .Case("tf32", ElementFormat::TF32)
      .Case("e4m3", ElementFormat::E4M3)
      .Case("e5m2", ElementFormat::E5M2)
      .Case("s8", ElementFormat::S8)
      .Case("u8", ElementFormat::U8)
      .Case("s32", ElementFormat::S32)
      .Default(std::nullopt);
}

/// "m16n8k16"
bool parseShape(StringRef name, unsigned &m, unsigned &n, unsigned &k) {
  return name.consume_front("m") && !name.consumeInteger(10, m) &&
         name.consume_front("n") && !name.consumeInteger(10, n) &&
         name.consume_front("k") && !name.consumeInteger(10, k) && name.empty();
}

void putElement(std::vector<uint8_t> &dense, size_t index, unsigned bytes,
                uint32_t value) {
  std::memcpy(&dense[index * bytes], &value, bytes);
}

/// The dense A of a fragment.
std::vector<uint8_t> gatherA(const MatrixShape &s, const uint32_t *registers) {
  unsigned bits = s.bitsA(), bytes = bits / 8;
  std::vector<uint8_t> dense(size_t(s.m) * s.k * bytes);
  for (unsigned r = 0; r != s.registersA(); ++r)
    for (unsigned l = 0; l != warpSize; ++l)
      for (unsigned e = 0; e != 32 / bits; ++e) {
        FragmentElement at = fragmentA(s.m, bits, l, r, e);
        putElement(dense, size_t(at.row) * s.k + at.column, bytes,
                   registers[r * warpSize + l] >> (bits * e));
      }
  return dense;
}

/// The fragment's index in D's cells, which are stored column by column.
template <typename F> void forEachD(const MatrixShape &s, F f) {
  unsigned halves = s.d == ElementFormat::F16 ? 2 : 1;
  for (unsigned r = 0; r != s.registersD(); ++r)
    for (unsigned l = 0; l != warpSize; ++l)
      for (unsigned h = 0; h != halves; ++h) {
        FragmentElement at = fragmentD(s.m, l, r * halves + h);
        f(r, l, 16 * h, size_t(at.column) * s.m + at.row);
      }
}

MmaArithmetic arithmeticOf(const Warp &w, const MatrixShape &s, bool isWgmma) {
  if (w.context.options.mma == MmaModel::Exact)
    return MmaArithmetic::Exact;
  bool isFp8 = s.a == ElementFormat::E4M3 || s.a == ElementFormat::E5M2;
  if (!isFp8)
    return MmaArithmetic::Hardware;
  return isWgmma || w.context.isHopper ? MmaArithmetic::HopperFp8
                                       : MmaArithmetic::EmulatedFp8;
}

/// D = A * B + C of one warp; the arrays are register by register.
void compute(const Warp &w, const MatrixShape &s, const std::vector<uint8_t> &a,
             const std::vector<uint8_t> &b, const uint32_t *c, uint32_t *d,
             bool accumulate, bool isWgmma) {
  std::vector<uint32_t> cells(size_t(s.m) * s.n);
  uint32_t low = s.d == ElementFormat::F16 ? 0xFFFF : ~0u;
  forEachD(s, [&](unsigned r, unsigned l, unsigned shift, size_t index) {
    cells[index] = (c[r * warpSize + l] >> shift) & low;
  });
  MmaProblem problem;
  problem.m = s.m;
  problem.n = s.n;
  problem.k = s.k;
  problem.arithmetic = arithmeticOf(w, s, isWgmma);
  problem.a = {s.a, a.data(), s.negateA, nullptr};
  problem.b = {s.b, b.data(), s.negateB, nullptr};
  problem.dFormat = s.d;
  problem.accumulate = accumulate;
  problem.saturate = s.saturate;
  multiply(problem, cells.data(), 1, s.m);
  std::memset(d, 0, s.registersD() * warpSize * sizeof(uint32_t));
  forEachD(s, [&](unsigned r, unsigned l, unsigned shift, size_t index) {
    d[r * warpSize + l] |= (cells[index] & low) << shift;
  });
}

Status gatherWarp(Warp &w, LaneMask mask) {
  switch (w.gather(allLanes, /*samePc=*/true)) {
  case Warp::Gather::Wait:
    return Status::Blocked;
  case Warp::Gather::Fault:
    return Status::Stop;
  case Warp::Gather::Ready:
    break;
  }
  if (mask != allLanes)
    return w.fault("instruction", "executed by lanes 0x" +
                                      Twine::utohexstr(mask) +
                                      " of the warp only");
  return Status::Next;
}

//===----------------------------------------------------------------------===//
// mma.sync
//===----------------------------------------------------------------------===//

/// D..., A..., B..., C...
Status mmaSync(Warp &w, const Instruction &i, LaneMask mask) {
  if (Status status = gatherWarp(w, mask); status != Status::Next)
    return status;
  const MatrixShape &s = i.as<MatrixShape>();
  for (unsigned o = i.numDestinations; o != i.operands.size(); ++o)
    if (w.checkDefined(i[o], mask, "an operand"))
      return Status::Stop;
  auto read = [&](unsigned first, unsigned count) {
    std::vector<uint32_t> values(count * warpSize);
    for (unsigned r = 0; r != count; ++r)
      std::memcpy(&values[r * warpSize], w.words(i[first + r]),
                  warpSize * sizeof(uint32_t));
    return values;
  };
  unsigned bitsB = 8 * containerBytes(s.b), bytesB = bitsB / 8;
  unsigned countA = s.registersA(), countB = numRegistersB(s.k, bitsB);
  unsigned countD = s.registersD(), at = i.numDestinations;
  std::vector<uint8_t> a = gatherA(s, read(at, countA).data());
  std::vector<uint32_t> registersB = read(at + countA, countB);
  std::vector<uint8_t> b(size_t(s.n) * s.k * bytesB);
  for (unsigned r = 0; r != countB; ++r)
    for (unsigned l = 0; l != warpSize; ++l)
      for (unsigned e = 0; e != 32 / bitsB; ++e) {
        FragmentElement f = fragmentB(bitsB, l, r, e);
        putElement(b, size_t(f.column) * s.k + f.row, bytesB,
                   registersB[r * warpSize + l] >> (bitsB * e));
      }
  std::vector<uint32_t> c = read(at + countA + countB, countD);
  std::vector<uint32_t> d(c.size());
  compute(w, s, a, b, c.data(), d.data(), /*accumulate=*/true,
          /*isWgmma=*/false);
  for (unsigned r = 0; r != countD; ++r) {
    if (!i[r])
      continue;
    std::memcpy(w.words(i[r]), &d[r * warpSize], warpSize * sizeof(uint32_t));
    w.setUndefined(i[r], mask, false);
  }
  w.cluster.statistics.multiplyAdds += uint64_t(s.m) * s.n * s.k;
  return Status::Next;
}

/// Takes shape and types; the types come in the order D, A, B, C.
std::shared_ptr<MatrixShape> takeShape(Decoder &d, bool hasC) {
  auto s = std::make_shared<MatrixShape>();
  llvm::SmallVector<ElementFormat, 4> formats;
  bool hasShape = false;
  for (StringRef m : llvm::to_vector(d.remaining())) {
    if (!hasShape && parseShape(m, s->m, s->n, s->k)) {
      hasShape = true;
      d.take(m);
    } else if (std::optional<ElementFormat> f = parseFormat(m)) {
      formats.push_back(*f);
      d.take(m);
    }
  }
  if (!hasShape || formats.size() != (hasC ? 4u : 3u)) {
    d.fail("'" + d.syntax.opcode +
           "' needs a shape and the types of its "
           "operands");
    return s;
  }
  s->d = formats[0];
  s->a = formats[1];
  s->b = formats[2];
  bool isNarrow = containerBytes(s->a) == 1 || s->a == ElementFormat::TF32 ||
                  s->a == ElementFormat::F16 || s->a == ElementFormat::BF16;
  bool isInteger = s->a == ElementFormat::S8 || s->a == ElementFormat::U8;
  bool isD = isInteger
                 ? s->d == ElementFormat::S32
                 : s->d == ElementFormat::F32 || s->d == ElementFormat::F16;
  if (!isNarrow || !isD || containerBytes(s->a) != containerBytes(s->b) ||
      (hasC && formats[3] != s->d))
    d.fail("these operand types are not supported");
  return s;
}

void decodeMma(Decoder &d) {
  d.inst.undef = Undef::Self;
  d.take("sync");
  d.take("aligned");
  if (!d.take("row") || !d.take("col"))
    return d.fail("'mma' other than .row.col is not supported");
  std::shared_ptr<MatrixShape> s = takeShape(d, /*hasC=*/true);
  s->saturate = d.take("satfinite");
  d.finish();
  d.needOperands(4);
  unsigned rowBytes = s->k * containerBytes(s->a);
  if (d.failed())
    return;
  if (s->m != 16 || s->n != 8 || (rowBytes != 16 && rowBytes != 32))
    return d.fail("'mma' of this shape is not supported");
  unsigned countB = numRegistersB(s->k, 8 * containerBytes(s->b));
  if (d.destinationVector(0, Type::B32) != s->registersD() ||
      d.sourceVector(1, Type::B32) != s->registersA() ||
      d.sourceVector(2, Type::B32) != countB ||
      d.sourceVector(3, Type::B32) != s->registersD())
    return d.fail("an operand has the wrong number of registers");
  d.inst.data = std::move(s);
  d.inst.execute = mmaSync;
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

class WarpgroupMma : public PipeOperation {
public:
  WarpgroupMma(Warp &issuer, const MatrixShape &shape)
      : PipeOperation(issuer, Kind::Mma), shape(shape) {}
  MatrixShape shape;
  MatrixDescriptor a, b;
  std::vector<uint8_t> denseA, denseB;
  bool accumulate = false;

  bool read() override {
    if (!shape.aInRegisters) {
      // The warp's 16 rows of the 64 that the descriptor gives.
      OperandShape all = operandShape(64, shape.a, shape.aMnMajor);
      std::vector<uint8_t> rows(all.denseBytes());
      if (!gather(a, all, rows, "A"))
        return false;
      size_t bytes = rows.size() / 4;
      size_t first = issuer.index % 4 * bytes;
      denseA.assign(rows.begin() + first, rows.begin() + first + bytes);
    }
    OperandShape columns = operandShape(shape.n, shape.b, shape.bMnMajor);
    denseB.resize(columns.denseBytes());
    return gather(b, columns, denseB, "B");
  }
  bool write() override {
    unsigned count = shape.registersD();
    std::vector<uint32_t> values(count * warpSize);
    for (unsigned r = 0; r != count; ++r)
      std::memcpy(&values[r * warpSize], issuer.words(instruction[r]),
                  warpSize * sizeof(uint32_t));
    compute(issuer, shape, denseA, denseB, values.data(), values.data(),
            accumulate, /*isWgmma=*/true);
    for (unsigned r = 0; r != count; ++r)
      std::memcpy(issuer.words(instruction[r]), &values[r * warpSize],
                  warpSize * sizeof(uint32_t));
    issuer.cluster.statistics.multiplyAdds +=
        uint64_t(shape.m) * shape.n * shape.k;
    return true;
  }

private:
  OperandShape operandShape(unsigned rows, ElementFormat format,
                            bool mnMajor) const {
    OperandShape s;
    s.rows = rows;
    s.k = shape.k;
    s.format = format;
    s.mnMajor = mnMajor;
    return s;
  }
  bool gather(const MatrixDescriptor &matrix, const OperandShape &s,
              std::vector<uint8_t> &dense, StringRef what) {
    SharedMemory &shared = issuer.cta.shared;
    if (llvm::Error e = matrix.gather(s, shared.bytes, dense)) {
      issuer.fault("bounds",
                   "operand " + what + ": " + llvm::toString(std::move(e)));
      return false;
    }
    bool ok = true, undefined = false;
    RaceDetector *races = issuer.cluster.races.get();
    llvm::consumeError(matrix.forEachChunk(s, [&](const OperandChunk &chunk) {
      ok = ok &&
           (!races || races->shared(*this, issuer.cta.rank, chunk.address,
                                    chunk.bytes, RaceDetector::Access::Read));
      undefined |= std::memchr(&shared.undefined[chunk.address], 1,
                               chunk.bytes) != nullptr;
    }));
    if (undefined && issuer.context.options.checks.uninitialized)
      ok = ok && !issuer.complain("uninitialized",
                                  "operand " + what +
                                      " reads undefined shared memory");
    return ok;
  }
};

/// D..., A registers or descriptor, B descriptor, scale-d.
Status warpgroupMma(Warp &w, const Instruction &i, LaneMask mask) {
  if (Status status = gatherWarp(w, mask); status != Status::Next)
    return status;
  const MatrixShape &s = i.as<MatrixShape>();
  for (unsigned o = i.numDestinations; o != i.operands.size(); ++o)
    if (w.checkDefined(i[o], mask, "an operand"))
      return Status::Stop;
  auto operation = std::make_unique<WarpgroupMma>(w, s);
  unsigned at = i.numDestinations;
  auto decode = [&](const Operand &o, MatrixDescriptor &into) {
    llvm::Expected<MatrixDescriptor> m =
        MatrixDescriptor::decode(w.lane(o, 0), DescriptorVersion::Hopper);
    if (m) {
      into = *m;
      return true;
    }
    w.fault("instruction", llvm::toString(m.takeError()));
    return false;
  };
  if (s.aInRegisters) {
    std::vector<uint32_t> registers(s.registersA() * warpSize);
    for (unsigned r = 0; r != s.registersA(); ++r)
      std::memcpy(&registers[r * warpSize], w.words(i[at++]),
                  warpSize * sizeof(uint32_t));
    operation->denseA = gatherA(s, registers.data());
  } else if (!decode(i[at++], operation->a)) {
    return Status::Stop;
  }
  if (!decode(i[at++], operation->b))
    return Status::Stop;
  operation->accumulate = w.predicate(i[at]) & 1;
  // The registers hold nothing until wait_group.
  for (unsigned r = 0; r != i.numDestinations; ++r)
    w.setUndefined(i[r], mask, true);
  if (w.cluster.races)
    w.cluster.races->start(*operation, RaceDetector::Pipe, RaceDetector::Pipe);
  w.cluster.async.orderInPipe(*operation);
  bool ok;
  uint64_t id = w.cluster.async.issue(std::move(operation), ok);
  w.matrixGroups.open.push_back(id);
  w.tensorLoads.push_back({id, &i, mask, nullptr});
  return ok ? Status::Next : Status::Stop;
}

Status commitGroup(Warp &w, const Instruction &, LaneMask) {
  w.matrixGroups.committed.push_back(std::move(w.matrixGroups.open));
  w.matrixGroups.open.clear();
  return Status::Next;
}

/// target: how many groups may stay pending.
Status waitGroup(Warp &w, const Instruction &i, LaneMask) {
  Wait wait;
  wait.kind = Wait::Kind::MatrixGroups;
  wait.value = i.target;
  if (!w.cluster.waitIsOver(wait, w))
    return w.block(wait);
  // Registers of the groups that are done hold their results.
  llvm::erase_if(w.tensorLoads, [&](const Warp::PendingLoad &load) {
    for (size_t g = w.matrixGroups.committed.size(); g-- != 0;)
      if (g + i.target >= w.matrixGroups.committed.size() &&
          llvm::is_contained(w.matrixGroups.committed[g], load.operation))
        return false;
    if (llvm::is_contained(w.matrixGroups.open, load.operation))
      return false;
    for (unsigned r = 0; r != load.instruction->numDestinations; ++r)
      w.setUndefined((*load.instruction)[r], load.mask, false);
    return true;
  });
  if (w.cluster.races && i.target == 0)
    w.cluster.races->waited(w, RaceDetector::Pipe,
                            w.cluster.races->lastEpoch(w, RaceDetector::Pipe));
  return Status::Next;
}

Status nothing(Warp &, const Instruction &, LaneMask) { return Status::Next; }

void decodeWgmma(Decoder &d) {
  d.inst.undef = Undef::Self;
  d.take("sync");
  d.take("aligned");
  if (d.take("fence")) {
    d.finish();
    d.inst.execute = nothing;
    return;
  }
  if (d.take("commit_group")) {
    d.finish();
    d.inst.execute = commitGroup;
    return;
  }
  if (d.take("wait_group")) {
    d.finish();
    d.needOperands(1);
    d.inst.target = d.immediate(0);
    d.inst.execute = waitGroup;
    return;
  }
  if (!d.take("mma_async"))
    return d.fail("this form of 'wgmma' is not supported");
  if (d.take("sp"))
    return d.fail("sparse 'wgmma' is not supported");
  std::shared_ptr<MatrixShape> s = takeShape(d, /*hasC=*/false);
  s->saturate = d.take("satfinite");
  d.finish();
  if (d.failed())
    return;
  if (s->m != 64 || s->n % 8 || s->n < 8 || s->n > 256 ||
      s->k * containerBytes(s->a) != 32)
    return d.fail("'wgmma' of this shape is not supported");
  s->m = 16;
  bool isInteger = s->d == ElementFormat::S32;
  bool is16Bit = containerBytes(s->a) == 2;
  s->aInRegisters = d.operand(1).kind == ptx::SyntaxOperand::Kind::Vector;
  if (d.destinationVector(0, Type::B32) != s->registersD())
    return d.fail("D has the wrong number of registers");
  if (s->aInRegisters) {
    if (d.sourceVector(1, Type::B32) != s->registersA())
      return d.fail("A has the wrong number of registers");
  } else {
    d.source(1, Type::B64);
  }
  d.source(2, Type::B64);
  unsigned k = 3;
  d.source(k++, Type::Pred);
  if (!isInteger) {
    s->negateA = d.immediate(k++) < 0;
    s->negateB = d.immediate(k++) < 0;
  }
  if (is16Bit && !s->aInRegisters)
    s->aMnMajor = d.immediate(k++);
  if (is16Bit)
    s->bMnMajor = d.immediate(k++);
  d.needOperands(k);
  d.inst.data = std::move(s);
  d.inst.execute = warpgroupMma;
}

} // namespace

void lpfa::sim::addWarpMatrix(DecodeTable &table) {
  table["mma"] = decodeMma;
  table["wgmma"] = decodeWgmma;
}
