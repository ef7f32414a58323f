//===- Tensors.cpp - Tensors on a device ----------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Runtime/Tensors.h"
#include <algorithm>
#include <cstring>

using namespace lpfa;

std::optional<DeviceTensor>
DeviceTensor::allocate(const Device &device, const std::string &element,
                       const std::vector<int64_t> &sizes, uint64_t offsetBytes,
                       int64_t rowPadding, std::string &error) {
  DeviceTensor tensor;
  tensor.ref.element = element;
  tensor.ref.sizes = sizes;
  tensor.offsetBytes = offsetBytes;
  std::vector<int64_t> padded = sizes;
  bool isPadded = rowPadding > 0 && sizes.size() >= 2;
  if (isPadded) {
    padded.back() += rowPadding;
    tensor.ref.strides = ArgumentShape::contiguous(padded).strides;
  }
  unsigned bits = *getElementBits(element);
  std::optional<uint64_t> bytes = getTensorBytes(element, padded);
  if (!bytes || (isPadded && bits % 8 != 0)) {
    error = bytes ? "no padding for elements of " + element
                  : "a tensor is too large";
    return std::nullopt;
  }
  if (isPadded) {
    tensor.rowBytes = sizes.back() * (bits / 8);
    tensor.pitchBytes = padded.back() * (bits / 8);
  }
  auto buffer = DeviceBuffer::allocate(device, offsetBytes + *bytes, error);
  if (!buffer || !buffer->fill(0xFF, error))
    return std::nullopt;
  tensor.ref.address = buffer->getAddress() + offsetBytes;
  tensor.buffer = std::move(*buffer);
  return tensor;
}

bool DeviceTensor::upload(const NpyArray &array, std::string &error) {
  unsigned bits = *getElementBits(ref.element);
  if (bits < 8) {
    std::vector<uint8_t> packed = packCodes(array.data, bits);
    return buffer.upload(packed.data(), packed.size(), offsetBytes, error);
  }
  if (rowBytes == pitchBytes)
    return buffer.upload(array.data.data(), array.data.size(), offsetBytes,
                         error);
  std::vector<uint8_t> padded(buffer.getSize() - offsetBytes, 0xFF);
  for (uint64_t row = 0; row * rowBytes < array.data.size(); ++row)
    std::memcpy(padded.data() + row * pitchBytes,
                array.data.data() + row * rowBytes, rowBytes);
  return buffer.upload(padded.data(), padded.size(), offsetBytes, error);
}

bool DeviceTensor::download(NpyArray &array, std::string &error) const {
  unsigned bits = *getElementBits(ref.element);
  std::vector<uint8_t> bytes(buffer.getSize() - offsetBytes);
  if (!buffer.download(bytes.data(), bytes.size(), offsetBytes, error))
    return false;
  if (bits < 8)
    unpackCodes(bytes, bits, array.data);
  else
    array.data = std::move(bytes);
  return true;
}

//===----------------------------------------------------------------------===//
// Random values
//===----------------------------------------------------------------------===//

namespace {
/// Fields of a float, highest first: sign, exponent, mantissa.
struct FloatFormat {
  unsigned bits, exponentBits, mantissaBits;
  bool hasSign = true;
};
} // namespace

static std::optional<FloatFormat> getFloatFormat(const std::string &element) {
  struct Known {
    const char *name;
    FloatFormat format;
  };
  constexpr Known formats[] = {
      {"f4E2M1FN", {4, 2, 1}}, {"f6E2M3FN", {6, 2, 3}},
      {"f6E3M2FN", {6, 3, 2}}, {"f8E4M3FN", {8, 4, 3}},
      {"f8E5M2", {8, 5, 2}},   {"f8E8M0FNU", {8, 8, 0, false}},
      {"f16", {16, 5, 10}},    {"bf16", {16, 8, 7}},
      {"f32", {32, 8, 23}},    {"f64", {64, 11, 52}},
  };
  for (const Known &known : formats)
    if (known.name == element)
      return known.format;
  return std::nullopt;
}

bool lpfa::canBeRandom(const std::string &element) {
  return getFloatFormat(element).has_value();
}

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
static uint64_t getRandom(uint64_t &state) {
  uint64_t z = state += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

bool DeviceTensor::fillRandomly(uint64_t seed, std::string &error) {
  FloatFormat format = *getFloatFormat(ref.element);
  uint64_t exponentMask = (uint64_t(1) << format.exponentBits) - 1;
  uint64_t bias = exponentMask >> 1, range = std::min<uint64_t>(bias, 8);
  uint64_t mantissaMask = (uint64_t(1) << format.mantissaBits) - 1;
  unsigned itemBytes = std::max(format.bits / 8, 1u);
  std::vector<uint8_t> pattern(std::min<uint64_t>(
      (buffer.getSize() + itemBytes - 1) / itemBytes * itemBytes, 16 << 20));
  uint64_t state = seed;
  for (size_t i = 0; i < pattern.size(); i += itemBytes) {
    uint64_t bits = getRandom(state);
    if (format.bits >= 8) {
      uint64_t exponent = bias - getRandom(state) % (range + 1);
      uint64_t sign = format.hasSign ? bits >> 63 : 0;
      bits = (bits & mantissaMask) | exponent << format.mantissaBits |
             sign << (format.mantissaBits + format.exponentBits);
    }
    std::memcpy(pattern.data() + i, &bits, itemBytes);
  }
  return buffer.repeat(pattern.data(), pattern.size(), error);
}
