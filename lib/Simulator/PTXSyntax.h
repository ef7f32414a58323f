//===- PTXSyntax.h - Syntax tree of a PTX file ------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the parser makes of PTX text: functions with their registers resolved
// through scopes, instructions as an opcode, modifiers and operands. It knows
// PTX's grammar and nothing of any instruction's meaning.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_SIMULATOR_PTXSYNTAX_H
#define LPFA_LIB_SIMULATOR_PTXSYNTAX_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace lpfa::sim::ptx {

/// An error that reads "name:line: message".
llvm::Error errorAt(llvm::StringRef file, unsigned line,
                    const llvm::Twine &message);

struct SyntaxOperand {
  enum class Kind {
    Register, ///< `index` in the function's registers; `negated` for !p, -r
    Special,  ///< %tid.x and the like, or a lane mask register
    Integer,  ///< `value`
    Float,    ///< `value` holds the bits of an f32 or an f64 (`isDouble`)
    Symbol,   ///< a variable, function or label
    Address,  ///< [base + offset], or [a, {b, c}] as elements
    Vector,   ///< {a, b, ...}
    Pair,     ///< a|b
    Group,    ///< (a, b) of a call
    Sink      ///< _
  };
  Kind kind = Kind::Sink;
  bool negated = false;
  bool isDouble = false;
  unsigned index = 0;
  uint64_t value = 0;
  /// Address: the offset added to the base.
  int64_t offset = 0;
  llvm::StringRef name;
  std::vector<SyntaxOperand> elements;
};

struct SyntaxInstruction {
  unsigned line = 0;
  /// The text from guard to semicolon, for messages.
  llvm::StringRef text;
  /// Register index of the guard, or -1.
  int guard = -1;
  bool guardNegated = false;
  llvm::StringRef opcode;
  llvm::SmallVector<llvm::StringRef, 6> modifiers;
  llvm::SmallVector<SyntaxOperand, 4> operands;
  /// The scope that labels are looked up in.
  unsigned scope = 0;
};

struct SyntaxRegister {
  std::string name;
  /// "pred", "b32", "f64", ...
  llvm::StringRef type;
};

/// A variable in .global, .const, .shared, .local or .param space.
struct SyntaxVariable {
  std::string name;
  llvm::StringRef space;
  llvm::StringRef type;
  unsigned line = 0;
  uint64_t align = 1;
  uint64_t size = 0;
  bool isExtern = false;
  /// `.extern .shared x[]`: the launch's dynamic shared memory.
  bool isUnsized = false;
  std::vector<uint8_t> initializer;
  /// Bytes of the initializer that hold another variable's address.
  struct Relocation {
    uint64_t offset;
    std::string symbol;
    int64_t addend;
    bool generic;
  };
  std::vector<Relocation> relocations;
};

struct SyntaxFunction {
  std::string name;
  unsigned line = 0;
  bool isEntry = false;
  bool hasBody = false;
  std::vector<SyntaxVariable> parameters;
  std::vector<SyntaxVariable> results;
  std::vector<SyntaxRegister> registers;
  /// Variables declared in the body, names unique within it.
  std::vector<SyntaxVariable> variables;
  std::vector<SyntaxInstruction> body;
  /// (scope, label) to the index of the instruction that follows.
  struct Scope {
    int parent = -1;
    llvm::StringMap<unsigned> labels;
    /// Targets of `.branchtargets` tables, by their label.
    llvm::StringMap<std::vector<llvm::StringRef>> tables;
    /// Declared name to the variable's unique name.
    llvm::StringMap<std::string> variables;
  };
  /// A deque, so that operands may refer to the names in it.
  std::deque<Scope> scopes;
  /// Names that inlining has made.
  std::deque<std::string> names;
  /// Performance-tuning directives; 0 if absent.
  unsigned maxRegisters = 0;
  uint32_t requiredThreads[3] = {0, 0, 0};
  uint32_t maxThreads[3] = {0, 0, 0};
  uint32_t requiredCluster[3] = {0, 0, 0};

  /// The instruction index of `label` seen from `scope`, or -1.
  int findLabel(unsigned scope, llvm::StringRef label) const;
  const std::vector<llvm::StringRef> *findTable(unsigned scope,
                                                llvm::StringRef label) const;
};

struct SyntaxModule {
  std::string name;
  std::unique_ptr<std::string> text;
  /// "9.0" as 90.
  unsigned version = 0;
  std::string target;
  std::vector<SyntaxVariable> variables;
  std::vector<std::unique_ptr<SyntaxFunction>> functions;
};

/// Replaces every call in the entries by the body of the called function.
llvm::Error inlineCalls(SyntaxModule &module);

/// Bytes of a fundamental type ("b32", "f16x2", ...), 0 if unknown; 1 for pred.
unsigned typeBytes(llvm::StringRef type);

llvm::Expected<std::unique_ptr<SyntaxModule>> parse(llvm::StringRef text,
                                                    llvm::StringRef name);

} // namespace lpfa::sim::ptx

#endif // LPFA_LIB_SIMULATOR_PTXSYNTAX_H
