//===- Npy.cpp - NumPy array files ----------------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Runtime/Npy.h"
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>

using namespace lpfa;

namespace {

constexpr char magic[] = "\x93NUMPY";
constexpr size_t magicSize = 6;
constexpr size_t maxHeader = 1 << 20;

struct FileCloser {
  void operator()(std::FILE *f) const { std::fclose(f); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

/// Reads the header, a Python dictionary such as
/// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class HeaderParser {
public:
  explicit HeaderParser(const std::string &text) : text(text) {}

  bool parse(std::string &type, bool &fortran, std::vector<int64_t> &shape) {
    bool hasType = false, hasOrder = false, hasShape = false;
    if (!take('{'))
      return false;
    while (!take('}')) {
      std::string key;
      if (!string(key) || !take(':'))
        return false;
      if (key == "descr") {
        if (peek() == '[')
          structured = true;
        if (!string(type))
          return false;
        hasType = true;
      } else if (key == "fortran_order") {
        if (word("True"))
          fortran = true;
        else if (word("False"))
          fortran = false;
        else
          return false;
        hasOrder = true;
      } else if (key == "shape") {
        if (!tuple(shape))
          return false;
        hasShape = true;
      } else {
        return false;
      }
      take(',');
    }
    return hasType && hasOrder && hasShape;
  }

  bool structured = false;

private:
  void blank() {
    while (position < text.size() &&
           std::isspace((unsigned char)text[position]))
      ++position;
  }
  char peek() {
    blank();
    return position < text.size() ? text[position] : 0;
  }
  bool take(char c) {
    if (peek() != c)
      return false;
    ++position;
    return true;
  }
  bool word(const char *w) {
    blank();
    if (text.compare(position, std::strlen(w), w) != 0)
      return false;
    position += std::strlen(w);
    return true;
  }
  bool string(std::string &s) {
    char quote = peek();
    if (quote != '\'' && quote != '"')
      return false;
    size_t end = text.find(quote, position + 1);
    if (end == std::string::npos)
      return false;
    s = text.substr(position + 1, end - position - 1);
    position = end + 1;
    return true;
  }
  bool tuple(std::vector<int64_t> &values) {
    if (!take('('))
      return false;
    while (!take(')')) {
      int64_t value = 0;
      if (!std::isdigit((unsigned char)peek()))
        return false;
      while (position < text.size() &&
             std::isdigit((unsigned char)text[position])) {
        if (value > (std::numeric_limits<int64_t>::max() - 9) / 10)
          return false;
        value = value * 10 + (text[position++] - '0');
      }
      if (position < text.size() && text[position] == 'L')
        ++position;
      values.push_back(value);
      if (values.size() > 32)
        return false;
      take(',');
    }
    return true;
  }

  const std::string &text;
  size_t position = 0;
};

bool parseType(const std::string &text, char &kind, unsigned &itemSize,
               std::string &error) {
  size_t i = 0;
  char order = '=';
  if (!text.empty() && std::strchr("<>|=", text[0]))
    order = text[i++];
  if (i >= text.size() || !std::strchr("biufcV", text[i])) {
    error = "element type '" + text + "' is not numeric";
    return false;
  }
  kind = text[i++];
  unsigned size = 0;
  for (; i < text.size(); ++i) {
    if (!std::isdigit((unsigned char)text[i]) || size > 1000) {
      error = "malformed element type '" + text + "'";
      return false;
    }
    size = size * 10 + (text[i] - '0');
  }
  if (size == 0 || size > 32) {
    error = "malformed element type '" + text + "'";
    return false;
  }
  if (order == '>' && size > 1) {
    error = "big-endian element type '" + text + "' is not supported";
    return false;
  }
  itemSize = size;
  return true;
}

/// The number of bytes, or -1 if it does not fit.
int64_t byteCount(const std::vector<int64_t> &shape, unsigned itemSize) {
  int64_t bytes = itemSize;
  bool empty = false;
  for (int64_t d : shape)
    empty |= d == 0;
  if (empty)
    return 0;
  for (int64_t d : shape) {
    if (d > (int64_t(1) << 46) / bytes)
      return -1;
    bytes *= d;
  }
  return bytes;
}

} // namespace

int64_t NpyArray::numElements() const {
  int64_t n = 1;
  for (int64_t d : shape)
    n *= d;
  return n;
}

std::string NpyArray::typeString() const {
  std::string text = itemSize == 1 || kind == 'V' ? "|" : "<";
  return text + kind + std::to_string(itemSize);
}

bool lpfa::readNpy(const std::string &path, NpyArray &array,
                   std::string &error) {
  auto fail = [&](const std::string &what) {
    error = path + ": " + what;
    return false;
  };
  File file(std::fopen(path.c_str(), "rb"));
  if (!file)
    return fail(std::strerror(errno));
  unsigned char prefix[8];
  if (std::fread(prefix, 1, 8, file.get()) != 8 ||
      std::memcmp(prefix, magic, magicSize) != 0)
    return fail("not a .npy file");
  unsigned major = prefix[6];
  if (major < 1 || major > 3)
    return fail(".npy format version " + std::to_string(major) +
                " is not supported");
  unsigned char length[4] = {};
  size_t lengthBytes = major == 1 ? 2 : 4;
  if (std::fread(length, 1, lengthBytes, file.get()) != lengthBytes)
    return fail("truncated header");
  size_t headerSize = length[0] | length[1] << 8 | size_t(length[2]) << 16 |
                      size_t(length[3]) << 24;
  if (headerSize > maxHeader)
    return fail("header is too large");
  std::string header(headerSize, '\0');
  if (std::fread(&header[0], 1, headerSize, file.get()) != headerSize)
    return fail("truncated header");
  std::string type, what;
  bool fortran = false;
  NpyArray result;
  HeaderParser parser(header);
  if (!parser.parse(type, fortran, result.shape))
    return fail(parser.structured ? "structured element types are not supported"
                                  : "malformed header");
  if (!parseType(type, result.kind, result.itemSize, what))
    return fail(what);
  unsigned large = 0;
  for (int64_t d : result.shape)
    large += d > 1;
  if (fortran && large > 1)
    return fail("Fortran order is not supported");
  int64_t bytes = byteCount(result.shape, result.itemSize);
  if (bytes < 0)
    return fail("shape is too large");
  // The file's size bounds what is allocated.
  long start = std::ftell(file.get());
  if (start < 0 || std::fseek(file.get(), 0, SEEK_END) != 0)
    return fail(std::strerror(errno));
  long end = std::ftell(file.get());
  if (end - start < bytes)
    return fail("truncated: " + std::to_string(end - start) +
                " bytes of data, " + std::to_string(bytes) + " expected");
  if (end - start > bytes)
    return fail("trailing data: " + std::to_string(end - start) +
                " bytes of data, " + std::to_string(bytes) + " expected");
  std::fseek(file.get(), start, SEEK_SET);
  result.data.resize(bytes);
  if (bytes &&
      std::fread(result.data.data(), 1, bytes, file.get()) != size_t(bytes))
    return fail("cannot be read");
  array = std::move(result);
  return true;
}

bool lpfa::writeNpy(const std::string &path, const NpyArray &array,
                    std::string &error) {
  std::string temporary = path + ".tmp";
  auto fail = [&](const std::string &what) {
    error = path + ": " + what;
    std::remove(temporary.c_str());
    return false;
  };
  if (byteCount(array.shape, array.itemSize) != int64_t(array.data.size()))
    return fail("the data does not have the shape's size");
  std::string header = "{'descr': '" + array.typeString() +
                       "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i != array.shape.size(); ++i) {
    header += std::to_string(array.shape[i]);
    if (i + 1 != array.shape.size())
      header += ", ";
    else if (i == 0)
      header += ",";
  }
  header += "), }";
  // Data starts at a multiple of 64 bytes.
  bool isLong = header.size() + 64 + 10 > 0xFFFF;
  size_t prefix = magicSize + 2 + (isLong ? 4 : 2);
  while ((prefix + header.size() + 1) % 64)
    header += ' ';
  header += '\n';
  File file(std::fopen(temporary.c_str(), "wb"));
  if (!file)
    return fail(std::strerror(errno));
  unsigned char start[12];
  std::memcpy(start, magic, magicSize);
  start[6] = isLong ? 2 : 1;
  start[7] = 0;
  for (unsigned i = 0; i != (isLong ? 4u : 2u); ++i)
    start[8 + i] = header.size() >> (8 * i);
  bool ok = std::fwrite(start, 1, prefix, file.get()) == prefix &&
            std::fwrite(header.data(), 1, header.size(), file.get()) ==
                header.size() &&
            (array.data.empty() ||
             std::fwrite(array.data.data(), 1, array.data.size(), file.get()) ==
                 array.data.size());
  ok &= std::fflush(file.get()) == 0;
  int problem = errno;
  file.reset();
  if (!ok)
    return fail(std::strerror(problem));
  if (std::rename(temporary.c_str(), path.c_str()) != 0)
    return fail(std::strerror(errno));
  return true;
}
