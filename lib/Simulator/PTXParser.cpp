//===- PTXParser.cpp - Parser of PTX text ---------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PTXParser.h"
#include "llvm/ADT/StringSwitch.h"
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

/// Keeps hostile input from taking all memory.
static constexpr uint64_t maxVariableBytes = uint64_t(1) << 32;

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

Expected<std::unique_ptr<SyntaxModule>> lpfa::sim::ptx::parse(StringRef text,
                                                              StringRef name) {
  auto module = std::make_unique<SyntaxModule>();
  module->name = name.str();
  module->text = std::make_unique<std::string>(text);
  if (Error e = Parser(*module).run())
    return std::move(e);
  return std::move(module);
}
