//===- LPFATensorOps.td - Ops of the tensor level ----------*- tablegen -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_IR_LPFATENSOROPS_TD
#define LPFA_DIALECT_LPFA_IR_LPFATENSOROPS_TD

include "lpfa/Dialect/LPFA/IR/LPFAAttributes.td"
include "lpfa/Dialect/LPFA/IR/LPFATypes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def LPFA_MXElement
    : AnyTypeOf<[F8E4M3FN, F8E5M2, F6E2M3FN, F6E3M2FN, F4E2M1FN],
                "MX element type (f8E4M3FN, f8E5M2, f6E2M3FN, f6E3M2FN or "
                "f4E2M1FN)">;
def LPFA_MXScale : TypeAlias<F8E8M0FNU, "MX scale type (f8E8M0FNU)">;
def LPFA_NarrowFloat
    : AnyTypeOf<[F8E4M3FN, F8E5M2, F6E2M3FN, F6E3M2FN, F4E2M1FN, F8E8M0FNU],
                "MX element or scale type">;
def LPFA_WideFloat
    : AnyTypeOf<[F32, BF16, F16], "f32, bf16 or f16">;

def LPFA_ElementTensor : RankedTensorOf<[LPFA_MXElement]>;
def LPFA_ScaleTensor : RankedTensorOf<[LPFA_MXScale]>;
def LPFA_WideTensor : RankedTensorOf<[LPFA_WideFloat]>;

/// Scales of MX blocks, or of NVFP4's.
def LPFA_BlockScale
    : AnyTypeOf<[F8E8M0FNU, F8E4M3FN],
                "scale type (f8E8M0FNU, or f8E4M3FN for NVFP4)">;
def LPFA_BlockScaleTensor : RankedTensorOf<[LPFA_BlockScale]>;
def LPFA_GlobalScale : 0DTensorOf<[F32]>;

