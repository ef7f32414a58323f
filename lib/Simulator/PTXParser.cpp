//===- PTXParser.cpp - Parser of PTX text ---------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PTXLexer.h"
#include "PTXSyntax.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace lpfa::sim::ptx;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

Error lpfa::sim::ptx::errorAt(StringRef file, unsigned line,
                              const Twine &message) {
  return llvm::createStringError(file + ":" + Twine(line) + ": " + message);
}

unsigned lpfa::sim::ptx::typeBytes(StringRef type) {
  return llvm::StringSwitch<unsigned>(type)
      .Cases({"b8", "u8", "s8", "pred", "e4m3", "e5m2"}, 1)
      .Cases({"b16", "u16", "s16", "f16", "bf16", "e4m3x2", "e5m2x2"}, 2)
      .Cases({"b32", "u32", "s32", "f32", "f16x2", "bf16x2", "tf32"}, 4)
      .Cases({"b64", "u64", "s64", "f64", "f32x2"}, 8)
      .Case("b128", 16)
      .Default(0);
}

int SyntaxFunction::findLabel(unsigned scope, StringRef label) const {
  for (int s = scope; s >= 0; s = scopes[s].parent) {
    auto it = scopes[s].labels.find(label);
    if (it != scopes[s].labels.end())
      return it->second;
  }
  return -1;
}

const std::vector<StringRef> *SyntaxFunction::findTable(unsigned scope,
                                                        StringRef label) const {
  for (int s = scope; s >= 0; s = scopes[s].parent) {
    auto it = scopes[s].tables.find(label);
    if (it != scopes[s].tables.end())
      return &it->second;
  }
  return nullptr;
}

namespace {

/// Limits that keep hostile input from taking all memory.
constexpr uint64_t maxRegisters = 1 << 20;
constexpr uint64_t maxVariableBytes = uint64_t(1) << 32;
constexpr unsigned maxScopeDepth = 256;
constexpr unsigned maxOperandDepth = 16;

class Parser {
public:
  Parser(SyntaxModule &module) : module(module), lexer(*module.text) {
    token = lexer.next();
    following = lexer.next();
  }

  Error run();

private:
  using Kind = SyntaxOperand::Kind;

  //===--------------------------------------------------------------------===//
  // Tokens
  //===--------------------------------------------------------------------===//

  void advance() {
    last = token;
    token = following;
    following = lexer.next();
  }
  Error error(const Twine &message) {
    if (token.is(Token::Kind::Error))
      return errorAt(module.name, token.line, token.text);
    return errorAt(module.name, token.line, message);
  }
  /// "expected X before 'Y'".
  Error expected(const Twine &what) {
    if (token.is(Token::Kind::End))
      return error("expected " + what + " before the end of the file");
    return error("expected " + what + " before '" + token.text + "'");
  }
  bool take(char c) {
    if (!token.isPunctuation(c))
      return false;
    advance();
    return true;
  }
  Error need(char c) {
    if (take(c))
      return Error::success();
    return expected(Twine("'") + Twine(c) + "'");
  }
  bool takeDot(StringRef name) {
    if (!token.is(Token::Kind::Dot) || token.text != name)
      return false;
    advance();
    return true;
  }
  Expected<StringRef> needName(const Twine &what) {
    if (!token.is(Token::Kind::Identifier))
      return expected(what);
    StringRef name = token.text;
    advance();
    return name;
  }
  Expected<uint64_t> needInteger() {
    bool negative = take('-');
    if (!token.is(Token::Kind::Integer))
      return expected("an integer");
    uint64_t value = token.value;
    advance();
    return negative ? 0 - value : value;
  }
  void skipLine() {
    unsigned line = token.line;
    while (!token.is(Token::Kind::End) && token.line == line)
      advance();
  }

  //===--------------------------------------------------------------------===//
  // Declarations
  //===--------------------------------------------------------------------===//

