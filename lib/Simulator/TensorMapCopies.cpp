//===- TensorMapCopies.cpp - Tensor copies and tensor maps
//------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.9.27 (cp.async.bulk.tensor), 9.7.9.28 (tensormap.replace),
// 9.7.13.17 (tensormap.cp_fenceproxy).
//
//===----------------------------------------------------------------------===//

#include "Copies.h"

using namespace lpfa::sim;
using namespace lpfa::sim::copies;
using llvm::StringRef;
using llvm::Twine;

namespace {

/// Reads a tensor map; false after reporting.
bool readMap(Warp &w, uint64_t address, unsigned lane, TensorMap &map) {
  BytesRef at = w.locate(Space::Generic, address, 128, lane, false, 64);
  if (!at.data)
    return false;
  llvm::Expected<TensorMap> decoded =
      TensorMap::decode(llvm::ArrayRef<uint8_t>(at.data, 128));
  if (!decoded) {
    w.fault("instruction", llvm::toString(decoded.takeError()));
    return false;
  }
  map = *decoded;
  if (llvm::Error e = map.validate()) {
    w.fault("instruction", "tensor map: " + llvm::toString(std::move(e)));
    return false;
  }
  return true;
}

/// Whether an earlier lane stores the same box. Once is enough: CUTLASS's
/// epilogues have every lane of a warp issue its stores.
bool repeatsStore(Warp &w, const Instruction &i, LaneMask mask, unsigned lane) {
  unsigned rank = i.as<BulkData>().rank;
  for (unsigned l = 0; l != lane; ++l) {
    if (!((mask >> l) & 1))
      continue;
    bool same = w.address(i[0], l) == w.address(i[0], lane) &&
                w.address(i[1 + rank], l) == w.address(i[1 + rank], lane);
    for (unsigned d = 0; d != rank; ++d)
      same = same && w.lane(i[1 + d], l) == w.lane(i[1 + d], lane);
    if (same)
      return true;
  }
  return false;
}

/// Operands: map, coordinates..., shared address, barrier, CTA mask.
Status tensorCopy(Warp &w, const Instruction &i, LaneMask mask) {
  if (!checkOperands(w, i, mask))
    return Status::Stop;
  const BulkData &data = i.as<BulkData>();
  for (unsigned l = 0; l != warpSize; ++l) {
    if (!((mask >> l) & 1))
      continue;
    if (!(i.flags & (ToShared | IsReduction)) && repeatsStore(w, i, mask, l))
      continue;
    TensorMap map;
    if (!readMap(w, w.address(i[0], l), l, map))
      return Status::Stop;
    if (map.rank != data.rank)
      return w.fault("instruction", "tensor map of rank " + Twine(map.rank) +
                                        " in an instruction for rank " +
                                        Twine(data.rank));
    llvm::SmallVector<int32_t, 5> coordinates;
    for (unsigned d = 0; d != data.rank; ++d)
      coordinates.push_back(int32_t(w.lane(i[1 + d], l)));
    uint32_t shared = sharedAddress(w.address(i[1 + data.rank], l));
    std::unique_ptr<CopyOperation> operation;
    if (i.flags & ToShared) {
      auto load = std::make_unique<LoadOperation>(w);
      uint32_t barrier = sharedAddress(w.address(i[2 + data.rank], l));
      if (!addBarriers(w, *load, i, barrier,
                       i.flags & Multicast ? w.lane(i[3 + data.rank], l) : 0))
        return Status::Stop;
      load->transactionBytes = map.boxBytes();
      operation = std::move(load);
    } else {
      auto store = std::make_unique<StoreOperation>(w);
      if (i.flags & IsReduction) {
        std::optional<ReduceType> type = reduceType(map.element);
        if (!type || !isLegalReduction(data.op, *type))
          return w.fault("instruction",
                         "this reduction does not exist for elements of type " +
                             tensorMapElementName(map.element));
        store->reduceOp = data.op;
        store->type = *type;
      }
      operation = std::move(store);
    }
    operation->map = map;
    llvm::Error error =
        map.forEachRun(coordinates, shared, [&](const TensorMap::Run &run) {
          Piece p;
          p.global = run.globalAddress;
          p.shared = run.sharedAddress;
          p.globalBytes = run.globalBytes;
          p.sharedBytes = run.sharedBytes;
          p.inBounds = run.inBounds;
          operation->pieces.push_back(p);
        });
    if (error)
      return w.fault("instruction", llvm::toString(std::move(error)));
    bool ok;
    uint64_t id = issue(w, std::move(operation), ok);
    if (!ok)
      return Status::Stop;
    if (!(i.flags & ToShared))
      w.bulkGroups.open.push_back(id);
  }
  return Status::Next;
}

//===----------------------------------------------------------------------===//
// Tensor maps in memory
//===----------------------------------------------------------------------===//

/// tensormap.replace [map], (ordinal,) value. selector: the field; target: the
/// ordinal.
Status replaceField(Warp &w, const Instruction &i, LaneMask mask) {
  if (!checkOperands(w, i, mask))
    return Status::Stop;
  for (unsigned l = 0; l != warpSize; ++l) {
    if (!((mask >> l) & 1))
      continue;
    BytesRef at = w.locate(i.space, w.address(i[0], l), 128, l, true, 64);
    if (!at.data)
      return Status::Stop;
    llvm::ArrayRef<uint8_t> bytes(at.data, 128);
    TensorMap map;
    // A map is built from zeros, field by field.
    if (llvm::any_of(bytes, [](uint8_t b) { return b != 0; })) {
      llvm::Expected<TensorMap> decoded = TensorMap::decode(bytes);
      if (!decoded)
        return w.fault("instruction", llvm::toString(decoded.takeError()));
      map = *decoded;
    }
    if (llvm::Error e = map.replaceField(TensorMapField(i.selector), i.target,
                                         w.lane(i[1], l)))
      return w.fault("instruction", llvm::toString(std::move(e)));
    TensorMapBlob blob = map.encode();
    std::memcpy(at.data, blob.data(), blob.size());
    if (at.undefined)
      std::memset(at.undefined, 0, 128);
  }
  return Status::Next;
}

Status copyMap(Warp &w, const Instruction &i, LaneMask mask) {
  if (!checkOperands(w, i, mask))
    return Status::Stop;
  unsigned l = llvm::countr_zero(mask);
  BytesRef from =
      w.locateShared(sharedAddress(w.address(i[1], l)), 128, false, 128);
  if (!from.data)
    return Status::Stop;
  BytesRef to = w.locate(Space::Generic, w.address(i[0], l), 128, l, true, 128);
  if (!to.data)
    return Status::Stop;
  std::memcpy(to.data, from.data, 128);
  if (to.undefined)
    std::memcpy(to.undefined, from.undefined, 128);
  return Status::Next;
}

void decodeTensormap(Decoder &d) {
  d.inst.undef = Undef::Self;
  if (d.take("cp_fenceproxy")) {
    for (StringRef m :
         {"global", "shared::cta", "tensormap::generic", "proxy", "release",
          "acquire", "cta", "cluster", "gpu", "sys", "sync", "aligned"})
      d.take(m);
    d.finish();
    d.needOperands(3);
    d.address(0);
    d.address(1);
    d.inst.execute = copyMap;
    return;
  }
  if (!d.take("replace"))
    return d.fail("this form of 'tensormap' is not supported");
  d.take("tile");
  static constexpr StringRef fields[] = {"global_address", "rank",
                                         "box_dim",        "global_dim",
                                         "global_stride",  "element_stride",
                                         "elemtype",       "interleave_layout",
                                         "swizzle_mode",   "swizzle_atomicity",
                                         "fill_mode"};
  int field = d.takeOneOf(fields);
  if (field < 0)
    return d.fail("'tensormap.replace' without a known field");
  d.take("b1024");
  d.inst.space = d.takeSpace();
  Type type = d.needType();
  d.finish();
  bool hasOrdinal = field >= 2 && field <= 5;
  d.needOperands(hasOrdinal ? 3 : 2);
  d.address(0);
  d.inst.target = hasOrdinal ? d.immediate(1) : 0;
  d.source(hasOrdinal ? 2 : 1, type);
  d.inst.selector = field;
  d.inst.execute = replaceField;
}

} // namespace

