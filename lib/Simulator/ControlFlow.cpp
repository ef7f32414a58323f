//===- ControlFlow.cpp - Branches and where their lanes meet --------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.12.
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "Machine.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/STLExtras.h"

using namespace lpfa::sim;

namespace {

struct BranchTable : InstructionData {
  std::vector<uint32_t> targets;
};

Status branch(Warp &w, const Instruction &i, LaneMask mask) {
  return w.branch(i, mask);
}

/// brx.idx: lanes of the same target go together, one target after another.
Status branchIndexed(Warp &w, const Instruction &i, LaneMask mask) {
  const BranchTable &table = i.as<BranchTable>();
  if (w.checkDefined(i[0], mask, "the branch index"))
    return Status::Stop;
  const uint32_t *index = w.words(i[0]);
  unsigned first = llvm::countr_zero(mask);
  LaneMask same = 0;
  for (unsigned l = 0; l != warpSize; ++l)
    if ((mask >> l) & 1) {
      if (index[l] >= table.targets.size())
        return w.fault("instruction", "branch index " + llvm::Twine(index[l]) +
                                          " is not in the table of " +
                                          llvm::Twine(table.targets.size()));
      same |= LaneMask(index[l] == index[first]) << l;
    }
  if (same == w.fragment().mask)
    return w.jump(table.targets[index[first]]);
  // Part off the first target's lanes; the rest runs this instruction again.
  return w.branchAway(i, same, table.targets[index[first]]);
}

Status exitThreads(Warp &w, const Instruction &, LaneMask mask) {
  return w.exitLanes(mask);
}

Status trap(Warp &w, const Instruction &, LaneMask) {
  return w.fault("trap", "the kernel traps");
}

void decodeBra(Decoder &d) {
  d.take("uni");
  d.finish();
  d.needOperands(1);
  d.inst.isBranch = true;
  d.inst.target = d.label(d.operand(0));
  d.inst.execute = branch;
}

void decodeBrx(Decoder &d) {
  if (!d.take("idx"))
    return d.fail("'brx' without .idx");
  d.take("uni");
  d.finish();
  d.needOperands(2);
  d.inst.undef = Undef::Self;
  d.source(0, Type::U32);
  auto table = std::make_shared<BranchTable>();
  const ptx::SyntaxFunction &function = d.functionDecoder().syntax;
  const std::vector<llvm::StringRef> *labels =
      function.findTable(d.syntax.scope, d.operand(1).name);
  if (!labels)
    return d.fail("unknown table '" + d.operand(1).name + "'");
  for (llvm::StringRef label : *labels) {
    int target = function.findLabel(d.syntax.scope, label);
    if (target < 0)
      return d.fail("unknown label '" + label + "'");
    table->targets.push_back(target);
  }
  d.inst.data = std::move(table);
  d.inst.execute = branchIndexed;
}

void decodeExit(Decoder &d) {
  d.take("uni");
  d.finish();
  d.needOperands(0);
  d.inst.execute = exitThreads;
}

void decodeTrap(Decoder &d) {
  d.finish();
  d.inst.execute = trap;
}

} // namespace

void lpfa::sim::addControlFlow(DecodeTable &table) {
  table["bra"] = decodeBra;
  table["brx"] = decodeBrx;
  table["exit"] = table["ret"] = decodeExit;
  table["trap"] = table["brkpt"] = decodeTrap;
}

//===----------------------------------------------------------------------===//
// Immediate post-dominators
//===----------------------------------------------------------------------===//

namespace {

/// Blocks of the control-flow graph, with a last one for the exit.
struct Graph {
  std::vector<uint32_t> first; ///< instruction of each block
  std::vector<std::vector<unsigned>> successors, predecessors;
};

Graph buildGraph(const Function &function) {
  const std::vector<Instruction> &code = function.code;
  uint32_t size = code.size();
  std::vector<bool> leader(size + 1, false);
  leader[0] = leader[size] = true;
  auto isExit = [](const Instruction &i) { return i.execute == exitThreads; };
  auto targets = [](const Instruction &i) -> std::vector<uint32_t> {
    if (i.execute == branchIndexed)
      return i.as<BranchTable>().targets;
    if (i.isBranch)
      return {i.target};
    return {};
  };
  for (uint32_t k = 0; k != size; ++k) {
    std::vector<uint32_t> t = targets(code[k]);
    for (uint32_t target : t)
      leader[target] = true;
    if (!t.empty() || isExit(code[k]))
      leader[k + 1] = true;
  }
  Graph graph;
  std::vector<unsigned> blockOf(size + 1);
  for (uint32_t k = 0; k <= size; ++k) {
    if (leader[k])
      graph.first.push_back(k);
    blockOf[k] = graph.first.size() - 1;
  }
  unsigned n = graph.first.size();
  graph.successors.resize(n);
  graph.predecessors.resize(n);
  unsigned exit = n - 1;
  for (unsigned b = 0; b != exit; ++b) {
    uint32_t last = graph.first[b + 1] - 1;
    std::vector<unsigned> &next = graph.successors[b];
    for (uint32_t target : targets(code[last]))
      next.push_back(blockOf[target]);
    if (isExit(code[last]))
      next.push_back(exit);
    bool falls = next.empty() || code[last].guard;
    if (falls)
      next.push_back(b + 1);
    llvm::sort(next);
    next.erase(std::unique(next.begin(), next.end()), next.end());
    for (unsigned s : next)
      graph.predecessors[s].push_back(b);
  }
  return graph;
}

} // namespace

/// Cooper, Harvey and Kennedy's iteration on the reversed graph.
void lpfa::sim::findReconvergence(Function &function) {
  Graph graph = buildGraph(function);
  unsigned n = graph.first.size(), exit = n - 1;
  // Post-order of the reversed graph from the exit.
  std::vector<int> number(n, -1);
  std::vector<unsigned> order;
  std::vector<std::pair<unsigned, unsigned>> stack{{exit, 0}};
  std::vector<bool> seen(n, false);
  seen[exit] = true;
  while (!stack.empty()) {
    auto &[b, next] = stack.back();
    if (next < graph.predecessors[b].size()) {
      unsigned p = graph.predecessors[b][next++];
      if (!seen[p]) {
        seen[p] = true;
        stack.push_back({p, 0});
      }
    } else {
      number[b] = order.size();
      order.push_back(b);
      stack.pop_back();
    }
  }
  constexpr unsigned unknown = ~0u;
  std::vector<unsigned> parent(n, unknown);
  parent[exit] = exit;
  auto intersect = [&](unsigned a, unsigned b) {
    while (a != b) {
      while (number[a] < number[b])
        a = parent[a];
      while (number[b] < number[a])
        b = parent[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned b : llvm::reverse(order)) {
      if (b == exit)
        continue;
      unsigned best = unknown;
      for (unsigned s : graph.successors[b])
        if (number[s] >= 0 && parent[s] != unknown)
          best = best == unknown ? s : intersect(s, best);
      if (best != parent[b]) {
        parent[b] = best;
        changed = true;
      }
    }
  }
  for (unsigned b = 0; b != exit; ++b) {
    Instruction &last = function.code[graph.first[b + 1] - 1];
    if (!last.isBranch && last.execute != branchIndexed)
      continue;
    last.reconverge = parent[b] == unknown || parent[b] == exit
                          ? ~0u
                          : graph.first[parent[b]];
  }
}
