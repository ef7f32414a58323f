//===- TensorMap.cpp - Tensor maps and their boxes --------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Simulator/TensorMap.h"
#include "lpfa/Simulator/NarrowFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Endian.h"
#include <algorithm>
#include <cstring>

using namespace lpfa::sim;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Names and element types
//===----------------------------------------------------------------------===//

static constexpr const char *elementNames[] = {
    "u8",       "u16",          "u32",           "s32",          "u64",  "s64",
    "f16",      "f32",          "f32_ftz",       "f64",          "bf16", "tf32",
    "tf32_ftz", "u4x16_align8", "u4x16_align16", "u6x16_align16"};

static constexpr const char *swizzleNames[] = {
    "none",         "32b",           "64b",
    "128b",         "128b_atom_32b", "128b_atom_32b_flip_8b",
    "128b_atom_64b"};

StringRef lpfa::sim::tensorMapElementName(TensorMapElement element) {
  return elementNames[static_cast<unsigned>(element)];
}

StringRef lpfa::sim::tensorMapSwizzleName(TensorMapSwizzle swizzle) {
  return swizzleNames[static_cast<unsigned>(swizzle)];
}

std::optional<TensorMapElement>
lpfa::sim::parseTensorMapElement(StringRef name) {
  for (unsigned i = 0; i != std::size(elementNames); ++i)
    if (name == elementNames[i])
      return static_cast<TensorMapElement>(i);
  return std::nullopt;
}

std::optional<TensorMapSwizzle>
lpfa::sim::parseTensorMapSwizzle(StringRef name) {
  for (unsigned i = 0; i != std::size(swizzleNames); ++i)
    if (name == swizzleNames[i])
      return static_cast<TensorMapSwizzle>(i);
  return std::nullopt;
}

unsigned lpfa::sim::elementBits(TensorMapElement element) {
  switch (element) {
  case TensorMapElement::U8:
    return 8;
  case TensorMapElement::U16:
  case TensorMapElement::F16:
  case TensorMapElement::BF16:
    return 16;
  case TensorMapElement::U64:
  case TensorMapElement::S64:
  case TensorMapElement::F64:
    return 64;
  case TensorMapElement::U4x16Align8:
  case TensorMapElement::U4x16Align16:
    return 4;
  case TensorMapElement::U6x16Align16:
    return 6;
  default:
    return 32;
  }
}

/// Bits of an element in shared memory, its share of padding included.
static unsigned sharedElementBits(TensorMapElement element) {
  if (element == TensorMapElement::U4x16Align16 ||
      element == TensorMapElement::U6x16Align16)
    return 8;
  return elementBits(element);
}

static bool isPadded(TensorMapElement element) {
  return sharedElementBits(element) != elementBits(element);
}

static bool isFloat(TensorMapElement element) {
  switch (element) {
  case TensorMapElement::F16:
  case TensorMapElement::F32:
  case TensorMapElement::F32Ftz:
  case TensorMapElement::F64:
  case TensorMapElement::BF16:
  case TensorMapElement::TF32:
  case TensorMapElement::TF32Ftz:
    return true;
  default:
    return false;
  }
}

//===----------------------------------------------------------------------===//
// Validation
//===----------------------------------------------------------------------===//

/// Bytes that a row of the swizzle's pattern spans; 0 without swizzle.
static unsigned swizzleSpan(TensorMapSwizzle swizzle) {
  switch (swizzle) {
  case TensorMapSwizzle::None:
    return 0;
  case TensorMapSwizzle::B32:
    return 32;
  case TensorMapSwizzle::B64:
    return 64;
  default:
    return 128;
  }
}

/// Elements of the box along a dimension: element strides thin it out. They do
/// not apply to dimension 0 without interleaving.
static uint32_t boxCount(const TensorMap &map, unsigned dimension) {
  uint32_t stride = dimension == 0 ? 1 : map.elementStrides[dimension];
  return (map.box[dimension] + stride - 1) / stride;
}

static uint64_t innerBytes(const TensorMap &map) {
  return uint64_t(map.box[0]) * sharedElementBits(map.element) / 8;
}

