//===- PTXStatements.cpp - Bodies of PTX functions ------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PTXParser.h"
#include "llvm/ADT/StringExtras.h"

using namespace lpfa::sim::ptx;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

/// Limits that keep hostile input from taking all memory.
static constexpr uint64_t maxRegisters = 1 << 20;
static constexpr unsigned maxScopeDepth = 256;
static constexpr unsigned maxOperandDepth = 16;

Error Parser::parseBlock(unsigned depth) {
  if (depth > maxScopeDepth)
    return error("blocks are nested too deeply");
  if (Error e = need('{'))
    return e;
  unsigned outer = scope;
  SyntaxFunction::Scope opened;
  opened.parent = depth ? int(outer) : -1;
  scope = function->scopes.size();
  function->scopes.push_back(std::move(opened));
  registerScopes.emplace_back();
  while (!token.isPunctuation('}')) {
    if (token.is(Token::Kind::End))
      return expected("'}'");
    if (Error e = parseStatement(depth))
      return e;
  }
  advance();
  registerScopes.pop_back();
  scope = outer;
  return Error::success();
}

Error Parser::parseStatement(unsigned depth) {
  if (token.isPunctuation('{'))
    return parseBlock(depth + 1);
  if (take(';'))
    return Error::success();
  if (takeDot("loc") || takeDot("file")) {
    skipLine();
    return Error::success();
  }
  if (takeDot("reg"))
    return parseRegisters();
  if (takeDot("pragma") || takeDot("callprototype")) {
    while (!token.isPunctuation(';') && !token.is(Token::Kind::End))
      advance();
    return need(';');
  }
  if (token.is(Token::Kind::Dot)) {
    StringRef space = token.text.take_while([](char c) { return c != ':'; });
    if (space != "local" && space != "shared" && space != "param" &&
        space != "global" && space != "const")
      return error("unknown directive '." + token.text + "'");
    advance();
    unsigned scopeId = scope;
    auto rename = [&](StringRef name) {
      std::string unique =
          (function->name + "." + Twine(scopeId) + "." + name).str();
      function->scopes[scopeId].variables[name] = unique;
      return unique;
    };
    if (Error e =
            parseVariable(space, false, false, function->variables, rename))
      return e;
    return need(';');
  }
  if (token.is(Token::Kind::Identifier) && following.isPunctuation(':')) {
    StringRef label = token.text;
    advance();
    advance();
    SyntaxFunction::Scope &here = function->scopes[scope];
    if (takeDot("branchtargets")) {
      std::vector<StringRef> &table = here.tables[label];
      do {
        Expected<StringRef> target = needName("a label");
        if (!target)
          return target.takeError();
        table.push_back(*target);
      } while (take(','));
      return need(';');
    }
    if (token.is(Token::Kind::Dot) && token.text == "callprototype")
      return Error::success();
    if (!here.labels.try_emplace(label, function->body.size()).second)
      return errorAt(module.name, last.line,
                     "label '" + label + "' is defined twice");
    return Error::success();
  }
  return parseInstruction();
}

/// .reg .b32 %r<10>, x;
Error Parser::parseRegisters() {
  StringRef type;
  while (token.is(Token::Kind::Dot)) {
    if (token.text == "v2" || token.text == "v4")
      return error("vector registers are not supported");
    type = token.text;
    advance();
  }
  if (!typeBytes(type))
    return expected("a register type");
  do {
    Expected<StringRef> name = needName("a register's name");
    if (!name)
      return name.takeError();
    RegisterScope &here = registerScopes.back();
    unsigned first = function->registers.size();
    if (take('<')) {
      Expected<uint64_t> count = needInteger();
      if (!count)
        return count.takeError();
      if (Error e = need('>'))
        return e;
      if (*count > maxRegisters || first + *count > maxRegisters)
        return errorAt(module.name, last.line, "too many registers");
      here.ranges[*name] = {first, unsigned(*count)};
      for (uint64_t i = 0; i != *count; ++i)
        function->registers.push_back({(*name + Twine(i)).str(), type});
    } else {
      if (first + 1 > maxRegisters)
        return errorAt(module.name, last.line, "too many registers");
      if (!here.names.try_emplace(*name, first).second)
        return errorAt(module.name, last.line,
                       "register '" + *name + "' is declared twice");
      function->registers.push_back({name->str(), type});
    }
  } while (take(','));
  return need(';');
}

int Parser::findRegister(StringRef name) const {
  size_t digits = name.size();
  while (digits && llvm::isDigit(name[digits - 1]))
    --digits;
  StringRef prefix = name.take_front(digits);
  unsigned number;
  bool numbered = !name.drop_front(digits).getAsInteger(10, number);
  for (size_t i = registerScopes.size(); i-- != 0;) {
    const RegisterScope &s = registerScopes[i];
    auto it = s.names.find(name);
    if (it != s.names.end())
      return it->second;
    if (numbered) {
      auto range = s.ranges.find(prefix);
      if (range != s.ranges.end() && number < range->second.count)
        return range->second.first + number;
    }
  }
  return -1;
}

Error Parser::resolveName(StringRef name, SyntaxOperand &operand) {
  if (int index = findRegister(name); index >= 0) {
    operand.kind = Kind::Register;
    operand.index = index;
    operand.name = name;
    return Error::success();
  }
  if (name == "_") {
    operand.kind = Kind::Sink;
    return Error::success();
  }
  if (name.starts_with("%") || name == "WARP_SZ") {
    operand.kind = Kind::Special;
    operand.name = name;
    if (token.is(Token::Kind::Dot) && !token.spaced &&
        (token.text == "x" || token.text == "y" || token.text == "z" ||
         token.text == "w")) {
      operand.name = StringRef(name.data(), token.text.end() - name.data());
      advance();
    }
    return Error::success();
  }
  operand.kind = Kind::Symbol;
  operand.name = name;
  for (int s = scope; s >= 0; s = function->scopes[s].parent) {
    auto it = function->scopes[s].variables.find(name);
    if (it != function->scopes[s].variables.end()) {
      operand.name = it->second;
      break;
    }
  }
  return Error::success();
}

