//===- CostReport.cpp - What a step of each role costs --------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Target/CostReport.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace lpfa;

static void printPass(llvm::raw_ostream &out, llvm::StringRef role,
                      llvm::StringRef pass, const ListingPath &path) {
  out << llvm::formatv("  {0,-12} {1,-9} {2,6} {3,6}", role, pass,
                       path.instructions, path.waits);
  for (unsigned count : path.pipes)
    out << llvm::formatv(" {0,7}", count);
  out << "\n";
}

static void printLoops(llvm::raw_ostream &out, llvm::StringRef title,
                       const Listing &listing) {
  out << llvm::formatv("  {0,-12} {1,-9} {2,6} {3,6}", title, "pass", "all",
                       "waits");
  for (llvm::StringRef pipe :
       {"exp", "packed", "fma", "alu", "convert", "memory", "other"})
    out << llvm::formatv(" {0,7}", pipe);
  out << "\n";
  for (const ListingLoop &loop : listing.loops) {
    printPass(out, loop.role, loop.isMasked() ? "masked" : "", loop.most);
    if (loop.least.getWork() != loop.most.getWork())
      printPass(out, loop.role, "shortest", loop.least);
  }
}

/// Names the loops of machine code, which says nothing of roles: both list
/// loops of a kind in the same order.
static void nameLoops(Listing &machineCode, const Listing &ptx) {
  if (machineCode.loops.size() != ptx.loops.size())
    return;
  llvm::SmallVector<const ListingLoop *> unused;
  for (const ListingLoop &loop : ptx.loops)
    unused.push_back(&loop);
  for (ListingLoop &loop : machineCode.loops) {
    auto *named = llvm::find_if(unused, [&](const ListingLoop *other) {
      return other->kind == loop.kind;
    });
    if (named == unused.end())
      continue;
    loop.role = (*named)->role;
    loop.warps = (*named)->warps;
    unused.erase(named);
  }
}

/// The pass of each role that most steps are: of the loops that do most, the
/// shortest, which is the one without masks.
static llvm::MapVector<llvm::StringRef, const ListingLoop *>
getSteps(const Listing &listing) {
  llvm::MapVector<llvm::StringRef, const ListingLoop *> steps;
  for (const ListingLoop &loop : listing.loops) {
    const ListingLoop *&step = steps[loop.role];
    auto isBetter = [](const ListingPath &a, const ListingPath &b) {
      return std::pair(b.getWork(), a.instructions) <
             std::pair(a.getWork(), b.instructions);
    };
    if (!step || isBetter(loop.most, step->most))
      step = &loop;
  }
  return steps;
}

static void printModel(llvm::raw_ostream &out, const Listing &listing,
                       const TargetModel &target, double tensorClocks) {
  auto steps = getSteps(listing);
  bool isKnown = llvm::all_of(
      steps, [](const auto &step) { return step.second->warps != 0; });
  if (steps.empty() || !isKnown)
    return;
  double issued = 0, counts[kPipes] = {};
  for (const auto &[role, loop] : steps) {
    // Stores come once a work tile.
    if (loop->kind == "store")
      continue;
    issued += double(loop->most.instructions) * loop->warps;
    for (unsigned i = 0; i < kPipes; ++i)
      counts[i] += double(loop->most.pipes[i]) * loop->warps;
  }
  auto clocks = [&](std::initializer_list<Pipe> pipes, double perClock) {
    double threads = 0;
    for (Pipe pipe : pipes)
      threads += counts[unsigned(pipe)] * TargetModel::warpThreads;
    return threads / perClock;
  };
  // A packed instruction takes the pipe as long as two others.
  double fma = clocks({Pipe::FMA}, TargetModel::fmaPerClock) +
               clocks({Pipe::Packed}, TargetModel::fmaPerClock / 2.0);
  std::pair<llvm::StringRef, double> units[] = {
      {"issue", issued / TargetModel::issuedWarpsPerClock},
      {"exp", clocks({Pipe::Special}, target.getExponentialsPerClock())},
      {"fma", fma},
      {"alu", clocks({Pipe::ALU}, TargetModel::aluPerClock)},
      {"convert", clocks({Pipe::Convert}, TargetModel::conversionsPerClock)},
      {"tensor core", tensorClocks}};
  auto limit = std::max_element(
      std::begin(units), std::end(units),
      [](const auto &a, const auto &b) { return a.second < b.second; });
  out << "  modelled clocks of a step that does all:";
  for (auto [i, unit] : llvm::enumerate(units))
    out << llvm::formatv("{0} {1} {2}", i ? "," : "", unit.first,
                         std::lround(unit.second));
  out << "; the limit is " << limit->first << "\n";
}

std::string lpfa::printCost(llvm::ArrayRef<Listing> ptx,
                            llvm::ArrayRef<Listing> machineCode,
                            const TargetModel &target,
                            llvm::ArrayRef<double> tensorClocks) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (auto [i, listing] : llvm::enumerate(ptx)) {
    if (listing.loops.empty())
      continue;
    out << listing.entry << " on " << target.getChip()
        << ", a pass of each innermost loop:\n";
    printLoops(out, "PTX", listing);
    llvm::StringRef entry = listing.entry;
    const auto *found = llvm::find_if(machineCode, [&](const Listing &other) {
      return other.entry == entry;
    });
    Listing assembled;
    if (found != machineCode.end()) {
      assembled = *found;
      nameLoops(assembled, listing);
      printLoops(out, "SASS", assembled);
    }
    if (i < tensorClocks.size())
      printModel(out, assembled.loops.empty() ? listing : assembled, target,
                 tensorClocks[i]);
  }
  return text;
}
