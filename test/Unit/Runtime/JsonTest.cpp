//===- JsonTest.cpp - Reading JSON ----------------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Json.h"
#include "gtest/gtest.h"

using namespace lpfa;

static JsonValue parse(const std::string &text) {
  std::string error;
  std::optional<JsonValue> value = parseJson(text, error);
  EXPECT_TRUE(value.has_value()) << error;
  return value.value_or(JsonValue());
}

static std::string getError(const std::string &text) {
  std::string error;
  EXPECT_FALSE(parseJson(text, error).has_value()) << text;
  return error;
}

TEST(JsonTest, Values) {
  JsonValue value = parse(" {\"a\": [1, -2, null],\n\"b\": {\"c\": true}} \n");
  ASSERT_EQ(value.kind, JsonValue::Kind::Object);
  const JsonValue *a = value.find("a");
  ASSERT_TRUE(a && a->isArray());
  ASSERT_EQ(a->elements.size(), 3u);
  EXPECT_EQ(a->elements[0].integer, 1);
  EXPECT_EQ(a->elements[1].integer, -2);
  EXPECT_EQ(a->elements[2].kind, JsonValue::Kind::Null);
  const JsonValue *b = value.find("b");
  ASSERT_TRUE(b && b->find("c"));
  EXPECT_EQ(b->line, 2u);
  EXPECT_EQ(b->find("c")->kind, JsonValue::Kind::Boolean);
  EXPECT_EQ(value.find("c"), nullptr);
  EXPECT_EQ(parse("-9223372036854775808").integer, INT64_MIN);
  EXPECT_EQ(parse("0").integer, 0);
}

TEST(JsonTest, Strings) {
  EXPECT_EQ(parse(R"("a\"\\\/\n\u0041")").string, "a\"\\/\nA");
  EXPECT_EQ(parse(R"("\u00e9\u20AC\ud83d\ude00")").string,
            "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
}

TEST(JsonTest, Errors) {
  EXPECT_EQ(getError(""), "line 1: the text ends too early");
  EXPECT_EQ(getError("[1,\n2"), "line 2: expected ',' or ']'");
  EXPECT_EQ(getError("[1,]"), "line 1: expected a value");
  EXPECT_EQ(getError("{\"a\": 1,}"), "line 1: expected a name in quotes");
  EXPECT_EQ(getError("{\"a\" 1}"), "line 1: expected ':' after 'a'");
  EXPECT_EQ(getError("{\"a\": 1, \"a\": 2}"), "line 1: 'a' is given twice");
  EXPECT_EQ(getError("1 2"), "line 1: something after the end");
  EXPECT_EQ(getError(std::string("1\0", 2)), "line 1: something after the end");
  EXPECT_EQ(getError("01"), "line 1: a number begins with 0");
  EXPECT_EQ(getError("1e3"), "line 1: a number is not an integer");
  EXPECT_EQ(getError("9223372036854775808"),
            "line 1: a number does not fit 64 bits");
  EXPECT_EQ(getError("\"a"), "line 1: a string does not end");
  EXPECT_EQ(getError("\"a\n\""), "line 1: a string does not end");
  EXPECT_EQ(getError("\"\\x\""), "line 1: unknown escape in a string");
  EXPECT_EQ(getError("\"\\udc00\""), "line 1: unknown escape in a string");
  EXPECT_EQ(getError("nul"), "line 1: expected a value");
  EXPECT_EQ(getError(std::string(1000, '[')), "line 1: nested too deeply");
}
