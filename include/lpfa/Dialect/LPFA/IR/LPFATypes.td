//===- LPFATypes.td - Types of the lpfa dialect ------------*- tablegen -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_IR_LPFATYPES_TD
#define LPFA_DIALECT_LPFA_IR_LPFATYPES_TD

include "lpfa/Dialect/LPFA/IR/LPFADialect.td"
include "mlir/IR/AttrTypeBase.td"

class LPFA_Type<string name, string typeMnemonic, list<Trait> traits = []>
    : TypeDef<LPFA_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}

#endif // LPFA_DIALECT_LPFA_IR_LPFATYPES_TD
