//===- Warp.cpp - Warps: registers and the run of instructions ------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine.h"
#include "Undefined.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

using namespace lpfa::sim;
using llvm::Twine;

static uint32_t linearLanes(const Dim3 &block, unsigned warp) {
  uint64_t threads = block.count(), first = uint64_t(warp) * warpSize;
  uint64_t count = std::min<uint64_t>(warpSize, threads - first);
  return count == warpSize ? allLanes : (uint32_t(1) << count) - 1;
}

Warp::Warp(Cta &cta, unsigned index)
    : cta(cta), cluster(cta.cluster), context(cta.cluster.context),
      index(index), live(linearLanes(context.launch.block, index)),
      numRegisters(context.registers) {
  initialize();
  Fragment start;
  start.mask = live;
  fragments.push_back(start);
}

void Warp::initialize() {
  const Function &f = context.function;
  size_t bytes = std::max<uint32_t>(f.valueBytes, 64);
  values.reset(new (std::align_val_t(64)) uint8_t[bytes]);
  std::memset(values.get(), 0xFF, bytes);
  undefinedSummary.assign(f.numRegisters, allLanes);
  undefinedBytes.assign(bytes / warpSize + 1, allLanes);
  local.assign(size_t(f.localBytes) * warpSize, 0xFF);

  for (const Constant &c : f.constants) {
    const Operand &place = c.place;
    setUndefined(place, allLanes, false);
    if (!place.bytes) {
      *words(place) = c.value ? allLanes : 0;
      continue;
    }
    uint64_t value = c.value;
    switch (c.kind) {
    case Constant::Kind::Shared:
      value += (uint64_t(cta.rank) << rankShift) + c.addend;
      break;
    case Constant::Kind::Global:
    case Constant::Kind::Const:
      value =
          context.buffers[context.moduleVariables[c.value]]->address + c.addend;
      break;
    default:
      break;
    }
    for (unsigned l = 0; l != warpSize; ++l)
      setLane(place, l,
              c.kind == Constant::Kind::Special
                  ? specialValue(SpecialRegister(c.value), l)
                  : value);
  }
}

uint64_t Warp::specialValue(SpecialRegister r, unsigned lane) const {
  using S = SpecialRegister;
  const Dim3 &block = context.launch.block, &grid = context.launch.grid;
  const Dim3 &size = context.cluster;
  uint64_t thread = uint64_t(index) * warpSize + lane;
  switch (r) {
  case S::TidX:
    return thread % block.x;
  case S::TidY:
    return thread / block.x % block.y;
  case S::TidZ:
    return thread / block.x / block.y;
  case S::NtidX:
    return block.x;
  case S::NtidY:
    return block.y;
  case S::NtidZ:
    return block.z;
  case S::CtaidX:
    return cta.id.x;
  case S::CtaidY:
    return cta.id.y;
  case S::CtaidZ:
    return cta.id.z;
  case S::NctaidX:
    return grid.x;
  case S::NctaidY:
    return grid.y;
  case S::NctaidZ:
    return grid.z;
  case S::ClusteridX:
    return cta.id.x / size.x;
  case S::ClusteridY:
    return cta.id.y / size.y;
  case S::ClusteridZ:
    return cta.id.z / size.z;
  case S::NclusteridX:
    return grid.x / size.x;
  case S::NclusteridY:
    return grid.y / size.y;
  case S::NclusteridZ:
    return grid.z / size.z;
  case S::ClusterCtaidX:
    return cta.id.x % size.x;
  case S::ClusterCtaidY:
    return cta.id.y % size.y;
  case S::ClusterCtaidZ:
    return cta.id.z % size.z;
  case S::ClusterNctaidX:
    return size.x;
  case S::ClusterNctaidY:
    return size.y;
  case S::ClusterNctaidZ:
    return size.z;
  case S::ClusterCtarank:
    return cta.rank;
  case S::ClusterNctarank:
    return size.count();
  case S::IsExplicitCluster:
    return size.count() > 1;
  case S::LaneId:
    return lane;
  case S::WarpId:
    return index;
  case S::NWarpId:
    return cta.warps.size();
  case S::SmId:
    return (cluster.index * size.count() + cta.rank) % 148;
  case S::NSmId:
    return 148;
  case S::LanemaskEq:
    return uint32_t(1) << lane;
  case S::LanemaskLe:
    return (uint64_t(2) << lane) - 1;
  case S::LanemaskLt:
    return (uint64_t(1) << lane) - 1;
  case S::LanemaskGe:
    return uint32_t(allLanes << lane);
  case S::LanemaskGt:
    return uint32_t((uint64_t(allLanes) << (lane + 1)) & allLanes);
  case S::DynamicSmemSize:
    return context.launch.dynamicSharedBytes;
  case S::TotalSmemSize:
    return context.sharedBytes - sharedBase;
  case S::GridId:
  case S::ZeroRegister:
    return 0;
  }
  return 0;
}

//===----------------------------------------------------------------------===//
// Undefined registers
//===----------------------------------------------------------------------===//

void Warp::setUndefined(const Operand &o, LaneMask mask, bool undefined) {
  if (!o)
    return;
  LaneMask &summary = undefinedSummary[o.reg];
  if (!undefined && !(summary & mask))
    return;
  for (unsigned b = 0, n = trackedBytes(o); b != n; ++b) {
    LaneMask &byte = undefinedByte(o, b);
    byte = undefined ? byte | mask : byte & ~mask;
  }
  summary = undefined ? summary | mask : summary & ~mask;
}