Error TensorMap::validate() const {
  auto fail = [](const Twine &what) {
    return llvm::createStringError("tensor map: " + what);
  };
  if (rank < 1 || rank > maxRank)
    return fail("rank " + Twine(rank) + " is not in 1..5");
  if (interleave != TensorMapInterleave::None)
    return fail("interleaved layouts are not supported");
  unsigned alignment = isPadded(element) ? 32 : 16;
  if (globalAddress % alignment != 0)
    return fail("global address 0x" + llvm::utohexstr(globalAddress, true) +
                " is not a multiple of " + Twine(alignment));
  for (unsigned i = 0; i != rank; ++i) {
    if (dims[i] == 0 || dims[i] > (uint64_t(1) << 31))
      return fail("dims[" + Twine(i) + "] = " + Twine(dims[i]) +
                  " is not in 1..2^31");
    if (box[i] == 0 || box[i] > 256)
      return fail("box[" + Twine(i) + "] = " + Twine(box[i]) +
                  " is not in 1..256");
    if (elementStrides[i] == 0 || elementStrides[i] > 8)
      return fail("element stride " + Twine(elementStrides[i]) +
                  " of dimension " + Twine(i) + " is not in 1..8");
  }
  for (unsigned i = 0; i + 1 < rank; ++i)
    if (strides[i] % alignment != 0 || strides[i] >= (uint64_t(1) << 40))
      return fail("strides[" + Twine(i) + "] = " + Twine(strides[i]) +
                  " is not a multiple of " + Twine(alignment) + " below 2^40");
  if (isPadded(element)) {
    if (dims[0] % 128 != 0)
      return fail("dims[0] = " + Twine(dims[0]) + " is not a multiple of 128");
    if (box[0] != 128)
      return fail("box[0] = " + Twine(box[0]) + " must be 128");
  } else if (element == TensorMapElement::U4x16Align8 && dims[0] % 2 != 0) {
    return fail("dims[0] = " + Twine(dims[0]) + " is not even");
  }
  if (uint64_t(box[0]) * sharedElementBits(element) % 128 != 0)
    return fail("box[0] = " + Twine(box[0]) +
                " does not fill a multiple of 16 bytes");
  unsigned span = swizzleSpan(swizzle);
  if (span != 0 && innerBytes(*this) > span)
    return fail("box[0] = " + Twine(box[0]) + " takes " +
                Twine(innerBytes(*this)) + " bytes, more than the " +
                Twine(span) + " of the swizzle");
  if (fill == TensorMapFill::NaN && !isFloat(element))
    return fail("NaN fill with element type " + tensorMapElementName(element));
  if (l2Promotion != 0 && l2Promotion != 64 && l2Promotion != 128 &&
      l2Promotion != 256)
    return fail("L2 promotion " + Twine(l2Promotion));
  return Error::success();
}

uint64_t TensorMap::boxBytes() const {
  uint64_t elements = 1;
  for (unsigned i = 0; i < rank; ++i)
    elements *= boxCount(*this, i);
  return elements * elementBits(element) / 8;
}

//===----------------------------------------------------------------------===//
// The opaque object
//===----------------------------------------------------------------------===//

static constexpr char magic[] = "LPFATMAP";
static constexpr size_t magicBytes = sizeof(magic) - 1;

namespace {

/// Writes or reads the fields in order.
class Cursor {
public:
  explicit Cursor(uint8_t *bytes) : bytes(bytes) {}

  template <typename T> void put(T value) {
    llvm::support::endian::write<T, llvm::endianness::little>(bytes, value);
    bytes += sizeof(T);
  }

private:
  uint8_t *bytes;
};

class ConstCursor {
public:
  explicit ConstCursor(const uint8_t *bytes) : bytes(bytes) {}

  template <typename T> T get() {
    T value = llvm::support::endian::read<T, llvm::endianness::little>(bytes);
    bytes += sizeof(T);
    return value;
  }

private:
  const uint8_t *bytes;
};

} // namespace

