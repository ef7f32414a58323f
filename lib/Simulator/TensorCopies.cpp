//===- TensorCopies.cpp - tcgen05.cp and shift ----------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.16.9.
//
//===----------------------------------------------------------------------===//

#include "TensorInstructions.h"
#include "lpfa/Simulator/MatrixDescriptor.h"

using namespace lpfa::sim;
using namespace lpfa::sim::tcgen05;
using llvm::StringRef;
using llvm::Twine;

namespace {

class CopyToTensor : public PipeOperation {
public:
  CopyToTensor(Warp &issuer, const CopySpec &spec)
      : PipeOperation(issuer, spec.shape == CopyShape::S4x256b ? Kind::RowCopy
                                                               : Kind::Copy),
        spec(spec) {}
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
  auto operation = std::make_unique<CopyToTensor>(w, data.copy);
  operation->ctas = participants(w, data.ctaGroup);
  operation->address = w.address(i[0], l);
  llvm::Expected<MatrixDescriptor> source =
      MatrixDescriptor::decode(w.lane(i[1], l));
  if (!source)
    return w.fault("instruction", llvm::toString(source.takeError()));
  operation->source = *source;
  return issueInPipe(w, std::move(operation)) ? Status::Next : Status::Stop;
}

class ShiftRows : public PipeOperation {
public:
  ShiftRows(Warp &issuer, uint32_t address)
      : PipeOperation(issuer, Kind::Shift), address(address) {}
  llvm::SmallVector<Cta *, 2> ctas;
  uint32_t address;

  bool write() override {
    TensorRegion region = TensorMemory::shiftRegion(address);
    for (Cta *cta : ctas) {
      if (llvm::Error e = cta->tensor->checkShift(address))
        return fail(issuer, std::move(e));
      if (!noteTensor(*this, *cta, region, Access::Read) ||
          !noteTensor(*this, *cta, region, Access::Write))
        return false;
      cta->tensor->shiftDown(address);
    }
    return true;
  }
};

Status shiftRows(Warp &w, const Instruction &i, LaneMask mask) {
  unsigned group = i.as<TensorData>().ctaGroup;
  if (!checkOperands(w, i, mask) || !checkGroup(w, group) ||
      !checkOneLane(w, mask))
    return Status::Stop;
  auto operation =
      std::make_unique<ShiftRows>(w, w.address(i[0], llvm::countr_zero(mask)));
  operation->ctas = participants(w, group);
  return issueInPipe(w, std::move(operation)) ? Status::Next : Status::Stop;
}

} // namespace

void tcgen05::decodeShift(Decoder &d, std::shared_ptr<TensorData> data) {
  takeGroup(d, *data);
  if (!d.take("down"))
    return d.fail("'tcgen05.shift' needs .down");
  d.finish();
  d.needOperands(1);
  d.address(0);
  d.inst.data = std::move(data);
  d.inst.execute = shiftRows;
}

void tcgen05::decodeCopy(Decoder &d, std::shared_ptr<TensorData> data) {
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
