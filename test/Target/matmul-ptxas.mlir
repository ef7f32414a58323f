// REQUIRES: ptxas-13.4
// RUN: split-file %s %t
// RUN: lpfa-compile %t/matmul.mlir -o %t/a --emit=cubin | FileCheck %s
// RUN: lpfa-compile %t/matmul.mlir -o %t/b --emit=cubin --chip=sm_103a | FileCheck %s

// CHECK-NOT: {{ [1-9][0-9]* bytes}}
// CHECK: matmul_kernel: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-NOT: {{ [1-9][0-9]* bytes}}
// CHECK: matmul_f32_kernel: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-NOT: {{ [1-9][0-9]* bytes}}

//--- matmul.mlir
func.func @matmul(%a: tensor<?x?xf8E4M3FN>, %sa: tensor<?x?x32x4x4xf8E8M0FNU>,
                  %b: tensor<?x?xf8E4M3FN>, %sb: tensor<?x?x32x4x4xf8E8M0FNU>) -> tensor<?x?xbf16> {
  %d = lpfa.matmul %a scaled %sa, %b scaled %sb
      : tensor<?x?xf8E4M3FN>, tensor<?x?x32x4x4xf8E8M0FNU>, tensor<?x?xf8E4M3FN>,
        tensor<?x?x32x4x4xf8E8M0FNU> -> tensor<?x?xbf16>
  return %d : tensor<?x?xbf16>
}

func.func @matmul_f32(%a: tensor<2x?x?xf8E5M2>, %sa: tensor<2x?x?x32x4x4xf8E8M0FNU>,
                      %b: tensor<2x?x?xf8E4M3FN>, %sb: tensor<2x?x?x32x4x4xf8E8M0FNU>) -> tensor<2x?x?xf32> {
  %d = lpfa.matmul %a scaled %sa, %b scaled %sb
      : tensor<2x?x?xf8E5M2>, tensor<2x?x?x32x4x4xf8E8M0FNU>, tensor<2x?x?xf8E4M3FN>,
        tensor<2x?x?x32x4x4xf8E8M0FNU> -> tensor<2x?x?xf32>
  return %d : tensor<2x?x?xf32>
}
