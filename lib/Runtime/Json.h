//===- Json.h - Reading JSON ------------------------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reader of our own, since the runtime builds where no library is installed.
// Strict (RFC 8259): no comments, no trailing commas, no name twice in an
// object. Numbers are 64-bit integers: plans have no others.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_RUNTIME_JSON_H
#define LPFA_LIB_RUNTIME_JSON_H

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lpfa {

struct JsonValue {
  enum class Kind { Null, Boolean, Integer, String, Array, Object };
  Kind kind = Kind::Null;
  /// The line that the value begins at, from 1.
  unsigned line = 1;
  /// An integer's value; 1 for true.
  int64_t integer = 0;
  std::string string;
  std::vector<JsonValue> elements;
  std::vector<std::pair<std::string, JsonValue>> members;

  bool isArray() const { return kind == Kind::Array; }
  bool isInteger() const { return kind == Kind::Integer; }
  bool isString() const { return kind == Kind::String; }
  /// A member of an object, or null.
  const JsonValue *find(const std::string &name) const;
};

/// Nothing, and `error` set to "line N: what is wrong", if `text` is not JSON.
std::optional<JsonValue> parseJson(const std::string &text, std::string &error);

} // namespace lpfa

#endif // LPFA_LIB_RUNTIME_JSON_H
