//===- LPFAParameterAttributes.td - Parameters of kernels -----*- tablegen -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_IR_LPFAPARAMETERATTRIBUTES_TD
#define LPFA_DIALECT_LPFA_IR_LPFAPARAMETERATTRIBUTES_TD

include "lpfa/Dialect/LPFA/IR/LPFAAttributes.td"

def LPFA_ParameterKind
    : I32Enum<"ParameterKind", "what a kernel parameter holds",
              [I32EnumCase<"Pointer", 0, "pointer">,
               I32EnumCase<"Size", 1, "size">,
               I32EnumCase<"Stride", 2, "stride">,
               I32EnumCase<"Index", 3, "index">,
               I32EnumCase<"TensorMap", 4, "tensor_map">]> {
  let cppNamespace = "::lpfa";
  let description = [{
    - `pointer`: the tensor's address in global memory (`!llvm.ptr<1>`).
    - `size`, `stride`: of one dimension, the stride in elements (`i64`). The
      last dimension of a tensor is contiguous.
    - `index`: an `index` operand's value (`i64`).
    - `tensor_map`: a tensor map of the whole tensor (PTX 5.5.8), passed by
      value.
  }];
}

def LPFA_ParameterAttr : LPFA_Attr<"Parameter", "parameter"> {
  let summary = "how a launch computes an argument of a gpu.func";
  let description = [{
    The argument attribute `lpfa.parameter` of every argument of a kernel at
    the threads stage. `operand` counts the operands of `lpfa.launch` behind
    the grid: the inputs, then the outputs.

    A tensor map has the rank of the tensor; its box and its dimensions count
    from the fastest-varying one, the tensor's last. `swizzle` is 0, 32, 64 or
    128 bytes. `element` is the type of an element of the map: 8-bit floats
    travel as bytes, `i8`. Elements outside the tensor read as zero.

    Constraints:

    - (C1) Sizes and strides name a dimension, the others none.
    - (C2) A tensor map has one to five box sizes from 1 to 256, a swizzle of 0,
      32, 64 or 128, and an element type; the others have none of these.

    Examples:

    ```mlir
    #lpfa.parameter<pointer, operand = 1>
    #lpfa.parameter<stride, operand = 1, dimension = 0>
    #lpfa.parameter<tensor_map, operand = 0, box = [128, 128, 1, 1], swizzle = 128, element = i8>
    ```
  }];
  let parameters = (ins
    EnumParameter<LPFA_ParameterKind>:$kind,
    "int64_t":$operand,
    DefaultValuedParameter<"int64_t", "-1">:$dimension,
    OptionalArrayRefParameter<"int64_t">:$box,
    DefaultValuedParameter<"int64_t", "0">:$swizzle,
    OptionalParameter<"::mlir::Type">:$element);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [
    AttrBuilder<(ins "::lpfa::ParameterKind":$kind, "int64_t":$operand,
                     CArg<"int64_t", "-1">:$dimension), [{
      return $_get($_ctxt, kind, operand, dimension,
                   ::llvm::ArrayRef<int64_t>(), 0, ::mlir::Type());
    }]>
  ];
  let extraClassDeclaration = [{
    /// The name under which arguments carry the attribute.
    static constexpr ::llvm::StringLiteral kArgumentName = "lpfa.parameter";

    /// The argument attribute, a unit, of a tensor map.
    static constexpr ::llvm::StringLiteral kTensorMapName = "lpfa.tensor_map";

    /// The attribute, an i64, of a kernel's `gpu.func`: how many bytes of
    /// dynamic shared memory a launch gives it.
    static constexpr ::llvm::StringLiteral kSharedBytesName =
        "lpfa.dynamic_shared_bytes";
  }];
}

#endif // LPFA_DIALECT_LPFA_IR_LPFAPARAMETERATTRIBUTES_TD
