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

/// Loads `size` columns at `address` in pieces of `instruction`, which may give
/// each piece's maximum too, and waits. The registers, then the maxima.
static SmallVector<Value> buildLoads(OpBuilder &builder, Location loc,
                                     int64_t size, bool withMaxima,
                                     Value address) {
  // Wide tiles in pieces: a single load takes its registers in one aligned run,
  // for which ptxas holds the launch's budget, not that of `setmaxnreg`.
  constexpr int64_t piece = 32;
  int64_t results = size + (withMaxima ? size / piece : 0);
  std::string constraints, text = "{\n\t.reg .b32 column;";
  for (int64_t i = 0; i < results; ++i)
    constraints += "=&r,";
  for (int64_t first = 0; first < size; first += piece) {
    int64_t count = std::min(piece, size - first);
    std::string registers;
    for (int64_t i = first; i < first + count; ++i)
      registers += (i == first ? "$" : ", $") + std::to_string(i);
    text += "\n\tadd.s32 column, $" + std::to_string(results) + ", " +
            std::to_string(first) + ";\n\ttcgen05.ld." +
            (withMaxima ? "red." : "") + "sync.aligned.32x32b.x" +
            std::to_string(count) + (withMaxima ? ".max.NaN.f32" : ".b32") +
            " {" + registers + "}, ";
    if (withMaxima)
      text += "$" + std::to_string(size + first / piece) + ", ";
    text += "[column];";
  }
  text += "\n\ttcgen05.wait::ld.sync.aligned;\n\t}";
  constraints += "r,~{memory}";

  Type i32 = builder.getI32Type();
  Type resultType = i32;
  if (results > 1)
    resultType = LLVM::LLVMStructType::getLiteral(
        builder.getContext(), SmallVector<Type>(results, i32));
  Value loaded =
      buildAssembly(builder, loc, resultType, address, text, constraints)
          .getRes();
  if (results == 1)
    return {loaded};
  SmallVector<Value> words;
  for (int64_t i = 0; i < results; ++i)
    words.push_back(LLVM::ExtractValueOp::create(builder, loc, loaded, i));
  return words;
}

/// Joins 32-bit words to a vector.
static Value buildVector(OpBuilder &builder, Location loc, VectorType type,
                         ArrayRef<Value> words) {
  Value result = LLVM::PoisonOp::create(builder, loc, type);
  for (auto [i, word] : llvm::enumerate(words)) {
    Value element = word;
    if (!type.getElementType().isInteger())
      element =
          LLVM::BitcastOp::create(builder, loc, type.getElementType(), word);
    Value index =
        LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), i);
    result =
        LLVM::InsertElementOp::create(builder, loc, result, element, index);
  }
  return result;
}

Value lpfa::buildTensorMemoryLoad(OpBuilder &builder, Location loc,
                                  VectorType type, Value address) {
  return buildVector(builder, loc, type,
                     buildLoads(builder, loc, type.getNumElements(),
                                /*withMaxima=*/false, address));
}

std::pair<Value, Value> lpfa::buildTensorMemoryLoadMax(OpBuilder &builder,
                                                       Location loc,
                                                       VectorType type,
                                                       VectorType maximaType,
                                                       Value address) {
  SmallVector<Value> words = buildLoads(builder, loc, type.getNumElements(),
                                        /*withMaxima=*/true, address);
  auto elements = ArrayRef(words).drop_back(maximaType.getNumElements());
  auto maxima = ArrayRef(words).take_back(maximaType.getNumElements());
  return {buildVector(builder, loc, type, elements),
          buildVector(builder, loc, maximaType, maxima)};
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
