//===- AsyncEngine.h - Work that instructions start -------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Asynchronous operations have three steps: they read their operands, write
// their results, and signal completion. When each step happens is the
// schedule's choice.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_SIMULATOR_ASYNCENGINE_H
#define LPFA_LIB_SIMULATOR_ASYNCENGINE_H

#include "Races.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace lpfa::sim {

class Cluster;
class Warp;
struct Instruction;

/// What an operation moves and computes, for the timing model.
struct Work {
  enum class Kind : uint8_t {
    None,
    Mma,
    ScaleCopy,
    Commit,
    TensorLoad,
    TensorStore,
    Load,
    Store,
    SmallCopy ///< cp.async
  };
  Kind kind = Kind::None;
  /// Through shared memory, and for tcgen05.ld and st through tensor memory.
  uint64_t bytes = 0;
  unsigned m = 0, n = 0, ctaGroup = 1;
  bool aInTensorMemory = false;
};

class AsyncOperation {
public:
  /// Which engine does it, for reports and for the order that it keeps.
  enum class Engine : uint8_t {
    TensorPipe,
    TensorTransfer, ///< tcgen05.ld and st
    Tma,
    Copy ///< cp.async
  };

  AsyncOperation(Warp &issuer, Engine engine);
  virtual ~AsyncOperation();

  /// The steps. False if the run must stop.
  virtual bool read() { return true; }
  virtual bool write() { return true; }
  virtual bool complete() { return true; }
  virtual Work work() const { return {}; }
  /// Whether completion acts on the barrier at this shared address.
  bool signals(uint32_t barrier) const;

  Warp &issuer;
  const Instruction &instruction;
  Engine engine;
  uint64_t id = 0;
  unsigned step = 0;
  static constexpr unsigned numSteps = 3;
  /// Operations that must have finished before this one's first step.
  llvm::SmallVector<uint64_t, 2> after;
  /// Shared addresses of the barriers that it signals.
  llvm::SmallVector<uint32_t, 2> barriers;

  /// Set by the race detector, if there is one.
  History history;
  uint16_t readComponent = 0, writeComponent = 0;
  uint32_t epoch = 0;
};

/// An operation of the tensor pipe, which orders by kind.
class PipeOperation : public AsyncOperation {
public:
  enum class Kind : uint8_t {
    Mma,
    Copy,
    RowCopy, ///< tcgen05.cp.4x256b
    Shift,
    Commit
  };
  PipeOperation(Warp &issuer, Kind kind, uint64_t accumulator = 0)
      : AsyncOperation(issuer, Engine::TensorPipe), kind(kind),
        accumulator(accumulator) {}
  Kind kind;
  /// What must agree for two MMAs to be ordered: address and shape.
  uint64_t accumulator;
};

class AsyncEngine {
public:
  explicit AsyncEngine(Cluster &cluster) : cluster(cluster) {}

  /// Takes the operation; under the eager schedule it happens at once. Returns
  /// its id. False in `ok` if the run must stop.
  uint64_t issue(std::unique_ptr<AsyncOperation> operation, bool &ok);

  bool isDone(uint64_t id) const { return !find(id); }
  /// Whether the operation has read its operands.
  bool hasRead(uint64_t id) const;
  bool empty() const { return operations.empty(); }
  size_t size() const { return operations.size(); }
  AsyncOperation *find(uint64_t id) const;
  /// Fills in what a tensor-pipe operation of the warp comes after.
  void orderInPipe(PipeOperation &operation) const;

  /// Finishes an operation and everything that it comes after, up to and
  /// including step `steps` of itself. False if the run must stop.
  bool finish(uint64_t id, unsigned steps = AsyncOperation::numSteps);
  /// The oldest operation that signals the barrier, or 0.
  uint64_t findSignal(uint32_t barrier) const;
  uint64_t oldest() const;
  /// The operations that may take a step, oldest first.
  std::vector<uint64_t> ready() const;
  /// Whether `id` is the operation or waits for it.
  bool leadsTo(uint64_t first, uint64_t id) const;
  /// Does one step of an operation that is ready; false if the run must stop.
  bool step(uint64_t id);

  using List = std::list<std::unique_ptr<AsyncOperation>>;
  const List &pending() const { return operations; }

private:
  bool isReady(const AsyncOperation &operation) const;
  bool doStep(List::iterator it);

  Cluster &cluster;
  List operations;
  uint64_t nextId = 1;
};

} // namespace lpfa::sim

#endif // LPFA_LIB_SIMULATOR_ASYNCENGINE_H
