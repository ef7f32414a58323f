//===- LPFAAttributes.cpp - Attributes of the lpfa dialect ----------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace lpfa;

int64_t lpfa::getBlockSize(Type scales) {
  return isa<Float8E4M3FNType>(getElementTypeOrSelf(scales)) ? 16 : kBlockSize;
}

bool lpfa::isMXElementType(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type, Float6E2M3FNType,
             Float6E3M2FNType, Float4E2M1FNType>(type);
}

//===----------------------------------------------------------------------===//
// MaskAttr
//===----------------------------------------------------------------------===//

Attribute MaskAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  FailureOr<MaskKind> kind = FieldParser<MaskKind>::parse(parser);
  if (failed(kind))
    return {};
  MaskAlignment alignment = MaskAlignment::TopLeft;
  int64_t left = kUnbounded;
  int64_t right = *kind == MaskKind::Causal ? 0 : kUnbounded;
  if (*kind != MaskKind::None) {
    if (parser.parseComma())
      return {};
    FailureOr<MaskAlignment> parsed = FieldParser<MaskAlignment>::parse(parser);
    if (failed(parsed))
      return {};
    alignment = *parsed;
  }
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc boundLoc = parser.getCurrentLocation();
    StringRef name;
    int64_t bound;
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return {};
    SMLoc valueLoc = parser.getCurrentLocation();
    if (parser.parseInteger(bound))
      return {};
    if (name != "left" && name != "right") {
      parser.emitError(boundLoc, "expected 'left' or 'right'");
      return {};
    }
    // C1
    if (*kind != MaskKind::SlidingWindow) {
      parser.emitError(boundLoc, "only a sliding window takes bounds");
      return {};
    }
    // C2
    if (bound < 0) {
      parser.emitError(valueLoc, "the bounds of a mask must not be negative");
      return {};
    }
    (name == "left" ? left : right) = bound;
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<MaskAttr>(loc, parser.getContext(), *kind, alignment,
                                     left, right);
}

void MaskAttr::print(AsmPrinter &printer) const {
  printer << '<' << stringifyMaskKind(getKind());
  if (getKind() != MaskKind::None)
    printer << ", " << stringifyMaskAlignment(getAlignment());
  if (getKind() == MaskKind::SlidingWindow) {
    if (hasLeftBound())
      printer << ", left = " << getLeft();
    if (hasRightBound())
      printer << ", right = " << getRight();
  }
  printer << '>';
}

LogicalResult MaskAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               MaskKind kind, MaskAlignment alignment,
                               int64_t left, int64_t right) {
  switch (kind) {
  case MaskKind::None:
    // The only spelling, so that equal masks are equal attributes.
    if (left != kUnbounded || right != kUnbounded ||
        alignment != MaskAlignment::TopLeft)
      return emitError() << "the mask 'none' takes neither bounds nor an "
                            "alignment";
    return success();
  case MaskKind::Causal:
    // C1
    if (left != kUnbounded || right != 0)
      return emitError() << "only a sliding window takes bounds";
    return success();
  case MaskKind::SlidingWindow:
    // C1
    if (left == kUnbounded && right == kUnbounded)
      return emitError() << "a sliding window needs a left or a right bound";
    // C2
    if (left < kUnbounded || right < kUnbounded)
      return emitError() << "the bounds of a mask must not be negative";
    return success();
  }
  llvm_unreachable("unknown mask kind");
}

//===----------------------------------------------------------------------===//
// PScaleAttr
//===----------------------------------------------------------------------===//

Attribute PScaleAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  FailureOr<PScaleMode> mode = FieldParser<PScaleMode>::parse(parser);
  if (failed(mode))
    return {};
  ScaleRule rounding = ScaleRule::Rceil;
  Type element = Float8E4M3FNType::get(parser.getContext());
  int64_t lag = getDefaultLag(*mode);
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc nameLoc = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return {};
    if (name == "rounding") {
      FailureOr<ScaleRule> parsed = FieldParser<ScaleRule>::parse(parser);
      if (failed(parsed))
        return {};
      rounding = *parsed;
    } else if (name == "element") {
      if (parser.parseType(element))
        return {};
    } else if (name == "lag") {
      if (parser.parseInteger(lag))
        return {};
    } else {
      parser.emitError(nameLoc, "expected 'rounding', 'element' or 'lag'");
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<PScaleAttr>(loc, parser.getContext(), *mode,
                                       rounding, element, lag);
}

void PScaleAttr::print(AsmPrinter &printer) const {
  printer << '<' << stringifyPScaleMode(getMode());
  if (getRounding() != ScaleRule::Rceil)
    printer << ", rounding = " << stringifyScaleRule(getRounding());
  if (!isa<Float8E4M3FNType>(getElement()))
    printer << ", element = " << getElement();
  if (getLag() != getDefaultLag(getMode()))
    printer << ", lag = " << getLag();
  printer << '>';
}

LogicalResult PScaleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 PScaleMode mode, ScaleRule rounding,
                                 Type element, int64_t lag) {
  // C1
  if (!isMXElementType(element))
    return emitError() << "the element type of the probabilities must be an "
                          "MX element type, but is "
                       << element;
  // C2
  if (lag < 0 || lag > getMaxLag(mode))
    return emitError() << "the lag of mode '" << stringifyPScaleMode(mode)
                       << "' must be 0 to " << getMaxLag(mode) << ", but is "
                       << lag;
  // C3
  if (mode == PScaleMode::Constant && rounding != ScaleRule::Rceil)
    return emitError() << "mode 'constant' takes no rounding";
  if (mode == PScaleMode::BlockMax && rounding == ScaleRule::Ceil)
    return emitError() << "mode 'block_max' takes the rounding 'rceil' or "
                          "'floor'";
  return success();
}
