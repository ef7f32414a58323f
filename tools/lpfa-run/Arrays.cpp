//===- Arrays.cpp - Arrays as tensors -------------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arrays.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace lpfa;

static std::string str(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

static llvm::Error checkType(Type type, const llvm::Twine &what) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return llvm::createStringError(what + " has the type " + str(type) +
                                   ", expected a ranked tensor");
  if (!getElementStorage(str(tensor.getElementType())))
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
    SmallVector<int64_t> shape =
        llvm::map_to_vector(type.getShape(), [](int64_t size) -> int64_t {
          return ShapedType::isDynamic(size) ? -1 : size;
        });
    if (!checkArray(arrays[index], str(type.getElementType()),
                    {shape.begin(), shape.end()}, message))
      return llvm::createStringError("argument " + llvm::Twine(index) + ": " +
                                     file + ": " + message);
  }
  return arrays;
}

NpyArray lpfa::makeArray(RankedTensorType type, ArrayRef<int64_t> shape) {
  return makeArray(str(type.getElementType()), shape.vec());
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
