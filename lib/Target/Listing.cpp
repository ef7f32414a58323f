//===- Listing.cpp - Instructions of a kernel and their loops -------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Target/Listing.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include <functional>
#include <map>
#include <optional>

using namespace lpfa;
using llvm::StringRef;

unsigned ListingBlock::getWork() const {
  return exponentials + products + tensorMemory + bulkLoads + bulkStores;
}

void ListingBlock::add(const ListingBlock &other) {
  instructions += other.instructions;
  for (unsigned i = 0; i < kPipes; ++i)
    pipes[i] += other.pipes[i];
  waits += other.waits;
  exponentials += other.exponentials;
  selects += other.selects;
  products += other.products;
  tensorMemory += other.tensorMemory;
  bulkLoads += other.bulkLoads;
  bulkStores += other.bulkStores;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

namespace {
/// Where a role begins.
struct RoleMark {
  unsigned block;
  std::string name;
  unsigned warps;
};

/// A function as it is read: blocks in the order of the text, branches by the
/// names of labels.
class FunctionBuilder {
public:
  explicit FunctionBuilder(StringRef entry) {
    listing.entry = entry.str();
    blocks.emplace_back();
  }

  void label(StringRef name) {
    startBlock();
    labels[name.str()] = blocks.size() - 1;
  }
  ListingBlock &add() {
    ListingBlock &block = blocks.back();
    ++block.instructions;
    isFresh = false;
    return block;
  }
  void branch(StringRef target, bool isConditional) {
    branches.push_back({unsigned(blocks.size() - 1), target.str()});
    end(/*fallsThrough=*/isConditional);
  }
  void end(bool fallsThrough) {
    isFresh = false;
    startBlock(fallsThrough);
  }
  void mark(StringRef role, unsigned warps) {
    startBlock();
    marks.push_back({unsigned(blocks.size() - 1), role.str(), warps});
  }
  Listing finish();

private:
  void startBlock(bool fallsThrough = true) {
    if (fallsThrough && isFresh)
      return;
    if (fallsThrough)
      blocks.back().successors.push_back(blocks.size());
    blocks.emplace_back();
    isFresh = true;
  }

  Listing listing;
  std::vector<ListingBlock> blocks;
  std::map<std::string, unsigned, std::less<>> labels;
  std::vector<std::pair<unsigned, std::string>> branches;
  std::vector<RoleMark> marks;
  bool isFresh = true;
};

/// A loop of a reducible graph.
struct Loop {
  unsigned head = 0;
  llvm::SmallVector<unsigned, 2> latches;
  llvm::BitVector body;
};

/// The loops of a function and what a pass of each does.
class LoopFinder {
public:
  explicit LoopFinder(llvm::ArrayRef<ListingBlock> blocks)
      : blocks(blocks), predecessors(blocks.size()) {
    for (auto [i, block] : llvm::enumerate(blocks))
      for (unsigned next : block.successors)
        predecessors[next].push_back(i);
    visit();
    findLoops();
  }

  llvm::ArrayRef<Loop> getLoops() const { return loops; }

  /// The best pass of a loop by `isBetter(a, b)`.
  template <typename Compare>
  ListingPath getPass(const Loop &loop, Compare isBetter) const;

private:
  /// From a block to the head of a loop.
  using BackEdge = std::pair<unsigned, unsigned>;

  void visit();
  void findLoops();
  llvm::BitVector getBody(BackEdge edge) const;

  llvm::ArrayRef<ListingBlock> blocks;
  std::vector<llvm::SmallVector<unsigned, 4>> predecessors;
  std::vector<unsigned> postorder;
  std::vector<Loop> loops;
  std::vector<BackEdge> backEdges;
};
} // namespace

/// Depth first, without recursion; an edge to a block on the stack goes back.
void LoopFinder::visit() {
  enum State : char { New, Open, Done };
  std::vector<State> state(blocks.size(), New);
  std::vector<std::pair<unsigned, unsigned>> stack;
  // Also from what only an indirect branch reaches.
  for (unsigned root = 0; root < blocks.size() || !stack.empty();) {
    if (stack.empty()) {
      if (state[root] == New) {
        state[root] = Open;
        stack.push_back({root, 0});
      }
      ++root;
      continue;
    }
    auto [block, next] = stack.back();
    if (next == blocks[block].successors.size()) {
      state[block] = Done;
      postorder.push_back(block);
      stack.pop_back();
      continue;
    }
    ++stack.back().second;
    unsigned successor = blocks[block].successors[next];
    if (state[successor] == Open) {
      backEdges.push_back({block, successor});
    } else if (state[successor] == New) {
      state[successor] = Open;
      stack.push_back({successor, 0});
    }
  }
}

/// The blocks from which a back edge can be reached without its head.
llvm::BitVector LoopFinder::getBody(BackEdge edge) const {
  llvm::BitVector body(blocks.size());
  body.set(edge.second);
  llvm::SmallVector<unsigned> worklist = {edge.first};
  while (!worklist.empty()) {
    unsigned block = worklist.pop_back_val();
    if (body.test(block))
      continue;
    body.set(block);
    llvm::append_range(worklist, predecessors[block]);
  }
  return body;
}

void LoopFinder::findLoops() {
  // A wait that tries again may begin where a loop does.
  constexpr unsigned tryInstructions = 4;
  std::map<unsigned, Loop> byHead;
  for (BackEdge edge : backEdges) {
    llvm::BitVector body = getBody(edge);
    ListingBlock sum;
    for (unsigned block : body.set_bits())
      sum.add(blocks[block]);
    if (sum.waits && sum.instructions <= tryInstructions)
      continue;
    Loop &loop = byHead[edge.second];
    loop.head = edge.second;
    loop.latches.push_back(edge.first);
    loop.body |= body;
  }
  for (auto &[head, loop] : byHead)
    loops.push_back(std::move(loop));
}

template <typename Compare>
ListingPath LoopFinder::getPass(const Loop &loop, Compare isBetter) const {
  // From the end: the best way from each block to a latch.
  std::map<unsigned, ListingPath> best;
  for (unsigned block : postorder) {
    if (!loop.body.test(block))
      continue;
    std::optional<ListingPath> rest;
    if (llvm::is_contained(loop.latches, block))
      rest = ListingPath();
    for (unsigned next : blocks[block].successors) {
      auto found = best.find(next);
      if (llvm::is_contained(backEdges, BackEdge(block, next)) ||
          found == best.end())
        continue;
      if (!rest || isBetter(found->second, *rest))
        rest = found->second;
    }
    if (!rest)
      continue;
    rest->add(blocks[block]);
    best[block] = *rest;
  }
  return best[loop.head];
}

/// What a loop does.
static std::string getKind(const ListingPath &pass) {
  if (pass.exponentials)
    return "softmax";
  if (pass.products)
    return "mma";
  if (pass.tensorMemory)
    return "tensor memory";
  return pass.bulkLoads ? "load" : "store";
}

Listing FunctionBuilder::finish() {
  for (auto &[block, target] : branches)
    if (auto found = labels.find(target); found != labels.end())
      blocks[block].successors.push_back(found->second);

  // Blocks that come after a mark, up to the next.
  std::vector<const RoleMark *> roles(blocks.size());
  for (const RoleMark &mark : marks)
    roles[mark.block] = &mark;
  for (const RoleMark &mark : marks) {
    llvm::SmallVector<unsigned> worklist(
        llvm::ArrayRef(blocks[mark.block].successors));
    while (!worklist.empty()) {
      unsigned block = worklist.pop_back_val();
      if (roles[block])
        continue;
      roles[block] = &mark;
      llvm::append_range(worklist, blocks[block].successors);
    }
  }

  LoopFinder finder(blocks);
  auto getWork = [&](const Loop &loop) {
    unsigned work = 0;
    for (unsigned block : loop.body.set_bits())
      work += blocks[block].getWork();
    return work;
  };
  for (const Loop &loop : finder.getLoops()) {
    bool isInnermost = llvm::none_of(finder.getLoops(), [&](const Loop &other) {
      return other.head != loop.head && loop.body.test(other.head) &&
             other.body.count() < loop.body.count() && getWork(other);
    });
    if (!getWork(loop) || !isInnermost)
      continue;
    ListingLoop result;
    result.most =
        finder.getPass(loop, [](const ListingPath &a, const ListingPath &b) {
          return std::pair(b.getWork(), a.instructions) <
                 std::pair(a.getWork(), b.instructions);
        });
    result.least =
        finder.getPass(loop, [](const ListingPath &a, const ListingPath &b) {
          return a.instructions < b.instructions;
        });
    result.kind = result.role = getKind(result.most);
    if (const RoleMark *mark = roles[loop.head]) {
      result.role = mark->name;
      result.warps = mark->warps;
    }
    listing.loops.push_back(std::move(result));
  }
  return std::move(listing);
}

//===----------------------------------------------------------------------===//
// PTX
//===----------------------------------------------------------------------===//

static bool startsWithAny(StringRef text, llvm::ArrayRef<StringRef> prefixes) {
  return llvm::any_of(
      prefixes, [&](StringRef prefix) { return text.starts_with(prefix); });
}

static Pipe getPTXPipe(StringRef opcode) {
  if (startsWithAny(opcode, {"ex2.", "lg2.", "rcp.", "rsqrt.", "sqrt."}))
    return Pipe::Special;
  if (opcode.ends_with(".f32x2"))
    return Pipe::Packed;
  if (startsWithAny(opcode, {"fma.", "mad.", "mul."}) ||
      (startsWithAny(opcode, {"add.", "sub."}) && opcode.ends_with(".f32")))
    return Pipe::FMA;
  if (opcode.starts_with("cvt."))
    return Pipe::Convert;
  if (startsWithAny(opcode, {"ld.", "st.", "ldu.", "atom.", "red.",
                             "tcgen05.ld", "tcgen05.st"}))
    return Pipe::Memory;
  if (startsWithAny(opcode,
                    {"add.",  "sub.",  "max.",  "min.", "and.", "or.",  "xor.",
                     "not.",  "neg.",  "abs.",  "shl.", "shr.", "shf.", "lop3.",
                     "prmt.", "selp.", "setp.", "set.", "bfe.", "bfi."}))
    return Pipe::ALU;
  return Pipe::Other;
}

static void countPTX(StringRef opcode, ListingBlock &block) {
  ++block.pipes[unsigned(getPTXPipe(opcode))];
  if (startsWithAny(opcode,
                    {"mbarrier.try_wait", "mbarrier.test_wait", "bar.sync",
                     "bar.cta.sync", "barrier.sync", "barrier.cta.sync"}))
    ++block.waits;
  else if (opcode.starts_with("ex2."))
    ++block.exponentials;
  else if (opcode.starts_with("selp."))
    ++block.selects;
  else if (startsWithAny(opcode, {"tcgen05.mma", "wgmma.mma_async"}))
    ++block.products;
  else if (startsWithAny(opcode, {"tcgen05.ld", "tcgen05.st", "tcgen05.cp"}))
    ++block.tensorMemory;
  else if (startsWithAny(opcode, {"cp.async.bulk", "cp.reduce.async.bulk"}) &&
           !opcode.contains("commit_group") && !opcode.contains("wait_group"))
    ++(opcode.contains(".shared::cta.global") ||
               opcode.contains(".shared::cluster.global")
           ? block.bulkLoads
           : block.bulkStores);
}

namespace {
/// Reads the statements of an entry's body. Braces open scopes, in which
/// inline assembly has labels of its own.
class PTXReader {
public:
  explicit PTXReader(StringRef entry) : function(entry) {}

  void readLine(StringRef line);
  bool isInScope() const { return depth > 0; }
  Listing finish() { return function.finish(); }

private:
  void readStatement(StringRef statement);
  void readRole(StringRef comment);

  /// Labels of inline assembly are told apart by a number that `close` raises.
  std::string getLabel(StringRef name) const {
    if (depth == 0 || name.starts_with("$L"))
      return name.str();
    return (name + "#" + llvm::Twine(scope)).str();
  }

  FunctionBuilder function;
  unsigned depth = 0, scope = 0;
};
} // namespace

void PTXReader::readRole(StringRef comment) {
  comment = comment.trim();
  if (!comment.consume_front("role "))
    return;
  auto [name, rest] = comment.split(", ");
  unsigned warps = 0;
  if (!rest.consumeInteger(10, warps) && rest == " warps")
    function.mark(name, warps);
}

void PTXReader::readLine(StringRef line) {
  auto [code, comment] = line.split("//");
  readRole(comment);
  llvm::SmallVector<StringRef> statements;
  code.split(statements, ';');
  for (StringRef statement : statements)
    readStatement(statement.trim());
}

void PTXReader::readStatement(StringRef statement) {
  while (statement.consume_front("{")) {
    ++depth;
    statement = statement.ltrim();
  }
  while (statement.consume_front("}")) {
    if (--depth == 0)
      ++scope;
    statement = statement.ltrim();
  }
  size_t end = statement.find_if_not(
      [](char c) { return llvm::isAlnum(c) || c == '_' || c == '$'; });
  if (end != 0 && end != StringRef::npos && statement[end] == ':' &&
      !statement.substr(end).starts_with("::")) {
    function.label(getLabel(statement.take_front(end)));
    statement = statement.drop_front(end + 1).ltrim();
  }
  if (statement.empty() || statement.starts_with("."))
    return;
  bool isConditional = statement.starts_with("@");
  if (isConditional)
    statement = statement.substr(statement.find_first_of(" \t")).ltrim();
  StringRef opcode =
      statement.take_until([](char c) { return c == ' ' || c == '\t'; });
  StringRef operands = statement.drop_front(opcode.size()).trim();
  countPTX(opcode, function.add());
  if (opcode == "bra" || opcode == "bra.uni")
    function.branch(getLabel(operands), isConditional);
  else if (opcode == "ret" || opcode == "exit" || opcode == "trap")
    function.end(/*fallsThrough=*/isConditional);
}

std::vector<Listing> lpfa::parsePTX(StringRef text) {
  std::vector<Listing> listings;
  std::optional<PTXReader> reader;
  std::string entry;
  for (StringRef line : llvm::split(text, '\n')) {
    StringRef trimmed = line.trim();
    size_t position = trimmed.find(".entry ");
    if (!reader && position != StringRef::npos)
      entry = trimmed.substr(position + strlen(".entry "))
                  .take_until([](char c) { return c == '(' || c == ' '; })
                  .str();
    else if (!reader && !entry.empty() && trimmed == "{")
      reader.emplace(entry);
    else if (reader && !reader->isInScope() && trimmed == "}") {
      listings.push_back(reader->finish());
      reader.reset();
      entry.clear();
    } else if (reader)
      reader->readLine(line);
  }
  return listings;
}

//===----------------------------------------------------------------------===//
// Machine code
//===----------------------------------------------------------------------===//

static Pipe getMachinePipe(StringRef opcode) {
  if (startsWithAny(opcode, {"MUFU", "F2I", "I2F", "FRND"}))
    return Pipe::Special;
  if (startsWithAny(opcode, {"FFMA2", "FADD2", "FMUL2"}))
    return Pipe::Packed;
  if (startsWithAny(
          opcode, {"FFMA", "FADD", "FMUL", "IMAD", "HFMA2", "HADD2", "HMUL2"}))
    return Pipe::FMA;
  if (startsWithAny(opcode, {"F2FP", "F2F"}))
    return Pipe::Convert;
  if (startsWithAny(opcode, {"LD", "ST", "ATOM", "RED"}))
    return Pipe::Memory;
  if (startsWithAny(opcode,
                    {"FMNMX", "FSEL", "FSETP", "FSET", "FCHK",  "IADD",
                     "IMNMX", "IABS", "ISETP", "LEA",  "LOP3",  "MOV",
                     "PRMT",  "SEL",  "SGXT",  "SHF",  "VIADD", "VIMNMX",
                     "PLOP3", "POPC", "FLO",   "BREV", "BMSK"}))
    return Pipe::ALU;
  return Pipe::Other;
}

static void countMachineCode(StringRef opcode, ListingBlock &block) {
  ++block.pipes[unsigned(getMachinePipe(opcode))];
  if ((opcode.starts_with("SYNCS") && opcode.contains("TRYWAIT")) ||
      opcode.starts_with("BAR.SYNC"))
    ++block.waits;
  else if (opcode.starts_with("MUFU.EX2"))
    ++block.exponentials;
  else if (startsWithAny(opcode, {"FSEL", "SEL"}))
    ++block.selects;
  else if (startsWithAny(opcode, {"UTCQMMA", "UTCHMMA", "UTCIMMA", "UTCOMMA",
                                  "UTCMXQMMA"}))
    ++block.products;
  else if (startsWithAny(opcode, {"LDTM", "STTM", "UTCCP"}))
    ++block.tensorMemory;
  else if (startsWithAny(opcode, {"UTMALDG", "UBLKCP.S.G"}))
    ++block.bulkLoads;
  else if (startsWithAny(opcode, {"UTMASTG", "UTMAREDG", "UBLKCP"}))
    ++block.bulkStores;
}

/// An instruction without its address and encoding; false for other lines.
static bool takeInstruction(StringRef &line) {
  if (!line.consume_front("/*"))
    return false;
  StringRef address = line.split("*/").first;
  if (address.size() < 4 || !llvm::all_of(address, llvm::isHexDigit))
    return false;
  line = line.split("*/").second.ltrim();
  line = line.take_until([](char c) { return c == ';'; });
  return !line.empty() && !line.starts_with(".");
}

std::vector<Listing> lpfa::parseMachineCode(StringRef text) {
  std::vector<Listing> listings;
  std::optional<FunctionBuilder> function;
  auto finish = [&] {
    if (function)
      listings.push_back(function->finish());
    function.reset();
  };
  for (StringRef line : llvm::split(text, '\n')) {
    line = line.trim();
    if (line.starts_with(".section")) {
      finish();
      continue;
    }
    if (line.ends_with(":")) {
      StringRef name = line.drop_back();
      if (name.consume_front(".text."))
        function.emplace(name);
      else if (function)
        function->label(name);
      continue;
    }
    if (!function || !takeInstruction(line))
      continue;
    bool isConditional = line.starts_with("@");
    if (isConditional)
      line = line.split(' ').second.ltrim();
    StringRef opcode = line.split(' ').first.trim();
    StringRef operands = line.drop_front(opcode.size()).trim();
    countMachineCode(opcode, function->add());
    if (opcode == "BRA" || opcode.starts_with("BRA.")) {
      auto [conditions, target] = operands.split("`(");
      function->branch(target.take_until([](char c) { return c == ')'; }),
                       isConditional || conditions.contains(','));
    } else if (opcode == "EXIT" || opcode.starts_with("RET.")) {
      function->end(/*fallsThrough=*/isConditional);
    }
  }
  finish();
  return listings;
}
