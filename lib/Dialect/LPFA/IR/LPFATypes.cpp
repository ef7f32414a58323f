//===- LPFATypes.cpp - Types of the lpfa dialect --------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lpfa;

/// Parses `4x?xf32` into a shape and an element type.
static ParseResult parseShaped(AsmParser &parser,
                               SmallVectorImpl<int64_t> &shape,
                               Type &elementType) {
  return failure(parser.parseDimensionList(shape) ||
                 parser.parseType(elementType));
}

static void printShaped(AsmPrinter &printer, ArrayRef<int64_t> shape,
                        Type elementType) {
  printer.printDimensionList(shape);
  if (!shape.empty())
    printer << 'x';
  printer << elementType;
}

static LogicalResult verifyStatic(function_ref<InFlightDiagnostic()> emitError,
                                  ArrayRef<int64_t> shape) {
  if (llvm::any_of(shape, [](int64_t size) { return size <= 0; }))
    return emitError() << "sizes must be static and positive (C1)";
  return success();
}

//===----------------------------------------------------------------------===//
// ViewType
//===----------------------------------------------------------------------===//

Type ViewType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  if (parser.parseLess() || parseShaped(parser, shape, elementType) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), shape, elementType);
}

void ViewType::print(AsmPrinter &printer) const {
  printer << '<';
  printShaped(printer, getShape(), getElementType());
  printer << '>';
}

//===----------------------------------------------------------------------===//
// TileType
//===----------------------------------------------------------------------===//

Type TileType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  if (parser.parseLess() || parseShaped(parser, shape, elementType) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<TileType>(parser.getContext(), shape, elementType);
}

void TileType::print(AsmPrinter &printer) const {
  printer << '<';
  printShaped(printer, getShape(), getElementType());
  printer << '>';
}

LogicalResult TileType::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> shape, Type elementType) {
  return verifyStatic(emitError, shape);
}

TileType TileType::getAtom(MLIRContext *context) {
  return get(context, {32, 4, 4}, Float8E8M0FNUType::get(context));
}

bool TileType::isAtom() const {
  return getRank() >= 3 && getRank() <= 4 &&
         getShape().take_back(3) == getAtom(getContext()).getShape();
}

TileType TileType::getRow() const {
  return get(getContext(), getShape().take_front(),
             Float32Type::get(getContext()));
}

//===----------------------------------------------------------------------===//
// BufferType
//===----------------------------------------------------------------------===//

/// Parses a memory space's keyword.
static ParseResult parseSpace(AsmParser &parser, MemorySpace &space) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<MemorySpace> parsed = symbolizeMemorySpace(keyword);
  if (!parsed)
    return parser.emitError(loc, "expected 'shared' or 'tensor'");
  space = *parsed;
  return success();
}

Type BufferType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  MemorySpace space;
  if (parser.parseLess() || parseShaped(parser, shape, elementType) ||
      parser.parseComma() || parseSpace(parser, space) || parser.parseGreater())
    return {};
  return parser.getChecked<BufferType>(parser.getContext(), shape, elementType,
                                       space);
}

void BufferType::print(AsmPrinter &printer) const {
  printer << '<';
  printShaped(printer, getShape(), getElementType());
  printer << ", " << stringifyMemorySpace(getSpace()) << '>';
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, Type elementType,
                                 MemorySpace space) {
  return verifyStatic(emitError, shape);
}

bool BufferType::isScales() const {
  return getShape() == ArrayRef<int64_t>{32, 4, 4} &&
         isa<Float8E8M0FNUType>(getElementType());
}

/// Bytes of a row of a tile.
static int64_t getRowBytes(BufferType type) {
  return llvm::divideCeil(type.getShape().back() *
                              type.getElementType().getIntOrFloatBitWidth(),
                          8);
}

int64_t BufferType::getPitch() const {
  constexpr int64_t narrowest = 32, widest = 128;
  int64_t bytes = getRowBytes(*this);
  if (getRank() != 2 || bytes < narrowest)
    return bytes;
  return bytes < widest ? llvm::PowerOf2Ceil(bytes)
                        : llvm::alignTo(bytes, widest);
}

int64_t BufferType::getSize() const {
  if (getSpace() == MemorySpace::Shared)
    return getNumElements() / getShape().back() * getPitch();
  if (isScales())
    return 4;
  return llvm::divideCeil(getRowBytes(*this), 4);
}

//===----------------------------------------------------------------------===//
// ChannelType
//===----------------------------------------------------------------------===//

static ParseResult parseBufferList(AsmParser &parser,
                                   SmallVector<BufferType> &buffers) {
  return parser.parseCommaSeparatedList([&]() -> ParseResult {
    SmallVector<int64_t> shape;
    Type elementType;
    MemorySpace space;
    if (parseShaped(parser, shape, elementType) || parseSpace(parser, space))
      return failure();
    auto buffer = parser.getChecked<BufferType>(parser.getContext(), shape,
                                                elementType, space);
    if (!buffer)
      return failure();
    buffers.push_back(buffer);
    return success();
  });
}

static void printBufferList(AsmPrinter &printer, ArrayRef<BufferType> buffers) {
  llvm::interleaveComma(buffers, printer, [&](BufferType buffer) {
    printShaped(printer, buffer.getShape(), buffer.getElementType());
    printer << ' ' << stringifyMemorySpace(buffer.getSpace());
  });
}

LogicalResult ChannelType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  ArrayRef<BufferType> buffers) {
  if (buffers.empty())
    return emitError() << "a slot must have at least one buffer (C1)";
  return success();
}

//===----------------------------------------------------------------------===//
// PlaceAttr
//===----------------------------------------------------------------------===//

Attribute PlaceAttr::parse(AsmParser &parser, Type) {
  MemorySpace space;
  int64_t offset, size;
  if (parser.parseLess() || parseSpace(parser, space) || parser.parseComma() ||
      parser.parseInteger(offset) || parser.parseComma() ||
      parser.parseInteger(size))
    return {};
  int64_t distance = size;
  if (succeeded(parser.parseOptionalComma()) && parser.parseInteger(distance))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<PlaceAttr>(parser.getContext(), space, offset, size,
                                      distance);
}

void PlaceAttr::print(AsmPrinter &printer) const {
  printer << '<' << stringifyMemorySpace(getSpace()) << ", " << getOffset()
          << ", " << getSize();
  if (getDistance() != getSize())
    printer << ", " << getDistance();
  printer << '>';
}

LogicalResult PlaceAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                MemorySpace space, int64_t offset, int64_t size,
                                int64_t distance) {
  if (offset < 0 || size <= 0)
    return emitError()
           << "offset must not be negative and size must be positive (C1)";
  if (distance != 0 && std::abs(distance) < size)
    return emitError() << "distance must be 0 or not less than size (C1)";
  return success();
}

// The generated printers and parsers call the static functions above.
#define GET_TYPEDEF_CLASSES
#include "lpfa/Dialect/LPFA/IR/LPFATypes.cpp.inc"

void LPFADialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "lpfa/Dialect/LPFA/IR/LPFATypes.cpp.inc"
      >();
}