  Error parseVariable(StringRef space, bool isExtern, bool isParameter,
                      std::vector<SyntaxVariable> &into,
                      llvm::function_ref<std::string(StringRef)> rename);
  Error parseInitializer(SyntaxVariable &variable, unsigned elementBytes);
  Error parseInitializerValue(SyntaxVariable &variable, unsigned elementBytes,
                              uint64_t &offset);
  Error parseFunction(bool isEntry, bool isExtern);
  Error parseParameterList(std::vector<SyntaxVariable> &into);
  Error parseDirectives();
  Error parseDimensions(uint32_t dimensions[3]);
  void skipSection();

  //===--------------------------------------------------------------------===//
  // Bodies
  //===--------------------------------------------------------------------===//

  Error parseBlock(unsigned depth);
  Error parseStatement(unsigned depth);
  Error parseRegisters();
  Error parseInstruction();
  Error parseOperand(SyntaxOperand &operand, bool inAddress = false);
  Error parseList(SyntaxOperand &operand, char close);
  Error parseAddress(SyntaxOperand &operand);
  Error resolveName(StringRef name, SyntaxOperand &operand);
  int findRegister(StringRef name) const;

  struct Range {
    unsigned first, count;
  };
  struct RegisterScope {
    llvm::StringMap<unsigned> names;
    llvm::StringMap<Range> ranges;
  };

  SyntaxModule &module;
  Lexer lexer;
  Token token, following, last;
  SyntaxFunction *function = nullptr;
  std::vector<RegisterScope> registerScopes;
  unsigned scope = 0;
  unsigned operandDepth = 0;
};

} // namespace

Error Parser::run() {
  while (!token.is(Token::Kind::End)) {
    if (takeDot("version")) {
      // "9.0" is a floating-point token.
      if (!token.is(Token::Kind::Float))
        return expected("a version such as 9.0");
      double version;
      std::memcpy(&version, &token.value, 8);
      if (!(version >= 1 && version < 100))
        return error("version " + token.text + " out of range");
      module.version = unsigned(version * 10 + 0.5);
      advance();
    } else if (takeDot("target")) {
      Expected<StringRef> target = needName("a target");
      if (!target)
        return target.takeError();
      module.target = target->str();
      while (take(','))
        advance();
    } else if (takeDot("address_size")) {
      Expected<uint64_t> size = needInteger();
      if (!size)
        return size.takeError();
      if (*size != 64)
        return errorAt(module.name, last.line,
                       "only 64-bit addresses are supported");
    } else if (takeDot("file") || takeDot("loc") || takeDot("pragma")) {
      skipLine();
    } else if (takeDot("section")) {
      skipSection();
    } else {
      bool isExtern = false;
      while (token.is(Token::Kind::Dot) &&
             (token.text == "visible" || token.text == "extern" ||
              token.text == "weak" || token.text == "common")) {
        isExtern |= token.text == "extern";
        advance();
      }
      if (takeDot("entry")) {
        if (Error e = parseFunction(true, isExtern))
          return e;
      } else if (takeDot("func")) {
        if (Error e = parseFunction(false, isExtern))
          return e;
      } else if (token.is(Token::Kind::Dot) &&
                 (token.text == "global" || token.text == "const" ||
                  token.text == "shared" || token.text == "shared::cta")) {
        StringRef space =
            token.text.take_while([](char c) { return c != ':'; });
        advance();
        if (Error e = parseVariable(space, isExtern, false, module.variables,
                                    [](StringRef n) { return n.str(); }))
          return e;
        if (Error e = need(';'))
          return e;
      } else {
        return expected("a directive");
      }
    }
  }
  if (!module.version)
    return errorAt(module.name, 1, "no .version directive");
  if (module.target.empty())
    return errorAt(module.name, 1, "no .target directive");
  return Error::success();
}