TensorMapBlob TensorMap::encode() const {
  TensorMapBlob blob{};
  std::memcpy(blob.data(), magic, magicBytes);
  Cursor cursor(blob.data() + magicBytes);
  cursor.put<uint8_t>(static_cast<uint8_t>(element));
  cursor.put<uint8_t>(static_cast<uint8_t>(rank));
  cursor.put<uint8_t>(static_cast<uint8_t>(interleave));
  cursor.put<uint8_t>(static_cast<uint8_t>(swizzle));
  cursor.put<uint8_t>(static_cast<uint8_t>(fill));
  cursor.put<uint16_t>(static_cast<uint16_t>(l2Promotion));
  cursor.put<uint64_t>(globalAddress);
  for (uint64_t dim : dims)
    cursor.put<uint32_t>(static_cast<uint32_t>(dim));
  for (uint64_t stride : strides)
    cursor.put<uint64_t>(stride);
  for (uint32_t extent : box)
    cursor.put<uint32_t>(extent);
  for (uint32_t stride : elementStrides)
    cursor.put<uint8_t>(static_cast<uint8_t>(std::min(stride, 255u)));
  return blob;
}

Expected<TensorMap> TensorMap::decode(llvm::ArrayRef<uint8_t> bytes) {
  if (bytes.size() < std::tuple_size<TensorMapBlob>::value ||
      std::memcmp(bytes.data(), magic, magicBytes) != 0)
    return llvm::createStringError("the bytes are not a tensor map");
  ConstCursor cursor(bytes.data() + magicBytes);
  TensorMap map;
  auto elementCode = cursor.get<uint8_t>();
  map.rank = cursor.get<uint8_t>();
  auto interleaveCode = cursor.get<uint8_t>();
  auto swizzleCode = cursor.get<uint8_t>();
  auto fillCode = cursor.get<uint8_t>();
  if (elementCode >= std::size(elementNames) ||
      swizzleCode >= std::size(swizzleNames) || interleaveCode > 2 ||
      fillCode > 1)
    return llvm::createStringError("the bytes are a damaged tensor map");
  map.element = static_cast<TensorMapElement>(elementCode);
  map.interleave = static_cast<TensorMapInterleave>(interleaveCode);
  map.swizzle = static_cast<TensorMapSwizzle>(swizzleCode);
  map.fill = static_cast<TensorMapFill>(fillCode);
  map.l2Promotion = cursor.get<uint16_t>();
  map.globalAddress = cursor.get<uint64_t>();
  for (uint64_t &dim : map.dims)
    dim = cursor.get<uint32_t>();
  for (uint64_t &stride : map.strides)
    stride = cursor.get<uint64_t>();
  for (uint32_t &extent : map.box)
    extent = cursor.get<uint32_t>();
  for (uint32_t &stride : map.elementStrides)
    stride = cursor.get<uint8_t>();
  if (Error error = map.validate())
    return std::move(error);
  return map;
}

