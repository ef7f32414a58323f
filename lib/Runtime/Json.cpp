//===- Json.cpp - Reading JSON --------------------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Json.h"
#include <cstring>

using namespace lpfa;

namespace {

class Parser {
public:
  Parser(const std::string &text, std::string &error)
      : text(text), error(error) {}

  bool parse(JsonValue &value) {
    if (!parseValue(value, 0))
      return false;
    skipBlanks();
    return position == text.size() || fail("something after the end");
  }

private:
  /// Bounds the recursion.
  static constexpr unsigned maxDepth = 200;

  bool fail(const std::string &what) {
    error = "line " + std::to_string(line) + ": " + what;
    return false;
  }

  char peek() const { return position < text.size() ? text[position] : '\0'; }

  void skipBlanks() {
    for (; peek() && std::strchr(" \t\r\n", peek()); ++position)
      line += peek() == '\n';
  }

  /// Takes `c` after blanks.
  bool take(char c) {
    skipBlanks();
    if (peek() != c)
      return false;
    ++position;
    return true;
  }

  bool takeWord(const char *word) {
    size_t length = std::strlen(word);
    if (text.compare(position, length, word) != 0)
      return false;
    position += length;
    return true;
  }

  bool parseValue(JsonValue &value, unsigned depth) {
    skipBlanks();
    value.line = line;
    if (depth > maxDepth)
      return fail("nested too deeply");
    if (take('{'))
      return parseObject(value, depth);
    if (take('['))
      return parseArray(value, depth);
    if (peek() == '"') {
      value.kind = JsonValue::Kind::String;
      return parseString(value.string);
    }
    if (takeWord("null"))
      return true;
    if (takeWord("true")) {
      value.kind = JsonValue::Kind::Boolean;
      value.integer = 1;
      return true;
    }
    if (takeWord("false")) {
      value.kind = JsonValue::Kind::Boolean;
      return true;
    }
    return parseInteger(value);
  }

  bool parseObject(JsonValue &value, unsigned depth) {
    value.kind = JsonValue::Kind::Object;
    if (take('}'))
      return true;
    do {
      skipBlanks();
      std::string name;
      if (peek() != '"')
        return fail("expected a name in quotes");
      if (!parseString(name))
        return false;
      if (value.find(name))
        return fail("'" + name + "' is given twice");
      if (!take(':'))
        return fail("expected ':' after '" + name + "'");
      value.members.emplace_back(std::move(name), JsonValue());
      if (!parseValue(value.members.back().second, depth + 1))
        return false;
    } while (take(','));
    return take('}') || fail("expected ',' or '}'");
  }

  bool parseArray(JsonValue &value, unsigned depth) {
    value.kind = JsonValue::Kind::Array;
    if (take(']'))
      return true;
    do {
      value.elements.emplace_back();
      if (!parseValue(value.elements.back(), depth + 1))
        return false;
    } while (take(','));
    return take(']') || fail("expected ',' or ']'");
  }

  static bool isDigit(char c) { return c >= '0' && c <= '9'; }

  bool parseInteger(JsonValue &value) {
    value.kind = JsonValue::Kind::Integer;
    bool isNegative = peek() == '-';
    position += isNegative;
    if (!isDigit(peek()))
      return fail(position < text.size() ? "expected a value"
                                         : "the text ends too early");
    if (peek() == '0' && position + 1 < text.size() &&
        isDigit(text[position + 1]))
      return fail("a number begins with 0");
    for (; isDigit(peek()); ++position) {
      int digit = peek() - '0';
      if (__builtin_mul_overflow(value.integer, int64_t(10), &value.integer) ||
          __builtin_add_overflow(value.integer, isNegative ? -digit : digit,
                                 &value.integer))
        return fail("a number does not fit 64 bits");
    }
    if (peek() == '.' || peek() == 'e' || peek() == 'E')
      return fail("a number is not an integer");
    return true;
  }

  bool parseString(std::string &string) {
    ++position;
    for (; peek() != '"'; ++position) {
      if (position >= text.size() || static_cast<unsigned char>(peek()) < 0x20)
        return fail("a string does not end");
      if (peek() != '\\') {
        string += peek();
        continue;
      }
      ++position;
      constexpr char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
      const char *name = peek() ? std::strchr(names, peek()) : nullptr;
      if (name)
        string += values[name - names];
      else if (peek() != 'u' || !parseUnicode(string))
        return fail("unknown escape in a string");
    }
    ++position;
    return true;
  }

  bool parseHex(unsigned &code) {
    code = 0;
    for (int i = 0; i < 4; ++i) {
      constexpr char digits[] = "0123456789abcdef0123456789ABCDEF";
      char c = position + 1 < text.size() ? text[position + 1] : '\0';
      const char *digit = c ? std::strchr(digits, c) : nullptr;
      if (!digit)
        return false;
      code = code * 16 + (digit - digits) % 16;
      ++position;
    }
    return true;
  }

  /// At the `u` of an escape; ends at its last character.
  bool parseUnicode(std::string &string) {
    unsigned code, low;
    if (!parseHex(code) || (code >= 0xDC00 && code < 0xE000))
      return false;
    if (code >= 0xD800 && code < 0xDC00) {
      if (text.compare(position + 1, 2, "\\u") != 0)
        return false;
      position += 2;
      if (!parseHex(low) || low < 0xDC00 || low >= 0xE000)
        return false;
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    // UTF-8.
    if (code < 0x80) {
      string += static_cast<char>(code);
      return true;
    }
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    string += static_cast<char>((0xFF00 >> (more + 1)) | (code >> (6 * more)));
    while (more-- > 0)
      string += static_cast<char>(0x80 | ((code >> (6 * more)) & 0x3F));
    return true;
  }

  const std::string &text;
  std::string &error;
  size_t position = 0;
  unsigned line = 1;
};

} // namespace

const JsonValue *JsonValue::find(const std::string &name) const {
  for (const auto &member : members)
    if (member.first == name)
      return &member.second;
  return nullptr;
}

std::optional<JsonValue> lpfa::parseJson(const std::string &text,
                                         std::string &error) {
  JsonValue value;
  if (!Parser(text, error).parse(value))
    return std::nullopt;
  return value;
}