/// Parses what follows the state space: alignment, type, and one or more names
/// with sizes and initializers.
Error Parser::parseVariable(StringRef space, bool isExtern, bool isParameter,
                            std::vector<SyntaxVariable> &into,
                            llvm::function_ref<std::string(StringRef)> rename) {
  SyntaxVariable variable;
  variable.space = space;
  variable.isExtern = isExtern;
  unsigned elementBytes = 0, vector = 1;
  while (token.is(Token::Kind::Dot)) {
    StringRef name = token.text;
    advance();
    if (name == "align") {
      Expected<uint64_t> align = needInteger();
      if (!align)
        return align.takeError();
      if (!llvm::isPowerOf2_64(*align) || *align > (1 << 20))
        return errorAt(module.name, last.line, "alignment is no power of two");
      variable.align = *align;
    } else if (name == "v2" || name == "v4") {
      vector = name == "v2" ? 2 : 4;
    } else if (name == "ptr" || name == "global" || name == "shared" ||
               name == "const" || name == "local" || name == "generic" ||
               name == "attribute") {
      // Attributes of pointer parameters carry no meaning here.
    } else if (unsigned bytes = typeBytes(name)) {
      elementBytes = bytes;
      variable.type = name;
    } else if (name == "texref" || name == "samplerref" || name == "surfref") {
      return errorAt(module.name, last.line,
                     "'." + name + "' is not supported");
    } else {
      return errorAt(module.name, last.line,
                     "unknown type or attribute '." + name + "'");
    }
  }
  if (!elementBytes)
    return expected("a type");
  do {
    SyntaxVariable v = variable;
    v.line = token.line;
    Expected<StringRef> name = needName("a variable's name");
    if (!name)
      return name.takeError();
    v.name = rename(*name);
    v.size = uint64_t(elementBytes) * vector;
    v.align = std::max<uint64_t>(variable.align, v.size);
    while (take('[')) {
      if (take(']')) {
        v.isUnsized = true;
        continue;
      }
      Expected<uint64_t> count = needInteger();
      if (!count)
        return count.takeError();
      if (*count > maxVariableBytes || v.size * *count > maxVariableBytes)
        return errorAt(module.name, last.line,
                       "variable '" + *name + "' is too large");
      v.size *= *count;
      if (Error e = need(']'))
        return e;
    }
    if (take('=')) {
      if (Error e = parseInitializer(v, elementBytes))
        return e;
      if (v.isUnsized) {
        v.size = v.initializer.size();
        v.isUnsized = false;
      }
    }
    into.push_back(std::move(v));
  } while (!isParameter && take(','));
  return Error::success();
}

Error Parser::parseInitializer(SyntaxVariable &variable,
                               unsigned elementBytes) {
  uint64_t offset = 0;
  if (Error e = parseInitializerValue(variable, elementBytes, offset))
    return e;
  if (!variable.isUnsized && variable.initializer.size() > variable.size)
    return errorAt(module.name, last.line,
                   "initializer of '" + variable.name + "' is too long");
  return Error::success();
}

Error Parser::parseInitializerValue(SyntaxVariable &variable,
                                    unsigned elementBytes, uint64_t &offset) {
  if (take('{')) {
    if (take('}'))
      return Error::success();
    do {
      if (Error e = parseInitializerValue(variable, elementBytes, offset))
        return e;
    } while (take(','));
    return need('}');
  }
  uint64_t value = 0;
  bool generic = false;
  if (token.is(Token::Kind::Identifier)) {
    StringRef name = token.text;
    advance();
    if (name == "generic" && take('(')) {
      generic = true;
      Expected<StringRef> inner = needName("a variable");
      if (!inner)
        return inner.takeError();
      name = *inner;
      if (Error e = need(')'))
        return e;
    }
    int64_t addend = 0;
    if (token.isPunctuation('+') || token.isPunctuation('-')) {
      bool negative = token.isPunctuation('-');
      advance();
      Expected<uint64_t> amount = needInteger();
      if (!amount)
        return amount.takeError();
      addend = negative ? -int64_t(*amount) : int64_t(*amount);
    }
    variable.relocations.push_back({offset, name.str(), addend, generic});
  } else {
    bool negative = take('-');
    if (token.is(Token::Kind::Float)) {
      value = token.value;
      if (elementBytes == 4 && token.isDouble) {
        double d;
        std::memcpy(&d, &value, 8);
        float f = float(d);
        value = 0;
        std::memcpy(&value, &f, 4);
      }
      if (negative)
        value ^= uint64_t(1) << (8 * elementBytes - 1);
    } else if (token.is(Token::Kind::Integer)) {
      value = negative ? 0 - token.value : token.value;
    } else {
      return expected("a value");
    }
    advance();
  }
  variable.initializer.resize(offset + elementBytes);
  std::memcpy(&variable.initializer[offset], &value,
              std::min<unsigned>(elementBytes, 8));
  offset += elementBytes;
  return Error::success();
}

