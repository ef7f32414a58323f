//===- Decoder.h - From syntax to instructions ------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_SIMULATOR_DECODER_H
#define LPFA_LIB_SIMULATOR_DECODER_H

#include "Program.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"
#include <map>
#include <optional>
#include <tuple>

namespace lpfa::sim {

class FunctionDecoder;

/// Decodes one instruction. A modifier that no one takes, an operand that does
/// not fit: the first complaint is kept and the instruction refused, so that
/// decoders need no error paths of their own.
class Decoder {
public:
  Decoder(FunctionDecoder &function, const ptx::SyntaxInstruction &syntax,
          Instruction &instruction);

  Instruction &inst;
  const ptx::SyntaxInstruction &syntax;

  void fail(const llvm::Twine &message);
  bool failed() const { return !complaint.empty(); }
  const std::string &message() const { return complaint; }

  /// Takes a modifier if the instruction has it, at whatever position.
  bool take(llvm::StringRef modifier);
  /// Takes the first of these modifiers and gives its index, or -1.
  int takeOneOf(llvm::ArrayRef<llvm::StringRef> modifiers);
  /// Takes the first modifier that is a type.
  std::optional<Type> takeType();
  /// Takes the type or fails.
  Type needType();
  /// Takes .global, .shared, .shared::cta, ...; Generic if there is none.
  Space takeSpace();
  /// Fails on modifiers that are left over.
  void finish();
  llvm::ArrayRef<llvm::StringRef> remaining() const { return modifiers; }

  unsigned numOperands() const { return syntax.operands.size(); }
  /// Fails unless there are `from` to `to` operands.
  void needOperands(unsigned from, unsigned to = 0);
  const ptx::SyntaxOperand &operand(unsigned i) const;

  /// Appends the operand to inst.operands. Destinations come first.
  void destination(unsigned i, Type type);
  void source(unsigned i, Type type);
  void sourceOf(const ptx::SyntaxOperand &operand, Type type);
  void destinationOf(const ptx::SyntaxOperand &operand, Type type);
  /// As above, but a register may be wider than the type (PTX ISA 9.4.1).
  void wideDestination(unsigned i, Type type);
  void wideSource(unsigned i, Type type);
  /// Appends the base of [base + offset], as a 32-bit or a 64-bit address.
  void address(unsigned i);
  void addressOf(const ptx::SyntaxOperand &operand);
  /// Appends the elements of {a, b, ...}, or the one operand without braces.
  /// Returns their number.
  unsigned sourceVector(unsigned i, Type type, bool wide = false);
  unsigned destinationVector(unsigned i, Type type, bool wide = false);
  /// Finishes with d and `sources` sources, all of one type.
  void operands(Type type, unsigned sources);
  void absent() { inst.operands.emplace_back(); }
  void constant(uint64_t value, Type type);
  /// The operand's value, which must be an integer constant.
  int64_t immediate(unsigned i);
  bool isImmediate(unsigned i) const;
  bool isAddress(unsigned i) const;

  /// For branches: marks the instruction index that a label stands for.
  uint32_t label(const ptx::SyntaxOperand &operand);
  FunctionDecoder &functionDecoder() { return function; }

private:
  enum class Width { Exact, Wider, Address };
  Operand resolve(const ptx::SyntaxOperand &operand, Type type,
                  Width width = Width::Exact);
  void addDestination(const ptx::SyntaxOperand &operand, Type type,
                      Width width);

  FunctionDecoder &function;
  llvm::SmallVector<llvm::StringRef, 8> modifiers;
  std::string complaint;
};

using DecodeFn = void (*)(Decoder &);
using DecodeTable = llvm::StringMap<DecodeFn>;

/// Each group of instructions adds its opcodes.
void addArithmetic(DecodeTable &table);
void addBits(DecodeTable &table);
void addComparisons(DecodeTable &table);
void addFloatArithmetic(DecodeTable &table);
void addConversions(DecodeTable &table);
void addMovement(DecodeTable &table);
void addControlFlow(DecodeTable &table);
void addWarpInstructions(DecodeTable &table);
void addMemory(DecodeTable &table);
void addAtomics(DecodeTable &table);
void addBarriers(DecodeTable &table);
void addMBarriers(DecodeTable &table);
void addFences(DecodeTable &table);
void addBulkCopies(DecodeTable &table);
void addTensorMaps(DecodeTable &table);
void addLaunchControl(DecodeTable &table);
void addTensorInstructions(DecodeTable &table);
void addMatrixInstructions(DecodeTable &table);
void addWarpMatrix(DecodeTable &table);

/// Decodes a function: lays out registers and variables, then instruction by
/// instruction.
class FunctionDecoder {
public:
  FunctionDecoder(const ptx::SyntaxModule &module,
                  const ptx::SyntaxFunction &syntax, Function &function,
                  const DecodeTable &table)
      : module(module), syntax(syntax), function(function), table(table) {}

  llvm::Error run();

  const ptx::SyntaxModule &module;
  const ptx::SyntaxFunction &syntax;
  Function &function;

  Operand registerPlace(unsigned index) const { return places[index]; }
  Operand constant(Constant::Kind kind, uint64_t value, unsigned bytes,
                   int64_t addend = 0, bool generic = false);

  struct Variable {
    Space space;
    uint64_t value; // offset, or number of the module variable
  };
  const Variable *findVariable(llvm::StringRef name) const;

private:
  Operand allocate(unsigned bytes);
  llvm::Error layOut();

  const DecodeTable &table;
  std::vector<Operand> places;
  std::map<std::tuple<Constant::Kind, uint64_t, unsigned, int64_t, bool>,
           unsigned>
      constantIndex;
  llvm::StringMap<Variable> variables;
};

/// Fills in `reconverge` of every branch: the immediate post-dominator.
void findReconvergence(Function &function);

} // namespace lpfa::sim

#endif // LPFA_LIB_SIMULATOR_DECODER_H
