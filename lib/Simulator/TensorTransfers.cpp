//===- TensorTransfers.cpp - tcgen05.ld and st
//------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.16.8.
//
//===----------------------------------------------------------------------===//

#include "TensorInstructions.h"

using namespace lpfa::sim;
using namespace lpfa::sim::tcgen05;
using llvm::StringRef;
using llvm::Twine;

namespace {

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

} // namespace

Status tcgen05::waitForTransfers(Warp &w, const Instruction &i, LaneMask mask) {
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

void tcgen05::decodeTransfer(Decoder &d, std::shared_ptr<TensorData> data,
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