Error Parser::parseParameterList(std::vector<SyntaxVariable> &into) {
  if (!take('('))
    return Error::success();
  if (take(')'))
    return Error::success();
  do {
    if (takeDot("param")) {
      if (Error e = parseVariable("param", false, true, into,
                                  [](StringRef n) { return n.str(); }))
        return e;
    } else if (takeDot("reg")) {
      return error("register parameters are not supported");
    } else {
      return expected("'.param'");
    }
  } while (take(','));
  return need(')');
}

Error Parser::parseDimensions(uint32_t dimensions[3]) {
  for (unsigned i = 0; i != 3; ++i)
    dimensions[i] = 1;
  for (unsigned i = 0; i != 3; ++i) {
    Expected<uint64_t> value = needInteger();
    if (!value)
      return value.takeError();
    dimensions[i] = *value;
    if (!take(','))
      break;
  }
  return Error::success();
}

Error Parser::parseDirectives() {
  while (token.is(Token::Kind::Dot)) {
    StringRef name = token.text;
    if (name == "reqntid" || name == "maxntid" || name == "reqnctapercluster") {
      advance();
      if (Error e =
              parseDimensions(name == "reqntid"   ? function->requiredThreads
                              : name == "maxntid" ? function->maxThreads
                                                  : function->requiredCluster))
        return e;
    } else if (name == "maxnreg" || name == "minnctapersm" ||
               name == "maxnctapersm" || name == "maxclusterrank") {
      advance();
      Expected<uint64_t> value = needInteger();
      if (!value)
        return value.takeError();
      if (name == "maxnreg")
        function->maxRegisters = *value;
    } else if (name == "explicitcluster" || name == "blocksareclusters" ||
               name == "noreturn" || name == "abi_preserve" ||
               name == "abi_preserve_control") {
      advance();
      if (token.is(Token::Kind::Integer))
        advance();
    } else if (name == "pragma") {
      advance();
      while (!token.isPunctuation(';') && !token.is(Token::Kind::End))
        advance();
      if (Error e = need(';'))
        return e;
    } else {
      return error("unknown directive '." + name + "'");
    }
  }
  return Error::success();
}

void Parser::skipSection() {
  while (!token.is(Token::Kind::End) && !token.isPunctuation('{'))
    advance();
  unsigned depth = 0;
  while (!token.is(Token::Kind::End)) {
    if (token.isPunctuation('{'))
      ++depth;
    bool closes = token.isPunctuation('}') && --depth == 0;
    advance();
    if (closes)
      return;
  }
}

Error Parser::parseFunction(bool isEntry, bool isExtern) {
  auto owned = std::make_unique<SyntaxFunction>();
  function = owned.get();
  function->isEntry = isEntry;
  function->line = token.line;
  if (!isEntry)
    if (Error e = parseParameterList(function->results))
      return e;
  Expected<StringRef> name = needName("a function's name");
  if (!name)
    return name.takeError();
  function->name = name->str();
  if (Error e = parseParameterList(function->parameters))
    return e;
  if (Error e = parseDirectives())
    return e;
  if (!take(';')) {
    function->hasBody = true;
    registerScopes.clear();
    if (Error e = parseBlock(0))
      return e;
  }
  // A definition replaces its declaration.
  for (std::unique_ptr<SyntaxFunction> &other : module.functions)
    if (other->name == function->name) {
      if (!function->hasBody)
        return Error::success();
      if (other->hasBody)
        return errorAt(module.name, function->line,
                       "function '" + function->name + "' is defined twice");
      other = std::move(owned);
      return Error::success();
    }
  module.functions.push_back(std::move(owned));
  return Error::success();
}

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

Expected<std::unique_ptr<SyntaxModule>> lpfa::sim::ptx::parse(StringRef text,
                                                              StringRef name) {
  auto module = std::make_unique<SyntaxModule>();
  module->name = name.str();
  module->text = std::make_unique<std::string>(text);
  if (Error e = Parser(*module).run())
    return std::move(e);
  return std::move(module);
}
