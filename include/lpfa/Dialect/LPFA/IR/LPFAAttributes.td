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
}

#endif // LPFA_DIALECT_LPFA_IR_LPFAATTRIBUTES_TD