void Warp::setUndefinedByte(const Operand &o, unsigned byte, LaneMask mask,
                            LaneMask undefined) {
  LaneMask &b = undefinedByte(o, byte);
  b = (b & ~mask) | (undefined & mask);
}

void Warp::summarizeUndefined(const Operand &o) {
  LaneMask summary = 0;
  for (unsigned b = 0, n = trackedBytes(o); b != n; ++b)
    summary |= undefinedByte(o, b);
  undefinedSummary[o.reg] = summary;
}

bool Warp::checkDefined(const Operand &o, LaneMask mask, llvm::StringRef what) {
  LaneMask bad = undefinedLanes(o) & mask;
  if (!bad || !context.options.checks.uninitialized)
    return false;
  bool stop = complain("uninitialized", Twine(what) + " of lane " +
                                            Twine(llvm::countr_zero(bad)) +
                                            " is undefined");
  setUndefined(o, mask, false);
  return stop;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

bool Warp::mayRun() const {
  for (const Fragment &f : fragments)
    if (f.wait.kind == Wait::Kind::None || f.blockedAt != cluster.events)
      return true;
  return false;
}

const Instruction *Warp::peek() const {
  const std::vector<Instruction> &code = context.function.code;
  for (size_t k = 0; k != fragments.size(); ++k) {
    const Fragment &f = fragments[(currentFragment + k) % fragments.size()];
    if (f.wait.kind == Wait::Kind::None || f.blockedAt != cluster.events)
      return f.pc < code.size() ? &code[f.pc] : nullptr;
  }
  return nullptr;
}

unsigned Warp::run(unsigned budget, bool untilEvent) {
  const std::vector<Instruction> &code = context.function.code;
  const bool tracks = context.options.checks.uninitialized;
  unsigned done = 0, idle = 0;
  const uint64_t before = cluster.events;
  const uint64_t issued = cluster.statistics.asyncOperations;
  while (done < budget && !fragments.empty() &&
         !(untilEvent && (cluster.events != before ||
                          cluster.statistics.asyncOperations != issued))) {
    if (currentFragment >= fragments.size())
      currentFragment = 0;
    Fragment &f = fragments[currentFragment];
    if (f.wait.kind != Wait::Kind::None && f.blockedAt == cluster.events) {
      if (++idle > fragments.size())
        break;
      ++currentFragment;
      continue;
    }
    if (f.pc >= code.size()) {
      exitLanes(f.mask);
      continue;
    }
    const Instruction &i = code[f.pc];
    current = &i;
    LaneMask mask = f.mask;
    if (i.guard) {
      if (tracks && (undefinedLanes(i.guard) & mask) &&
          checkDefined(i.guard, mask, "the guard predicate"))
        return done;
      mask &= predicate(i.guard);
      if (!mask && !i.isBranch) {
        ++done;
        ++instructionCount;
        f.wait.kind = Wait::Kind::None;
        ++f.pc;
        if (f.pc == f.joinPc)
          arriveAtJoin();
        continue;
      }
    }
    LaneMask undefined = 0;
    if (tracks && i.undef != Undef::Self)
      for (unsigned s = i.numDestinations, e = i.operands.size(); s < e; ++s)
        undefined |= undefinedLanes(i.operands[s]);
    Status status =
        (undefined & mask) ? checkedStep(i, mask, undefined) : step(i, mask);
    // `f` may have moved.
    switch (status) {
    case Status::Next:
    case Status::Yield: {
      ++done;
      ++instructionCount;
      threadInstructionCount += llvm::popcount(mask);
      idle = 0;
      Fragment &now = fragments[currentFragment];
      now.wait.kind = Wait::Kind::None;
      ++now.pc;
      if (now.pc == now.joinPc)
        arriveAtJoin();
      if (status == Status::Yield)
        return done;
      break;
    }
    case Status::Jump:
      ++done;
      ++instructionCount;
      threadInstructionCount += llvm::popcount(mask);
      idle = 0;
      break;
    case Status::Blocked:
      if (++idle > fragments.size())
        return done;
      ++currentFragment;
      break;
    case Status::Stop:
      return done;
    }
  }
  return done;
}

Status Warp::step(const Instruction &i, LaneMask mask) {
  Status status = i.execute(*this, i, mask);
  if (status == Status::Next && i.undef != Undef::Self)
    for (unsigned d = 0; d != i.numDestinations; ++d)
      if (const Operand &o = i.operands[d])
        if (undefinedSummary[o.reg] & mask)
          setUndefined(o, mask, false);
  return status;
}

/// Some source is undefined: works out which destination bytes are, before the
/// instruction overwrites a source.
Status Warp::checkedStep(const Instruction &i, LaneMask mask,
                         LaneMask undefined) {
  UndefinedResult result(*this, i, mask, undefined);
  Status status = i.execute(*this, i, mask);
  if (status == Status::Next)
    result.apply();
  return status;
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

std::string Warp::name() const {
  return (Twine(cta.name()) + " warp " + Twine(index)).str();
}

Site Warp::site() const {
  Site site;
  site.agent = name();
  if (current) {
    site.line = current->line;
    site.instruction = current->text.str();
  }
  return site;
}

bool Warp::complain(llvm::StringRef kind, const Twine &message) {
  Finding finding;
  finding.kind = kind.str();
  finding.message = message.str();
  finding.sites.push_back(site());
  cluster.addFinding(std::move(finding));
  return cluster.stopped();
}

Status Warp::fault(llvm::StringRef kind, const Twine &message) {
  complain(kind, message);
  cluster.stopping = true;
  return Status::Stop;
}
