//===- AsyncStores.cpp - st.async and red.async ---------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.9.12 (st.async), 9.7.13.8 (red.async): registers to shared memory
// of a CTA of the cluster, whose mbarrier counts the bytes.
//
//===----------------------------------------------------------------------===//

#include "Copies.h"

using namespace lpfa::sim;
using namespace lpfa::sim::copies;
using llvm::StringRef;
using llvm::Twine;

namespace {

class AsyncStore : public StoreOperation {
public:
  using StoreOperation::StoreOperation;
  Work work() const override { return {}; }
  bool read() override { return true; }
  bool write() override {
    const Piece &p = pieces.front();
    return reduceOp ? StoreOperation::write()
                    : writeShared(p.global, 0, p.globalBytes);
  }
};

/// Address, values..., barrier. vector: values.
Status asyncStore(Warp &w, const Instruction &i, LaneMask mask) {
  unsigned n = i.vector, size = bytesOf(i.type);
  const Operand &barrier = i[1 + n];
  if (w.checkDefined(i[0], mask, "the address") ||
      w.checkDefined(barrier, mask, "the address"))
    return Status::Stop;
  for (unsigned l = 0; l != warpSize; ++l) {
    if (!((mask >> l) & 1))
      continue;
    auto store = std::make_unique<AsyncStore>(w);
    Piece p;
    p.global = sharedAddress(w.address(i[0], l));
    p.globalBytes = p.sharedBytes = store->transactionBytes = n * size;
    if (!w.locateShared(p.global, n * size, /*isWrite=*/true, n * size).data)
      return Status::Stop;
    uint32_t counter = sharedAddress(w.address(barrier, l));
    if (!w.findBarrier(counter, /*isAsync=*/true))
      return Status::Stop;
    if (counter >> rankShift != p.global >> rankShift)
      return w.fault("barrier", "the mbarrier is in another CTA than what is "
                                "written");
    for (unsigned e = 0; e != n; ++e) {
      uint64_t value = w.lane(i[1 + e], l);
      for (unsigned b = 0; b != size; ++b) {
        store->staging.bytes.push_back(value >> (8 * b));
        store->staging.undefined.push_back((w.undefinedByte(i[1 + e], b) >> l) &
                                           1);
      }
    }
    store->toShared = true;
    if (i.data) {
      store->reduceOp = i.as<BulkData>().op;
      store->type = i.as<BulkData>().type;
    }
    store->pieces.push_back(p);
    store->barriers.push_back(counter);
    bool ok;
    issue(w, std::move(store), ok);
    if (!ok)
      return Status::Stop;
  }
  return Status::Next;
}

} // namespace

void copies::decodeAsyncStore(Decoder &d, bool isReduction) {
  d.inst.undef = Undef::Self;
  if (!d.take("mbarrier::complete_tx::bytes"))
    return d.fail("'" + d.syntax.opcode +
                  ".async' without an mbarrier is not supported");
  for (StringRef m : {"weak", "relaxed", "cluster"})
    d.take(m);
  if (isReduction) {
    auto data = std::make_shared<BulkData>();
    std::optional<ReduceOp> op = takeReduceOp(d);
    d.inst.type = d.needType();
    std::optional<ReduceType> type = parseReduceType(d.inst.type);
    if (!op || !type || isFloat(d.inst.type) || !isLegalReduction(*op, *type))
      return d.fail("this reduction does not exist");
    data->op = *op;
    data->type = *type;
    d.inst.data = std::move(data);
  } else {
    static constexpr StringRef vectors[] = {"v2", "v4"};
    int vector = d.takeOneOf(vectors);
    d.inst.vector = vector < 0 ? 1 : 2u << vector;
    d.inst.type = d.needType();
  }
  Space space = d.takeSpace();
  unsigned size = bytesOf(d.inst.type);
  d.finish();
  d.needOperands(3);
  if (space != Space::Shared && space != Space::Generic)
    return d.fail("'" + d.syntax.opcode + ".async' writes to shared memory");
  if ((size != 4 && size != 8) || d.inst.vector * size > 16)
    return d.fail("'" + d.syntax.opcode +
                  ".async' of this type does not exist");
  d.address(0);
  if (d.sourceVector(1, d.inst.type) != d.inst.vector)
    return d.fail("the vector has the wrong length");
  d.address(2);
  d.inst.execute = asyncStore;
}
