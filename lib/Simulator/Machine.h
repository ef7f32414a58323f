//===- Machine.h - The simulated machine ------------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clusters of CTAs of warps. A cluster is simulated by one host thread;
// clusters share global memory alone.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_SIMULATOR_MACHINE_H
#define LPFA_LIB_SIMULATOR_MACHINE_H

#include "AsyncEngine.h"
#include "Explore.h"
#include "GlobalRaces.h"
#include "Program.h"
#include "lpfa/Simulator/Simulator.h"
#include "lpfa/Simulator/TensorMemory.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <unordered_map>
#include <vector>

namespace lpfa::sim {

class Cluster;
class Cta;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// A buffer in global memory. `undefined` holds one flag a byte, or nothing if
/// every byte is defined.
struct GlobalBuffer {
  std::string name;
  uint8_t *data = nullptr;
  uint64_t size = 0;
  uint64_t address = 0;
  std::vector<uint8_t> undefined;
};

struct DeviceMemory::Impl {
  std::vector<std::unique_ptr<GlobalBuffer>> buffers;
  /// What the last launch did, if races were checked.
  std::shared_ptr<GlobalShadow> lastLaunch;
};

/// Where bytes are: `undefined` is null if the memory has no undefined bytes.
struct BytesRef {
  uint8_t *data = nullptr;
  uint8_t *undefined = nullptr;
};

/// Shared memory of a CTA, indexed by address; the first `sharedBase` bytes are
/// not accessible.
struct SharedMemory {
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> undefined;
};

//===----------------------------------------------------------------------===//
// Launch
//===----------------------------------------------------------------------===//

/// What the clusters of a launch have in common.
struct LaunchContext {
  const Function &function;
  const Launch &launch;
  const Options &options;
  Dim3 cluster;
  /// All of them global; the user's buffers first, then module variables.
  std::vector<GlobalBuffer *> buffers;
  /// Buffer number of each module variable, or -1.
  std::vector<int> moduleVariables;
  std::vector<uint8_t> parameters;
  uint32_t sharedBytes = 0; ///< end of a CTA's shared memory
  unsigned registers = 0;   ///< at launch; 0 if unknown
  bool isHopper = false;
  /// Serializes atomics and reductions on global memory.
  mutable std::mutex atomicMutex;

  /// The buffer in whose slot an address lies, or null.
  GlobalBuffer *findBuffer(uint64_t address) const {
    uint64_t slot = address >> bufferShift;
    return slot && slot <= buffers.size() ? buffers[slot - 1] : nullptr;
  }

  /// Findings stop the clusters behind the first that has one.
  std::atomic<uint64_t> stopAt{~uint64_t(0)};
  std::atomic<uint64_t> steps{0};
  /// Changes when something happens in a cluster.
  std::atomic<uint64_t> activity{0};

  /// Those of the run, under Schedule::Explore.
  Decisions *decisions = nullptr;

  /// Accesses to global memory; null unless races are checked.
  std::shared_ptr<GlobalShadow> shadow;
};

/// Clusters that start one after the other, on one host thread, unless one that
/// runs cancels the launch of the next (PTX ISA 9.7.13.18): every `stride`th.
struct LaunchQueue {
  uint64_t next, stride, end;
  std::optional<uint64_t> take() {
    if (next >= end)
      return std::nullopt;
    uint64_t index = next;
    next += stride;
    return index;
  }
};

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

/// What a blocked fragment waits for.
struct Wait {
  enum class Kind : uint8_t {
    None,
    MBarrier,
    NamedBarrier,
    ClusterBarrier,
    BulkGroups,
    CopyGroups,
    TensorLoads,
    TensorStores,
    MatrixGroups,
    TensorAllocation,
    Registers,
    WarpSync
  };
  Kind kind = Kind::None;
  /// BulkGroups: only the reads of the sources.
  bool readOnly = false;
  /// MBarrier: waits for a parity rather than for a phase number.
  bool byParity = false;
  /// MBarrier: a poll; it may fail when nothing else can run.
  bool isPoll = false;
  /// MBarrier: shared address, with the rank. NamedBarrier: its id.
  uint32_t object = 0;
  /// MBarrier: phase or parity. Groups: how many may stay pending. Barriers:
  /// the generation that must pass. Registers: how many are missing.
  uint64_t value = 0;
  /// MBarrier: its phase when the wait began.
  uint64_t phase = 0;
  LaneMask lanes = 0;
};

/// Lanes of a warp that run together.
struct Fragment {
  uint32_t pc = 0;
  LaneMask mask = 0;
  /// Where they wait for the lanes that they parted from, and the join.
  uint32_t joinPc = ~0u;
  int join = -1;
  Wait wait;
  /// The cluster's event count when it blocked.
  uint64_t blockedAt = ~uint64_t(0);
};

/// Lanes meet again here.
struct Join {
  uint32_t pc = 0;
  LaneMask expected = 0;
  LaneMask arrived = 0;
  uint32_t parentPc = ~0u;
  int parent = -1;
};

//===----------------------------------------------------------------------===//
// Warp
//===----------------------------------------------------------------------===//

class Warp {
public:
  Warp(Cta &cta, unsigned index);

