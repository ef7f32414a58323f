//===- LPFADialect.td - The lpfa dialect -------------------*- tablegen -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_IR_LPFADIALECT_TD
#define LPFA_DIALECT_LPFA_IR_LPFADIALECT_TD

include "mlir/IR/OpBase.td"

def LPFA_Dialect : Dialect {
  let name = "lpfa";
  let summary = "Low-precision block-scaled attention, from tensors to Blackwell kernels";
  let cppNamespace = "::lpfa";
  // Reified result shapes use affine.apply and tensor.dim; pointers are LLVM's.
  let dependentDialects = [
    "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();
  }];
}

class LPFA_Op<string mnemonic, list<Trait> traits = []>
    : Op<LPFA_Dialect, mnemonic, traits>;

#endif // LPFA_DIALECT_LPFA_IR_LPFADIALECT_TD
