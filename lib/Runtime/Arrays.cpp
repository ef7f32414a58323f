//===- Arrays.cpp - Tensors in .npy files ---------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Runtime/Arrays.h"
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <unistd.h>

using namespace lpfa;
namespace fs = std::filesystem;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

std::optional<ElementStorage>
lpfa::getElementStorage(const std::string &element) {
  if (element == "index")
    return ElementStorage{'i', 8};
  if (element == "i1")
    return ElementStorage{'b', 1};
  if (element == "bf16")
    return ElementStorage{'u', 2, 16};
  // f8E4M3FN and its like.
  if (element.size() > 3 && element[0] == 'f' && element[2] == 'E' &&
      (element[1] == '4' || element[1] == '6' || element[1] == '8'))
    return ElementStorage{'u', 1, unsigned(element[1] - '0')};
  size_t digits = element.find_first_of("0123456789");
  if (digits == std::string::npos)
    return std::nullopt;
  std::string kind = element.substr(0, digits), bits = element.substr(digits);
  if (bits != "8" && bits != "16" && bits != "32" && bits != "64")
    return std::nullopt;
  unsigned itemSize = std::stoi(bits) / 8;
  if (kind == "f" && itemSize > 1)
    return ElementStorage{'f', itemSize};
  if (kind == "i" || kind == "si")
    return ElementStorage{'i', itemSize};
  if (kind == "ui")
    return ElementStorage{'u', itemSize};
  return std::nullopt;
}

/// NumPy's word for a type's storage.
static std::string getDtypeName(const ElementStorage &storage) {
  std::string bits = std::to_string(8 * storage.itemSize);
  switch (storage.kind) {
  case 'b':
    return "bool";
  case 'f':
    return "float" + bits;
  case 'i':
    return "int" + bits;
  default:
    return "uint" + bits;
  }
}

static bool accepts(const ElementStorage &storage, const std::string &element,
                    const NpyArray &array) {
  if (array.itemSize != storage.itemSize)
    return false;
  if (array.kind == storage.kind)
    return true;
  if (storage.codeBits)
    return array.kind == 'V';
  // Signless integers.
  return element[0] == 'i' && element != "i1" && element != "index" &&
         array.kind == 'u';
}

static std::string printShape(const std::vector<int64_t> &shape) {
  if (shape.empty())
    return "a scalar";
  std::string text;
  for (int64_t size : shape) {
    text += text.empty() ? "" : "x";
    text += size < 0 ? "?" : std::to_string(size);
  }
  return text;
}

bool lpfa::checkArray(const NpyArray &array, const std::string &element,
                      const std::vector<int64_t> &shape, std::string &error) {
  std::optional<ElementStorage> storage = getElementStorage(element);
  if (!storage) {
    error = "no .npy file can hold " + element;
    return false;
  }
  if (!accepts(*storage, element, array)) {
    error = "the elements are '" + array.typeString() + "', expected " +
            getDtypeName(*storage);
    if (storage->codeBits)
      error += " (codes of " + element + ")";
    return false;
  }
  bool matches = array.shape.size() == shape.size();
  for (size_t i = 0; matches && i < shape.size(); ++i)
    matches = shape[i] < 0 || array.shape[i] == shape[i];
  if (!matches) {
    error = "the shape is " + printShape(array.shape) + ", expected " +
            printShape(shape);
    return false;
  }
  if (storage->codeBits && storage->codeBits < 8) {
    auto wrong =
        std::find_if(array.data.begin(), array.data.end(),
                     [&](uint8_t code) { return code >> storage->codeBits; });
    if (wrong != array.data.end()) {
      error = "element " + std::to_string(wrong - array.data.begin()) + " is " +
              std::to_string(*wrong) + ", which is not a code of " + element;
      return false;
    }
  }
  return true;
}

NpyArray lpfa::makeArray(const std::string &element,
                         const std::vector<int64_t> &shape) {
  ElementStorage storage = *getElementStorage(element);
  NpyArray array;
  array.kind = storage.kind;
  array.itemSize = storage.itemSize;
  array.shape = shape;
  array.data.resize(array.numElements() * array.itemSize);
  return array;
}

std::vector<uint8_t> lpfa::packCodes(const std::vector<uint8_t> &codes,
                                     unsigned bits) {
  std::vector<uint8_t> packed((codes.size() * bits + 7) / 8);
  for (size_t i = 0; i < codes.size(); ++i) {
    size_t byte = i * bits / 8;
    unsigned window = unsigned(codes[i]) << (i * bits % 8);
    packed[byte] |= window;
    if (window >> 8)
      packed[byte + 1] |= window >> 8;
  }
  return packed;
}

void lpfa::unpackCodes(const std::vector<uint8_t> &packed, unsigned bits,
                       std::vector<uint8_t> &codes) {
  for (size_t i = 0; i < codes.size(); ++i) {
    size_t byte = i * bits / 8;
    unsigned window = packed[byte];
    if (byte + 1 < packed.size())
      window |= unsigned(packed[byte + 1]) << 8;
    codes[i] = (window >> (i * bits % 8)) & ((1u << bits) - 1);
  }
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

bool lpfa::checkWritable(const std::string &directory, std::string &error) {
  std::error_code code;
  fs::path existing = directory;
  while (!existing.empty() && !fs::exists(existing, code))
    existing = existing.parent_path();
  if (existing.empty())
    existing = ".";
  if (!fs::is_directory(existing, code)) {
    error = "can't make " + directory + ": " + existing.string() +
            " is not a directory";
    return false;
  }
  if (access(existing.c_str(), W_OK) != 0) {
    error = "can't write to " + directory;
    return false;
  }
  return true;
}

bool lpfa::writeResults(const std::vector<NpyArray> &results,
                        const std::string &directory, std::string &error) {
  std::error_code code;
  fs::create_directories(directory, code);
  if (code) {
    error = "can't make " + directory + ": " + code.message();
    return false;
  }

  // All are written before the first gets its name.
  auto getPath = [&](size_t index, const char *suffix) {
    std::string name = "result" + std::to_string(index) + suffix;
    return (fs::path(directory) / name).string();
  };
  auto removeTemporaries = [&] {
    for (size_t i = 0; i < results.size(); ++i)
      std::remove(getPath(i, ".npy.tmp").c_str());
  };
  for (size_t i = 0; i < results.size(); ++i)
    if (!writeNpy(getPath(i, ".npy.tmp"), results[i], error)) {
      removeTemporaries();
      return false;
    }
  for (size_t i = 0; i < results.size(); ++i) {
    fs::rename(getPath(i, ".npy.tmp"), getPath(i, ".npy"), code);
    if (code) {
      removeTemporaries();
      error = "can't write " + getPath(i, ".npy") + ": " + code.message();
      return false;
    }
  }
  return true;
}