  Cta &cta;
  Cluster &cluster;
  const LaunchContext &context;
  unsigned index;
  /// Lanes that exist and have not exited.
  LaneMask live = 0;
  unsigned numRegisters = 0;

  /// Runs until everything blocks or `budget` instructions are done, or until
  /// something has happened that others may notice; returns the number of
  /// instructions that made progress.
  unsigned run(unsigned budget, bool untilEvent = false);
  bool finished() const { return fragments.empty(); }
  /// Whether a fragment has not yet seen the cluster's latest event.
  bool mayRun() const;
  /// The instruction that comes next, or null at the end of the code.
  const Instruction *peek() const;

  //===--------------------------------------------------------------------===//
  // Registers
  //===--------------------------------------------------------------------===//

  uint32_t *words(const Operand &o) {
    return reinterpret_cast<uint32_t *>(values.get() + o.offset);
  }
  uint64_t *doubleWords(const Operand &o) {
    return reinterpret_cast<uint64_t *>(values.get() + o.offset);
  }
  LaneMask predicate(const Operand &o) {
    LaneMask p = *words(o);
    return o.negated ? ~p : p;
  }
  void setPredicate(const Operand &o, LaneMask value, LaneMask mask) {
    if (o) {
      uint32_t &p = *words(o);
      p = (p & ~mask) | (value & mask);
    }
  }
  /// The value of one lane, zero-extended.
  uint64_t lane(const Operand &o, unsigned lane) {
    return o.bytes == 4 ? words(o)[lane] : doubleWords(o)[lane];
  }
  void setLane(const Operand &o, unsigned lane, uint64_t value) {
    if (!o)
      return;
    if (o.bytes == 4)
      words(o)[lane] = uint32_t(value);
    else
      doubleWords(o)[lane] = value;
  }
  /// The address that an operand gives in a lane.
  uint64_t address(const Operand &o, unsigned lane) {
    return this->lane(o, lane) + o.displacement;
  }

  //===--------------------------------------------------------------------===//
  // Undefined registers
  //===--------------------------------------------------------------------===//

  /// Per register, the lanes with an undefined byte.
  LaneMask undefinedLanes(const Operand &o) const {
    return o ? undefinedSummary[o.reg] : 0;
  }
  /// The lanes in which byte `byte` of the register is undefined.
  LaneMask &undefinedByte(const Operand &o, unsigned byte) {
    return undefinedBytes[o.offset / warpSize + byte];
  }
  void setUndefined(const Operand &o, LaneMask mask, bool undefined);
  void setUndefinedByte(const Operand &o, unsigned byte, LaneMask mask,
                        LaneMask undefined);
  /// Recomputes the summary after bytes were set.
  void summarizeUndefined(const Operand &o);
  static unsigned trackedBytes(const Operand &o) {
    return o.bytes ? o.bytes : 1;
  }
  /// Reports if a lane of the mask is undefined; true if the run must stop.
  bool checkDefined(const Operand &o, LaneMask mask, llvm::StringRef what);

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  /// The bytes at an address, or null after reporting that they are outside
  /// every object or misaligned.
  BytesRef locate(Space space, uint64_t address, unsigned bytes, unsigned lane,
                  bool isWrite, unsigned alignment);
  /// A shared address of the cluster, checked; null after reporting.
  BytesRef locateShared(uint64_t address, unsigned bytes, bool isWrite,
                        unsigned alignment);
  /// The mbarrier at a shared address, which the warp accesses or which an
  /// engine is going to signal for it; null after reporting that there is none
  /// or that its initialization is not known there.
  MBarrier *findBarrier(uint64_t address, bool isAsync = false);
  /// Tells the race detector of a generic access to shared memory; false if the
  /// run must stop. `address` may be generic.
  bool noteShared(uint64_t address, unsigned bytes, bool isWrite,
                  bool isUnchanged = false);
  /// The same for global memory.
  bool noteGlobal(uint64_t address, uint64_t bytes, bool isWrite, Scope scope,
                  bool isUnchanged = false);
  std::vector<uint8_t> local;

  //===--------------------------------------------------------------------===//
  // Reports
  //===--------------------------------------------------------------------===//

