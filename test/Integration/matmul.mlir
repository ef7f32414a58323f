// Products of MX matrices of each type of operand and result.
//
// RUN: lpfa-opt %s -verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @matmul(
// CHECK:         lpfa.matmul %{{.+}} scaled %{{.+}}, %{{.+}} scaled %{{.+}} : tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>, tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU> -> tensor<?x?xbf16>
func.func @matmul(%a: tensor<?x?xf8E4M3FN>, %sa: tensor<?x?xf8E8M0FNU>,
                  %b: tensor<?x?xf8E4M3FN>, %sb: tensor<?x?xf8E8M0FNU>) -> tensor<?x?xbf16> {
  %d = lpfa.matmul %a scaled %sa, %b scaled %sb
      : tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>, tensor<?x?xf8E4M3FN>,
        tensor<?x?xf8E8M0FNU> -> tensor<?x?xbf16>
  return %d : tensor<?x?xbf16>
}

// CHECK-LABEL: func.func @matmul_blocked(
func.func @matmul_blocked(%a: tensor<?x?xf8E4M3FN>, %sa: tensor<?x?x32x4x4xf8E8M0FNU>,
                          %b: tensor<?x?xf8E4M3FN>, %sb: tensor<?x?x32x4x4xf8E8M0FNU>) -> tensor<?x?xf32> {
  %d = lpfa.matmul %a scaled %sa, %b scaled %sb
      : tensor<?x?xf8E4M3FN>, tensor<?x?x32x4x4xf8E8M0FNU>, tensor<?x?xf8E4M3FN>,
        tensor<?x?x32x4x4xf8E8M0FNU> -> tensor<?x?xf32>
  return %d : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @matmul_mixed(
func.func @matmul_mixed(%a: tensor<?x?xf8E5M2>, %sa: tensor<?x?xf8E8M0FNU>,
                        %b: tensor<?x?xf8E4M3FN>, %sb: tensor<?x?x32x4x4xf8E8M0FNU>) -> tensor<?x?xf32> {
  %d = lpfa.matmul %a scaled %sa, %b scaled %sb
      : tensor<?x?xf8E5M2>, tensor<?x?xf8E8M0FNU>, tensor<?x?xf8E4M3FN>,
        tensor<?x?x32x4x4xf8E8M0FNU> -> tensor<?x?xf32>
  return %d : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @matmul_batches(
func.func @matmul_batches(%a: tensor<2x?x?x?xf8E5M2>, %sa: tensor<2x?x?x?xf8E8M0FNU>,
                          %b: tensor<2x?x?x?xf8E5M2>, %sb: tensor<2x?x?x?xf8E8M0FNU>) -> tensor<2x?x?x?xf16> {
  %d = lpfa.matmul %a scaled %sa, %b scaled %sb
      : tensor<2x?x?x?xf8E5M2>, tensor<2x?x?x?xf8E8M0FNU>, tensor<2x?x?x?xf8E5M2>,
        tensor<2x?x?x?xf8E8M0FNU> -> tensor<2x?x?x?xf16>
  return %d : tensor<2x?x?x?xf16>
}

// CHECK-LABEL: func.func @matmul_static(
func.func @matmul_static(%a: tensor<384x512xf8E4M3FN>, %sa: tensor<3x4x32x4x4xf8E8M0FNU>,
                         %b: tensor<256x512xf8E4M3FN>, %sb: tensor<2x4x32x4x4xf8E8M0FNU>) -> tensor<384x256xbf16> {
  %d = lpfa.matmul %a scaled %sa, %b scaled %sb
      : tensor<384x512xf8E4M3FN>, tensor<3x4x32x4x4xf8E8M0FNU>, tensor<256x512xf8E4M3FN>,
        tensor<2x4x32x4x4xf8E8M0FNU> -> tensor<384x256xbf16>
  return %d : tensor<384x256xbf16>
}

// Only the reference has the narrower formats.
// CHECK-LABEL: func.func @matmul_narrow(
func.func @matmul_narrow(%a: tensor<?x?xf6E3M2FN>, %sa: tensor<?x?xf8E8M0FNU>,
                         %b: tensor<?x?xf4E2M1FN>, %sb: tensor<?x?xf8E8M0FNU>) -> tensor<?x?xf32> {
  %d = lpfa.matmul %a scaled %sa, %b scaled %sb
      : tensor<?x?xf6E3M2FN>, tensor<?x?xf8E8M0FNU>, tensor<?x?xf4E2M1FN>,
        tensor<?x?xf8E8M0FNU> -> tensor<?x?xf32>
  return %d : tensor<?x?xf32>
}
