//===- Memory.cpp - Loads, stores and atomics -----------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.9.8 (ld), 9.7.9.11 (st), 9.7.13.5 (atom), 9.7.13.7 (red).
//
//===----------------------------------------------------------------------===//

#include "Copies.h"
#include "FloatArithmetic.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace lpfa::sim;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Modifiers without effect on the result
//===----------------------------------------------------------------------===//

namespace {

/// How an access synchronizes, as the instruction's flags: bits 0 and 1, and
/// the scope above them.
enum AccessFlags : uint32_t { Acquire = 1, Release = 2, ScopeShift = 2 };

Scope scopeOf(const Instruction &i) { return Scope(i.flags >> ScopeShift); }

/// PTX ISA 8.4 and 8.5: weak, or strong with a scope. Without one it is the
/// GPU, as for atomics.
uint32_t accessFlags(Decoder &d, bool isAtomic) {
  auto has = [&](StringRef m) { return llvm::is_contained(d.remaining(), m); };
  bool acquires = has("acquire") || has("acq_rel");
  bool releases = has("release") || has("acq_rel");
  bool isStrong = isAtomic || acquires || releases || has("relaxed") ||
                  has("volatile") || has("mmio");
  Scope scope = !isStrong        ? Scope::Weak
                : has("cta")     ? Scope::Cta
                : has("cluster") ? Scope::Cluster
                                 : Scope::Gpu;
  return (acquires ? Acquire : 0) | (releases ? Release : 0) |
         uint32_t(scope) << ScopeShift;
}

} // namespace

/// Takes consistency, scope and cache modifiers; true if the access has a
/// cache-policy operand.
static bool takeMemoryModifiers(Decoder &d) {
  for (StringRef name :
       {"weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "mmio",
        "cta",  "cluster", "gpu",     "sys",     "ca",      "cg",       "cs",
        "lu",   "cv",      "wb",      "wt",      "nc",      "unified"})
    d.take(name);
  for (StringRef m : llvm::to_vector(d.remaining()))
    if (m.starts_with("L1::") ||
        (m.starts_with("L2::") && m != "L2::cache_hint"))
      d.take(m);
  return d.take("L2::cache_hint");
}

