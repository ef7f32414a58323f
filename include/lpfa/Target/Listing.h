//===- Listing.h - Instructions of a kernel and their loops -----*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX or machine code as text, ours or anyone's, as a graph of basic blocks.
// Enough is understood to count what a pass of a loop executes, nothing more.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_TARGET_LISTING_H
#define LPFA_TARGET_LISTING_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace lpfa {

/// What executes an instruction. `Special` is the unit of exponentials;
/// `Packed` are pairs of f32 on the multiply-add pipe; `Other` are branches,
/// barriers, uniform instructions and moves.
enum class Pipe { Special, Packed, FMA, ALU, Convert, Memory, Other };
constexpr unsigned kPipes = 7;

/// A basic block; only what is counted of its instructions is kept.
struct ListingBlock {
  unsigned instructions = 0;
  unsigned pipes[kPipes] = {};
  unsigned waits = 0;   // Tries of an mbarrier.
  unsigned selects = 0; // What masks are made of.
  unsigned exponentials = 0, products = 0, tensorMemory = 0;
  unsigned bulkLoads = 0, bulkStores = 0;
  llvm::SmallVector<unsigned, 2> successors;

  /// What a loop is there for: exponentials, tensor memory and tensor core,
  /// bulk copies.
  unsigned getWork() const;
  void add(const ListingBlock &other);
};

/// One pass through a loop from its head back to it, waits passing at once.
using ListingPath = ListingBlock;

/// A loop that works, without one inside that does.
struct ListingLoop {
  /// What it does in a word; and the role that it is in, the same where the
  /// listing names none.
  std::string kind, role;
  unsigned warps = 0; // 0 where it is not known.
  /// The pass that does all there is to do, with as little else as that takes,
  /// and the shortest pass.
  ListingPath most, least;

  bool isMasked() const { return most.selects >= 32; }
};

struct Listing {
  std::string entry;
  std::vector<ListingLoop> loops; // In the order of the text.
};

/// The entries of PTX. A comment `role NAME, N warps` names what comes after.
std::vector<Listing> parsePTX(llvm::StringRef text);

/// The functions that `nvdisasm` prints of a cubin.
std::vector<Listing> parseMachineCode(llvm::StringRef text);

} // namespace lpfa

#endif // LPFA_TARGET_LISTING_H