Error Parser::parseList(SyntaxOperand &operand, char close) {
  if (take(close))
    return Error::success();
  if (++operandDepth > maxOperandDepth)
    return error("operands are nested too deeply");
  do {
    operand.elements.emplace_back();
    if (Error e = parseOperand(operand.elements.back()))
      return e;
  } while (take(','));
  --operandDepth;
  return need(close);
}

/// [base + offset] or [a, {coordinates}] or [a, b].
Error Parser::parseAddress(SyntaxOperand &operand) {
  SyntaxOperand base;
  if (++operandDepth > maxOperandDepth)
    return error("operands are nested too deeply");
  if (Error e = parseOperand(base, /*inAddress=*/true))
    return e;
  --operandDepth;
  while (token.isPunctuation('+') || token.isPunctuation('-')) {
    bool negative = token.isPunctuation('-');
    advance();
    Expected<uint64_t> amount = needInteger();
    if (!amount)
      return amount.takeError();
    operand.offset += negative ? -int64_t(*amount) : int64_t(*amount);
  }
  operand.kind = Kind::Address;
  operand.offset += base.offset;
  operand.elements.push_back(std::move(base));
  while (take(',')) {
    operand.elements.emplace_back();
    if (Error e = parseOperand(operand.elements.back()))
      return e;
  }
  return need(']');
}

Error Parser::parseOperand(SyntaxOperand &operand, bool inAddress) {
  if (take('{')) {
    operand.kind = Kind::Vector;
    return parseList(operand, '}');
  }
  if (take('(')) {
    operand.kind = Kind::Group;
    return parseList(operand, ')');
  }
  if (take('['))
    return parseAddress(operand);
  if (take('!')) {
    if (!token.is(Token::Kind::Identifier))
      return expected("a predicate");
    if (Error e = parseOperand(operand))
      return e;
    if (operand.kind != Kind::Register)
      return errorAt(module.name, last.line, "expected a predicate after '!'");
    operand.negated = true;
    return Error::success();
  }
  bool negative = false;
  while (token.isPunctuation('-') || token.isPunctuation('+')) {
    negative ^= token.isPunctuation('-');
    advance();
  }
  bool inverted = take('~');
  if (token.is(Token::Kind::Integer)) {
    operand.kind = Kind::Integer;
    operand.value = negative ? 0 - token.value : token.value;
    if (inverted)
      operand.value = ~operand.value;
    advance();
    return Error::success();
  }
  if (token.is(Token::Kind::Float)) {
    operand.kind = Kind::Float;
    operand.isDouble = token.isDouble;
    operand.value = token.value;
    if (negative)
      operand.value ^= uint64_t(1) << (token.isDouble ? 63 : 31);
    advance();
    return Error::success();
  }
  if (negative || inverted || !token.is(Token::Kind::Identifier))
    return expected("an operand");
  StringRef name = token.text;
  advance();
  if (Error e = resolveName(name, operand))
    return e;
  if (!inAddress && operand.kind == Kind::Symbol &&
      (token.isPunctuation('+') || token.isPunctuation('-'))) {
    bool minus = token.isPunctuation('-');
    advance();
    Expected<uint64_t> amount = needInteger();
    if (!amount)
      return amount.takeError();
    operand.offset = minus ? -int64_t(*amount) : int64_t(*amount);
  }
  if (take('|')) {
    SyntaxOperand pair;
    pair.kind = Kind::Pair;
    pair.elements.push_back(std::move(operand));
    Expected<StringRef> second = needName("a register");
    if (!second)
      return second.takeError();
    pair.elements.emplace_back();
    if (Error e = resolveName(*second, pair.elements.back()))
      return e;
    operand = std::move(pair);
  }
  return Error::success();
}

Error Parser::parseInstruction() {
  SyntaxInstruction instruction;
  instruction.line = token.line;
  instruction.scope = scope;
  const char *start = token.text.data();
  if (take('@')) {
    instruction.guardNegated = take('!');
    Expected<StringRef> name = needName("a predicate");
    if (!name)
      return name.takeError();
    instruction.guard = findRegister(*name);
    if (instruction.guard < 0)
      return errorAt(module.name, last.line,
                     "unknown register '" + *name + "'");
    if (function->registers[instruction.guard].type != "pred")
      return errorAt(module.name, last.line,
                     "guard '" + *name + "' is no predicate");
  }
  Expected<StringRef> opcode = needName("an instruction");
  if (!opcode)
    return opcode.takeError();
  instruction.opcode = *opcode;
  instruction.line = last.line;
  while (token.is(Token::Kind::Dot)) {
    instruction.modifiers.push_back(token.text);
    advance();
  }
  while (!token.isPunctuation(';')) {
    if (token.is(Token::Kind::End))
      return expected("';'");
    instruction.operands.emplace_back();
    if (Error e = parseOperand(instruction.operands.back()))
      return e;
    if (!take(',') && !token.isPunctuation(';') &&
        !(instruction.opcode == "call" &&
          instruction.operands.back().kind == Kind::Symbol))
      return expected("',' or ';'");
  }
  instruction.text = StringRef(start, token.text.data() - start);
  advance();
  function->body.push_back(std::move(instruction));
  return Error::success();
}