  /// Ends the run with a finding.
  Status fault(llvm::StringRef kind, const llvm::Twine &message);
  /// Reports; true if the run must stop.
  bool complain(llvm::StringRef kind, const llvm::Twine &message);
  Site site() const;
  std::string name() const;
  const Instruction *current = nullptr;

  //===--------------------------------------------------------------------===//
  // Control
  //===--------------------------------------------------------------------===//

  Fragment &fragment() { return fragments[currentFragment]; }
  Status branch(const Instruction &i, LaneMask taken);
  /// Lets some lanes branch; the others stay at the instruction.
  Status branchAway(const Instruction &i, LaneMask taken, uint32_t target);
  Status jump(uint32_t pc);
  Status exitLanes(LaneMask mask);
  /// For instructions that a set of lanes executes together: true if all of
  /// them are in the current fragment; otherwise blocks or merges.
  enum class Gather { Ready, Wait, Fault };
  Gather gather(LaneMask members, bool samePc);
  Status block(const Wait &wait);
  std::vector<Fragment> fragments;

  //===--------------------------------------------------------------------===//
  // Asynchronous work of this warp
  //===--------------------------------------------------------------------===//

  /// A tcgen05.ld whose registers are not yet defined.
  struct PendingLoad {
    uint64_t operation;
    const Instruction *instruction;
    LaneMask mask;
    /// Which bytes of the loaded registers are defined.
    std::shared_ptr<std::vector<uint8_t>> defined;
  };
  std::vector<PendingLoad> tensorLoads;
  std::vector<uint64_t> tensorStores;
  /// Bulk and cp.async groups in order of commit; the last one is open.
  struct Groups {
    std::deque<std::vector<uint64_t>> committed;
    std::vector<uint64_t> open;
    /// Epochs of the operations up to each commit.
    std::vector<uint32_t> epochs;
  };
  Groups bulkGroups, copyGroups, matrixGroups;

  uint64_t clusterGeneration = 0;
  LaneMask clusterArrived = 0;
  /// Whether an mbarrier.init has not been followed by its fence.
  bool hasUnfencedInit = false;
  /// Shared addresses of mbarriers that only its CTA knows of.
  std::vector<uint32_t> unpublishedInits;
  /// A fence behind mbarrier.init, by these lanes.
  void publishInits(LaneMask mask);
  uint64_t instructionCount = 0, threadInstructionCount = 0;

private:
  void initialize();
  /// Parts the current fragment in two.
  Status diverge(LaneMask taken, uint32_t target, uint32_t rest,
                 uint32_t reconverge);
  uint64_t specialValue(SpecialRegister r, unsigned lane) const;
  bool arriveAtJoin();
  void dropFragment();
  Status step(const Instruction &i, LaneMask mask);
  Status checkedStep(const Instruction &i, LaneMask mask, LaneMask undefined);

  struct FreeDeleter {
    void operator()(uint8_t *p) const {
      ::operator delete[](p, std::align_val_t(64));
    }
  };
  std::unique_ptr<uint8_t[], FreeDeleter> values;
  std::vector<LaneMask> undefinedSummary;
  std::vector<LaneMask> undefinedBytes;
  std::vector<Join> joins;
  unsigned currentFragment = 0;
};

//===----------------------------------------------------------------------===//
// CTA
//===----------------------------------------------------------------------===//

/// A barrier object in shared memory (PTX ISA 9.7.13.15).
struct MBarrier {
  bool live = false;
  uint32_t expected = 0;
  int64_t pending = 0;
  int64_t transactions = 0;
  uint64_t phase = 0;
  /// What arrivals of this phase know, and those of all earlier ones.
  History arrived, completed;
  uint16_t component = 0;
  /// Whether an arrival of a thread ended the last phase.
  bool endedByThread = false;
  /// Lines that ever arrived, for reports.
  llvm::SmallVector<unsigned, 4> arrivalLines;
  void noteArrival(unsigned line) {
    if (!llvm::is_contained(arrivalLines, line) && arrivalLines.size() < 16)
      arrivalLines.push_back(line);
  }
  unsigned initLine = 0;
  /// The lane that initialized it, and whether it has executed a fence since
  /// that tells engines and other CTAs of it.
  unsigned initLane = 0;
  bool isPublished = false;
};

/// bar.sync and its kin (PTX ISA 9.7.13.1).
struct NamedBarrier {
  uint32_t arrived = 0;
  uint32_t expected = 0;
  uint64_t generation = 0;
  /// bar.red
  uint32_t population = 0;
  bool all = true, any = false;
  uint32_t resultPopulation = 0;
  History history, result;
  bool resultAll = true, resultAny = false;
};

class Cta {
public:
  Cta(Cluster &cluster, unsigned rank, Dim3 id);

