//===- PTXParser.h - Parser of PTX text -------------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_SIMULATOR_PTXPARSER_H
#define LPFA_LIB_SIMULATOR_PTXPARSER_H

#include "PTXLexer.h"
#include "PTXSyntax.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

namespace lpfa::sim::ptx {

/// Reads a file token by token, with one to look ahead, into its syntax tree.
class Parser {
public:
  Parser(SyntaxModule &module) : module(module), lexer(*module.text) {
    token = lexer.next();
    following = lexer.next();
  }

  llvm::Error run();

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
  llvm::Error error(const llvm::Twine &message) {
    if (token.is(Token::Kind::Error))
      return errorAt(module.name, token.line, token.text);
    return errorAt(module.name, token.line, message);
  }
  /// "expected X before 'Y'".
  llvm::Error expected(const llvm::Twine &what) {
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
  llvm::Error need(char c) {
    if (take(c))
      return llvm::Error::success();
    return expected(llvm::Twine("'") + llvm::Twine(c) + "'");
  }
  bool takeDot(llvm::StringRef name) {
    if (!token.is(Token::Kind::Dot) || token.text != name)
      return false;
    advance();
    return true;
  }
  llvm::Expected<llvm::StringRef> needName(const llvm::Twine &what) {
    if (!token.is(Token::Kind::Identifier))
      return expected(what);
    llvm::StringRef name = token.text;
    advance();
    return name;
  }
  llvm::Expected<uint64_t> needInteger() {
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

  llvm::Error
  parseVariable(llvm::StringRef space, bool isExtern, bool isParameter,
                std::vector<SyntaxVariable> &into,
                llvm::function_ref<std::string(llvm::StringRef)> rename);
  llvm::Error parseInitializer(SyntaxVariable &variable, unsigned elementBytes);
  llvm::Error parseInitializerValue(SyntaxVariable &variable,
                                    unsigned elementBytes, uint64_t &offset);
  llvm::Error parseFunction(bool isEntry, bool isExtern);
  llvm::Error parseParameterList(std::vector<SyntaxVariable> &into);
  llvm::Error parseDirectives();
  llvm::Error parseDimensions(uint32_t dimensions[3]);
  void skipSection();

  //===--------------------------------------------------------------------===//
  // Bodies
  //===--------------------------------------------------------------------===//

  llvm::Error parseBlock(unsigned depth);
  llvm::Error parseStatement(unsigned depth);
  llvm::Error parseRegisters();
  llvm::Error parseInstruction();
  llvm::Error parseOperand(SyntaxOperand &operand, bool inAddress = false);
  llvm::Error parseList(SyntaxOperand &operand, char close);
  llvm::Error parseAddress(SyntaxOperand &operand);
  llvm::Error resolveName(llvm::StringRef name, SyntaxOperand &operand);
  int findRegister(llvm::StringRef name) const;

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

} // namespace lpfa::sim::ptx

#endif // LPFA_LIB_SIMULATOR_PTXPARSER_H
