//===- LPFAAttributes.td - Attributes of the lpfa dialect --*- tablegen -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_IR_LPFAATTRIBUTES_TD
#define LPFA_DIALECT_LPFA_IR_LPFAATTRIBUTES_TD

include "lpfa/Dialect/LPFA/IR/LPFADialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class LPFA_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<LPFA_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
  // Lets an op give a default as the arguments of `get`.
  let constBuilderCall = "$_builder.getAttr<::lpfa::" # name # "Attr>($0)";
}

//===----------------------------------------------------------------------===//
// Rounding of scales
//===----------------------------------------------------------------------===//

def LPFA_ScaleRule
    : I32Enum<"ScaleRule", "how the scale of a block is rounded to a power of two",
              [I32EnumCase<"Rceil", 0, "rceil">,
               I32EnumCase<"Floor", 1, "floor">,
               I32EnumCase<"Ceil", 2, "ceil">]> {
  let cppNamespace = "::lpfa";
  let description = [{
    With `amax` the largest magnitude of a block, `max_norm` the largest
    finite value of the element format and `emax = floor(log2(max_norm))`, the
    scale is:

    - `rceil`: `amax * (1 / max_norm)`, computed in fp32, rounded up to a power
      of two. No element saturates by more than the rounding of that product.
    - `floor`: `2^(floor(log2(amax)) - emax)`, the rule of the OCP MX
      specification 1.0. Elements may saturate.
    - `ceil`: `2^(ceil(log2(amax)) - emax)`. Probabilities in attention only,
      where the exponent of `amax` is at hand.
  }];
}

def LPFA_ScaleRuleAttr
    : EnumAttr<LPFA_Dialect, LPFA_ScaleRule, "scale_rule"> {
  let assemblyFormat = "$value";
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

def LPFA_MaskKind
    : I32Enum<"MaskKind", "which keys a query sees",
              [I32EnumCase<"None", 0, "none">,
               I32EnumCase<"Causal", 1, "causal">,
               I32EnumCase<"SlidingWindow", 2, "sliding_window">]> {
  let cppNamespace = "::lpfa";
}

def LPFA_MaskAlignment
    : I32Enum<"MaskAlignment", "which corners of the score matrix the diagonal joins",
              [I32EnumCase<"TopLeft", 0, "top_left">,
               I32EnumCase<"BottomRight", 1, "bottom_right">]> {
  let cppNamespace = "::lpfa";
}

def LPFA_MaskAttr : LPFA_Attr<"Mask", "mask"> {
  let summary = "which keys a query sees";
  let description = [{
    Query `i` of `M` sees key `j` of `N` when

    ```
    i + d - left <= j <= i + d + right
    ```

    where the diagonal's offset `d` is 0 for `top_left` and `N - M` for
    `bottom_right`. A bound that is absent does not limit.

    - `none`: every query sees every key. No alignment, no bounds.
    - `causal`: `right = 0` and no `left` bound.
    - `sliding_window`: the bounds that are given.

    Constraints:

    - (C1) Only `sliding_window` takes bounds, at least one of them.
    - (C2) Bounds are not negative.

    Examples:

    ```mlir
    #lpfa.mask<none>
    #lpfa.mask<causal, bottom_right>
    #lpfa.mask<sliding_window, top_left, left = 128>
    #lpfa.mask<sliding_window, bottom_right, left = 127, right = 0>
    ```
  }];
  let parameters = (ins
    EnumParameter<LPFA_MaskKind>:$kind,
    EnumParameter<LPFA_MaskAlignment>:$alignment,
    "int64_t":$left,
    "int64_t":$right);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The value of `left` and `right` where there is no bound.
    static constexpr int64_t kUnbounded = -1;

    /// Whether keys before, or after, the diagonal are limited. `getLeft()` and
    /// `getRight()` hold the normalized bounds of every kind: `causal` has
    /// right = 0, `none` has no bound.
    bool hasLeftBound() const { return getLeft() != kUnbounded; }
    bool hasRightBound() const { return getRight() != kUnbounded; }
  }];
}

//===----------------------------------------------------------------------===//
// Scales of the probabilities
//===----------------------------------------------------------------------===//

def LPFA_PScaleMode
    : I32Enum<"PScaleMode", "where the scales of the probabilities come from",
              [I32EnumCase<"RowMax", 0, "row_max">,
               I32EnumCase<"BlockMax", 1, "block_max">,
               I32EnumCase<"Constant", 2, "constant">]> {
  let cppNamespace = "::lpfa";
}