  Cluster &cluster;
  unsigned rank;
  Dim3 id;
  SharedMemory shared;
  std::unique_ptr<TensorMemory> tensor;
  std::array<NamedBarrier, 16> barriers;
  std::vector<std::unique_ptr<Warp>> warps;
  /// Registers that setmaxnreg may take.
  int64_t freeRegisters = 0;
  unsigned tensorGroup = 0; ///< .cta_group that its tcgen05 instructions use
  unsigned liveThreads = 0;
  /// How many tcgen05.alloc of .cta_group::2 the CTA has come to.
  uint64_t pairAllocations = 0;

  /// The barrier at an offset in shared memory, or null.
  MBarrier *mbarrier(uint32_t offset);
  MBarrier &createMBarrier(uint32_t offset);
  void forEachMBarrier(llvm::function_ref<void(uint32_t, MBarrier &)> visit);
  std::string name() const;
  /// Ends a phase of a named barrier if all have come.
  void checkNamedBarrier(unsigned id);
  void exitThreads(unsigned count);

private:
  std::unordered_map<uint32_t, MBarrier> mbarriers;
};

//===----------------------------------------------------------------------===//
// Cluster
//===----------------------------------------------------------------------===//

class Cluster {
public:
  Cluster(LaunchContext &context, uint64_t index);

  LaunchContext &context;
  uint64_t index;
  /// What it may cancel; null if nothing.
  LaunchQueue *queue = nullptr;
  std::vector<std::unique_ptr<Cta>> ctas;
  AsyncEngine async;
  std::mt19937_64 random;
  /// Null unless races are checked.
  std::unique_ptr<RaceDetector> races;
  History clusterHistory, clusterResult;

  /// Runs all warps to their end. False if they only spin: they may wait for
  /// another cluster, and this one is to be run again or to give up.
  bool run();
  /// Nothing happens any more: a deadlock.
  void giveUp();
  /// What is checked and counted behind the end.
  void finishRun();
  /// Lets polls fail that wait for something to happen; false without any.
  bool failPolls();
  void reportDeadlock();

  /// Something happened that blocked fragments may wait for.
  void event() { ++events; }
  uint64_t events = 0;
  /// During a step of an asynchronous operation.
  bool isStepping = false;

  //===--------------------------------------------------------------------===//
  // Barriers
  //===--------------------------------------------------------------------===//

  /// `address` is a shared address with the CTA's rank. Null if the barrier
  /// does not exist.
  MBarrier *mbarrier(uint64_t address);
  /// An arrival, and transaction bytes (positive: expected; negative: done).
  /// False with `error` set on misuse.
  bool arrive(MBarrier &barrier, uint32_t count, std::string &error);
  bool expectTransactions(MBarrier &barrier, int64_t bytes, std::string &error);
  bool waitIsOver(const Wait &wait, Warp &warp);

  uint64_t clusterGeneration = 0;
  uint64_t clusterArrived = 0;
  uint64_t liveThreads() const;
  void checkClusterBarrier();

  //===--------------------------------------------------------------------===//
  // Reports
  //===--------------------------------------------------------------------===//

  void addFinding(Finding finding);
  bool stopped() const {
    return stopping || context.stopAt.load(std::memory_order_relaxed) < index;
  }
  std::vector<Finding> findings;
  Statistics statistics;
  bool stopping = false;

private:
  /// The operation that some waiting warp waits for, or 0, and how far it must
  /// get.
  uint64_t awaitedOperation() const {
    unsigned steps;
    return awaitedOperation(steps);
  }
  uint64_t awaitedOperation(unsigned &steps) const;
  bool advanceLazily();
  /// Does what --schedule=explore decides next: one step of an operation, or
  /// some instructions of a warp, whose number it returns.
  unsigned decide();
  /// The warp and the operation that the base schedule goes on with.
  size_t turn = 0;
  uint64_t lastStep = 0;
  bool advanceRandomly();
  void finishAsync();
  unsigned sweep();
};

/// What comes of the clusters of a launch.
struct ClusterResults {
  std::atomic<uint64_t> done{0};
  Statistics statistics;
  /// By the cluster's index.
  std::vector<std::pair<uint64_t, std::vector<Finding>>> findings;
};

/// Runs them on host threads; `maxInFlight` of them exist at a time.
void runClusters(LaunchContext &context, uint64_t clusters, uint64_t threads,
                 uint64_t maxInFlight, ClusterResults &results);

/// Text of a wait for a deadlock report.
std::string describeWait(const Wait &wait, Warp &warp);

} // namespace lpfa::sim

#endif // LPFA_LIB_SIMULATOR_MACHINE_H