void copies::decodeTensorCopy(Decoder &d, bool isReduction) {
  auto data = std::make_shared<BulkData>();
  static constexpr StringRef ranks[] = {"1d", "2d", "3d", "4d", "5d"};
  data->rank = d.takeOneOf(ranks) + 1;
  if (!data->rank)
    return d.fail("a tensor copy needs a rank");
  if (d.take("prefetch"))
    return decodePrefetch(d);
  bool toShared = false, fromShared = false;
  takeDirection(d, toShared, fromShared);
  if (isReduction) {
    std::optional<ReduceOp> op = takeReduceOp(d);
    if (!op)
      return d.fail("the reduction needs an operation");
    data->op = *op;
  }
  takeCommon(d);
  bool multicast = d.take("multicast::cluster");
  bool isPair = d.take("cta_group::2");
  bool hint = d.take("L2::cache_hint");
  d.finish();
  if (toShared == fromShared)
    return d.fail("a tensor copy is between global and shared memory");
  unsigned expected = (toShared ? 3 : 2) + multicast + hint;
  d.needOperands(expected);
  const ptx::SyntaxOperand &tensor = d.operand(toShared ? 1 : 0);
  if (tensor.kind != ptx::SyntaxOperand::Kind::Address ||
      tensor.elements.size() != 2 ||
      tensor.elements[1].elements.size() != data->rank)
    return d.fail("expected [tensor map, {" + Twine(data->rank) +
                  " coordinates}]");
  d.addressOf(tensor);
  for (const ptx::SyntaxOperand &c : tensor.elements[1].elements)
    d.sourceOf(c, Type::B32);
  d.address(toShared ? 0 : 1);
  if (toShared)
    d.address(2);
  if (multicast)
    d.source(3, Type::B16);
  d.inst.flags = (multicast ? Multicast : 0) | (isPair ? Pair : 0) |
                 (toShared ? ToShared : 0) | (isReduction ? IsReduction : 0);
  d.inst.data = std::move(data);
  d.inst.execute = tensorCopy;
}

void lpfa::sim::addTensorMaps(DecodeTable &table) {
  table["tensormap"] = decodeTensormap;
}