Error TensorMap::replaceField(TensorMapField field, unsigned ordinal,
                              uint64_t value) {
  auto fail = [&](const Twine &name) {
    return llvm::createStringError("tensormap.replace of " + name +
                                   " with value " + Twine(value));
  };
  auto checkOrdinal = [&](StringRef name, unsigned count) -> Error {
    if (ordinal < count)
      return Error::success();
    return llvm::createStringError("tensormap.replace of " + name + " number " +
                                   Twine(ordinal));
  };
  switch (field) {
  case TensorMapField::GlobalAddress:
    globalAddress = value;
    return Error::success();
  case TensorMapField::Rank:
    if (value >= maxRank)
      return fail("rank");
    rank = static_cast<unsigned>(value) + 1;
    return Error::success();
  case TensorMapField::BoxDim:
    if (Error error = checkOrdinal("box_dim", maxRank))
      return error;
    box[ordinal] = static_cast<uint32_t>(value);
    return Error::success();
  case TensorMapField::GlobalDim:
    if (Error error = checkOrdinal("global_dim", maxRank))
      return error;
    if (value == 0 || value > (uint64_t(1) << 31))
      return fail("global_dim");
    dims[ordinal] = value;
    return Error::success();
  case TensorMapField::GlobalStride:
    if (Error error = checkOrdinal("global_stride", maxRank - 1))
      return error;
    strides[ordinal] = value;
    return Error::success();
  case TensorMapField::ElementStride:
    if (Error error = checkOrdinal("element_stride", maxRank))
      return error;
    if (value == 0 || value > 8)
      return fail("element_stride");
    elementStrides[ordinal] = static_cast<uint32_t>(value);
    return Error::success();
  case TensorMapField::ElementType:
    if (value >= std::size(elementNames))
      return fail("elemtype");
    element = static_cast<TensorMapElement>(value);
    return Error::success();
  case TensorMapField::InterleaveLayout:
    if (value > 2)
      return fail("interleave_layout");
    interleave = static_cast<TensorMapInterleave>(value);
    return Error::success();
  case TensorMapField::SwizzleMode:
    // 4 is a swizzle of 96 bytes.
    if (value > 3)
      return fail("swizzle_mode");
    swizzle = static_cast<TensorMapSwizzle>(value);
    return Error::success();
  case TensorMapField::SwizzleAtomicity: {
    static constexpr TensorMapSwizzle atoms[] = {
        TensorMapSwizzle::B128, TensorMapSwizzle::B128Atom32B,
        TensorMapSwizzle::B128Atom32BFlip8B, TensorMapSwizzle::B128Atom64B};
    bool is128 = swizzleSpan(swizzle) == 128;
    if (value > 3 || (value != 0 && !is128))
      return fail("swizzle_atomicity");
    if (is128)
      swizzle = atoms[value];
    return Error::success();
  }
  case TensorMapField::FillMode:
    if (value > 1)
      return fail("fill_mode");
    fill = static_cast<TensorMapFill>(value);
    return Error::success();
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

static uint32_t swizzleAddress(TensorMapSwizzle swizzle, uint32_t address) {
  switch (swizzle) {
  case TensorMapSwizzle::None:
    return address;
  case TensorMapSwizzle::B32:
    return address ^ ((address >> 7) & 1) << 4;
  case TensorMapSwizzle::B64:
    return address ^ ((address >> 7) & 3) << 4;
  case TensorMapSwizzle::B128:
    return address ^ ((address >> 7) & 7) << 4;
  case TensorMapSwizzle::B128Atom32B:
    return address ^ ((address >> 7) & 3) << 5;
  case TensorMapSwizzle::B128Atom32BFlip8B:
    // The 8-byte halves of 16 bytes change places in every other row.
    return address ^ ((address >> 7) & 3) << 5 ^ ((address >> 7) & 1) << 3;
  case TensorMapSwizzle::B128Atom64B:
    return address ^ ((address >> 7) & 1) << 6;
  }
  return address;
}

Error TensorMap::forEachRun(llvm::ArrayRef<int32_t> coordinates,
                            uint32_t sharedAddress,
                            llvm::function_ref<void(const Run &)> visit) const {
  if (Error error = validate())
    return error;
  if (coordinates.size() != rank)
    return llvm::createStringError(Twine(coordinates.size()) +
                                   " coordinates for a tensor map of rank " +
                                   Twine(rank));
  if (sharedAddress % sharedAlignment != 0)
    return llvm::createStringError(
        "shared address 0x" + llvm::utohexstr(sharedAddress, true) +
        " of a box is not a multiple of " + Twine(sharedAlignment));
  unsigned globalBits = elementBits(element);
  unsigned sharedBits = sharedElementBits(element);
  // The padded types' coordinates count in their 128-element units.
  int32_t multiple = isPadded(element) ? 128 : 128 / int32_t(globalBits);
  if (coordinates[0] % multiple != 0)
    return llvm::createStringError(
        "coordinate " + Twine(coordinates[0]) +
        " of dimension 0 is not a multiple of " + Twine(multiple) + ", " +
        Twine(multiple * int32_t(globalBits) / 8) + " bytes");

  // Elements that 16 bytes (8 if halves are swapped) of shared memory hold.
  unsigned pieceBytes = swizzle == TensorMapSwizzle::B128Atom32BFlip8B ? 8 : 16;
  unsigned pieceElements = pieceBytes * 8 / sharedBits;
  // A swizzle spreads each row of the box over its whole span.
  auto rowPitch = static_cast<uint32_t>(
      std::max<uint64_t>(innerBytes(*this), swizzleSpan(swizzle)));

  auto visitRow = [&](uint64_t rowAddress, bool rowInBounds,
                      uint32_t imageOffset) {
    for (uint32_t element = 0; element < box[0];) {
      // Up to the end of the piece, or to where the tensor begins or ends.
      int64_t count = pieceElements - element % pieceElements;
      int64_t index = int64_t(coordinates[0]) + element;
      auto extent = static_cast<int64_t>(dims[0]);
      bool inBounds = rowInBounds && index >= 0 && index < extent;
      if (rowInBounds && index < 0)
        count = std::min(count, -index);
      else if (inBounds)
        count = std::min(count, extent - index);
      Run run;
      run.globalAddress =
          rowAddress +
          static_cast<uint64_t>(index * static_cast<int64_t>(globalBits) / 8);
      run.globalBytes = static_cast<uint16_t>(count * globalBits / 8);
      run.sharedBytes = static_cast<uint16_t>(count * sharedBits / 8);
      run.sharedAddress = swizzleAddress(swizzle, sharedAddress + imageOffset +
                                                      element * sharedBits / 8);
      run.inBounds = inBounds;
      visit(run);
      element += static_cast<uint32_t>(count);
    }
  };

  std::array<uint32_t, maxRank> position{};
  for (uint32_t imageOffset = 0;; imageOffset += rowPitch) {
    uint64_t rowAddress = globalAddress;
    bool rowInBounds = true;
    for (unsigned i = 1; i < rank; ++i) {
      int64_t index =
          int64_t(coordinates[i]) + int64_t(position[i]) * elementStrides[i];
      rowInBounds &= index >= 0 && index < static_cast<int64_t>(dims[i]);
      rowAddress += static_cast<uint64_t>(index) * strides[i - 1];
    }
    visitRow(rowAddress, rowInBounds, imageOffset);
    unsigned dimension = 1;
    while (dimension < rank &&
           ++position[dimension] == boxCount(*this, dimension))
      position[dimension++] = 0;
    if (dimension >= rank)
      return Error::success();
  }
}

Error TensorMap::checkStore(llvm::ArrayRef<int32_t> coordinates) const {
  for (unsigned i = 0; i != coordinates.size(); ++i)
    if (coordinates[i] < 0)
      return llvm::createStringError("coordinate " + Twine(coordinates[i]) +
                                     " of dimension " + Twine(i) +
                                     " of a store is negative");
  uint64_t tensorBits = dims[0] * elementBits(element);
  uint64_t boxEnd = static_cast<uint64_t>(coordinates[0]) + box[0];
  if (tensorBits % 128 != 0 && boxEnd > dims[0] &&
      static_cast<uint64_t>(coordinates[0]) < dims[0])
    return llvm::createStringError(
        "the box of a store crosses the end of dimension 0, whose " +
        Twine(tensorBits / 8) +
        " bytes are no multiple of the 16 that are written at once");
  return Error::success();
}

void TensorMap::fillPattern(llvm::MutableArrayRef<uint8_t> bytes) const {
  bool isNaN = fill == TensorMapFill::NaN;
  for (size_t i = 0; i != bytes.size(); ++i)
    bytes[i] = !isNaN ? 0 : i % 2 ? 0x7F : 0xF7;
}

void TensorMap::convertLoaded(llvm::MutableArrayRef<uint8_t> bytes) const {
  if (element != TensorMapElement::TF32 && element != TensorMapElement::TF32Ftz)
    return;
  for (size_t i = 0; i + 4 <= bytes.size(); i += 4) {
    uint32_t bits = llvm::support::endian::read32le(&bytes[i]);
    float value = sim::decode(ElementFormat::F32, bits);
    llvm::support::endian::write32le(&bytes[i],
                                     sim::encode(ElementFormat::TF32, value));
  }
}
