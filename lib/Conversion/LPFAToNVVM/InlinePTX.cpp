//===- InlinePTX.cpp - Instructions that MLIR has no op for ---------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InlinePTX.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

static LLVM::InlineAsmOp buildAssembly(OpBuilder &builder, Location loc,
                                       TypeRange results, ValueRange operands,
                                       StringRef text, StringRef constraints) {
  return LLVM::InlineAsmOp::create(
      builder, loc, results, operands, text, constraints,
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, /*asm_dialect=*/nullptr,
      /*operand_attrs=*/nullptr);
}

Value lpfa::buildTensorMemoryLoad(OpBuilder &builder, Location loc,
                                  VectorType type, Value address) {
  // Wide tiles in pieces: a single load takes its registers in one aligned run,
  // for which ptxas holds the launch's budget, not that of `setmaxnreg`.
  constexpr int64_t piece = 32;
  int64_t size = type.getNumElements();
  std::string constraints, text = "{\n\t.reg .b32 column;";
  for (int64_t first = 0; first < size; first += piece) {
    int64_t count = std::min(piece, size - first);
    std::string registers;
    for (int64_t i = first; i < first + count; ++i) {
      registers += (i == first ? "$" : ", $") + std::to_string(i);
      constraints += "=&r,";
    }
    text += "\n\tadd.s32 column, $" + std::to_string(size) + ", " +
            std::to_string(first) + ";\n\ttcgen05.ld.sync.aligned.32x32b.x" +
            std::to_string(count) + ".b32 {" + registers + "}, [column];";
  }
  text += "\n\ttcgen05.wait::ld.sync.aligned;\n\t}";
  constraints += "r,~{memory}";

  Type i32 = builder.getI32Type();
  Type resultType = i32;
  if (size > 1)
    resultType = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                                  SmallVector<Type>(size, i32));
  Value loaded =
      buildAssembly(builder, loc, resultType, address, text, constraints)
          .getRes();

  Value result = LLVM::PoisonOp::create(builder, loc, type);
  for (int64_t i = 0; i < size; ++i) {
    Value element = loaded;
    if (size > 1)
      element = LLVM::ExtractValueOp::create(builder, loc, loaded, i);
    if (!type.getElementType().isInteger())
      element =
          LLVM::BitcastOp::create(builder, loc, type.getElementType(), element);
    Value index = LLVM::ConstantOp::create(builder, loc, i32, i);
    result =
        LLVM::InsertElementOp::create(builder, loc, result, element, index);
  }
  return result;
}

void lpfa::buildTensorMemoryStore(OpBuilder &builder, Location loc, Value value,
                                  Value address) {
  auto type = cast<VectorType>(value.getType());
  Type i32 = builder.getI32Type();
  SmallVector<Value> operands{address};
  std::string registers, constraints = "r,";
  for (int64_t i = 0, e = type.getNumElements(); i < e; ++i) {
    Value index = LLVM::ConstantOp::create(builder, loc, i32, i);
    Value element = LLVM::ExtractElementOp::create(builder, loc, value, index);
    if (!type.getElementType().isInteger())
      element = LLVM::BitcastOp::create(builder, loc, i32, element);
    operands.push_back(element);
    registers += (i ? ", $" : "$") + std::to_string(i + 1);
    constraints += "r,";
  }
  std::string text = "tcgen05.st.sync.aligned.32x32b.x" +
                     std::to_string(type.getNumElements()) + ".b32 [$0], {" +
                     registers + "};";
  buildAssembly(builder, loc, TypeRange(), operands, text,
                constraints + "~{memory}");
}

void lpfa::buildMBarrierWait(OpBuilder &builder, Location loc, Value barrier,
                             Value parity) {
  // Labels and registers in braces are the block's own, however often LLVM
  // copies it.
  StringRef text = "{\n\t"
                   ".reg .pred complete;\n"
                   "wait:\n\t"
                   "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 "
                   "complete, [$0], $1;\n\t"
                   "@complete bra done;\n\t"
                   "bra wait;\n"
                   "done:\n\t"
                   "}";
  Value address =
      LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), barrier);
  buildAssembly(builder, loc, TypeRange(), {address, parity}, text,
                "r,r,~{memory}");
}