def LPFA_PScaleAttr : LPFA_Attr<"PScale", "p_scale"> {
  let summary = "how attention quantizes its probabilities";
  let description = [{
    Attention quantizes its probabilities P, a block of 32 keys of a row at a
    time, before it multiplies them by V. In log2 units, `x = s * c` with
    `c = scale * log2(e) > 0`, and M is the smallest integer not below the
    row's largest visible `x` (0 while no key is visible).

    - `row_max`: the scale of block b is `2^(e_b - M)` with `e_b` from the
      block's largest score alone: `ceil(fma(smax_b, c, -log2(max_norm)))` for
      `rceil`, `floor(x_max) - emax` for `floor` and `ceil(x_max) - emax` for
      `ceil`. Codes are those of `exp2(fma(s, c, -e_b))` and do not depend on
      M.
    - `block_max`: `p = exp2(fma(s, c, -M))` in fp32, quantized by the rules of
      `lpfa.quantize`.
    - `constant`: `2^(emax - lag) * p` is stored, every block with the scale
      `2^(lag - emax)`; emax is 8 for f8E4M3FN, 15 for f8E5M2.

    `lag` is how far, in log2 units, the maximum that a kernel uses may fall
    behind the true one before it rescales its accumulator. It changes no bit
    of a block's codes in `row_max`; in `constant` it takes headroom from the
    codes. Where it is not given it is 0 for `constant` and 32 otherwise.

    Kernels keep M in the low bits of an f32: a row whose largest `x` does not
    lie between -2^22 and 2^22 gives NaN.

    Constraints:

    - (C1) The element type is an MX element type.
    - (C2) The lag is 0 to 2 for `constant` and 0 to 32 otherwise.
    - (C3) `constant` takes no rounding, `block_max` takes `rceil` or `floor`.

    Examples (the second is the first written out):

    ```mlir
    #lpfa.p_scale<row_max>
    #lpfa.p_scale<row_max, rounding = rceil, element = f8E4M3FN, lag = 32>
    #lpfa.p_scale<block_max, rounding = floor>
    #lpfa.p_scale<constant, element = f8E5M2, lag = 2>
    ```
  }];
  let parameters = (ins
    EnumParameter<LPFA_PScaleMode>:$mode,
    EnumParameter<LPFA_ScaleRule>:$rounding,
    "::mlir::Type":$element,
    "int64_t":$lag);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [
    AttrBuilder<(ins "::lpfa::PScaleMode":$mode), [{
      return $_get($_ctxt, mode, ScaleRule::Rceil,
                   ::mlir::Float8E4M3FNType::get($_ctxt), getDefaultLag(mode));
    }]>
  ];
  let extraClassDeclaration = [{
    /// The largest lag of a mode, and the lag where none is given.
    static int64_t getMaxLag(PScaleMode mode) {
      return mode == PScaleMode::Constant ? 2 : 32;
    }
    static int64_t getDefaultLag(PScaleMode mode) {
      return mode == PScaleMode::Constant ? 0 : 32;
    }
  }];
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

def LPFA_ScheduleAttr : LPFA_Attr<"Schedule", "schedule"> {
  let summary = "how attention is scheduled";
  let description = [{
    The options of `lpfa-form-kernels` and `lpfa-assign-roles` of the same
    names, for one op: `lpfa-choose-schedule` sets it as `lpfa.schedule` on
    `lpfa.attention`, and the kernel that becomes of that keeps it. Those after
    `score_buffers` may be left out, for the options' defaults.

    Examples: `#lpfa.schedule<query_tiles = 2, key_tile = 128, stages = 3,
    scores_first = false, score_buffers = 1>`, and `#lpfa.schedule<query_tiles =
    2, key_tile = 96, stages = 3, scores_first = false, score_buffers = 1,
    scores_ahead = 2>`
  }];
  let parameters = (ins "int64_t":$query_tiles, "int64_t":$key_tile,
                        "int64_t":$stages, "bool":$scores_first,
                        "int64_t":$score_buffers,
                        DefaultValuedParameter<"int64_t", "0">:$scores_ahead,
                        DefaultValuedParameter<"bool", "false">:$queries_in_tmem,
                        DefaultValuedParameter<"int64_t", "1">:$probability_parts,
                        DefaultValuedParameter<"int64_t", "1">:$probability_buffers);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // LPFA_DIALECT_LPFA_IR_LPFAATTRIBUTES_TD
