//===- PTXLexer.h - Tokens of a PTX file ------------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_SIMULATOR_PTXLEXER_H
#define LPFA_LIB_SIMULATOR_PTXLEXER_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace lpfa::sim::ptx {

struct Token {
  enum class Kind {
    End,
    Identifier, ///< without dots: opcodes are split from their modifiers
    Dot,        ///< .name, with "::" parts: `text` is the name
    Integer,    ///< `value`
    Float,      ///< `value` holds the bits
    String,
    Punctuation, ///< `text` is one character
    Error        ///< `text` says what is wrong
  };
  Kind kind = Kind::End;
  llvm::StringRef text;
  uint64_t value = 0;
  bool isDouble = false;
  unsigned line = 0;
  /// Whether white space precedes the token.
  bool spaced = false;

  bool is(Kind k) const { return kind == k; }
  bool isPunctuation(char c) const {
    return kind == Kind::Punctuation && text[0] == c;
  }
};

/// Splits PTX text (PTX ISA chapter 4) into tokens; comments and lines that
/// start with '#' are skipped.
class Lexer {
public:
  explicit Lexer(llvm::StringRef text)
      : position(text.begin()), end(text.end()) {}
  Token next();

private:
  bool skipBlank(Token &token);
  void number(Token &token);

  const char *position;
  const char *end;
  unsigned line = 1;
};

} // namespace lpfa::sim::ptx

#endif // LPFA_LIB_SIMULATOR_PTXLEXER_H