class LPFA_TensorOp<string mnemonic, list<Trait> traits = []>
    : LPFA_Op<mnemonic, !listconcat(traits, [
          Pure, DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
                                          ["reifyResultShapes"]>])> {
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Quantization
//===----------------------------------------------------------------------===//

def LPFA_QuantizeOp : LPFA_TensorOp<"quantize"> {
  let summary = "quantizes blocks of elements to an MX format or NVFP4";
  let description = [{
    Splits `input` along `axis` into blocks of 32 elements (the last may be
    shorter) and gives each block one power of two as its scale and each
    element a code, so that code times scale approximates the element:

    ```
    amax      = max |x| over the block
    scale     = power of two by `rule`, see `ScaleRule`, at least 2^-127
    elements  = round-to-nearest-even(x / scale), saturating at max_norm
    ```

    The result is exact to the bit:

    - The division by the scale is exact where it matters, since the scale is a
      power of two; a byte b stands for `2^(b - 127)`.
    - A block of zeros has scale byte 0; zeros keep their signs.
    - A NaN or an infinity anywhere in a block makes its scale byte 255 (NaN)
      and each of its elements NaN (0x7f; in a format without NaN, where the
      code does not matter, the largest one). Nothing that is not finite
      becomes a finite number in silence.

    With `square` a scale is common to a square of 32 x 32 elements of the last
    two dimensions, so that the codes serve products along either of them;
    `scales` has the shape for `axis`, each byte 32 times.

    NVFP4 is what f4E2M1FN elements with f8E4M3FN scales are: blocks of 16 and
    one more scale, in f32, for the whole tensor. With g that `global` scale
    (6 * 448 / max |x| uses the range best):

    ```
    y         = x * g                           in f32
    scale     = round-to-nearest-even(max |y| * (1 / 6)), at most 448
    elements  = round-to-nearest-even(y / scale), saturating at 6
    ```

    with 1 / 6 rounded to f32. A block whose scale comes out 0 has zeros with
    the signs of y. A NaN or an infinity in a block makes its scale NaN (0x7f)
    and its elements the largest code.

    Several `lpfa.quantize` of one tensor, and `lpfa.pack_scales` of their
    scales, become one kernel that reads the tensor once.

    Constraints:

    - (C1) `axis` is a dimension of `input`.
    - (C2) `elements` has the shape of `input`.
    - (C3) `scales` has the shape of `input`, but for dimension `axis`, whose
      size n becomes ceil(n / 32), of NVFP4 ceil(n / 16).
    - (C4) `rule` is `rceil` or `floor`; of NVFP4 it is `rceil`.
    - (C5) With `square`, `axis` is one of the last two of at least two
      dimensions, and scales are f8E8M0FNU.
    - (C6) Scales are f8E4M3FN where there is a global scale, and then elements
      are f4E2M1FN; otherwise scales are f8E8M0FNU.

    Examples:

    ```mlir
    %q, %s = lpfa.quantize %x axis(1) rule(floor)
        : tensor<?x64xf32> -> tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
    %w, %t = lpfa.quantize %x axis(0) square
        : tensor<?x64xf32> -> tensor<?x64xf8E4M3FN>, tensor<?x64xf8E8M0FNU>
    %n, %u = lpfa.quantize %x axis(1) global(%g : tensor<f32>)
        : tensor<?x64xf32> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
    ```
  }];
  let arguments = (ins
    LPFA_WideTensor:$input,
    Optional<LPFA_GlobalScale>:$globalScale,
    ConfinedAttr<I64Attr, [IntNonNegative]>:$axis,
    UnitAttr:$square,
    DefaultValuedAttr<LPFA_ScaleRuleAttr, "::lpfa::ScaleRule::Rceil">:$rule);
  let results = (outs LPFA_ElementTensor:$elements,
                      LPFA_BlockScaleTensor:$scales);
  let assemblyFormat = [{
    $input `axis` `(` $axis `)` (`square` $square^)? `` custom<ScaleRule>($rule)
    (`global` `(` $globalScale^ `:` type($globalScale) `)`)? attr-dict
    `:` type($input) `->` type($elements) `,` type($scales)
  }];
  let extraClassDeclaration = [{
    /// How many elements along the axis share a scale.
    int64_t getBlockSize() { return lpfa::getBlockSize(getScales().getType()); }
  }];
}

def LPFA_DequantizeOp : LPFA_TensorOp<"dequantize"> {
  let summary = "multiplies MX or NVFP4 elements by their scales";
  let description = [{
    The product of every element and the scale of its block, rounded once to
    the type of the result. Scale byte 0 is 2^-127, scale byte 255 gives NaN.
    Products are exact in f32 unless they overflow it. Of NVFP4 (see
    `lpfa.quantize`) the product is divided by the global scale, in f32.

    Constraints:

    - (C1) `axis` is a dimension of `elements`.
    - (C2) `output` has the shape of `elements`.
    - (C3) `scales` has the shape of `elements`, but for dimension `axis`,
      whose size n becomes ceil(n / 32), of NVFP4 ceil(n / 16).
    - (C4) Scales are f8E4M3FN where there is a global scale, and then elements
      are f4E2M1FN; otherwise scales are f8E8M0FNU.

    Example:

    ```mlir
    %x = lpfa.dequantize %q scaled %s axis(1)
        : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU> -> tensor<?x64xf32>
    ```
  }];
  let arguments = (ins
    LPFA_ElementTensor:$elements,
    LPFA_BlockScaleTensor:$scales,
    Optional<LPFA_GlobalScale>:$globalScale,
    ConfinedAttr<I64Attr, [IntNonNegative]>:$axis);
  let results = (outs LPFA_WideTensor:$output);
  let assemblyFormat = [{
    $elements `scaled` $scales `axis` `(` $axis `)`
    (`global` `(` $globalScale^ `:` type($globalScale) `)`)? attr-dict
    `:` type($elements) `,` type($scales) `->` type($output)
  }];
  let extraClassDeclaration = [{
    /// How many elements along the axis share a scale.
    int64_t getBlockSize() { return lpfa::getBlockSize(getScales().getType()); }
  }];
}

//===----------------------------------------------------------------------===//
// Layout of scales
//===----------------------------------------------------------------------===//

def LPFA_PackScalesOp
    : LPFA_TensorOp<"pack_scales", [AllElementTypesMatch<["scales", "blocked"]>]> {
  let summary = "lays row-major scales out in blocks of 128 rows and 4 groups";
  let description = [{
    Moves the scales of a matrix of R rows and G groups (the last two
    dimensions; others are batches) into the blocked layout that Blackwell's
    tensor core copies from. The blocked tensor has its physical shape
    `... x ceil(R/128) x ceil(G/4) x 32 x 4 x 4`, and

    ```
    blocked[..., r / 128, g / 4, r % 32, r % 128 / 32, g % 4] = rows[..., r, g]
    ```

    so that an atom of 128 rows by 4 groups is 512 contiguous bytes. Bytes that
    no row or group owns are 0. With `transposed` the last two dimensions of
    `scales` are groups and rows, as V's are in attention.

    Constraints:

    - (C1) `scales` has rank 2 or more.
    - (C2) `blocked` has three dimensions more than `scales`, the same batch
      dimensions, and ends in `ceil(R/128) x ceil(G/4) x 32 x 4 x 4`.

    Example:

    ```mlir
    %b = lpfa.pack_scales %s
        : tensor<2x200x6xf8E8M0FNU> -> tensor<2x2x2x32x4x4xf8E8M0FNU>
    ```
  }];
  let arguments = (ins LPFA_BlockScaleTensor:$scales, UnitAttr:$transposed);
  let results = (outs LPFA_BlockScaleTensor:$blocked);
  let assemblyFormat = [{
    $scales (`transposed` $transposed^)? attr-dict
    `:` type($scales) `->` type($blocked)
  }];
}

def LPFA_UnpackScalesOp
    : LPFA_TensorOp<"unpack_scales", [AllElementTypesMatch<["scales", "blocked"]>]> {
  let summary = "lays blocked scales out row-major";
  let description = [{
    The inverse of `lpfa.pack_scales`; padding is dropped. The blocked shape
    does not tell how many rows and groups there are, so the sizes that the
    result's type leaves open among its last two dimensions are operands.

    Constraints:

    - (C1) `scales` has rank 2 or more.
    - (C2) `blocked` has three dimensions more than `scales`, the same batch
      dimensions, and ends in `ceil(R/128) x ceil(G/4) x 32 x 4 x 4`.
    - (C3) There is one size for each dynamic one of the last two dimensions of
      `scales`.

    Example:

    ```mlir
    %s = lpfa.unpack_scales %b sizes(%rows)
        : tensor<2x?x2x32x4x4xf8E8M0FNU> -> tensor<2x?x6xf8E8M0FNU>
    ```
  }];
  let arguments = (ins
    LPFA_BlockScaleTensor:$blocked,
    Variadic<Index>:$sizes,
    UnitAttr:$transposed);
  let results = (outs LPFA_BlockScaleTensor:$scales);
  let assemblyFormat = [{
    $blocked (`transposed` $transposed^)? (`sizes` `(` $sizes^ `)`)? attr-dict
    `:` type($blocked) `->` type($scales)
  }];
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

def LPFA_AttentionOp
    : LPFA_TensorOp<"attention", [AttrSizedOperandSegments]> {
  let summary = "attention over MX operands, forward";
  let description = [{
    For every batch and head, with Q, K and V dequantized:

    ```
    S   = scale * Q K^T            masked by `mask`
    P   = softmax(S)               quantized by `p_scale`
    O   = P V
    LSE = log(sum(exp(S)))         a row's natural-log sum of exponentials
    ```

    A row that sees no key has O = 0 and LSE = -inf; a row that sees one key
    has exactly that key's V as its O. How P is quantized is part of the op's
    meaning (see `#lpfa.p_scale`) and does not depend on tiles or their order.
    O and the sum that divides it are accumulated in f32 or better; the order
    of summation is free.

    Operands have the dimensions batch x heads x sequence x head dimension. Q
    may have a multiple of K's heads: head h reads KV head
    `h / (heads / KV heads)`. Scales run along the dimension that a product
    sums over: the head dimension for Q and K, the sequence for V (so V's scale
    of 32 tokens sees tokens that a causal mask hides, and a NaN there
    spreads). Each of the three is either row-major or blocked:

    | scales | row-major | blocked |
    | --- | --- | --- |
    | of Q, K | batch x heads x sequence x ceil(D/32) | batch x heads x ceil(sequence/128) x ceil(ceil(D/32)/4) x 32 x 4 x 4 |
    | of V | batch x KV heads x ceil(keys/32) x DV | batch x KV heads x ceil(DV/128) x ceil(ceil(keys/32)/4) x 32 x 4 x 4 |

    A blocked V scale is `lpfa.pack_scales transposed` of the row-major one.

    Jagged batches: with `offsets(%q, %kv)` batch is 1 and the sequence
    dimension holds all sequences packed one after the other. Sequence g owns
    queries `[q[g], q[g+1])` and keys `[kv[g], kv[g+1])`; it attends only to
    itself and masks count from its own first query and key. Row-major scales
    of Q and K stay packed like their operand. All other scales start anew at
    every sequence: in V's row-major scales, sequence g begins at group
    `sum over i < g of ceil(len_i / 32)`; in blocked scales, at atom
    `sum over i < g of ceil(len_i / 128)`. An empty sequence takes no place.
    Offsets begin at 0 and do not decrease; this is not checked. Rows that no
    sequence owns have O = 0 and LSE = -inf.

    Constraints:

    - (C1) Q, K and V have rank 4 and a static head dimension above 0.
    - (C2) Q, K and V have the same batch size.
    - (C3) K and V have the same number of heads and the same length.
    - (C4) Q and K have the same head dimension.
    - (C5) The number of Q's heads is a multiple of the number of KV heads.
    - (C6) `scale` is finite and greater than 0.
    - (C7) Q's, K's and V's scales have the row-major or the blocked shape.
    - (C8) O has Q's shape with V's head dimension, LSE has Q's shape without
      the head dimension.
    - (C9) Jagged: batch is 1, and both offsets are given, with the same size,
      at least 1.

    Sizes that one of two types leaves open are taken to match.

    Example:

    ```mlir
    %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
        {scale = 0.125 : f32, mask = #lpfa.mask<causal, bottom_right>}
        : (tensor<1x8x?x64xf8E4M3FN>, tensor<1x8x?x2xf8E8M0FNU>,
           tensor<1x2x?x64xf8E4M3FN>, tensor<1x2x?x2xf8E8M0FNU>,
           tensor<1x2x?x64xf8E4M3FN>, tensor<1x2x?x64xf8E8M0FNU>)
        -> (tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>)
    ```
  }];
  let arguments = (ins
    LPFA_ElementTensor:$q, LPFA_ScaleTensor:$qScales,
    LPFA_ElementTensor:$k, LPFA_ScaleTensor:$kScales,
    LPFA_ElementTensor:$v, LPFA_ScaleTensor:$vScales,
    Optional<1DTensorOf<[I32]>>:$qOffsets,
    Optional<1DTensorOf<[I32]>>:$kvOffsets,
    F32Attr:$scale,
    DefaultValuedAttr<LPFA_MaskAttr,
        "::lpfa::MaskKind::None, ::lpfa::MaskAlignment::TopLeft, "
        "::lpfa::MaskAttr::kUnbounded, ::lpfa::MaskAttr::kUnbounded">:$mask,
    DefaultValuedAttr<LPFA_PScaleAttr, "::lpfa::PScaleMode::RowMax">:$p_scale);
  let results = (outs LPFA_WideTensor:$output, RankedTensorOf<[F32]>:$lse);
  let assemblyFormat = [{
    $q `scaled` $qScales `,` $k `scaled` $kScales `,` $v `scaled` $vScales
    (`offsets` `(` $qOffsets^ `,` $kvOffsets `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    /// Whether the batch is jagged: sequences of any length, packed.
    bool isJagged() { return getQOffsets() != nullptr; }

    /// Whether a scale operand has the blocked layout.
    static bool isBlocked(::mlir::Value scales) {
      return ::llvm::cast<::mlir::RankedTensorType>(scales.getType())
                 .getRank() == 7;
    }

    /// The head dimension of Q and K, and that of V and O.
    int64_t getHeadDim() { return getQ().getType().getDimSize(3); }
    int64_t getValueHeadDim() { return getV().getType().getDimSize(3); }
  }];
}

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

class LPFA_CodeOp<string mnemonic> : LPFA_Op<mnemonic, [Pure]>;

def LPFA_EncodeOp : LPFA_CodeOp<"encode"> {
  let summary = "rounds an f32 to the code of a narrow float";
  let description = [{
    In the reference a narrow float is a code, an integer of at most 8 bits;
    `lpfa-expand-narrow-floats` writes this op in 32-bit arithmetic. Values are
    rounded as the hardware's saturating conversions do:

    - to an MX element type: to nearest, ties to even; what is larger than the
      largest finite value, infinity included, becomes that value; NaN becomes
      0x7f, or the largest positive code in a format without NaN;
    - to f8E8M0FNU: the magnitude up to a power of two, at least 2^-127 and at
      most 2^127; NaN becomes 255.

    `arith.truncf` is no substitute: on these types it does not saturate, and
    folding and lowering disagree.

    Example:

    ```mlir
    %code = lpfa.encode %x : f32 to f8E4M3FN
    ```
  }];
  let arguments = (ins F32:$input);
  let results = (outs LPFA_NarrowFloat:$code);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($code)";
}

def LPFA_DecodeOp : LPFA_CodeOp<"decode"> {
  let summary = "gives the value of a narrow float's code as f32";
  let description = [{
    Exact. NaN codes give the NaN 0x7fc00000, the infinities of f8E5M2 are kept,
    and f8E8M0FNU's byte 0 is 2^-127, its byte 255 NaN.

    Example:

    ```mlir
    %x = lpfa.decode %code : f8E8M0FNU to f32
    ```
  }];
  let arguments = (ins LPFA_NarrowFloat:$code);
  let results = (outs F32:$output);
  let assemblyFormat = "$code attr-dict `:` type($code) `to` type($output)";
}

#endif // LPFA_DIALECT_LPFA_IR_LPFATENSOROPS_TD
