//===- Arrays.cpp - Arrays as tensors -------------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arrays.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace lpfa;

namespace {

/// How NumPy stores an element type.
struct Storage {
  char kind;
  unsigned itemSize;
  /// The elements are codes of a type that NumPy lacks; ml_dtypes writes such
  /// arrays as raw bytes.
  bool codes = false;
};

} // namespace

static std::optional<Storage> getStorage(Type type) {
  if (auto floatType = dyn_cast<FloatType>(type)) {
    unsigned width = floatType.getWidth();
    if (width <= 8)
      return Storage{'u', 1, /*codes=*/true};
    if (type.isBF16())
      return Storage{'u', 2, /*codes=*/true};
    if (type.isF16() || type.isF32() || type.isF64())
      return Storage{'f', width / 8};
    return std::nullopt;
  }
  if (type.isIndex())
    return Storage{'i', 8};
  if (type.isInteger(1))
    return Storage{'b', 1};
  if (auto integer = dyn_cast<IntegerType>(type)) {
    unsigned width = integer.getWidth();
    if (width == 8 || width == 16 || width == 32 || width == 64)
      return Storage{integer.isUnsigned() ? 'u' : 'i', width / 8};
  }
  return std::nullopt;
}

static bool accepts(Storage storage, Type type, const NpyArray &array) {
  if (array.itemSize != storage.itemSize)
    return false;
  if (array.kind == storage.kind)
    return true;
  if (storage.codes)
    return array.kind == 'V';
  return type.isSignlessInteger() && !type.isInteger(1) && array.kind == 'u';
}

static std::string str(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// NumPy's word for a type's storage.
static std::string dtypeName(Storage storage) {
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

static std::string shapeName(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      shape, os,
      [&](int64_t size) {
        if (ShapedType::isDynamic(size))
          os << '?';
        else
          os << size;
      },
      "x");
  return shape.empty() ? "a scalar" : text;
}

static llvm::Error checkArray(const NpyArray &array, RankedTensorType type) {
  Type element = type.getElementType();
  Storage storage = *getStorage(element);
  if (!accepts(storage, element, array)) {
    std::string codes =
        storage.codes ? " (codes of " + str(element) + ")" : std::string();
    return llvm::createStringError("the elements are '" + array.typeString() +
                                   "', expected " + dtypeName(storage) + codes);
  }

  bool matches = static_cast<int64_t>(array.shape.size()) == type.getRank();
  for (auto [size, expected] : llvm::zip(array.shape, type.getShape()))
    matches &= ShapedType::isDynamic(expected) || size == expected;
  if (!matches)
    return llvm::createStringError("the shape is " + shapeName(array.shape) +
                                   ", expected " + shapeName(type.getShape()));

  unsigned width = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  if (storage.codes && width < 8)
    for (auto [position, code] : llvm::enumerate(array.data))
      if (code >> width)
        return llvm::createStringError("element " + llvm::Twine(position) +
                                       " is " + llvm::Twine(unsigned(code)) +
                                       ", which is not a code of " +
                                       str(element));
  return llvm::Error::success();
}

static llvm::Error checkType(Type type, const llvm::Twine &what) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return llvm::createStringError(what + " has the type " + str(type) +
                                   ", expected a ranked tensor");
  if (!getStorage(tensor.getElementType()))
    return llvm::createStringError(what + " has elements of " +
                                   str(tensor.getElementType()) +
                                   ", which no .npy file can hold");
  return llvm::Error::success();
}

llvm::Error lpfa::checkSignature(FunctionOpInterface function) {
  std::string name = ("@" + function.getName()).str();
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    if (auto error =
            checkType(type, "argument " + llvm::Twine(index) + " of " + name))
      return error;
  for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
    if (auto error =
            checkType(type, "result " + llvm::Twine(index) + " of " + name))
      return error;
  return llvm::Error::success();
}

