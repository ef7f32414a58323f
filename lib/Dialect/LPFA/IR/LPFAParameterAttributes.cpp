//===- LPFAParameterAttributes.cpp - Parameters of kernels ----------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "lpfa/Target/TargetModel.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace lpfa;

Attribute ParameterAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  FailureOr<ParameterKind> kind = FieldParser<ParameterKind>::parse(parser);
  if (failed(kind))
    return {};
  int64_t operand = -1, dimension = -1, swizzle = 0;
  SmallVector<int64_t> box;
  Type element;
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc nameLoc = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return {};
    ParseResult result = success();
    if (name == "operand")
      result = parser.parseInteger(operand);
    else if (name == "dimension")
      result = parser.parseInteger(dimension);
    else if (name == "box")
      result =
          parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
            return parser.parseInteger(box.emplace_back());
          });
    else if (name == "swizzle")
      result = parser.parseInteger(swizzle);
    else if (name == "element")
      result = parser.parseType(element);
    else
      result = parser.emitError(nameLoc, "expected 'operand', 'dimension', "
                                         "'box', 'swizzle' or 'element'");
    if (result)
      return {};
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<ParameterAttr>(
      loc, parser.getContext(), *kind, operand, dimension,
      ArrayRef<int64_t>(box), swizzle, element);
}

void ParameterAttr::print(AsmPrinter &printer) const {
  printer << '<' << stringifyParameterKind(getKind())
          << ", operand = " << getOperand();
  if (getDimension() >= 0)
    printer << ", dimension = " << getDimension();
  if (getKind() == ParameterKind::TensorMap) {
    printer << ", box = [";
    llvm::interleaveComma(getBox(), printer);
    printer << "], swizzle = " << getSwizzle()
            << ", element = " << getElement();
  }
  printer << '>';
}

LogicalResult
ParameterAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      ParameterKind kind, int64_t operand, int64_t dimension,
                      ArrayRef<int64_t> box, int64_t swizzle, Type element) {
  if (operand < 0)
    return emitError() << "a parameter must name the operand of the launch";
  bool hasDimension =
      kind == ParameterKind::Size || kind == ParameterKind::Stride;
  if (hasDimension != (dimension >= 0))
    return emitError() << "sizes and strides must name a dimension, the others "
                          "none (C1)";
  if (kind != ParameterKind::TensorMap) {
    if (!box.empty() || swizzle || element)
      return emitError() << "only a tensor map has a box (C2)";
    return success();
  }
  auto isBad = [](int64_t size) {
    return size < 1 || size > TargetModel::maxBoxSize;
  };
  if (box.empty() || int64_t(box.size()) > TargetModel::maxTensorMapRank ||
      llvm::any_of(box, isBad) ||
      !llvm::is_contained({0, 32, 64, 128}, swizzle) || !element)
    return emitError() << "a tensor map must have one to five box sizes from 1 "
                          "to 256, a swizzle of 0, 32, 64 or 128 and an "
                          "element type (C2)";
  return success();
}
