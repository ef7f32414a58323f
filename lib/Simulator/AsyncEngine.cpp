//===- AsyncEngine.cpp - Work that instructions start ---------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncEngine.h"
#include "Machine.h"
#include "llvm/ADT/STLExtras.h"

using namespace lpfa::sim;

AsyncOperation::AsyncOperation(Warp &issuer, Engine engine)
    : issuer(issuer), instruction(*issuer.current), engine(engine) {}

AsyncOperation::~AsyncOperation() = default;

bool AsyncOperation::signals(uint32_t barrier) const {
  return llvm::is_contained(barriers, barrier);
}

AsyncOperation *AsyncEngine::find(uint64_t id) const {
  // Operations are in order of their ids.
  for (const std::unique_ptr<AsyncOperation> &o : operations) {
    if (o->id == id)
      return o.get();
    if (o->id > id)
      break;
  }
  return nullptr;
}

bool AsyncEngine::hasRead(uint64_t id) const {
  const AsyncOperation *operation = find(id);
  return !operation || operation->step > 0;
}

void AsyncEngine::orderInPipe(PipeOperation &operation) const {
  using Kind = PipeOperation::Kind;
  bool documented = cluster.context.options.ordering == Ordering::Documented;
  for (const std::unique_ptr<AsyncOperation> &o : llvm::reverse(operations)) {
    if (o->engine != AsyncOperation::Engine::TensorPipe ||
        &o->issuer != &operation.issuer)
      continue;
    const auto &earlier = static_cast<const PipeOperation &>(*o);
    // PTX ISA 9.7.16.6.2: mma after mma of the same accumulator and shape, mma
    // after cp and shift, shift after mma, cp.4x256b after shift, commit after
    // all.
    bool ordered = true;
    if (documented && operation.kind != Kind::Commit)
      switch (earlier.kind) {
      case Kind::Mma:
        ordered = operation.kind == Kind::Shift ||
                  (operation.kind == Kind::Mma &&
                   earlier.accumulator == operation.accumulator);
        break;
      case Kind::Copy:
      case Kind::RowCopy:
        ordered = operation.kind == Kind::Mma;
        break;
      case Kind::Shift:
        ordered =
            operation.kind == Kind::Mma || operation.kind == Kind::RowCopy;
        break;
      case Kind::Commit:
        ordered = false;
        break;
      }
    if (ordered)
      operation.after.push_back(o->id);
    if (!documented)
      break;
  }
}

bool AsyncEngine::isReady(const AsyncOperation &operation) const {
  return llvm::all_of(operation.after, [&](uint64_t id) { return isDone(id); });
}

/// Does the next step; the operation is gone after its last one.
bool AsyncEngine::doStep(List::iterator it) {
  AsyncOperation &operation = **it;
  cluster.event();
  bool ok = true;
  cluster.isStepping = true;
  // Findings of a step are the instruction's.
  Warp &issuer = operation.issuer;
  const Instruction *running = issuer.current;
  issuer.current = &operation.instruction;
  switch (operation.step++) {
  case 0:
    ok = operation.read();
    break;
  case 1:
    ok = operation.write();
    break;
  case 2: {
    // Completion may look at the list: the operation is no longer in it.
    std::unique_ptr<AsyncOperation> done = std::move(*it);
    operations.erase(it);
    ok = done->complete();
    break;
  }
  }
  issuer.current = running;
  cluster.isStepping = false;
  return ok && !cluster.stopped();
}

uint64_t AsyncEngine::issue(std::unique_ptr<AsyncOperation> operation,
                            bool &ok) {
  operation->id = nextId++;
  uint64_t id = operation->id;
  ++cluster.statistics.asyncOperations;
  operations.push_back(std::move(operation));
  ok = true;
  if (cluster.context.options.schedule == Schedule::Eager)
    ok = finish(id);
  return id;
}

bool AsyncEngine::finish(uint64_t id, unsigned steps) {
  AsyncOperation *operation = find(id);
  if (!operation || operation->step >= steps)
    return true;
  llvm::SmallVector<uint64_t, 2> after = operation->after;
  for (uint64_t earlier : after)
    if (!finish(earlier))
      return false;
  auto it =
      llvm::find_if(operations, [&](const auto &o) { return o->id == id; });
  for (unsigned step = (*it)->step; step < steps; ++step)
    if (!doStep(it))
      return false;
  return true;
}

uint64_t AsyncEngine::findSignal(uint32_t barrier) const {
  for (const std::unique_ptr<AsyncOperation> &o : operations)
    if (o->signals(barrier))
      return o->id;
  return 0;
}

uint64_t AsyncEngine::oldest() const {
  return operations.empty() ? 0 : operations.front()->id;
}

std::vector<uint64_t> AsyncEngine::ready() const {
  std::vector<uint64_t> ids;
  for (const auto &o : operations)
    if (isReady(*o))
      ids.push_back(o->id);
  return ids;
}

bool AsyncEngine::leadsTo(uint64_t first, uint64_t id) const {
  const AsyncOperation *last = find(id);
  return last &&
         (first == id || llvm::any_of(last->after, [&](uint64_t earlier) {
            return leadsTo(first, earlier);
          }));
}

bool AsyncEngine::step(uint64_t id) {
  return doStep(
      llvm::find_if(operations, [&](const auto &o) { return o->id == id; }));
}
