//===- Fragments.cpp - Where the lanes of a warp part and join ------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lanes that part at a branch become fragments and join again at the branch's
// immediate post-dominator. Fragments run independently of each other, so that
// a lane which waits does not keep the others from running (PTX ISA 3.1,
// independent thread scheduling).
//
//
//===----------------------------------------------------------------------===//

#include "Machine.h"
#include "llvm/ADT/Twine.h"

using namespace lpfa::sim;
using llvm::Twine;

Status Warp::block(const Wait &wait) {
  Fragment &f = fragment();
  f.wait = wait;
  f.blockedAt = cluster.events;
  return Status::Blocked;
}

void Warp::dropFragment() {
  fragments.erase(fragments.begin() + currentFragment);
  if (currentFragment >= fragments.size())
    currentFragment = 0;
}

/// The current fragment has reached its join.
bool Warp::arriveAtJoin() {
  Fragment &f = fragment();
  Join &join = joins[f.join];
  join.arrived |= f.mask;
  if ((join.arrived & live) != (join.expected & live)) {
    dropFragment();
    return false;
  }
  f.mask = join.expected & live;
  f.wait = Wait();
  uint32_t pc = join.pc;
  f.joinPc = join.parentPc;
  f.join = join.parent;
  // Joins are a stack per lane; the last ones can be dropped when unused.
  bool unused = true;
  unsigned index = &join - joins.data();
  for (const Fragment &other : fragments)
    unused &= other.join != int(index);
  if (unused && index + 1 == joins.size())
    joins.pop_back();
  f.pc = pc;
  if (f.pc == f.joinPc)
    return arriveAtJoin();
  return true;
}

Status Warp::jump(uint32_t pc) {
  Fragment &f = fragment();
  f.wait.kind = Wait::Kind::None;
  f.pc = pc;
  if (f.pc == f.joinPc)
    arriveAtJoin();
  return Status::Jump;
}

Status Warp::branch(const Instruction &i, LaneMask taken) {
  Fragment &f = fragment();
  if (!(f.mask & ~taken))
    return jump(i.target);
  if (!taken)
    return jump(f.pc + 1);
  return diverge(taken, i.target, f.pc + 1, i.reconverge);
}

Status Warp::branchAway(const Instruction &i, LaneMask taken, uint32_t target) {
  return diverge(taken, target, fragment().pc, i.reconverge);
}

Status Warp::diverge(LaneMask taken, uint32_t target, uint32_t rest,
                     uint32_t reconverge) {
  Fragment &f = fragment();
  f.wait = Wait();
  if (reconverge != f.joinPc && reconverge != ~0u) {
    Join join;
    join.pc = reconverge;
    join.expected = f.mask;
    join.parentPc = f.joinPc;
    join.parent = f.join;
    f.join = joins.size();
    f.joinPc = join.pc;
    joins.push_back(join);
  }
  Fragment other = f;
  other.mask = taken;
  other.pc = target;
  f.mask &= ~taken;
  f.pc = rest;
  // Arrivals remove fragments: the new one first, so that its place is known.
  unsigned first = currentFragment;
  fragments.insert(fragments.begin() + first + 1, other);
  if (other.pc == other.joinPc) {
    currentFragment = first + 1;
    arriveAtJoin();
    currentFragment = first;
  }
  if (fragment().pc == fragment().joinPc)
    arriveAtJoin();
  return Status::Jump;
}

Status Warp::exitLanes(LaneMask mask) {
  Fragment &f = fragment();
  live &= ~mask;
  cta.exitThreads(llvm::popcount(mask));
  f.mask &= ~mask;
  if (f.mask) {
    ++f.pc;
    f.wait = Wait();
  } else {
    dropFragment();
  }
  // Lanes that wait at a join for those that left go on.
  for (unsigned j = joins.size(); j-- != 0;) {
    Join &join = joins[j];
    if (!(join.arrived & live) ||
        (join.arrived & live) != (join.expected & live))
      continue;
    bool someoneComes = false;
    for (const Fragment &other : fragments)
      someoneComes |= other.join == int(j);
    if (someoneComes)
      continue;
    Fragment resumed;
    resumed.pc = join.pc;
    resumed.mask = join.expected & live;
    resumed.joinPc = join.parentPc;
    resumed.join = join.parent;
    join.expected = join.arrived = 0;
    fragments.push_back(resumed);
    if (resumed.pc == resumed.joinPc) {
      currentFragment = fragments.size() - 1;
      arriveAtJoin();
    }
  }
  cluster.event();
  return Status::Jump;
}

Warp::Gather Warp::gather(LaneMask members, bool samePc) {
  Fragment &f = fragment();
  members &= live;
  if (!(members & ~f.mask))
    return Gather::Ready;
  // Have all others come?
  LaneMask present = f.mask;
  for (const Fragment &other : fragments)
    if (&other != &f && other.wait.kind == Wait::Kind::WarpSync &&
        (other.wait.lanes & live) == members && (!samePc || other.pc == f.pc))
      present |= other.mask;
  if (members & ~present) {
    Wait wait;
    wait.kind = Wait::Kind::WarpSync;
    wait.lanes = members;
    block(wait);
    return Gather::Wait;
  }
  // A plain barrier lets everyone go on; the others run it again and find
  // the release in their generation.
  for (unsigned k = fragments.size(); k-- != 0;) {
    Fragment &other = fragments[k];
    if (k == currentFragment || other.wait.kind != Wait::Kind::WarpSync ||
        (other.wait.lanes & live) != members ||
        (samePc && other.pc != fragment().pc))
      continue;
    if (samePc && other.pc == fragment().pc && other.join == fragment().join) {
      fragment().mask |= other.mask;
      fragments.erase(fragments.begin() + k);
      if (k < currentFragment)
        --currentFragment;
    } else if (samePc) {
      fault("instruction", "lanes meet in a warp-wide instruction from "
                           "different branches; this is not supported");
      return Gather::Fault;
    } else {
      other.wait = Wait();
      ++other.pc;
      if (other.pc == other.joinPc) {
        unsigned saved = currentFragment;
        size_t before = fragments.size();
        currentFragment = k;
        arriveAtJoin();
        currentFragment = saved - (fragments.size() < before && k < saved);
      }
    }
  }
  cluster.event();
  return Gather::Ready;
}