namespace {

bool isShared(Space space, uint64_t address) {
  return space == Space::Shared ||
         (space == Space::Generic && address >> 32 == sharedWindow >> 32);
}

bool isGlobal(Space space, uint64_t address) {
  return space == Space::Global ||
         (space == Space::Generic && address >> bufferShift != 0);
}

/// Joins the accesses of neighboring lanes before the race detector sees them.
/// Strong accesses to shared memory are none of data; those to global memory
/// do not race with each other.
class AccessRun {
public:
  AccessRun(Warp &w, const Instruction &i, bool isWrite)
      : w(w), space(i.space), scope(scopeOf(i)), isWrite(isWrite) {}
  bool add(uint64_t address, unsigned count, bool unchanged = false) {
    if (!w.cluster.races)
      return true;
    if (address == end && unchanged == isUnchanged) {
      end += count;
      return true;
    }
    bool ok = flush();
    begin = address;
    end = address + count;
    isUnchanged = unchanged;
    return ok;
  }
  bool flush() {
    if (begin == end)
      return true;
    if (isGlobal(space, begin))
      return w.noteGlobal(begin, end - begin, isWrite, scope, isUnchanged);
    return scope != Scope::Weak || !isShared(space, begin) ||
           w.noteShared(begin, end - begin, isWrite, isUnchanged);
  }

private:
  Warp &w;
  Space space;
  Scope scope;
  bool isWrite, isUnchanged = false;
  uint64_t begin = 0, end = 0;
};

/// A strong access to global memory of a lane; reads after they have happened,
/// writes before.
void acquireAt(Warp &w, const Instruction &i, uint64_t address) {
  if (w.cluster.races && scopeOf(i) != Scope::Weak &&
      isGlobal(i.space, address))
    w.cluster.races->acquireGlobal(w, address, scopeOf(i), i.flags & Acquire);
}
void releaseAt(Warp &w, const Instruction &i, uint64_t address,
               bool isReadWrite) {
  if (w.cluster.races && scopeOf(i) != Scope::Weak &&
      isGlobal(i.space, address))
    w.cluster.races->releaseGlobal(w, address, scopeOf(i), i.flags & Release,
                                   isReadWrite);
}

//===----------------------------------------------------------------------===//
// ld and st
//===----------------------------------------------------------------------===//

bool anyUndefined(const uint8_t *flags, unsigned bytes) {
  return flags && std::memchr(flags, 1, bytes);
}

/// One element of a lane's access.
uint64_t readElement(const uint8_t *data, unsigned bytes, bool isSigned) {
  uint64_t value = 0;
  std::memcpy(&value, data, bytes);
  if (isSigned && bytes < 8 && (data[bytes - 1] & 0x80))
    value |= ~uint64_t(0) << (8 * bytes);
  return value;
}

void storeWide(Warp &w, const Operand &o, unsigned lane, const uint8_t *data) {
  uint64_t halves[2];
  std::memcpy(halves, data, 16);
  w.doubleWords(o)[lane] = halves[0];
  w.doubleWords(o)[warpSize + lane] = halves[1];
}

/// d..., [a].
Status load(Warp &w, const Instruction &i, LaneMask mask) {
  unsigned n = i.numDestinations, size = bytesOf(i.type);
  const Operand &address = i[n];
  if (w.checkDefined(address, mask, "the address"))
    return Status::Stop;
  bool isSign = isSigned(i.type);
  bool tracks = w.context.options.checks.uninitialized;
  if (tracks)
    for (unsigned e = 0; e != n; ++e)
      w.setUndefined(i[e], mask, false);
  bool someUndefined = false;
  AccessRun run(w, i, /*isWrite=*/false);
  for (unsigned l = 0; l != warpSize; ++l) {
    if (!((mask >> l) & 1))
      continue;
    uint64_t from = w.address(address, l);
    BytesRef at = w.locate(i.space, from, n * size, l,
                           /*isWrite=*/false, n * size);
    if (!at.data)
      return Status::Stop;
    if (!run.add(from, n * size))
      return Status::Stop;
    for (unsigned e = 0; e != n; ++e) {
      if (!i[e])
        continue;
      if (size == 16)
        storeWide(w, i[e], l, at.data + e * size);
      else
        w.setLane(i[e], l, readElement(at.data + e * size, size, isSign));
    }
    acquireAt(w, i, from);
    if (tracks && anyUndefined(at.undefined, n * size)) {
      someUndefined = true;
      for (unsigned e = 0; e != n; ++e)
        for (unsigned b = 0; i[e] && b != size; ++b)
          if (at.undefined[e * size + b])
            w.setUndefinedByte(i[e], b, LaneMask(1) << l, allLanes);
    }
  }
  if (!run.flush())
    return Status::Stop;
  if (someUndefined)
    for (unsigned e = 0; e != n; ++e)
      if (i[e])
        w.summarizeUndefined(i[e]);
  if (i.space == Space::Global)
    w.cluster.statistics.globalBytesLoaded += llvm::popcount(mask) * n * size;
  return Status::Next;
}

/// [a], b...
Status store(Warp &w, const Instruction &i, LaneMask mask) {
  unsigned n = i.operands.size() - 1, size = bytesOf(i.type);
  if (w.checkDefined(i[0], mask, "the address"))
    return Status::Stop;
  LaneMask undefined = 0;
  for (unsigned e = 0; e != n; ++e)
    undefined |= w.undefinedLanes(i[1 + e]);
  std::unique_lock<std::mutex> alone;
  if (w.cluster.races && i.space != Space::Local && i.space != Space::Shared)
    alone = w.cluster.context.shadow->lockStores();
  AccessRun run(w, i, /*isWrite=*/true);
  for (unsigned l = 0; l != warpSize; ++l) {
    if (!((mask >> l) & 1))
      continue;
    uint64_t address = w.address(i[0], l);
    BytesRef at =
        w.locate(i.space, address, n * size, l, /*isWrite=*/true, n * size);
    if (!at.data)
      return Status::Stop;
    uint8_t bytes[64];
    for (unsigned e = 0; e != n; ++e) {
      if (size == 16) {
        uint64_t halves[2] = {w.doubleWords(i[1 + e])[l],
                              w.doubleWords(i[1 + e])[warpSize + l]};
        std::memcpy(bytes + e * size, halves, 16);
      } else {
        uint64_t value = w.lane(i[1 + e], l);
        std::memcpy(bytes + e * size, &value, size);
      }
    }
    if (!run.add(address, n * size,
                 !anyUndefined(at.undefined, n * size) &&
                     std::memcmp(bytes, at.data, n * size) == 0))
      return Status::Stop;
    releaseAt(w, i, address, /*isReadWrite=*/false);
    std::memcpy(at.data, bytes, n * size);
    bool laneUndefined = (undefined >> l) & 1;
    if (at.undefined)
      std::memset(at.undefined, 0, n * size);
    if (laneUndefined && w.context.options.checks.uninitialized)
      for (unsigned e = 0; e != n; ++e)
        for (unsigned b = 0; b != size; ++b)
          if ((w.undefinedByte(i[1 + e], b) >> l) & 1) {
            if (isShared(i.space, address)) {
              at.undefined[e * size + b] = 1;
            } else if (i.space != Space::Local) {
              if (w.complain("uninitialized",
                             "lane " + Twine(l) +
                                 " stores an undefined value to global memory"))
                return Status::Stop;
              laneUndefined = false;
            }
          }
  }
  if (!run.flush())
    return Status::Stop;
  if (i.space == Space::Global)
    w.cluster.statistics.globalBytesStored += llvm::popcount(mask) * n * size;
  return Status::Next;
}

unsigned takeVector(Decoder &d) {
  static constexpr StringRef names[] = {"v2", "v4", "v8"};
  int v = d.takeOneOf(names);
  return v < 0 ? 1 : 2u << v;
}

void decodeLoad(Decoder &d) {
  d.inst.flags = accessFlags(d, /*isAtomic=*/false);
  bool hint = takeMemoryModifiers(d);
  unsigned vector = takeVector(d);
  Space space = d.takeSpace();
  Type type = d.needType();
  d.finish();
  d.needOperands(hint ? 3 : 2);
  d.inst.type = type;
  d.inst.space = space;
  d.inst.undef = Undef::Self;
  if (d.destinationVector(0, type, /*wide=*/true) != vector)
    return d.fail("the vector has the wrong length");
  d.address(1);
  if (bytesOf(type) == 0)
    return d.fail("'ld' of this type is not supported");
  d.inst.execute = load;
}

void decodeStore(Decoder &d) {
  if (d.take("async"))
    return copies::decodeAsyncStore(d, /*isReduction=*/false);
  d.inst.flags = accessFlags(d, /*isAtomic=*/false);
  bool hint = takeMemoryModifiers(d);
  unsigned vector = takeVector(d);
  Space space = d.takeSpace();
  Type type = d.needType();
  d.finish();
  d.needOperands(hint ? 3 : 2);
  d.inst.type = type;
  d.inst.space = space;
  d.inst.undef = Undef::Self;
  d.address(0);
  if (d.sourceVector(1, type, /*wide=*/true) != vector)
    return d.fail("the vector has the wrong length");
  if (bytesOf(type) == 0)
    return d.fail("'st' of this type is not supported");
  d.inst.execute = store;
}

//===----------------------------------------------------------------------===//
// atom and red
//===----------------------------------------------------------------------===//

enum AtomicOp { AAdd, AMin, AMax, AInc, ADec, AAnd, AOr, AXor, AExch, ACas };

template <typename T> T atomicFloat(unsigned op, T old, T b) {
  switch (op) {
  case AAdd:
    return old + b;
  case AMin:
    return b < old ? b : old;
  default:
    return old < b ? b : old;
  }
}

/// The new value of an element of `type`.
uint64_t atomicResult(unsigned op, Type type, uint64_t old, uint64_t b,
                      uint64_t c) {
  auto halves = [&](ElementFormat format, unsigned n) {
    uint64_t result = 0;
    for (unsigned h = 0; h != n; ++h) {
      double x = decode(format, uint16_t(old >> (16 * h)));
      double y = decode(format, uint16_t(b >> (16 * h)));
      double r = op == AAdd ? addToOdd(x, y) : atomicFloat(op, x, y);
      result |= uint64_t(encode(format, r)) << (16 * h);
    }
    return result;
  };
  if (op == AExch)
    return b;
  if (op == ACas)
    return old == b ? c : old;
  switch (type) {
  case Type::F32: {
    float x = llvm::bit_cast<float>(uint32_t(old));
    float y = llvm::bit_cast<float>(uint32_t(b));
    return llvm::bit_cast<uint32_t>(canonicalNaN(atomicFloat(op, x, y)));
  }
  case Type::F64:
    return llvm::bit_cast<uint64_t>(atomicFloat(op, llvm::bit_cast<double>(old),
                                                llvm::bit_cast<double>(b)));
  case Type::F16:
    return halves(ElementFormat::F16, 1);
  case Type::F16x2:
    return halves(ElementFormat::F16, 2);
  case Type::BF16:
    return halves(ElementFormat::BF16, 1);
  case Type::BF16x2:
    return halves(ElementFormat::BF16, 2);
  default:
    break;
  }
  bool narrow = bytesOf(type) == 4;
  bool less = isSigned(type) ? narrow ? int32_t(b) < int32_t(old)
                                      : int64_t(b) < int64_t(old)
              : narrow       ? uint32_t(b) < uint32_t(old)
                             : b < old;
  switch (op) {
  case AAdd:
    return old + b;
  case AMin:
    return less ? b : old;
  case AMax:
    return less ? old : b;
  case AInc:
    return old >= b ? 0 : old + 1;
  case ADec:
    return old == 0 || old > b ? b : old - 1;
  case AAnd:
    return old & b;
  case AOr:
    return old | b;
  default:
    return old ^ b;
  }
}

/// atom: d..., [a], b..., c...; red has no destinations. vector: elements.
Status atomic(Warp &w, const Instruction &i, LaneMask mask) {
  unsigned n = i.vector, size = bytesOf(i.type);
  unsigned first = i.numDestinations;
  const Operand &address = i[first];
  if (w.checkDefined(address, mask, "the address"))
    return Status::Stop;
  for (unsigned s = first + 1; s != i.operands.size(); ++s)
    if (w.checkDefined(i[s], mask, "an operand"))
      return Status::Stop;
  for (unsigned e = 0; e != first; ++e)
    w.setUndefined(i[e], mask, false);
  std::lock_guard<std::mutex> lock(w.context.atomicMutex);
  for (unsigned l = 0; l != warpSize; ++l) {
    if (!((mask >> l) & 1))
      continue;
    uint64_t place = w.address(address, l);
    BytesRef at = w.locate(i.space, place, n * size, l,
                           /*isWrite=*/true, n * size);
    if (!at.data)
      return Status::Stop;
    if (isGlobal(i.space, place) &&
        !w.noteGlobal(place, n * size, /*isWrite=*/true, scopeOf(i)))
      return Status::Stop;
    releaseAt(w, i, place, /*isReadWrite=*/true);
    acquireAt(w, i, place);
    if (anyUndefined(at.undefined, n * size)) {
      if (w.context.options.checks.uninitialized && i.selector != AExch &&
          w.complain("uninitialized", "the atomic reads undefined memory"))
        return Status::Stop;
      std::memset(at.undefined, 0, n * size);
    }
    for (unsigned e = 0; e != n; ++e) {
      uint64_t old = 0;
      std::memcpy(&old, at.data + e * size, size);
      uint64_t b = w.lane(i[first + 1 + e], l);
      uint64_t c = i.selector == ACas ? w.lane(i[first + 1 + n + e], l) : 0;
      uint64_t result = atomicResult(i.selector, i.type, old, b, c);
      std::memcpy(at.data + e * size, &result, size);
      if (first && i[e])
        w.setLane(i[e], l, old);
    }
  }
  w.cluster.event();
  return Status::Next;
}

void decodeAtomic(Decoder &d) {
  bool isRed = d.syntax.opcode == "red";
  if (d.take("async"))
    return copies::decodeAsyncStore(d, /*isReduction=*/true);
  d.inst.flags = accessFlags(d, /*isAtomic=*/true);
  bool hint = takeMemoryModifiers(d);
  d.take("noftz");
  unsigned vector = takeVector(d);
  Space space = d.takeSpace();
  static constexpr StringRef ops[] = {"add", "min", "max", "inc",  "dec",
                                      "and", "or",  "xor", "exch", "cas"};
  int op = d.takeOneOf(ops);
  Type type = d.needType();
  d.finish();
  if (op < 0 || (isRed && op >= AExch) || bytesOf(type) > 8 ||
      (bytesOf(type) < 4 && !isFloat(type) && op != ACas))
    return d.fail("'" + d.syntax.opcode + "' has no such operation");
  d.needOperands((isRed ? 2 : 3) + (op == ACas) + hint);
  d.inst.type = type;
  d.inst.space = space;
  d.inst.selector = op;
  d.inst.vector = vector;
  d.inst.undef = Undef::Self;
  unsigned k = 0;
  if (!isRed && d.destinationVector(k++, type) != vector)
    return d.fail("the vector has the wrong length");
  d.address(k++);
  if (d.sourceVector(k++, type) != vector)
    return d.fail("the vector has the wrong length");
  if (op == ACas)
    d.source(k++, type);
  d.inst.execute = atomic;
}

} // namespace

void lpfa::sim::addMemory(DecodeTable &table) {
  table["ld"] = table["ldu"] = decodeLoad;
  table["st"] = decodeStore;
}

void lpfa::sim::addAtomics(DecodeTable &table) {
  table["atom"] = table["red"] = decodeAtomic;
}
