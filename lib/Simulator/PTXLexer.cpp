//===- PTXLexer.cpp - Tokens of a PTX file --------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PTXLexer.h"
#include "llvm/ADT/StringExtras.h"
#include <cstdlib>
#include <cstring>
#include <string>

using namespace lpfa::sim::ptx;
using llvm::StringRef;

static bool isNameStart(char c) {
  return llvm::isAlpha(c) || c == '_' || c == '$' || c == '%';
}

static bool isNameCharacter(char c) {
  return llvm::isAlnum(c) || c == '_' || c == '$';
}

/// Skips white space and comments; false for an unterminated comment.
bool Lexer::skipBlank(Token &token) {
  while (position != end) {
    char c = *position;
    if (c == '\n') {
      ++line;
      ++position;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++position;
    } else if (c == '#' ||
               (c == '/' && end - position > 1 && position[1] == '/')) {
      while (position != end && *position != '\n')
        ++position;
    } else if (c == '/' && end - position > 1 && position[1] == '*') {
      position += 2;
      while (end - position > 1 &&
             !(position[0] == '*' && position[1] == '/')) {
        if (*position == '\n')
          ++line;
        ++position;
      }
      if (end - position < 2) {
        position = end;
        return false;
      }
      position += 2;
    } else {
      break;
    }
    token.spaced = true;
  }
  return true;
}

void Lexer::number(Token &token) {
  const char *start = position;
  token.kind = Token::Kind::Integer;
  auto hexFloat = [&](unsigned digits, bool isDouble) {
    StringRef text(position + 2, std::min<size_t>(digits, end - position - 2));
    if (text.size() != digits || text.getAsInteger(16, token.value)) {
      token.kind = Token::Kind::Error;
      token.text = "malformed floating-point constant";
    } else {
      token.kind = Token::Kind::Float;
      token.isDouble = isDouble;
    }
    position = std::min(end, position + 2 + digits);
  };
  if (*position == '0' && end - position > 1) {
    char c = position[1];
    if (c == 'f' || c == 'F')
      return hexFloat(8, false);
    if (c == 'd' || c == 'D')
      return hexFloat(16, true);
  }
  bool isHex = end - position > 1 && *position == '0' &&
               (position[1] == 'x' || position[1] == 'X');
  if (isHex)
    position += 2;
  bool isFloat = false;
  while (position != end) {
    char c = *position;
    if (isHex ? llvm::isHexDigit(c) : llvm::isDigit(c)) {
      ++position;
    } else if (!isHex && c == '.' && end - position > 1 &&
               llvm::isDigit(position[1])) {
      isFloat = true;
      ++position;
    } else if (!isHex && (c == 'e' || c == 'E') && end - position > 1 &&
               (llvm::isDigit(position[1]) || position[1] == '-' ||
                position[1] == '+')) {
      isFloat = true;
      position += 2;
    } else {
      break;
    }
  }
  StringRef text(start, position - start);
  if (position != end && *position == 'U')
    ++position;
  if (isFloat) {
    token.kind = Token::Kind::Float;
    token.isDouble = true;
    double value = std::strtod(text.str().c_str(), nullptr);
    std::memcpy(&token.value, &value, 8);
  } else if (text.getAsInteger(0, token.value)) {
    token.kind = Token::Kind::Error;
    token.text = "malformed integer constant";
  }
  if (position != end && isNameCharacter(*position)) {
    token.kind = Token::Kind::Error;
    token.text = "malformed number";
  }
}

Token Lexer::next() {
  Token token;
  bool terminated = skipBlank(token);
  token.line = line;
  if (!terminated) {
    token.kind = Token::Kind::Error;
    token.text = "comment without end";
    return token;
  }
  if (position == end)
    return token;
  const char *start = position;
  char c = *position;
  auto name = [&] {
    while (position != end) {
      if (isNameCharacter(*position))
        ++position;
      else if (end - position > 2 && position[0] == ':' && position[1] == ':' &&
               isNameCharacter(position[2]))
        position += 2;
      else
        break;
    }
  };
  if (isNameStart(c)) {
    ++position;
    while (position != end && isNameCharacter(*position))
      ++position;
    token.kind = Token::Kind::Identifier;
    token.text = StringRef(start, position - start);
    return token;
  }
  if (c == '.' && end - position > 1 &&
      (isNameStart(position[1]) || llvm::isDigit(position[1]))) {
    ++position;
    name();
    token.kind = Token::Kind::Dot;
    token.text = StringRef(start + 1, position - start - 1);
    return token;
  }
  if (llvm::isDigit(c)) {
    number(token);
    if (token.kind != Token::Kind::Error)
      token.text = StringRef(start, position - start);
    return token;
  }
  if (c == '"') {
    ++position;
    while (position != end && *position != '"' && *position != '\n')
      position += (*position == '\\' && end - position > 1) ? 2 : 1;
    if (position == end || *position != '"') {
      token.kind = Token::Kind::Error;
      token.text = "string without end";
      return token;
    }
    token.kind = Token::Kind::String;
    token.text = StringRef(start + 1, position - start - 1);
    ++position;
    return token;
  }
  ++position;
  token.kind = Token::Kind::Punctuation;
  token.text = StringRef(start, 1);
  return token;
}