llvm::Expected<std::vector<NpyArray>>
lpfa::readArguments(FunctionOpInterface function, ArrayRef<std::string> files) {
  unsigned expected = function.getNumArguments();
  if (files.size() != expected)
    return llvm::createStringError(
        "@" + function.getName() + " takes " + llvm::Twine(expected) +
        " arguments, " + llvm::Twine(files.size()) + " given with --arg");

  std::vector<NpyArray> arrays(expected);
  for (auto [index, file] : llvm::enumerate(files)) {
    auto type = cast<RankedTensorType>(function.getArgumentTypes()[index]);
    std::string message;
    if (!readNpy(file, arrays[index], message))
      return llvm::createStringError("argument " + llvm::Twine(index) + ": " +
                                     message);
    if (auto error = checkArray(arrays[index], type))
      return llvm::createStringError("argument " + llvm::Twine(index) + ": " +
                                     file + ": " +
                                     llvm::toString(std::move(error)));
  }
  return arrays;
}

NpyArray lpfa::makeArray(RankedTensorType type, ArrayRef<int64_t> shape) {
  Storage storage = *getStorage(type.getElementType());
  NpyArray array;
  array.kind = storage.kind;
  array.itemSize = storage.itemSize;
  array.shape.assign(shape.begin(), shape.end());
  array.data.resize(array.numElements() * array.itemSize);
  return array;
}

std::vector<double> lpfa::toDoubles(const NpyArray &array, Type elementType) {
  std::vector<double> values;
  values.reserve(array.numElements());
  auto floatType = dyn_cast<FloatType>(elementType);
  const uint8_t *data = array.data.data();
  for (int64_t i = 0, e = array.numElements(); i < e; ++i) {
    uint64_t bits = 0;
    memcpy(&bits, data + i * array.itemSize, array.itemSize);
    if (!floatType) {
      bool isSigned = array.kind == 'i';
      values.push_back(isSigned ? static_cast<double>(llvm::SignExtend64(
                                      bits, 8 * array.itemSize))
                                : static_cast<double>(bits));
      continue;
    }
    llvm::APFloat value(floatType.getFloatSemantics(),
                        llvm::APInt(floatType.getWidth(), bits,
                                    /*isSigned=*/false,
                                    /*implicitTrunc=*/true));
    values.push_back(value.convertToDouble());
  }
  return values;
}

llvm::Error lpfa::checkWritable(StringRef directory) {
  namespace fs = llvm::sys::fs;
  StringRef existing = directory;
  while (!existing.empty() && !fs::exists(existing))
    existing = llvm::sys::path::parent_path(existing);
  if (existing.empty())
    existing = ".";
  if (!fs::is_directory(existing))
    return llvm::createStringError("--out: can't make " + directory + ": " +
                                   existing + " is not a directory");
  if (fs::access(existing, fs::AccessMode::Write))
    return llvm::createStringError("--out: can't write to " + directory);
  return llvm::Error::success();
}

llvm::Error lpfa::writeResults(ArrayRef<NpyArray> results,
                               StringRef directory) {
  namespace fs = llvm::sys::fs;
  if (std::error_code code = fs::create_directories(directory))
    return llvm::createStringError("--out: can't make " + directory + ": " +
                                   code.message());

  // All are written before the first gets its name.
  auto path = [&](size_t index, const char *suffix) {
    llvm::SmallString<128> file(directory);
    llvm::sys::path::append(file, "result" + llvm::Twine(index) + suffix);
    return std::string(file);
  };
  auto removeTemporaries = [&] {
    for (size_t i = 0; i < results.size(); ++i)
      fs::remove(path(i, ".npy.tmp"));
  };
  for (auto [index, result] : llvm::enumerate(results)) {
    std::string message;
    if (!writeNpy(path(index, ".npy.tmp"), result, message)) {
      removeTemporaries();
      return llvm::createStringError("--out: " + message);
    }
  }
  for (size_t i = 0; i < results.size(); ++i)
    if (std::error_code code =
            fs::rename(path(i, ".npy.tmp"), path(i, ".npy"))) {
      removeTemporaries();
      return llvm::createStringError("--out: can't write " + path(i, ".npy") +
                                     ": " + code.message());
    }
  return llvm::Error::success();
}
